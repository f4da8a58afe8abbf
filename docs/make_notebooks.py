"""Run the notebooks of docs/notebooks and keep what their cells show: python docs/make_notebooks.py.

Cells run in one process, in turn, as in Jupyter, which is not needed for it. Each notebook runs in an empty folder.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

FOLDER = Path(__file__).parent / "notebooks"
SHOWN = {"_repr_svg_": "image/svg+xml", "_repr_html_": "text/html"}


def run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell; what it prints and the value of its last expression, as a notebook stores them."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        value = None if last is None else eval(compile(last, "<cell>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)})
    if value is not None:
        outputs.append({"data": shown(value), "metadata": {}, "output_type": "display_data"})
    return outputs


def shown(value: Any) -> dict[str, Any]:
    """How a notebook shows a value."""
    for method, kind in SHOWN.items():
        if hasattr(value, method):
            return {kind: getattr(value, method)().splitlines(keepends=True)}
    return {"text/plain": repr(value).splitlines(keepends=True)}


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs that its cells have now."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell = {**cell, "outputs": run_cell("".join(cell["source"]), names), "execution_count": count}
        cells.append(cell)
    return {**notebook, "cells": cells}


def main() -> None:
    for path in sorted(FOLDER.glob("*.ipynb")):
        here = os.getcwd()
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                found = executed(json.loads(path.read_text(encoding="utf-8")))
            finally:
                os.chdir(here)
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
