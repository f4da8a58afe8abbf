"""The TU reader: against a literal reader, against every fault a folder or a zip can have."""

from __future__ import annotations

import io
import os
import struct
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sargnn.data.graphs import GraphSet
from sargnn.data.io import tu
from sargnn.data.io.tu import read_folder, read_zip
from sargnn.data.problems import InputErrors
from sargnn.errors import InputError

# Graph 0 is a path of three nodes, graph 1 has a self-loop and an edge given twice.
TINY = {
    "A": "1, 2\n2, 1\n3, 2\n2, 3\n4, 4\n5, 4\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "7\n-1\n",
    "node_labels": "6\n8\n6\n6\n10\n",
    "node_attributes": "0.5, 1\n1.5, 2\n2.5, 3\n3.5, 4\n4.5, 5\n",
    "edge_labels": "0\n1\n2\n3\n4\n5\n6\n7\n",
    "edge_attributes": "0\n10\n20\n30\n40\n50\n60\n70\n",
}


def write(folder: Path | str, **texts: str | bytes | None) -> Path:
    """A TU folder of a set X that holds TINY with ``texts`` in place of some of it; None leaves a file out."""
    for kind, text in (TINY | texts).items():
        if text is not None:
            content = text.encode() if isinstance(text, str) else text
            Path(folder, f"X_{kind}.txt").write_bytes(content)
    return Path(folder)


def zipped(folder: Path, prefix: str = "X/") -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.glob("X_*.txt")):
            archive.write(path, prefix + path.name)
    return stream


def assert_valid(graphs: GraphSet) -> None:
    """Everything that the docstrings of GraphSet promise."""
    assert (graphs.sizes >= 1).all()
    assert graphs.node_ptr[0] == 0
    assert graphs.edge_ptr[0] == 0
    assert (np.diff(graphs.edge_ptr) >= 0).all()
    assert graphs.edges.shape == (2, graphs.num_edges)
    source, target = graphs.edges.astype(np.int64)
    assert (graphs.edges >= 0).all()
    assert (graphs.edges < graphs.sizes[graphs.edge_graph]).all()
    key = list(zip(graphs.edge_graph, target, source, strict=True))
    assert key == sorted(set(key))
    for values, rows, dtype in (
        (graphs.y, len(graphs), np.int64),
        (graphs.node_labels, graphs.num_nodes, np.int64),
        (graphs.node_attributes, graphs.num_nodes, np.float32),
        (graphs.edge_labels, graphs.num_edges, np.int64),
        (graphs.edge_attributes, graphs.num_edges, np.float32),
    ):
        assert values is None or (len(values) == rows and values.dtype == dtype and np.isfinite(values).all())


def test_a_set_worked_by_hand(tmp_path: Path) -> None:
    graphs = read_folder(write(tmp_path))
    assert graphs.name == "X"
    assert graphs.node_ptr.tolist() == [0, 3, 5]
    assert graphs.edge_ptr.tolist() == [0, 4, 7]
    assert graphs.edges.tolist() == [[1, 0, 2, 1, 0, 1, 0], [0, 1, 1, 2, 0, 0, 1]]
    assert graphs.classes == ("-1", "7")
    assert graphs.y.tolist() == [1, 0]
    assert graphs.node_label_names == ("6", "8", "10")  # by number, not by text
    assert graphs.node_labels.tolist() == [0, 1, 0, 0, 2]
    assert graphs.node_attributes.tolist() == [[0.5, 1], [1.5, 2], [2.5, 3], [3.5, 4], [4.5, 5]]
    assert graphs.edge_labels.tolist() == [1, 0, 2, 3, 4, 5, 6]
    assert graphs.edge_attributes[:, 0].tolist() == [10, 0, 20, 30, 40, 50, 60]
    assert graphs.notes == ("merged 1 repeated edges, each as it came first",)
    assert_valid(graphs)


def test_no_edges_at_all(tmp_path: Path) -> None:
    graphs = read_folder(write(tmp_path, A="", edge_labels="", edge_attributes="\n"))
    assert graphs.num_edges == 0
    assert len(graphs) == 2
    assert_valid(graphs)


def test_nodes_in_mixed_order_are_brought_together(tmp_path: Path) -> None:
    texts = {"A": "2, 4\n1, 3\n", "graph_indicator": "2\n1\n2\n1\n2\n", "edge_labels": None, "edge_attributes": None}
    graphs = read_folder(write(tmp_path, **texts))
    assert graphs.node_ptr.tolist() == [0, 2, 5]
    assert graphs.edges.tolist() == [[0, 0], [1, 1]]
    assert graphs.node_attributes[:, 1].tolist() == [2, 4, 1, 3, 5]
    assert graphs.notes == ("reordered the nodes so that those of one graph are together",)


def test_a_real_number_that_is_missing_is_a_gap(tmp_path: Path) -> None:
    graphs = read_folder(write(tmp_path, graph_attributes="NaN\n-nan\n"))
    assert graphs.graph_attributes.tobytes() == np.full((2, 1), np.nan, np.float32).tobytes()  # one kind of NaN alone


def test_several_label_columns_are_one_category_for_each_combination(tmp_path: Path) -> None:
    graphs = read_folder(write(tmp_path, node_labels="0, 10\n0, 9\n1, 0\n0, 9\n0, 10\n"))
    assert graphs.node_label_names == ("0,9", "0,10", "1,0")
    assert graphs.node_labels.tolist() == [1, 0, 2, 0, 1]
    assert "took each combination of 2 node labels as one category" in graphs.notes


def test_classes_may_stand_in_graph_attributes(tmp_path: Path) -> None:
    graphs = read_folder(write(tmp_path, graph_labels=None, graph_attributes="10.0\n2\n"))
    assert graphs.classes == ("2", "10")
    assert graphs.y.tolist() == [1, 0]


def test_targets_stand_in_graph_attributes_where_there_are_no_classes(tmp_path: Path) -> None:
    graphs = read_folder(write(tmp_path, graph_labels=None, graph_attributes="7, 1\nnan, 2.5\n"))
    assert graphs.target_names == ("target_0", "target_1")
    np.testing.assert_array_equal(graphs.targets, [[7, 1], [np.nan, 2.5]])
    assert graphs.graph_attributes is None
    assert "took 'target_0', 'target_1' as 2 measured numbers (task regression)" in graphs.notes


def test_graph_labels_are_the_class_and_graph_attributes_inputs(tmp_path: Path) -> None:
    graphs = read_folder(write(tmp_path, graph_attributes="0.5\n1.5\n"))
    assert graphs.classes == ("-1", "7")
    assert graphs.graph_attributes.tolist() == [[0.5], [1.5]]


def test_all_problems_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    texts = {"A": "1, 2\n3, 9\n3, 4\n", "node_labels": "6\nC\n6\n6\nN\n", "graph_labels": "0.5\n1\n"}
    folder = write(tmp_path, **texts, edge_labels=None, edge_attributes=None)
    with pytest.raises(InputErrors) as error:
        read_folder(folder)
    assert [(Path(p.file).name, p.line, p.graph, p.field) for p in error.value.problems] == [
        ("X_A.txt", 2, 0, "target"),
        ("X_A.txt", 3, None, None),
        ("X_node_labels.txt", 2, 0, "column 1"),
        ("X_node_labels.txt", 5, 1, "column 1"),
        ("X_graph_labels.txt", 1, 0, "column 1"),
    ]
    assert error.value.count == 5


def test_without_labels(tmp_path: Path) -> None:
    graphs = read_folder(write(tmp_path, graph_labels=None))
    assert graphs.y is None
    assert graphs.classes == ()


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
def test_line_ends_and_spaces_do_not_matter(tmp_path: Path, newline: str) -> None:
    plain = read_folder(write(tmp_path))
    other = {kind: text.replace("\n", newline).replace(", ", " ,\t") + newline for kind, text in TINY.items()}
    assert read_folder(write(tmp_path, **other)).fingerprint == plain.fingerprint


def test_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    plain = read_folder(write(tmp_path))
    marked = {kind: "\ufeff" + text for kind, text in TINY.items()}
    assert read_folder(write(tmp_path, **marked)).fingerprint == plain.fingerprint


def test_counting_from_0_is_told_once(tmp_path: Path) -> None:
    edges = "0, 1\n1, 0\n2, 1\n1, 2\n3, 3\n4, 3\n3, 4\n4, 3\n"
    for texts, message in (
        ({"A": edges}, "X_A.txt line 1: got node numbers that start at 0, expected 1"),
        (
            {"A": edges, "graph_indicator": "0\n0\n0\n1\n1\n"},
            "X_graph_indicator.txt line 1: got graph numbers that start at 0, expected 1",
        ),
    ):
        with pytest.raises(InputErrors) as error:
            read_folder(write(tmp_path, **texts))
        assert [str(problem) for problem in error.value.problems] == [f"{tmp_path}/{message}"]
        assert error.value.count == 1


OF_TWO = " (the first of 2 problems; `sargnn data check` lists them)"
FAULTS = {
    "no edges file": ({"A": None}, "{0}: got no NAME_A.txt, expected the files of one TU set (NAME_A.txt, ...)"),
    "no indicator": (
        {"graph_indicator": None},
        "{0}: got no X_graph_indicator.txt, expected it beside X_A.txt",
    ),
    "empty set": ({"graph_indicator": " \n"}, "{0}/X_graph_indicator.txt: got no nodes, expected at least one graph"),
    "indicator of zero": (
        {"graph_indicator": "1\n1\n0\n2\n2\n"},
        "{0}/X_graph_indicator.txt line 3: got graph numbers that start at 0, expected 1",
    ),
    "negative indicator": (
        {"graph_indicator": "1\n1\n-1\n2\n2\n"},
        "{0}/X_graph_indicator.txt line 3: got graph number -1, expected 1 or more",
    ),
    "gap in the indicator": (
        {"graph_indicator": "1\n1\n1\n3\n3\n"},
        "{0}/X_graph_indicator.txt: got no nodes of graph 1, expected a line that says 2",
    ),
    "absurd indicator": (
        {"graph_indicator": "1\n1\n1\n2\n9007199254740992\n"},
        "{0}/X_graph_indicator.txt: got no nodes of graph 2, expected a line that says 3",
    ),
    "indicator in two columns": (
        {"graph_indicator": "1, 1\n1, 1\n"},
        "{0}/X_graph_indicator.txt line 1: got 2 column(s), expected 1" + OF_TWO,
    ),
    "too many classes": (
        {"graph_labels": "7\n-1\n7\n"},
        "{0}/X_graph_labels.txt: got 3 lines, expected 2, one for each graph; graph 2 has no nodes",
    ),
    "too few classes": (
        {"graph_labels": "7\n"},
        "{0}/X_graph_labels.txt: got 1 lines, expected 2, one for each graph; graph 1 is the first to lack one",
    ),
    "class not an integer": (
        {"graph_labels": "7\n0.5\n"},
        "{0}/X_graph_labels.txt line 2: got 0.5 in column 1, expected an integer, in graph 1",
    ),
    "infinite target": (
        {"graph_labels": None, "graph_attributes": "7.5\n-inf\n"},
        "{0}/X_graph_attributes.txt line 2: got -inf in 'target', expected a finite number, in graph 1",
    ),
    "more targets than graphs": (
        {"graph_labels": None, "graph_attributes": "7, 1, 2\n1, 2, 3\n"},
        "got 3 targets for 2 graphs, expected fewer",
    ),
    "node labels cut short": (
        {"node_labels": "6\n8\n6\n6"},
        "{0}/X_node_labels.txt: got 4 lines, expected 5, one for each node; graph 1 is the first to lack one",
    ),
    "too many node attributes": (
        {"node_attributes": TINY["node_attributes"] + "1, 1\n"},
        "{0}/X_node_attributes.txt: got 6 lines, expected 5, one for each node",
    ),
    "edge labels cut short": (
        {"edge_labels": "0\n1\n"},
        "{0}/X_edge_labels.txt: got 2 lines, expected 8, one for each edge; graph 0 is the first to lack one",
    ),
    "target that does not exist": (
        {"A": "1, 2\n4, 6\n"},
        "{0}/X_A.txt line 2: got target node 6, expected 1..5, in graph 1",
    ),
    "source that does not exist": (
        {"A": "1, 2\n2, 1\n6, 1\n"},
        "{0}/X_A.txt line 3: got source node 6, expected 1..5, in graph 0",
    ),
    "neither end exists": ({"A": "9, 8\n"}, "{0}/X_A.txt line 1: got source node 9, expected 1..5"),
    "edge across graphs": (
        {"A": "1, 2\n3, 4\n"},
        "{0}/X_A.txt line 2: got an edge from node 3 in graph 0 to node 4 in graph 1, expected both in one graph",
    ),
    "edge with three ends": ({"A": "1, 2\n2, 1, 3\n"}, "{0}/X_A.txt line 2: got 3 column(s), expected 2"),
    "edges with one end": ({"A": "1\n2\n"}, "{0}/X_A.txt line 1: got 1 column(s), expected 2" + OF_TWO),
    "edges apart by spaces": ({"A": "1 2\n2 1\n"}, "{0}/X_A.txt line 1: got 1 column(s), expected 2" + OF_TWO),
    "half a node": ({"A": "1, 2\n1.5, 2\n"}, "{0}/X_A.txt line 2: got 1.5 in column 1, expected an integer"),
    "empty line": ({"A": "1, 2\n\n2, 1\n"}, "{0}/X_A.txt line 2: got 1 column(s), expected 2"),
    "empty label": (
        {"node_labels": "6\n\n8\n6\n6\n6"},
        "{0}/X_node_labels.txt line 2: got '' in column 1, expected a number, in graph 0",
    ),
    "text for a node label": (
        {"node_labels": "6\n8\n6\nC\n10\n"},
        "{0}/X_node_labels.txt line 4: got 'C' in column 1, expected a number, in graph 1",
    ),
    "bytes for a node label": (
        {"node_labels": b"6\n\xff\x01\n6\n6\n10\n"},
        "{0}/X_node_labels.txt line 2: got 'ÿ\\x01' in column 1, expected a number, in graph 0",
    ),
    "what is no text": (
        {"node_labels": b"6\n\xff\x00\n6\n6\n10\n"},
        "{0}/X_node_labels.txt: got bytes that are no text, expected numbers, one line for each node",
    ),
    "text among attributes": (
        {"node_attributes": "1, 2\n1, x\n1, 1\n1, 1\n1, 1\n"},
        "{0}/X_node_attributes.txt line 2: got 'x' in column 2, expected a number, in graph 0",
    ),
    "attribute missing": (
        {"node_attributes": "1, 2\n1, 2\n1, 1\n1\n1, 1\n"},
        "{0}/X_node_attributes.txt line 4: got 1 column(s), expected 2, in graph 1",
    ),
    "infinite": (
        {"edge_attributes": "0\n10\n-inf\n30\n40\n50\n60\n70\n"},
        "{0}/X_edge_attributes.txt line 3: got -inf in column 1, expected a finite number, in graph 0",
    ),
    "beyond 32 bits": (
        {"edge_attributes": "0\n10\n20\n30\n40\n1e39\n60\n70\n"},
        "{0}/X_edge_attributes.txt line 6: got 1e+39 in column 1, expected a finite number, in graph 1",
    ),
    "integer beyond 53 bits": (
        {"node_labels": "6\n8\n6\n6\n1e20\n"},
        "{0}/X_node_labels.txt line 5: got 1e+20 in column 1, expected an integer, in graph 1",
    ),
}


@pytest.mark.parametrize(("texts", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_named_to_the_line(tmp_path: Path, texts: dict[str, Any], message: str) -> None:
    folder = write(tmp_path, **texts)
    with pytest.raises(InputError) as folder_error:
        read_folder(folder)
    assert str(folder_error.value) == message.format(folder)
    with pytest.raises(InputError) as zip_error:
        read_zip(zipped(folder), "x.zip")
    assert str(zip_error.value) == message.format("x.zip/X" if message.startswith("{0}/") else "x.zip")


def test_two_sets_in_one_folder(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "Y_A.txt").write_text("1, 1\n")
    with pytest.raises(InputError) as error:
        read_folder(tmp_path)
    got = f"{tmp_path}/X_A.txt, {tmp_path}/Y_A.txt"
    assert str(error.value) == f"{tmp_path}: got {got}, expected the files of one TU set (NAME_A.txt, ...)"


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(tu, "read_bytes", denied)
    with pytest.raises(InputError, match=r"X_\w+.txt: cannot read \(Permission denied\)$"):
        read_folder(write(tmp_path))


@pytest.mark.parametrize("prefix", ["X/", "", "./X/", "deep/down/"])
def test_a_zip_is_read_like_its_folder(tmp_path: Path, prefix: str) -> None:
    folder = write(tmp_path)
    graphs = read_zip(zipped(folder, prefix), "x.zip")
    assert graphs.fingerprint == read_folder(folder).fingerprint
    assert graphs.name == "X"


def test_what_a_mac_adds_to_a_zip_is_ignored(tmp_path: Path) -> None:
    stream = zipped(write(tmp_path))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("__MACOSX/X/._X_A.txt", b"\0\5\26\7")
    assert len(read_zip(stream, "x.zip")) == 2


@pytest.mark.parametrize("member", ["/etc/passwd", "../X_A.txt", "X/../../up.txt", "..\\up.txt", "C:\\up.txt", "C:up"])
def test_a_zip_that_points_outside_is_refused(tmp_path: Path, member: str) -> None:
    stream = zipped(write(tmp_path))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr(member, "evil")
    before = set(tmp_path.rglob("*"))
    with pytest.raises(InputError) as error:
        read_zip(stream, "x.zip")
    assert str(error.value) == f"x.zip: got member {member!r}, expected paths inside the zip only"
    assert set(tmp_path.rglob("*")) == before


def test_a_zip_bomb_is_refused_by_what_it_declares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = zipped(write(tmp_path, node_attributes="0" * 50_000))
    assert len(stream.getvalue()) < 5000
    monkeypatch.setenv("SARGNN_LIMITS", "unpacked=20000")
    with pytest.raises(InputError, match=r"^x.zip: got 501\d\d bytes when unpacked, expected at most 20000 "):
        read_zip(stream, "x.zip")


def test_a_zip_bomb_that_declares_little_is_refused(tmp_path: Path) -> None:
    content = zipped(write(tmp_path, node_attributes="0" * 50_000)).getvalue()
    truth, lie = struct.pack("<L", 50_000), struct.pack("<L", 10)
    assert content.count(truth) == 2  # in the local header and in the directory
    with pytest.raises(InputError, match=r"^x.zip: not a readable zip \(.*\)$"):
        read_zip(io.BytesIO(content.replace(truth, lie)), "x.zip")


def test_not_a_zip(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_text("<html>not found</html>")
    with pytest.raises(InputError) as error:
        read_zip(path, str(path))
    assert str(error.value) == f"{path}: not a readable zip (File is not a zip file)"


# -- properties --------------------------------------------------------------------------------------------------------


def literal_reader(folder: Path) -> list[dict[str, Any]]:
    """The format read as its README describes it, one number at a time."""

    def lines(kind: str) -> list[list[float]]:
        text = (folder / f"X_{kind}.txt").read_text()
        return [[float(cell) for cell in line.split(",")] for line in text.splitlines()]

    nodes_of = defaultdict(list)
    for node, (graph,) in enumerate(lines("graph_indicator"), start=1):
        nodes_of[int(graph)].append(node)
    pairs = [(int(a), int(b)) for a, b in lines("A")]
    classes, labels, attributes = lines("graph_labels"), lines("node_labels"), lines("node_attributes")
    out = []
    for graph in sorted(nodes_of):
        nodes = nodes_of[graph]
        edges: dict[tuple[int, int], Any] = {}
        for line, (a, b) in enumerate(pairs):
            if a in nodes:
                key = (nodes.index(b), nodes.index(a))
                edges.setdefault(key, (lines("edge_labels")[line], lines("edge_attributes")[line]))
        out.append(
            {
                "class": classes[graph - 1],
                "labels": [labels[node - 1] for node in nodes],
                "attributes": [attributes[node - 1] for node in nodes],
                "edges": [(source, target, *edges[target, source]) for target, source in sorted(edges)],
            }
        )
    return out


def as_literal(graphs: GraphSet) -> list[dict[str, Any]]:
    def named(names: tuple[str, ...], index: np.ndarray) -> list[list[float]]:
        return [[float(cell) for cell in names[i].split(",")] for i in index]

    return [
        {
            "class": named(one.classes, one.y)[0],
            "labels": named(one.node_label_names, one.node_labels),
            "attributes": one.node_attributes.tolist(),
            "edges": list(
                zip(*one.edges.tolist(), named(one.edge_label_names, one.edge_labels), one.edge_attributes.tolist(),
                    strict=True)
            ),
        }
        for one in graphs
    ]  # fmt: skip


@st.composite
def tu_texts(draw: st.DrawFn) -> dict[str, str]:
    """Any set: one-node, edgeless and disconnected graphs, self-loops, repeated edges, nodes and edges in any order."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    indicator = draw(st.permutations([g for g, size in enumerate(sizes, start=1) for _ in range(size)]))
    nodes = {g: [v for v, h in enumerate(indicator, start=1) if h == g] for g in range(1, len(sizes) + 1)}
    within = st.sampled_from(sorted(nodes)).flatmap(lambda g: st.tuples(*[st.sampled_from(nodes[g])] * 2))
    edges = draw(st.lists(within, max_size=12))
    label, real = st.integers(-3, 12), st.floats(width=32, allow_nan=False, allow_infinity=False)

    def column(count: int, values: st.SearchStrategy, width: int = 1) -> str:
        rows = st.lists(values, min_size=width, max_size=width).map(lambda row: ", ".join(map(str, row)))
        return "".join(f"{row}\n" for row in draw(st.lists(rows, min_size=count, max_size=count)))

    return {
        "A": "".join(f"{a}, {b}\n" for a, b in edges),
        "graph_indicator": "".join(f"{g}\n" for g in indicator),
        "graph_labels": column(len(sizes), label),
        "node_labels": column(len(indicator), label, width=draw(st.integers(1, 2))),
        "node_attributes": column(len(indicator), real, width=draw(st.integers(1, 3))),
        "edge_labels": column(len(edges), label),
        "edge_attributes": column(len(edges), real),
    }


@settings(max_examples=60, deadline=None)
@given(tu_texts())
def test_any_set_is_read_as_the_literal_reader_reads_it(texts: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = write(temporary, **texts)
        graphs = read_folder(folder)
        assert_valid(graphs)
        assert as_literal(graphs) == literal_reader(folder)
        assert read_zip(zipped(folder), "x.zip").fingerprint == graphs.fingerprint


patches = st.binary(max_size=4) | st.sampled_from([b"\n", b",", b"e", b"-", b"9" * 20])
damages = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 4), patches), min_size=1, max_size=4)


def damaged(content: bytes, damage: list[tuple[int, int, bytes]]) -> bytes:
    """Some bytes cut out and others put in their place, at a few positions."""
    for position, cut, patch in damage:
        position %= len(content) + 1
        content = content[:position] + patch + content[position + cut :]
    return content


def assert_valid_or_one_line(place: str, read: Callable[[], GraphSet]) -> None:
    try:
        assert_valid(read())
    except InputError as error:
        line = str(error)
    else:
        return
    assert line.startswith(place)
    assert "\n" not in line


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(TINY)), damages)
def test_damaged_text_gives_a_valid_set_or_one_line(kind: str, damage: list[tuple[int, int, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = write(temporary, **{kind: damaged(TINY[kind].encode(), damage)})
        assert_valid_or_one_line(os.fspath(folder), lambda: read_folder(folder))


@settings(max_examples=150, deadline=None)
@given(damages)
def test_a_damaged_zip_gives_a_valid_set_or_one_line(damage: list[tuple[int, int, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        content = damaged(zipped(write(temporary)).getvalue(), damage)
    assert_valid_or_one_line("x.zip", lambda: read_zip(io.BytesIO(content), "x.zip"))
