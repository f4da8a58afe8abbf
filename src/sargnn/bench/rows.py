"""How a row of a benchmark was made, and the file of the rows."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from sargnn.files import write_file
from sargnn.studies.bundles import made_by
from sargnn.training.hardware import hardware, versions

__all__ = ["conditions", "write_rows"]


def conditions() -> dict[str, Any]:
    """The processor, the versions of what computes, the command, and the version and commit of this package."""
    facts = {"hardware": hardware(torch.device("cpu")), "versions": versions(), "command": " ".join(sys.argv)}
    return facts | made_by()


def write_rows(file: Path, rows: Iterable[dict[str, Any]]) -> None:
    """One line of JSON per row, each with the conditions of all."""
    made = conditions()
    write_file(file, "".join(json.dumps(row | made) + "\n" for row in rows))
