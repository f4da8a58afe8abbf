"""Graphs made by a recipe, so that the nodes that matter are known: TRIANGLES, COLORS, and planted motifs.

TRIANGLES (Knyazev, Taylor and Amer, 2019) asks for the number of triangles in a random graph, 1 to 10; a node
matters by the number of triangles through it. COLORS, of the same authors, asks for the number of green nodes, 0 to
10; they matter. Planted motifs ask which of two shapes hangs on a random tree; :mod:`sargnn.data.known_truth` has more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sargnn.data.graphs import PARTS, GraphSet, equal_size, pack, pointers
from sargnn.errors import InputError

__all__ = ["colors", "motifs", "triangles"]

CLASSES = tuple(str(count) for count in range(1, 11))
"""The numbers of triangles asked for."""

SMALL, LARGE = (4, 25), (26, 100)
"""Fewest and most nodes: of the graphs for training, validation and test; of those for the large test."""

ROUND = 20_000
"""Candidates drawn at once, which bounds memory whatever the size of the set."""

COLOURS, GREEN = ("red", "green", "blue"), 1
MOST_GREEN = 10
LARGE_COLORS = (26, 200)
"""Fewest and most nodes of the large test of COLORS."""
OF_ONE_SIZE = 1000
"""Most graphs of COLORS with one number of nodes: with four nodes there are not many more that differ."""

TREE_NODES = 20
"""Nodes of the tree that carries a motif, as in BA-2Motifs."""

Drawn = tuple[int, bytes]
"""A graph: its number of nodes, and the upper triangle of its matrix row by row, eight pairs per byte."""


def triangles(
    train: int = 30_000,
    validation: int = 5_000,
    test: int = 5_000,
    test_large: int = 5_000,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> GraphSet:
    """TRIANGLES by its published recipe, at any size; the defaults are the published 45,000 graphs.

    A candidate has N nodes, uniform in 4..25 (26..100 for ``test_large``), and floor((1 + u) N) edges, u uniform in
    [0, 1), or all edges if there are fewer; all graphs with that number of edges are equally likely.
    Candidates with 1..10 triangles are kept in the order drawn until each class is full, of
    identical ones (equal matrices, not just isomorphic) the first only. Each class is then shuffled and split.
    The order is train, validation and test, each sorted by class, then the large test in random order; ``part``
    says which is which. The true saliency of a node is the number of triangles through it.
    ``progress(done, total)`` is told the number of graphs found.

    >>> graphs = triangles(train=40, validation=10, test=10, test_large=0)
    >>> len(graphs), graphs.classes[0], graphs.classes[-1]
    (60, '1', '10')
    >>> float(graphs[0].true_saliency.sum()) / 3
    1.0
    """
    sizes = {"train": train, "validation": validation, "test": test, "test_large": test_large}
    for field, size in sizes.items():
        if size < 0 or size % len(CLASSES):
            raise InputError(f"{field}: got {size}, expected a multiple of {len(CLASSES)}, the number of classes")
    total = sum(sizes.values())
    if total == 0:
        raise InputError("train: got 0, and 0 for all other parts; expected at least one graph")

    def found(count: int) -> None:
        if progress is not None:
            progress(count, total)

    rng = np.random.default_rng(seed)
    per_class = [size // len(CLASSES) for size in sizes.values()]
    small = _balanced(rng, SMALL, sum(per_class[:3]), found)
    large = _balanced(rng, LARGE, per_class[3], lambda count: found(total - test_large + count))
    labels, graphs = zip(*_split(rng, small, per_class[:3]), *_mixed(rng, large), strict=True)
    part = np.repeat(np.arange(len(PARTS), dtype=np.int8), list(sizes.values()))
    return _assembled(graphs, y=np.array(labels, np.int64), part=part)


def _balanced(
    rng: np.random.Generator, nodes: tuple[int, int], size: int, found: Callable[[int], None]
) -> list[list[Drawn]]:
    """For each class, its first ``size`` different candidates, in the order drawn."""
    kept: list[dict[Drawn, None]] = [{} for _ in CLASSES]  # ordered sets
    # Drawing until all classes are full keeps the same graphs as one walk through a large enough pool.
    while any(len(graphs) < size for graphs in kept):
        counts, candidates = _candidates(rng, nodes, min(ROUND, 10 * size * len(CLASSES)))
        for index in np.flatnonzero((counts >= 1) & (counts <= len(CLASSES))):
            graphs = kept[counts[index] - 1]
            if len(graphs) < size:
                graphs[candidates[index]] = None
        found(sum(map(len, kept)))
    return [list(graphs) for graphs in kept]


def _candidates(rng: np.random.Generator, nodes: tuple[int, int], count: int) -> tuple[np.ndarray, list[Drawn]]:
    """Random graphs with their numbers of triangles, int64 [count]."""
    sizes = rng.integers(*nodes, size=count, endpoint=True)
    budgets = ((1 + rng.random(count)) * sizes).astype(np.int64)
    counts = np.empty(count, np.int64)
    graphs: list[Drawn] = [(0, b"")] * count
    for batch in equal_size(sizes):
        n = int(sizes[batch[0]])
        chosen = _uniform_edges(rng, n, budgets[batch])
        counts[batch] = _triangles_through(_adjacency(chosen, n)).sum(axis=1) / 3
        for index, bits in zip(batch, np.packbits(chosen, axis=1), strict=True):
            graphs[index] = (n, bits.tobytes())
    return counts, graphs


def _uniform_edges(rng: np.random.Generator, n: int, budgets: np.ndarray) -> np.ndarray:
    """bool [G, n(n-1)/2]: of all pairs of n nodes, ``budgets[g]`` at random, or all if there are fewer.

    Every pair draws a key and the smallest keys win, so that all subsets of that size are equally likely.
    """
    keys = rng.random((len(budgets), n * (n - 1) // 2))
    budgets = np.minimum(budgets, keys.shape[1])
    most = int(budgets.max())
    smallest = np.sort(np.partition(keys, most - 1, axis=1)[:, :most], axis=1)
    return keys <= np.take_along_axis(smallest, budgets[:, None] - 1, axis=1)


def _adjacency(upper: np.ndarray, n: int) -> np.ndarray:
    """float32 [G, n, n] from the upper triangles [G, n(n-1)/2]."""
    row, column = np.triu_indices(n, 1)
    adjacency = np.zeros((len(upper), n, n), np.float32)
    adjacency[:, row, column] = adjacency[:, column, row] = upper
    return adjacency


def _triangles_through(adjacency: np.ndarray) -> np.ndarray:
    """float32 [G, n]: (A^3)_vv / 2, the triangles through each node; whole numbers, so exact everywhere."""
    return np.asarray((adjacency @ adjacency * adjacency).sum(axis=2) / 2)


def _split(rng: np.random.Generator, classes: list[list[Drawn]], per_class: list[int]) -> Iterator[tuple[int, Drawn]]:
    """Each class shuffled and cut into parts of ``per_class`` graphs; part after part, each sorted by class."""
    for graphs in classes:
        rng.shuffle(graphs)
    ends = np.cumsum(per_class).tolist()
    for start, end in zip([0, *ends], ends, strict=False):
        for label, graphs in enumerate(classes):
            yield from ((label, graph) for graph in graphs[start:end])


def _mixed(rng: np.random.Generator, classes: list[list[Drawn]]) -> list[tuple[int, Drawn]]:
    ordered = [(label, graph) for label, graphs in enumerate(classes) for graph in graphs]
    return [ordered[index] for index in rng.permutation(len(ordered))]


def _assembled(graphs: tuple[Drawn, ...], **fields: Any) -> GraphSet:
    sizes = np.array([n for n, _ in graphs], np.int64)
    node_ptr = pointers(sizes)
    saliency = np.empty(node_ptr[-1], np.float32)
    columns = []
    for batch in equal_size(sizes):
        n = int(sizes[batch[0]])
        bits = np.frombuffer(b"".join(graphs[index][1] for index in batch), np.uint8).reshape(len(batch), -1)
        adjacency = _adjacency(np.unpackbits(bits, axis=1, count=n * (n - 1) // 2), n)
        saliency[node_ptr[batch, None] + np.arange(n)] = _triangles_through(adjacency)
        graph, target, source = np.nonzero(adjacency)
        columns.append(np.stack([batch[graph], source, target]).astype(np.int32))
    # Within a graph the edges come sorted by target, then source; a stable sort by graph keeps that.
    graph, source, target = np.concatenate(columns, axis=1)
    order = np.argsort(graph, kind="stable")
    return GraphSet(
        name="TRIANGLES",
        node_ptr=node_ptr,
        edge_ptr=pointers(np.bincount(graph, minlength=len(graphs))),
        edges=np.stack([source, target])[:, order],
        true_saliency=saliency,
        classes=CLASSES,
        **fields,
    )


def colors(
    train: int = 500, validation: int = 2500, test: int = 2500, test_large: int = 2500, seed: int = 0
) -> GraphSet:
    """COLORS-3 by its published recipe (Knyazev, Taylor and Amer, 2019); the defaults are the published sizes.

    A graph has 4..25 nodes (26..200 for ``test_large``), every number equally often, and floor((1 + u) N) random edges,
    as in :func:`triangles`. Its class is the number of green nodes: 0..10, at most N, in shuffled rounds. The other
    nodes are red or blue with equal chances. Colours do not depend on edges. Identical graphs are drawn again. Small
    graphs are shuffled, then split. Colours are node labels, green nodes the true saliency. The third published test,
    with colours that training does not have, is not made.

    >>> graphs = colors(train=20, validation=10, test=10, test_large=10)
    >>> graphs.node_label_names, len(graphs.classes), graphs[0].true_saliency.sum() == graphs.y[0]
    (('red', 'green', 'blue'), 11, np.True_)
    """
    sizes = {"train": train, "validation": validation, "test": test, "test_large": test_large}
    for field, size in sizes.items():
        if size < 0:
            raise InputError(f"{field}: got {size}, expected 0 or more")
    if not sum(sizes.values()):
        raise InputError("train: got 0, and 0 for all other parts; expected at least one graph")
    rng = np.random.default_rng(seed)
    graphs = [*_coloured(rng, SMALL, train + validation + test), *_coloured(rng, LARGE_COLORS, test_large)]
    labels = np.concatenate([colours for colours, _ in graphs])
    matrices = [_adjacency(chosen[None], len(colours))[0] for colours, chosen in graphs]
    return pack(
        [(len(matrix), np.argwhere(matrix)) for matrix in matrices],
        name="COLORS-3",
        y=[int((colours == GREEN).sum()) for colours, _ in graphs],
        classes=tuple(map(str, range(MOST_GREEN + 1))),
        node_labels=labels,
        node_label_names=COLOURS,
        true_saliency=labels == GREEN,
        part=np.repeat(np.arange(len(PARTS)), list(sizes.values())),
    )


def _coloured(rng: np.random.Generator, nodes: tuple[int, int], size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Different graphs in random order: the colour of each node [n], and which of the n(n-1)/2 pairs have an edge."""
    sizes, classes = range(nodes[0], nodes[1] + 1), MOST_GREEN + 1
    each = math.ceil(size / len(sizes) / classes) * classes
    if each > OF_ONE_SIZE:
        most = OF_ONE_SIZE // classes * classes * len(sizes)
        raise InputError(f"got {size} graphs of {nodes[0]} to {nodes[1]} nodes, expected {most} or fewer")
    graphs = []
    for n in sizes:
        found: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        while len(found) < each:
            green = rng.permuted(np.tile(np.arange(min(n, MOST_GREEN) + 1), (each, 1)), axis=1).ravel()[:each]
            colours = 2 * rng.integers(2, size=(each, n))  # red or blue
            colours[np.arange(n) < green[:, None]] = GREEN
            colours = rng.permuted(colours, axis=1)
            chosen = _uniform_edges(rng, n, ((1 + rng.random(each)) * n).astype(np.int64))
            for one in zip(colours, chosen, strict=True):
                found.setdefault(one[0].tobytes() + np.packbits(one[1]).tobytes(), one)
        graphs += list(found.values())[:each]
    return [graphs[index] for index in rng.permutation(len(graphs))[:size]]


def motifs(graphs: int = 1000, motif: str = "house", seed: int = 0) -> GraphSet:
    """Graphs of two classes that differ by the small shape planted in them, after BA-2Motifs.

    Each is a Barabási-Albert tree of 20 nodes with one motif tied to it by one edge: a cycle in class 0, the ``motif``
    ("house" of 5 nodes, "grid" of 9) in class 1, both of the same size. Classes alternate. Made with PyTorch
    Geometric's ``ExplainerDataset``, which may leave a few nodes apart from the tree; its node mask is the true
    saliency.

    >>> graphs = motifs(graphs=4)
    >>> graphs.classes, graphs.y.tolist()
    (('cycle', 'house'), [0, 1, 0, 1])
    >>> graphs[1].true_saliency.sum().item()
    5.0
    """
    from torch_geometric.datasets import ExplainerDataset
    from torch_geometric.datasets.graph_generator import BAGraph
    from torch_geometric.datasets.motif_generator import CycleMotif, GridMotif, HouseMotif

    known = {"house": (HouseMotif, 5), "grid": (GridMotif, 9)}
    if motif not in known:
        raise InputError(f"motif: got {motif!r}, expected one of {', '.join(known)}")
    if graphs < 2:
        raise InputError(f"graphs: got {graphs}, expected 2 or more, one for each class")
    shape, nodes = known[motif]
    with _seeded_globally(seed):
        drawn = [
            ExplainerDataset(BAGraph(TREE_NODES, 1), planted, num_motifs=1, num_graphs=(graphs + 1) // 2)
            for planted in (CycleMotif(nodes), shape())
        ]
    y = np.arange(graphs) % 2
    data = [drawn[y[index]][index // 2] for index in range(graphs)]
    return pack(
        [(one.num_nodes, list(zip(*one.edge_index.tolist(), strict=True))) for one in data],
        name=f"motifs-{motif}",
        y=y,
        classes=("cycle", motif),
        true_saliency=np.concatenate([one.node_mask.numpy() for one in data]),
    )


@contextmanager
def _seeded_globally(seed: int) -> Iterator[None]:
    """Seed the global generators that PyTorch Geometric draws graphs from, and put them back as they were.

    These are NumPy's (for preferential attachment) and PyTorch's on the CPU (for all else), but not Python's.
    """
    import torch

    numpy_seed, torch_seed = np.random.default_rng(seed).integers(2**32, size=2).tolist()
    numpy_state, torch_state = np.random.get_state(), torch.get_rng_state()
    try:
        np.random.seed(numpy_seed)
        torch.default_generator.manual_seed(torch_seed)  # unlike torch.manual_seed, leaves other devices alone
        yield
    finally:
        np.random.set_state(numpy_state)
        torch.set_rng_state(torch_state)
