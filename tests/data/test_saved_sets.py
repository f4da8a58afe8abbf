"""A saved set that does not hold together is refused when it is opened, at a cost that a million graphs do not feel."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sargnn.data.graphs import GraphSet, pack, pointers
from sargnn.data.saved_sets import check_content
from sargnn.errors import InputError
from tiny import binary_shapes, labelled, shapes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    labelled(shapes()).save(tmp_path / "set")
    return tmp_path / "set"


def change(name: str, edit: Callable[[np.ndarray], Any]) -> Callable[[Path], None]:
    """Another array under the same name: what ``edit`` gives, or the array that it changed."""

    def apply(folder: Path) -> None:
        path = folder / f"{name}.npy"
        values = np.load(path)
        found = edit(values)
        np.save(path, values if found is None else found)

    return apply


def put(place: Any, value: Any) -> Callable[[np.ndarray], None]:
    return lambda values: values.__setitem__(place, value)


def word(name: str, value: Any) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        path = folder / "graphset.json"
        header = json.loads(path.read_text())
        path.write_text(json.dumps(header | {name: value}))

    return apply


def pipe(name: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return apply


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "an end far outside": (change("edges", put((0, 7), 10**9)), "edges.npy: got an edge [1000000000, "),
    "an end below 0": (change("edges", put((1, 0), -5)), "edges.npy: got an edge ["),
    "an end in the next graph": (change("edges", put((0, -1), 8)), "in graph 23"),
    "edges out of order": (
        change("edges", lambda e: e[:, [1, 0, *range(2, e.shape[1])]]), "edges by target, then source, each once"
    ),
    "an edge twice": (change("edges", put((slice(None), 1), [1, 0])), "out of order"),
    "node pointers that fall": (change("node_ptr", put(3, 0)), "node_ptr.npy: got node_ptr that goes back"),
    "edge pointers that fall": (change("edge_ptr", put(3, 10**6)), "edge_ptr.npy: got edge_ptr that goes back"),
    "pointers from 1": (change("node_ptr", put(0, 1)), "node_ptr.npy: got node_ptr that goes back"),
    "more nodes than rows": (change("node_ptr", put(-1, 10**9)), "rows of"),
    "no pointers": (change("node_ptr", lambda p: p[:0]), "got no pointers"),
    "a class of no name": (change("y", put(4, 100)), "y.npy: got 100 in y, expected 0..1, in graph 4"),
    "a class below 0": (change("y", put(4, -1)), "y.npy: got -1 in y"),
    "a label of no name": (change("edge_labels", put(0, 10**6)), "edge_labels.npy: got 1000000 in edge_labels"),
    "an infinite attribute": (change("node_attributes", put((5, 0), -np.inf)), "finite numbers, in graph 0"),
    "an attribute without end": (change("graph_attributes", put((5, 0), np.inf)), "finite numbers, in graph 5"),
    "numbers of another machine": (change("edges", lambda e: e.astype(">i4")), "got >i4 of shape"),
    "numbers without a sign": (change("y", lambda y: y.astype(np.uint64)), "got uint64 of shape"),
    "texts for numbers": (change("y", lambda y: y.astype("U3")), "got <U3 of shape"),
    "a wide column of classes": (change("y", lambda y: y[:, None]), "got int64 of shape (24, 1) in y"),
    "an array that a pickle made": (
        lambda folder: np.save(folder / "y.npy", np.array([{}], object), allow_pickle=True), "not a readable array"
    ),
    "an array in a zip": (
        lambda folder: (folder / "y.npy").write_bytes(b"PK\3\4" + bytes(60)), "y.npy: not a readable array"
    ),
    "a pipe for an array": (pipe("y.npy"), "y.npy: got a pipe, expected a regular file"),
    "a pipe for the words": (pipe("graphset.json"), "graphset.json: got a pipe, expected a regular file"),
    "an array elsewhere": (word("arrays", ["../../y"]), "got the array '../../y', expected one of"),
    "a class name twice": (word("classes", ["ring", "ring"]), "got a name twice in classes"),
    "no list of arrays": (word("arrays", 7), "not a readable graph set"),
    "a word of no one": (word("evil", "x"), "not a readable graph set"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_set_is_refused_in_one_line(damage: str, folder: Path) -> None:
    spoil, message = DAMAGE[damage]
    spoil(folder)
    with pytest.raises(InputError) as error:
        GraphSet.open(folder)
    (line,) = str(error.value).splitlines()
    assert str(folder) in line
    assert message in line


@pytest.mark.parametrize("weight", [-1.0, 0.0, np.nan])
def test_a_weight_is_a_number_above_0(weight: float) -> None:
    with pytest.raises(InputError, match=rf"got \[{weight}\] in weights, expected numbers above 0, in graph 3"):
        check_content(replace(shapes(), weights=np.array([1, 1, 1, weight, *[1] * 20], np.float32)))


def test_what_is_sound_is_opened_as_it_was_saved(folder: Path, tmp_path: Path) -> None:
    assert GraphSet.open(folder).fingerprint == labelled(shapes()).fingerprint
    gaps = binary_shapes()
    gaps.save(tmp_path / "gaps")
    assert GraphSet.open(tmp_path / "gaps").fingerprint == gaps.fingerprint
    for graphs in (pack([], name="none"), pack([(1, [])]), pack([(2, []), (1, []), (3, [(0, 1), (2, 1)])])):
        graphs.save(tmp_path / f"{len(graphs)}")
        assert GraphSet.open(tmp_path / f"{len(graphs)}").fingerprint == graphs.fingerprint


def test_the_parts_of_a_large_set_are_all_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts of seven rows, a fault at any place is found, and the seams between parts are no faults."""
    monkeypatch.setattr("sargnn.data.saved_sets.CELLS", 7)
    graphs = labelled(shapes())
    check_content(graphs)
    for place in range(graphs.num_edges):
        edges = graphs.edges.copy()
        edges[0, place] = 99
        with pytest.raises(InputError, match=rf"an edge \[99, .* in graph {graphs.edge_graph[place]}$"):
            check_content(replace(graphs, edges=edges))


def test_a_million_graphs_cost_little_to_check() -> None:
    """Less than the fingerprint, which is one pass over the same bytes."""
    count, one = 200_000, np.array([[1, 0, 2, 1, 3, 2], [0, 1, 1, 2, 2, 3]], np.int32)
    graphs = GraphSet(
        "many", pointers(np.full(count, 4)), pointers(np.full(count, 6)), np.tile(one, count),
        y=np.zeros(count, np.int64), classes=("a", "b"), node_attributes=np.ones((4 * count, 4), np.float32),
    )  # fmt: skip

    def seconds(work: Callable[[], object]) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    fingerprint = min(seconds(lambda: replace(graphs).fingerprint) for _ in range(3))
    assert min(seconds(lambda: check_content(graphs)) for _ in range(3)) < 5 * fingerprint
