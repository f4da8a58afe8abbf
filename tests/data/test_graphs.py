"""GraphSet: packing, choosing, saving and naming graphs, against lists of Python tuples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from literal import Graph, wild_graphs
from sargnn.data import graphs as packed
from sargnn.data.graphs import NAMES, PARTS, GraphSet, pack, ranges
from sargnn.errors import InputError

any_graphs = settings(max_examples=40, deadline=None, derandomize=True, database=None)


def full_set() -> GraphSet:
    """Three graphs with every field filled: a path, a lonely node, a directed edge with a loop."""
    graphs = pack(
        [(3, [(0, 1), (1, 0), (1, 2), (2, 1)]), (1, []), (2, [(0, 1), (1, 1)])],
        name="three",
        y=[1, 0, 1],
        classes=["no", "yes"],
        node_labels=[0, 1, 0, 2, 1, 1],
        node_attributes=np.arange(12).reshape(6, 2) / 8,
        true_saliency=[0, 1, 0, 1, 2, 0],
    )
    return replace(
        graphs,
        node_label_names=("C", "N", "O"),
        edge_labels=np.arange(6),
        edge_label_names=("a", "b", "c", "d", "e", "f"),
        edge_attributes=np.arange(6, dtype=np.float32).reshape(6, 1) / 4,
        part=np.array([0, 2, 3], np.int8),
        notes=("one edge was repeated",),
        graph_attributes=np.array([[0.5], [1.5], [2.5]], np.float32),
        graph_attribute_names=("weight",),
        node_attribute_names=("charge", "mass"),
        edge_attribute_names=("length",),
        graph_names=("a", "b", "c"),
        node_names=np.array(["u", "v", "w", "alone", "p", "q"]),
        targets=np.array([[0.0, np.nan], [1.0, 0.0], [np.nan, 1.0]]),
        target_names=("toxic", "soluble"),
        weights=np.array([1, 0.5, 2], np.float32),
        groups=np.array([0, 0, 1]),
        smiles=("CCC", "C", "CC"),
    )


def edges_of(graphs: GraphSet, g: int) -> list[tuple[int, int]]:
    columns = graphs.edges[:, graphs.edge_ptr[g] : graphs.edge_ptr[g + 1]]
    return [(int(u), int(v)) for u, v in columns.T]


# --------------------------------------------------------------------------------------------------------------- pack


@any_graphs
@given(raw=st.lists(wild_graphs(), min_size=1, max_size=5))
def test_pack_sorts_by_target_then_source_and_keeps_each_edge_once(raw: list[Graph]) -> None:
    graphs = pack([(g.nodes, g.edges) for g in raw])
    assert graphs.sizes.tolist() == [g.nodes for g in raw]
    for position, g in enumerate(raw):
        assert edges_of(graphs, position) == sorted(set(g.edges), key=lambda edge: edge[::-1])
    assert graphs.num_nodes == sum(g.nodes for g in raw)
    assert graphs.num_edges == sum(len(set(g.edges)) for g in raw)
    assert (graphs.edges.dtype, graphs.node_ptr.dtype, graphs.edge_ptr.dtype) == (np.int32, np.int64, np.int64)


@any_graphs
@given(raw=st.lists(wild_graphs(), min_size=1, max_size=5))
def test_nodes_edges_and_degrees_by_loops(raw: list[Graph]) -> None:
    graphs = pack([(g.nodes, g.edges) for g in raw])
    assert graphs.node_graph.tolist() == [p for p, g in enumerate(raw) for _ in range(g.nodes)]
    assert graphs.edge_graph.tolist() == [p for p, g in enumerate(raw) for _ in set(g.edges)]
    arriving = [sum(t == v != s for s, t in set(g.edges)) for g in raw for v in range(g.nodes)]
    assert graphs.degrees.tolist() == arriving


def test_pack_takes_every_field_by_name_as_plain_lists() -> None:
    graphs = pack([(1, []), (2, [])], node_labels=[0, 1, 1], node_label_names=["C", "N"], part=[0, 2], notes=["a note"])
    assert graphs.node_label_names == ("C", "N")
    assert graphs.notes == ("a note",)
    assert graphs.part is not None
    assert graphs.subset([1]).part.tolist() == [2]


def test_no_graphs_and_no_edges() -> None:
    assert (len(pack([])), pack([]).num_nodes) == (0, 0)
    edgeless = pack([(3, []), (1, [])])
    assert edgeless.edges.shape == (2, 0)
    assert edgeless.degrees.tolist() == [0, 0, 0, 0]


def test_parts_are_in_the_order_of_their_codes() -> None:
    assert PARTS == ("train", "validation", "test", "test-large")


# ------------------------------------------------------------------------------------------------------------- choosing


@any_graphs
@given(lengths=st.lists(st.integers(0, 4), min_size=1, max_size=6), data=st.data())
def test_ranges_are_concatenated_slices(lengths: list[int], data: st.DataObject) -> None:
    pointers = np.cumsum([0, *lengths])
    index = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=8))
    expected = [row for g in index for row in range(pointers[g], pointers[g + 1])]
    assert ranges(pointers, np.array(index, dtype=np.int64)).tolist() == expected


@pytest.mark.parametrize("index", [[0], [2, 0], [1, 1, 2], [0, 1, 2]])
def test_subset_takes_each_field_graph_by_graph(index: list[int]) -> None:
    whole = full_set()
    part = whole.subset(index)
    assert len(part) == len(index)
    for position, g in enumerate(index):
        assert edges_of(part, position) == edges_of(whole, g)
        for name in ("y", "part", "graph_attributes", "graph_names"):
            assert getattr(part, name)[position] == getattr(whole, name)[g]
        for pointer, names in (
            ("node_ptr", ("node_labels", "node_attributes", "true_saliency", "node_names")),
            ("edge_ptr", ("edge_labels", "edge_attributes")),
        ):
            new, old = getattr(part, pointer), getattr(whole, pointer)
            for name in names:
                got = getattr(part, name)[new[position] : new[position + 1]]
                np.testing.assert_array_equal(got, getattr(whole, name)[old[g] : old[g + 1]])
    assert (part.classes, part.node_label_names, part.name) == (whole.classes, whole.node_label_names, whole.name)


def test_subset_of_all_is_the_set() -> None:
    whole = full_set()
    assert whole.subset([0, 1, 2]).fingerprint == whole.fingerprint
    assert whole.subset(np.array([True, False, True])).fingerprint == whole.subset([0, 2]).fingerprint


@pytest.mark.parametrize("nothing", [[], np.zeros(3, bool)], ids=["list", "mask"])
def test_subset_of_nothing_is_empty(nothing: Any) -> None:
    assert len(full_set().subset(nothing)) == 0


def test_cached_values_belong_to_one_set() -> None:
    whole = full_set()
    before = (whole.sizes.tolist(), whole.fingerprint)
    assert whole.subset([2]).sizes.tolist() == [2]
    assert (whole.sizes.tolist(), whole.fingerprint) == before


def test_one_graph_by_position() -> None:
    whole = full_set()
    assert whole[-1].fingerprint == whole[2].fingerprint == whole.subset([2]).fingerprint
    assert [g.num_nodes for g in whole] == [3, 1, 2]


@pytest.mark.parametrize("position", [3, -4])
def test_a_graph_that_is_not_there(position: int) -> None:
    with pytest.raises(InputError, match=rf"^got graph {position}, expected 0\.\.2, in three$"):
        full_set()[position]


# ------------------------------------------------------------------------------------------------------------ to_pyg


def test_to_pyg_gives_what_is_known() -> None:
    whole = full_set()
    data = whole.to_pyg()
    assert len(data) == 3
    for g, d in enumerate(data):
        nodes, edges = slice(*whole.node_ptr[g : g + 2]), slice(*whole.edge_ptr[g : g + 2])
        assert d.num_nodes == whole.sizes[g]
        assert d.edge_index.dtype == torch.int64
        assert [tuple(pair) for pair in d.edge_index.T.tolist()] == edges_of(whole, g)
        assert d.y.tolist() == [whole.y[g]]
        assert d.graph_attr.tolist() == [whole.graph_attributes[g].tolist()]
        for ours, theirs, where in (
            ("node_labels", "node_label", nodes), ("node_attributes", "node_attr", nodes),
            ("true_saliency", "true_saliency", nodes), ("edge_labels", "edge_label", edges),
            ("edge_attributes", "edge_attr", edges),
        ):  # fmt: skip
            np.testing.assert_array_equal(d[theirs].numpy(), getattr(whole, ours)[where])
        d.validate()


def test_to_pyg_gives_no_more_than_is_known() -> None:
    (data,) = pack([(2, [(0, 1)])]).to_pyg()
    assert sorted(data.keys()) == ["edge_index", "num_nodes"]


# -------------------------------------------------------------------------------------------------------- fingerprint

CHANGES: dict[str, Callable[[GraphSet], GraphSet]] = {
    "an edge turned": lambda g: replace(g, edges=g.edges[::-1].copy()),
    "a class": lambda g: replace(g, y=np.array([1, 1, 1])),
    "no classes": lambda g: replace(g, y=None),
    "a class name": lambda g: replace(g, classes=("no", "maybe")),
    "a node label": lambda g: replace(g, node_labels=g.node_labels[::-1].copy()),
    "a label name": lambda g: replace(g, node_label_names=("C", "N", "S")),
    "an attribute": lambda g: replace(g, node_attributes=g.node_attributes + np.float32(1e-6)),
    "an edge label": lambda g: replace(g, edge_labels=g.edge_labels + 1),
    "an edge label name": lambda g: replace(g, edge_label_names=("a",)),
    "a graph attribute": lambda g: replace(g, graph_attributes=g.graph_attributes * 2),
    "an edge attribute": lambda g: replace(g, edge_attributes=-g.edge_attributes),
    "true saliency": lambda g: replace(g, true_saliency=g.true_saliency * 2),
    "the division": lambda g: replace(g, part=np.array([0, 0, 3], np.int8)),
    "a node moved to the next graph": lambda g: replace(g, node_ptr=np.array([0, 2, 4, 6])),
    "an edge moved to the next graph": lambda g: replace(g, edge_ptr=np.array([0, 3, 4, 6])),
    "the order": lambda g: g.subset([1, 0, 2]),
    "one graph less": lambda g: g.subset([0, 1]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_fingerprint_changes_with_content(change: str) -> None:
    assert CHANGES[change](full_set()).fingerprint != full_set().fingerprint


@pytest.mark.parametrize("cells", [1, 3, 2**21])
def test_fingerprint_is_that_of_the_rows_whatever_their_order_in_memory(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "CELLS", cells)
    graphs = pack([(2, [(0, 1)]), (1, [])], node_attributes=[[1, 2], [3, 4], [5, 6]])
    content = (
        (b"node_ptr", np.array([0, 2, 3])), (b"edge_ptr", np.array([0, 1, 1])), (b"edges", np.array([[0], [1]], "i4")),
        (b"classes", b"[]"), (b"node_label_names", b"[]"), (b"node_attributes", np.arange(1, 7, dtype="f4")),
        (b"edge_label_names", b"[]"),
    )  # fmt: skip
    expected = hashlib.sha256(b"".join(name + b"\0" + bytes(value) for name, value in content)).hexdigest()[:16]
    for order in ("C", "F"):
        fields = {name: np.array(getattr(graphs, name), order=order) for name in ("edges", "node_attributes")}
        assert replace(graphs, **fields).fingerprint == expected


def test_every_field_but_words_is_in_the_fingerprint() -> None:
    covered = {f.name for f in fields(GraphSet)} - set(NAMES)
    for name in covered:
        value = getattr(full_set(), name)
        other = (*value, "more") if isinstance(value, tuple) else np.concatenate([value, value], axis=-1)
        assert replace(full_set(), **{name: other}).fingerprint != full_set().fingerprint, name


def test_fingerprint_keeps_what_is_not_content() -> None:
    whole = full_set()
    assert replace(whole, name="other", notes=()).fingerprint == whole.fingerprint
    unnamed = replace(whole, graph_names=(), node_names=None, node_attribute_names=(), edge_attribute_names=("l",))
    assert unnamed.fingerprint == whole.fingerprint
    assert len(whole.fingerprint) == 16
    strided = np.asfortranarray(whole.node_attributes)
    assert replace(whole, node_attributes=strided).fingerprint == whole.fingerprint


def test_fingerprint_does_not_depend_on_how_edges_came() -> None:
    one = pack([(3, [(0, 1), (1, 2), (2, 0)])])
    other = pack([(3, [(2, 0), (0, 1), (0, 1), (1, 2)])])
    assert one.fingerprint == other.fingerprint


# ------------------------------------------------------------------------------------------------------ save and open


def test_round_trip_keeps_every_field(tmp_path: Path) -> None:
    whole = full_set()
    whole.save(tmp_path / "set")
    opened = GraphSet.open(tmp_path / "set")
    for field in fields(GraphSet):
        one, other = getattr(whole, field.name), getattr(opened, field.name)
        if isinstance(one, np.ndarray):
            assert isinstance(other, np.memmap), field.name
            assert other.dtype == one.dtype
            np.testing.assert_array_equal(other, one)
        else:
            assert other == one, field.name
    assert opened.fingerprint == whole.fingerprint


def test_a_set_without_edges_or_labels_comes_back(tmp_path: Path) -> None:
    edgeless = pack([(2, []), (1, [])])
    edgeless.save(str(tmp_path / "set"))
    opened = GraphSet.open(str(tmp_path / "set"))
    assert opened.fingerprint == edgeless.fingerprint
    assert opened.y is None


def test_an_opened_set_is_used_like_any_other(tmp_path: Path) -> None:
    whole = full_set()
    whole.save(tmp_path / "set")
    opened = GraphSet.open(tmp_path / "set")
    assert opened.subset([2, 1]).fingerprint == whole.subset([2, 1]).fingerprint
    assert opened.degrees.tolist() == whole.degrees.tolist()
    assert [d.num_nodes for d in opened.to_pyg()] == [3, 1, 2]
    with pytest.raises(ValueError, match="read-only"):
        opened.edges[0, 0] = 7


def test_saving_again_replaces_the_folder_and_leaves_nothing_else(tmp_path: Path) -> None:
    full_set().save(tmp_path / "set")
    bare = pack([(1, [])])
    bare.save(tmp_path / "set")
    assert GraphSet.open(tmp_path / "set").fingerprint == bare.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    assert not (tmp_path / "set" / "y.npy").exists()


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


FAULTS: dict[str, Callable[[Path], object]] = {
    "no header": lambda folder: (folder / "graphset.json").unlink(),
    "empty header": lambda folder: (folder / "graphset.json").write_text(""),
    "half a header": lambda folder: truncate(folder / "graphset.json"),
    "header is not text": lambda folder: (folder / "graphset.json").write_bytes(b"\xff\xfe\x00\x80"),
    "header is a list": lambda folder: (folder / "graphset.json").write_text("[1, 2]"),
    "header is a word": lambda folder: (folder / "graphset.json").write_text('"graphs"'),
    "header without format": lambda folder: edit(folder, lambda h: h.pop("format")),
    "another format": lambda folder: edit(folder, lambda h: h.update(format="sargnn.graphset/9")),
    "header without arrays": lambda folder: edit(folder, lambda h: h.pop("arrays")),
    "arrays are null": lambda folder: edit(folder, lambda h: h.update(arrays=None)),
    "an array is not listed": lambda folder: edit(folder, lambda h: h["arrays"].remove("edges")),
    "an unknown array": lambda folder: edit(folder, lambda h: h["arrays"].append("../set/edges")),
    "an unknown word": lambda folder: edit(folder, lambda h: h.update(colour="red")),
    "header without name": lambda folder: edit(folder, lambda h: h.pop("name")),
    "a missing array": lambda folder: (folder / "edges.npy").unlink(),
    "half an array": lambda folder: truncate(folder / "node_ptr.npy"),
    "an empty array file": lambda folder: (folder / "y.npy").write_bytes(b""),
    "an array file of text": lambda folder: (folder / "y.npy").write_text("0 1 1"),
    "too few classes": lambda folder: np.save(folder / "y.npy", np.array([0, 1])),
    "too many node rows": lambda folder: np.save(folder / "node_attributes.npy", np.zeros((7, 2), np.float32)),
    "too few edge rows": lambda folder: np.save(folder / "edge_labels.npy", np.zeros(5, np.int64)),
    "edges that do not fit": lambda folder: np.save(folder / "edges.npy", np.zeros((2, 5), np.int32)),
    "pointers of other graphs": lambda folder: np.save(folder / "edge_ptr.npy", np.array([0, 6])),
    "too few graph names": lambda folder: edit(folder, lambda h: h["graph_names"].pop()),
    "too many node names": lambda folder: np.save(folder / "node_names.npy", np.array(["a"] * 7)),
    "an array of objects": lambda folder: np.save(folder / "y.npy", np.array([{}, 1]), allow_pickle=True),
}


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    header = json.loads((folder / "graphset.json").read_text())
    change(header)
    (folder / "graphset.json").write_text(json.dumps(header))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_folder_is_one_clear_line(fault: str, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    full_set().save(folder)
    FAULTS[fault](folder)
    with pytest.raises(InputError) as caught:
        GraphSet.open(folder)
    message = str(caught.value)
    assert str(folder) in message
    assert "\n" not in message


def test_a_damaged_array_is_named(tmp_path: Path) -> None:
    full_set().save(tmp_path / "set")
    (tmp_path / "set" / "y.npy").write_bytes(b"")
    with pytest.raises(InputError, match=r"set/y\.npy: not a readable array \("):
        GraphSet.open(tmp_path / "set")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        GraphSet.open(tmp_path / "nowhere")
