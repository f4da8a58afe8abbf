"""``sargnn push``."""

from __future__ import annotations

from typing import Annotated

import typer

from sargnn.cli.answers import answer
from sargnn.cli.options import Json, OwnModel, Run


def push(
    run: Run,
    to: Annotated[str, typer.Option("--to", metavar="hf://OWNER/NAME", help="Where; a new repository is private.")],
    model: OwnModel = None,
    as_json: Json = False,
) -> None:
    """Publish a model and its card on the Hugging Face Hub. `huggingface_hub` finds the token, as HF_TOKEN."""
    from sargnn.training.hub import publish

    answer({"model": publish(run, to, model)}, as_json, f"published {run}")
