"""``sargnn export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sargnn.cli.answers import answer
from sargnn.cli.options import Json, OwnModel, Run


def export(
    run: Run,
    to: Annotated[str, typer.Option("--to", help="onnx or torch-export.")],
    out: Annotated[Path, typer.Option("--out", help="The file to write.")],
    model: OwnModel = None,
    as_json: Json = False,
) -> None:
    """Write a model as ONNX, with a small program that predicts with it, or as a PyTorch program; checked."""
    from sargnn.export import export_model
    from sargnn.training.model_folder import load_model

    answer(export_model(load_model(run, model=model), to, out), as_json, run)
