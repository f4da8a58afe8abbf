"""The notebooks run from the first cell to the last, and show what they showed when they were written."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
RUNNER = runpy.run_path(str(FOLDER.parent / "make_notebooks.py"))


def what_is_shown(notebook: dict[str, Any]) -> list[list[str]]:
    """Of each cell with code: the words that it prints, without numbers, and the kinds of what it shows."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [
        [
            re.sub(r"[-+]?[\d.]+", "#", "".join(output.get("text", [])) or " ".join(output["data"]))
            for output in cell["outputs"]
        ]
        for cell in cells
    ]


def test_there_are_three() -> None:
    assert [path.stem for path in sorted(FOLDER.glob("*.ipynb"))] == ["explanations", "molecules", "own-graphs"]


@pytest.mark.parametrize("name", ["explanations", "molecules", "own-graphs"])
def test_a_notebook_runs_and_shows_what_it_showed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "molecules":
        pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    stored = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert (stored["nbformat"], stored["nbformat_minor"]) == (4, 5)
    monkeypatch.chdir(tmp_path)
    assert what_is_shown(RUNNER["executed"](stored)) == what_is_shown(stored)


def test_a_cell_that_fails_is_not_passed_over() -> None:
    with pytest.raises(ZeroDivisionError):
        RUNNER["run_cell"]("1 / 0", {})


def test_outputs_are_what_is_printed_and_the_last_value() -> None:
    assert RUNNER["run_cell"]("x = 2\nprint(x)\nx + 1", {}) == [
        {"name": "stdout", "output_type": "stream", "text": ["2\n"]},
        {"data": {"text/plain": ["3"]}, "metadata": {}, "output_type": "display_data"},
    ]
    assert RUNNER["run_cell"]("x = 2", {}) == []
