"""Every example of docs/your-graphs.md is run, and what it prints is compared."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sargnn.cli import app

PAGE = (Path(__file__).parents[1] / "docs" / "your-graphs.md").read_text()
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
RULES = SECTIONS.pop("How columns are read")
EXAMPLES = {
    title: re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL) for title, text in SECTIONS.items()
}
SHELL = [line.partition("#")[0] for line in re.findall(r"^sargnn .*", PAGE, re.MULTILINE)]


def test_every_section_has_an_example_but_the_rules() -> None:
    assert "```" not in RULES
    assert len(EXAMPLES) >= 9
    assert all(len(examples) == 1 for examples in EXAMPLES.values())
    assert PAGE.count("```python") == len(EXAMPLES)


@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_prints_what_it_says(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if title == "Molecules":
        pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    monkeypatch.chdir(tmp_path)
    ((code, expected),) = EXAMPLES[title]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, title, "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == expected


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    monkeypatch.chdir(tmp_path)
    Path("molecules.csv").write_text("smiles,label\nCCO,1\nCC,0\n")
    assert len(SHELL) == 2
    for line in SHELL:
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        assert done.exit_code == 0, done.output
