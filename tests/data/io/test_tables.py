"""Three tables: by hand, in any order, in parts on disk, in bounded memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from graph_inputs import TRIO
from sargnn.data.io import tables
from sargnn.data.problems import InputErrors
from sargnn.data.sources import load


def write(folder: Path, **texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in (TRIO | texts).items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def test_tables_worked_by_hand(tmp_path: Path) -> None:
    graphs = load(write(tmp_path))
    assert graphs.name == tmp_path.name
    assert graphs.graph_names == ("m2", "m10")
    assert graphs.classes == ("safe", "toxic")
    assert graphs.y.tolist() == [1, 0]
    assert graphs.node_ptr.tolist() == [0, 3, 5]
    assert graphs.node_names.tolist() == ["x", "y", "z", "a", "b"]
    assert graphs.node_label_names == ("C", "N", "O")
    assert graphs.node_labels.tolist() == [2, 0, 0, 0, 1]
    assert graphs.node_attributes[:, 0].tolist() == [16, 12.5, 12, 12, 14]
    assert graphs.edges.tolist() == [[1, 0, 2, 1, 1], [0, 1, 1, 2, 0]]
    assert graphs.edge_labels.tolist() == [0, 0, 1, 1, 1]
    assert graphs.graph_attributes.tolist() == [[0.5], [2]]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_quotes_blank_lines_and_marks(tmp_path: Path, delimiter: str) -> None:
    plain = load(write(tmp_path / "plain"))
    folder = write(tmp_path / "other")
    for name, text in TRIO.items():
        lines = [delimiter.join(f'"{cell} "' for cell in line.split(",")) for line in text.splitlines()]
        (folder / f"{name}.csv").write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n".join(lines).encode())
    assert load(folder).fingerprint == plain.fingerprint


def test_a_column_without_a_name_is_an_index_and_left_out(tmp_path: Path) -> None:
    text = "\n".join(f"{i},{line}" for i, line in enumerate(TRIO["nodes"].splitlines()))
    indexed = write(tmp_path / "indexed", nodes=text.replace("0,", ",", 1))
    assert load(indexed).fingerprint == load(write(tmp_path / "plain")).fingerprint


def test_graphs_called_by_their_number_have_no_names(tmp_path: Path) -> None:
    texts = {name: text.replace("m10", "1").replace("m2", "0") for name, text in TRIO.items()}
    graphs = load(write(tmp_path, **texts))
    assert graphs.graph_names == ()
    assert graphs.fingerprint == load(write(tmp_path / "named")).fingerprint


def test_a_class_under_another_name(tmp_path: Path) -> None:
    folder = write(tmp_path, graphs="graph,label,outcome,directed\nm2,1,sick,false\nm10,2,well,true\n")
    assert load(folder).classes == ("1", "2")
    graphs = load(folder, labels="outcome")
    assert graphs.classes == ("sick", "well")
    assert graphs.notes == ("took 'outcome' as the class, not 'label'",)
    assert graphs.graph_attributes is None


def test_parts_on_disk_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = big_trio(tmp_path / "x", 60)
    whole = load(folder)
    monkeypatch.setattr(tables, "PART", 500)
    parts = load(folder)
    assert parts.fingerprint == whole.fingerprint
    assert parts.node_names is None
    shuffled = tmp_path / "y"
    shuffled.mkdir()
    (shuffled / "graphs.csv").write_text((folder / "graphs.csv").read_text())
    for name in ("nodes", "edges"):
        header, *rows = (folder / f"{name}.csv").read_text().splitlines()
        rows = sorted(rows, key=lambda row: int(row.split(",")[1]))  # graphs mixed, the nodes of each in their order
        (shuffled / f"{name}.csv").write_text("\n".join([header, *rows]))
    assert load(shuffled).fingerprint == whole.fingerprint


def test_a_problem_in_a_part_still_knows_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = big_trio(tmp_path / "x", 60)
    lines = (folder / "nodes.csv").read_text().splitlines()
    lines[400] = lines[400].rsplit(",", 1)[0] + ",heavy"
    (folder / "nodes.csv").write_text("\n".join(lines))
    monkeypatch.setattr(tables, "PART", 500)
    with pytest.raises(InputErrors) as error:
        load(folder)
    (problem,) = error.value.problems
    assert (problem.line, problem.graph, problem.field) == (401, int(lines[400].split(",")[0]), "charge")


def big_trio(folder: Path, count: int) -> Path:
    folder.mkdir()
    sizes = [10 + g % 11 for g in range(count)]
    graphs = [f"{g},{g % 2}" for g in range(count)]
    nodes = [f"{g},{v},{'CNO'[(g + v) % 3]},{(g * v) % 97 / 8}" for g, n in enumerate(sizes) for v in range(n)]
    edges = [f"{g},{v},{v + 1},{'ab'[v % 2]}" for g, n in enumerate(sizes) for v in range(n - 1)]
    (folder / "graphs.csv").write_text("\n".join(["graph,label", *graphs]))
    (folder / "nodes.csv").write_text("\n".join(["graph,node,symbol,charge", *nodes]))
    (folder / "edges.csv").write_text("\n".join(["graph,source,target,bond", *edges]))
    return folder


MEASURE = """
import sys, tracemalloc
import numpy as np
from sargnn.data.io import table_files, tables
from sargnn.data.sources import load
table_files.ROWS = 500
for tables.PART in (2**30, 2**15):
    tracemalloc.start()
    graphs = load(sys.argv[1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(peak / sum(value.nbytes for value in vars(graphs).values() if isinstance(value, np.ndarray)))
"""


def test_memory_is_bounded_by_the_result_and_one_part(tmp_path: Path) -> None:
    """Read whole, tables take many times the memory of their arrays. Without type checks, which take some too."""
    folder = big_trio(tmp_path / "x", 1500)
    ran = subprocess.run([sys.executable, "-c", MEASURE, folder], capture_output=True, text=True, check=True)
    whole, in_parts = map(float, ran.stdout.split())
    assert whole > 10
    assert in_parts < 4
