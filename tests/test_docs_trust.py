"""The page on trust runs from top to bottom, with a few small molecules in place of the files it names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from command import answer_of, rows_of

PAGE = (Path(__file__).parents[1] / "docs" / "trust.md").read_text(encoding="utf-8")
SMALL = ["--set", "model.hidden=8", "--set", "training.epochs=2"]


def test_the_page_runs_and_names_every_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    monkeypatch.chdir(tmp_path)
    rings = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCNCC1", "c1ccoc1")
    rows = [
        f"{end}{'C' * n}{ring},{label}\n" for ring in rings for n in range(1, 5) for end, label in (("O", 1), ("N", 0))
    ]
    Path("BBBP.csv").write_text("smiles,p_np\n" + "".join(rows))
    Path("new.csv").write_text("smiles\nOCc1ccoc1\nOC1CCC1\n")
    train, predict = re.findall(r"^sargnn (.*)$", PAGE, re.MULTILINE)
    answer_of(*shlex.split(train), *SMALL)
    answer_of(*shlex.split(predict))
    known, new = rows_of(Path("predictions.csv"))
    assert (known["nearest_1"], known["similarity_1"], known["unseen_scaffold"]) == ("OCc1ccoc1", "1.0", "False")
    assert new["unseen_scaffold"] == "True"
    for column in (
        "nearest_1",
        "similarity_1",
        "distance_percentile",
        "unseen_scaffold",
        "unseen_categories",
        "spread",
    ):
        assert column in known
        assert f"`{column}`" in PAGE
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    exec(compile(code, "trust.md", "exec"), {"__name__": "example"})
    assert capsys.readouterr().out.splitlines()[0] == f"OCc1ccoc1 {float(known['distance_percentile']):.0f} %"
