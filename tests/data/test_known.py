"""The published sets: their counts, and what their files do not say."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from graph_inputs import write_tu
from sargnn.data.graphs import PARTS, GraphSet
from sargnn.data.sources import KNOWN, load, require_two_classes
from sargnn.errors import InputError

README_COUNTS = {
    "MUTAG": (188, 3371, 7442, 2),
    "ENZYMES": (600, 19580, 74564, 6),
    "PROTEINS": (1113, 43471, 162088, 2),
    "IMDB-BINARY": (1000, 19773, 193062, 2),
    "IMDB-MULTI": (1500, 19502, 197806, 3),
    "Letter-high": (2250, 10507, 20250, 15),
    "TRIANGLES": (45000, 938438, 2947024, 10),
}


@pytest.mark.parametrize("name", README_COUNTS)
def test_published_counts(known: Callable[[str], GraphSet], name: str) -> None:
    graphs = known(name)
    assert graphs.name == name
    assert (len(graphs), graphs.num_nodes, graphs.num_edges, len(graphs.classes)) == README_COUNTS[name]
    assert (graphs.sizes >= 1).all()
    assert len(np.unique(graphs.y)) == len(graphs.classes)
    require_two_classes(graphs)


def test_every_known_set_is_in_the_table_above() -> None:
    assert KNOWN.keys() == README_COUNTS.keys()


def test_mutag(known: Callable[[str], GraphSet]) -> None:
    graphs = known("MUTAG")
    assert graphs.classes == ("-1", "1")
    assert np.bincount(graphs.y).tolist() == [63, 125]
    assert len(graphs.node_label_names) == 7
    assert len(graphs.edge_label_names) == 4
    assert graphs.node_attributes is None
    assert graphs.part is None
    assert graphs.notes == ()


def test_enzymes_has_attributes_and_labels(known: Callable[[str], GraphSet]) -> None:
    graphs = known("ENZYMES")
    assert graphs.node_attributes.shape == (19580, 18)
    assert graphs.node_attributes[0, 1] == np.float32(15.887014)
    assert graphs.node_label_names == ("1", "2", "3")
    assert (graphs.degrees == 0).any()


def test_proteins(known: Callable[[str], GraphSet]) -> None:
    graphs = known("PROTEINS")
    assert graphs.sizes.max() == 620
    assert graphs.node_attributes.shape == (43471, 1)
    assert len(graphs.node_label_names) == 3


@pytest.mark.parametrize("name", ["IMDB-BINARY", "IMDB-MULTI"])
def test_imdb_lists_every_edge_twice(known: Callable[[str], GraphSet], name: str) -> None:
    graphs = known(name)
    assert graphs.notes == (f"merged {graphs.num_edges} repeated edges, each as it came first",)
    assert graphs.node_labels is None
    assert graphs.node_attributes is None
    complete = np.diff(graphs.edge_ptr) == graphs.sizes * (graphs.sizes - 1)
    assert name == "IMDB-BINARY" or 0.4 < complete.mean() < 0.6


def test_letter_high_keeps_tiny_and_edgeless_graphs(known: Callable[[str], GraphSet]) -> None:
    graphs = known("Letter-high")
    assert graphs.node_attributes.shape == (10507, 2)
    assert graphs.sizes.min() == 1
    edgeless = np.flatnonzero(np.diff(graphs.edge_ptr) == 0)
    assert len(edgeless) > 0
    assert (graphs.sizes[edgeless] > 1).any()


def test_the_truth_of_triangles_is_never_an_input(known: Callable[[str], GraphSet]) -> None:
    graphs = known("TRIANGLES")
    assert graphs.node_attributes is None
    assert graphs.node_labels is None
    assert graphs.true_saliency.shape == (938438,)
    assert graphs.true_saliency.dtype == np.float32
    totals = np.add.reduceat(graphs.true_saliency, graphs.node_ptr[:-1])
    assert graphs.classes == tuple(str(count) for count in range(1, 11))
    assert (totals / 3 == graphs.y + 1).all()


def test_the_truth_of_triangles_counts_triangles(known: Callable[[str], GraphSet]) -> None:
    graphs = known("TRIANGLES")
    for g in np.linspace(0, len(graphs) - 1, 60).astype(int):
        one = graphs[int(g)]
        graph = nx.Graph(one.edges.T.tolist())
        graph.add_nodes_from(range(one.num_nodes))
        triangles = nx.triangles(graph)
        assert [triangles[v] for v in range(one.num_nodes)] == one.true_saliency.tolist()


def test_the_official_division_of_triangles(known: Callable[[str], GraphSet]) -> None:
    graphs = known("TRIANGLES")
    starts = np.flatnonzero(np.diff(graphs.part, prepend=-1))
    assert starts.tolist() == [0, 30000, 35000, 40000]
    assert [PARTS[graphs.part[g]] for g in (29999, 30000, 39999, 44999)] == [
        "train",
        "validation",
        "test",
        "test-large",
    ]
    assert graphs.sizes[graphs.part < 3].max() == 25
    assert graphs.sizes[graphs.part == 3].min() == 26


def test_the_truth_of_triangles_is_hidden_when_read_from_a_path(tmp_path: Path) -> None:
    folder = write_tu(tmp_path / "some where", "TRIANGLES", node_attributes="3\n0\n1\n")
    with zipfile.ZipFile(tmp_path / "copy.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    for source in (folder, str(folder), tmp_path / "copy.zip"):
        graphs = load(source)
        assert graphs.node_attributes is None
        assert graphs.true_saliency.tolist() == [3, 0, 1]
        assert graphs.part is None  # the division is that of all 45000 graphs


def test_triangles_with_more_than_the_truth_is_refused(tmp_path: Path) -> None:
    folder = write_tu(tmp_path, "TRIANGLES", node_attributes="3, 1\n0, 1\n1, 1\n")
    with pytest.raises(InputError, match=r"^TRIANGLES: got 2 node attributes, expected only the true saliency$"):
        load(folder)
