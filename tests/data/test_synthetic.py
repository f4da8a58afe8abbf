"""TRIANGLES keeps every promise of its recipe; planted motifs are where their mask says."""

from __future__ import annotations

import random
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch

from sargnn.data.graphs import PARTS, GraphSet
from sargnn.data.synthetic import _uniform_edges, colors, motifs, triangles
from sargnn.errors import InputError

SIZES = {"train": 3000, "validation": 500, "test": 500, "test_large": 500}


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    """The full recipe at a tenth of its size."""
    return triangles(**SIZES)


def adjacency(graph: GraphSet) -> np.ndarray:
    matrix = np.zeros((graph.num_nodes, graph.num_nodes), np.int64)
    source, target = graph.edges
    matrix[source, target] = 1
    return matrix


# --- TRIANGLES -------------------------------------------------------------------------------------------------------


def test_label_and_true_saliency_are_the_numbers_of_triangles(graphs: GraphSet) -> None:
    for index in range(0, len(graphs), 9):
        graph = graphs[index]
        cube = np.linalg.matrix_power(adjacency(graph), 3)
        label = int(graphs.classes[graph.y[0]])
        np.testing.assert_array_equal(graph.true_saliency, np.diag(cube) / 2)
        assert label == np.trace(cube) / 6 == graph.true_saliency.sum() / 3


def test_labels_agree_with_networkx(graphs: GraphSet) -> None:
    for index in range(0, len(graphs), 97):
        graph = nx.from_numpy_array(adjacency(graphs[index]))
        assert sum(nx.triangles(graph).values()) // 3 == graphs.y[index] + 1


def test_graphs_are_simple_and_undirected(graphs: GraphSet) -> None:
    source, target = graphs.edges.astype(np.int64)
    assert (source != target).all()
    there = np.stack([graphs.edge_graph, target, source])
    back = np.stack([graphs.edge_graph, source, target])
    np.testing.assert_array_equal(there, there[:, np.lexsort(there[::-1])])  # sorted by graph, target, source
    np.testing.assert_array_equal(there, back[:, np.lexsort(back[::-1])])
    assert (np.diff(there, axis=1) != 0).any(axis=0).all()


def test_sizes_and_numbers_of_edges_stay_in_their_ranges(graphs: GraphSet) -> None:
    large = graphs.part == PARTS.index("test-large")
    assert set(graphs.sizes[~large]) == set(range(4, 26))
    assert graphs.sizes[large].min() == 26
    assert graphs.sizes[large].max() == 100
    budget = np.diff(graphs.edge_ptr) / 2
    assert (budget >= graphs.sizes).all()
    assert (budget <= 2 * graphs.sizes - 1).all()


def test_means_are_those_of_the_published_release(graphs: GraphSet) -> None:
    train, large = graphs.subset(graphs.part == 0), graphs.subset(graphs.part == 3)
    assert train.sizes.mean() == pytest.approx(15.58, abs=0.3)
    assert train.num_edges / 2 / len(train) == pytest.approx(24.56, abs=0.5)
    assert (train.true_saliency > 0).mean() == pytest.approx(0.527, abs=0.01)
    assert large.sizes.mean() == pytest.approx(63.08, abs=3)
    assert (large.true_saliency > 0).mean() == pytest.approx(0.20, abs=0.02)


def test_every_part_is_balanced_and_in_the_published_order(graphs: GraphSet) -> None:
    assert graphs.name == "TRIANGLES"
    assert graphs.classes == tuple(map(str, range(1, 11)))
    np.testing.assert_array_equal(graphs.part, np.repeat([0, 1, 2, 3], list(SIZES.values())))
    for part, size in enumerate(SIZES.values()):
        y = graphs.y[graphs.part == part]
        assert np.bincount(y).tolist() == [size // 10] * 10
        is_sorted = bool((np.diff(y) >= 0).all())
        assert is_sorted == (PARTS[part] != "test-large")


def test_no_two_graphs_are_identical(graphs: GraphSet) -> None:
    matrices = {(graph.num_nodes, graph.edges.tobytes()) for graph in graphs}
    assert len(matrices) == len(graphs)


def test_small_and_large_graphs_alone() -> None:
    small = triangles(train=40, validation=10, test=10, test_large=0)
    assert np.bincount(small.part).tolist() == [40, 10, 10]
    large = triangles(train=0, validation=0, test=0, test_large=20)
    assert np.bincount(large.part).tolist() == [0, 0, 0, 20]
    assert large.sizes.min() >= 26


def test_the_seed_decides_everything() -> None:
    def make(seed: int) -> GraphSet:
        return triangles(train=20, validation=10, test=10, test_large=10, seed=seed)

    assert make(3).fingerprint == make(3).fingerprint != make(4).fingerprint


def test_global_generators_are_left_alone() -> None:
    before = np.random.get_state()[1].tolist()
    triangles(train=10, validation=0, test=0, test_large=0)
    assert np.random.get_state()[1].tolist() == before


def test_progress_counts_up_to_the_total() -> None:
    seen: list[tuple[int, int]] = []
    triangles(train=20, validation=10, test=10, test_large=10, progress=lambda done, total: seen.append((done, total)))
    done = [count for count, _ in seen]
    assert done == sorted(done)
    assert seen[-1] == (50, 50)
    assert {total for _, total in seen} == {50}


def test_every_set_of_edges_is_equally_likely() -> None:
    # 3 of the 6 pairs of 4 nodes: 20 sets. Chi-squared with 19 degrees of freedom exceeds 43.8 once in a thousand.
    draws = 20_000
    chosen = _uniform_edges(np.random.default_rng(0), 4, np.full(draws, 3))
    names, counts = np.unique(chosen @ (1 << np.arange(6)), return_counts=True)
    assert sorted(names) == sorted(sum(1 << i for i in three) for three in combinations(range(6), 3))
    assert ((counts - draws / 20) ** 2 / (draws / 20)).sum() < 43.8


def test_edges_number_what_was_asked_or_all_there_are() -> None:
    chosen = _uniform_edges(np.random.default_rng(0), 4, np.array([4, 5, 6, 7]))
    assert chosen.sum(axis=1).tolist() == [4, 5, 6, 6]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"train": 45}, "train: got 45, expected a multiple of 10"),
        ({"test_large": -10}, "test_large: got -10, expected a multiple of 10"),
        (dict.fromkeys(SIZES, 0), "expected at least one graph"),
    ],
)
def test_sizes_that_cannot_be_balanced_are_refused(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        triangles(**sizes)


# --- COLORS-3 --------------------------------------------------------------------------------------------------------


def test_colors_count_green_nodes_and_green_nodes_are_the_truth() -> None:
    graphs = colors(train=500, validation=250, test=250, test_large=385)
    assert (graphs.name, graphs.classes) == ("COLORS-3", tuple(map(str, range(11))))
    assert graphs.node_label_names == ("red", "green", "blue")
    np.testing.assert_array_equal(graphs.true_saliency, graphs.node_labels == 1)
    np.testing.assert_array_equal(np.bincount(graphs.node_graph, graphs.true_saliency), graphs.y)
    others = graphs.node_labels[graphs.node_labels != 1]
    assert (others == 0).mean() == pytest.approx(0.5, abs=0.02)
    assert np.bincount(graphs.part).tolist() == [500, 250, 250, 385]
    large = graphs.part == PARTS.index("test-large")
    assert set(graphs.sizes[~large]) == set(range(4, 26))
    assert (graphs.sizes[large].min() >= 26, graphs.sizes[large].max() <= 200) == (True, True)
    edges = np.diff(graphs.edge_ptr) / 2
    assert (edges >= graphs.sizes).all()
    assert (edges < 2 * graphs.sizes).all()


def test_every_size_of_colors_is_equally_frequent_and_has_every_class_equally_often() -> None:
    graphs = colors(train=22 * 22, validation=0, test=0, test_large=0)  # 2 rounds of 11 classes of each of 22 sizes
    assert np.bincount(graphs.sizes)[4:].tolist() == [22] * 22
    for nodes in (4, 12, 25):
        counts = np.bincount(graphs.y[graphs.sizes == nodes])
        assert len(counts) == min(nodes, 10) + 1
        assert counts.max() - counts.min() <= 2
    matrices = {(graph.node_labels.tobytes(), graph.edges.tobytes()) for graph in graphs}
    assert len(matrices) == len(graphs)


def test_colors_are_decided_by_their_seed_and_refuse_what_cannot_be() -> None:
    def make(seed: int) -> GraphSet:
        return colors(train=20, validation=0, test=5, test_large=5, seed=seed)

    assert make(3).fingerprint == make(3).fingerprint != make(4).fingerprint
    with pytest.raises(InputError, match="train: got -1, expected 0 or more"):
        colors(train=-1)
    with pytest.raises(InputError, match="expected at least one graph"):
        colors(0, 0, 0, 0)
    with pytest.raises(InputError, match="got 50000 graphs of 4 to 25 nodes, expected 21780 or fewer"):
        colors(train=50_000, validation=0, test=0)


# --- planted motifs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("motif", "shape"),
    [("house", nx.house_graph()), ("grid", nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 3)))],
)
def test_the_mask_marks_the_planted_motif_and_the_rest_is_a_forest(motif: str, shape: nx.Graph) -> None:
    graphs = motifs(graphs=9, motif=motif)
    assert graphs.classes == ("cycle", motif)
    assert graphs.y.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    shapes = [nx.cycle_graph(len(shape)), shape]
    for graph in graphs:
        whole = nx.from_numpy_array(adjacency(graph))
        marked = [node for node in whole if graph.true_saliency[node] == 1]
        rest = [node for node in whole if graph.true_saliency[node] == 0]
        assert nx.is_isomorphic(whole.subgraph(marked), shapes[graph.y[0]])
        assert len(rest) == 20
        assert nx.is_forest(whole.subgraph(rest))
        assert nx.cut_size(whole, marked, rest) == 1


def test_motifs_are_decided_by_their_seed() -> None:
    assert motifs(6, seed=1).fingerprint == motifs(6, seed=1).fingerprint != motifs(6, seed=2).fingerprint


def test_motifs_leave_the_global_generators_as_they_were() -> None:
    def states() -> tuple[list[int], list[int]]:
        return np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()

    before = states()
    motifs(4)
    assert states() == before


def test_motifs_do_not_depend_on_the_global_generators() -> None:
    first = motifs(4).fingerprint
    random.random(), np.random.rand(), torch.rand(1)
    assert motifs(4).fingerprint == first


def test_unknown_motifs_and_too_few_graphs_are_refused() -> None:
    with pytest.raises(InputError, match="motif: got 'star', expected one of house, grid"):
        motifs(motif="star")
    with pytest.raises(InputError, match="graphs: got 1, expected 2 or more"):
        motifs(graphs=1)
