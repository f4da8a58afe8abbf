"""GraphML, GEXF, JSON and JSON lines: by hand, as other programs write them, one file or a folder, and safely."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graph_inputs import GRAPHML, LINE
from sargnn.data.problems import InputErrors
from sargnn.data.sources import load
from sargnn.errors import InputError

# -------------------------------------------------------------------------------------------------------------- folders


def folder_of(tmp_path: Path, *names: str) -> Path:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(LINE))
    return tmp_path


def test_files_are_taken_in_natural_order_and_name_their_graphs(tmp_path: Path) -> None:
    graphs = load(folder_of(tmp_path, "m10.json", "m2.json", ".hidden.json", "notes.txt"))
    assert graphs.graph_names == ("m2", "m10")
    assert graphs.name == tmp_path.name


def test_labels_csv_gives_the_classes(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a.json", "b.json", "c.json")
    (folder / "labels.csv").write_text("file,label\nb.json,old\na,new\nc.json,old\n")
    graphs = load(folder)
    assert [graphs.classes[index] for index in graphs.y] == ["new", "old", "old"]


def test_subfolders_are_the_classes(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "spam/1.json", "ham/1.json", "ham/2.json")
    graphs = load(folder)
    assert graphs.classes == ("ham", "spam")
    assert graphs.y.tolist() == [0, 0, 1]


def test_graphs_to_be_predicted_need_no_row_in_labels_csv(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a.json", "b.json")
    (folder / "labels.csv").write_text("file,kind\na.json,1\n")
    graphs = load(folder, labels="kind", labelled=False)
    assert graphs.y is None
    assert graphs.notes == ("took 'kind' as the class, not 'y'", "left the classes out: 1 graphs have none")


def test_all_problems_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a.json")
    (folder / "b.json").write_text("{")
    (folder / "c.graphml").write_text("<graphml><graph>\n<node/>\n<node/></graph></graphml>")
    (folder / "d.jsonl").write_text("1\n2\n")
    with pytest.raises(InputErrors) as error:
        load(folder)
    found = [(Path(problem.file).name, problem.line, problem.graph) for problem in error.value.problems]
    assert found[:5] == [
        ("b.json", 1, None), ("c.graphml", 2, 1), ("c.graphml", 3, 1), ("d.jsonl", 1, None), ("d.jsonl", 2, None),
    ]  # fmt: skip


# --------------------------------------------------------------------------------------------------------------- safety


def test_files_that_are_too_large_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_of(tmp_path, "x.json")
    (tmp_path / "x.graphml").write_text(GRAPHML)
    monkeypatch.setenv("SARGNN_LIMITS", "file=100,json=100")
    with pytest.raises(InputError, match=r"x.graphml: got \d+ bytes, .* allows them\); split it into several files$"):
        load(tmp_path / "x.graphml")
    with pytest.raises(InputError, match=r"x.json: got \d+ bytes, expected at most 100 .*; write one graph per line"):
        load(tmp_path / "x.json")
