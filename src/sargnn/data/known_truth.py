"""Benchmarks of explanations: sets in which the nodes that decide the class are known, each with its split.

BA-2Motifs asks which of two shapes hangs on a random tree. Spurious-Motif also lets the kind of base agree with the
shape: most of the time in training, never more than by chance in the test. Mutagenicity is real.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np

from sargnn.data.chemistry import mutagenic_groups
from sargnn.data.graphs import PARTS, GraphSet, pack
from sargnn.data.sources import load
from sargnn.data.splits import holdout
from sargnn.errors import InputError

__all__ = ["ba_2motifs", "mutagenicity", "spurious_motif"]

SHAPES = {
    "cycle": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)],
    "house": [(1, 2), (2, 3), (3, 4), (4, 1), (0, 1), (0, 4)],
    "crane": [(1, 2), (2, 3), (3, 4), (4, 1), (0, 1), (0, 3)],
}
"""Shapes of five nodes: a cycle; a square with a roof; a square with a node tied to two opposite corners."""
SHAPE_NODES = 5

TREE_NODES = 20
"""Nodes of the random tree of BA-2Motifs."""

BASES = ("tree", "ladder", "wheel")
"""Kinds of base of Spurious-Motif; in training, number i goes with shape number i."""
SMALL = {"tree": (0, 2), "ladder": (8, 11), "wheel": (15, 19)}
LARGE = {"tree": (3, 5), "ladder": (30, 49), "wheel": (60, 79)}
"""Smallest and largest height of a balanced tree, rungs of a ladder, nodes of a wheel."""
EXTRA = 0.05
"""Random edges added, as a fraction of those there are."""


def ba_2motifs(graphs: int = 1000, seed: int = 0) -> GraphSet:
    """BA-2Motifs by its recipe (Luo and others, 2020, *Parameterized Explainer for GNNs*): 1,000 graphs of 25 nodes.

    Each is a Barabási-Albert tree of 20 nodes, always connected, with a cycle of 5 nodes (class 0) or a house (class 1)
    tied to it by one edge between nodes drawn at random. Classes alternate. The published nodes all have the same ten
    attributes of 0.1, which say nothing; here they have none. Split 80:10:10 at random, stratified. The five nodes of
    the shape are the true saliency.

    >>> graphs = ba_2motifs(20)
    >>> graphs.classes, graphs.sizes[0].item(), graphs[1].true_saliency.sum().item()
    (('cycle', 'house'), 25, 5.0)
    """
    if graphs < 20:
        raise InputError(f"graphs: got {graphs}, expected 20 or more, so that every part has both classes")
    rng = np.random.default_rng(seed)
    y, shapes = np.arange(graphs) % 2, ("cycle", "house")
    made = []
    for label in y.tolist():
        tree = nx.barabasi_albert_graph(TREE_NODES, 1, seed=int(rng.integers(2**32)))
        made.append(_planted(rng, tree, shapes[label], tied=int(rng.integers(SHAPE_NODES))))
    return _with_random_split(_packed(made, name="BA-2Motifs", y=y, classes=shapes), seed)


def spurious_motif(
    bias: float = 0.9, train: int = 9000, validation: int = 3000, test: int = 6000, seed: int = 0
) -> GraphSet:
    """Spurious-Motif by its recipe (Wu and others, 2022, *Discovering Invariant Rationales for GNNs*, DIR).

    The class is the shape: cycle, house or crane. It is tied to one node of a base: a balanced tree (of two or three
    branches), a ladder or a wheel. In training the base is the one that goes with the shape with probability ``bias``,
    and each of the other two with (1 - ``bias``) / 2. In validation and test all three are equally likely, and the
    bases of the test are larger. The recipe then adds 5 % random edges, none inside the shape. Parts are sorted by
    class. The five nodes of the shape are the true saliency; nodes have no attributes.

    The published code has two states. As in the copy that GSAT (Miao and others, 2022) and its successors ran, there
    are extra edges and the crane is a square with a node tied to two opposite corners. As in the later state, trees of
    training and validation have heights 0 to 2 in every class; in the copy the height gives the class away.

    >>> graphs = spurious_motif(0.9, train=30, validation=9, test=9)
    >>> graphs.classes, len(graphs), graphs[0].true_saliency.sum().item()
    (('cycle', 'house', 'crane'), 48, 5.0)
    """
    if not 0 <= bias <= 1:
        raise InputError(f"bias: got {bias}, expected a probability from 0 to 1")
    sizes = {"train": train, "validation": validation, "test": test}
    for field, size in sizes.items():
        if size < 0 or size % len(SHAPES):
            raise InputError(f"{field}: got {size}, expected a multiple of {len(SHAPES)}, the number of classes")
    if not sum(sizes.values()):
        raise InputError("train: got 0, and 0 for all other parts; expected at least one graph")
    rng = np.random.default_rng(seed)
    made, y = [], []
    for part, size in sizes.items():
        ranges, own = (LARGE if part == "test" else SMALL), (bias if part == "train" else 1 / len(BASES))
        for label, shape in enumerate(SHAPES):
            chances = [own if other == label else (1 - own) / 2 for other in range(len(BASES))]
            for kind in rng.choice(BASES, size // len(SHAPES), p=chances).tolist():
                base = _base(rng, kind, *ranges[kind])
                made.append(_with_extra_edges(rng, *_planted(rng, base, shape, tied=0)))
            y += [label] * (size // len(SHAPES))
    part_codes = np.repeat(np.arange(len(sizes)), list(sizes.values()))
    return _packed(made, name=f"SPMotif-{bias:g}", y=y, classes=tuple(SHAPES), part=part_codes)


def mutagenicity(seed: int = 0, explained_only: bool = False) -> GraphSet:
    """Mutagenicity with the atoms of NO2 and NH2 groups of mutagens as its true saliency, split 80:10:10 at random,
    stratified by class.

    ``explained_only`` leaves out mutagens without such a group, as the published comparisons since PGExplainer do.
    That makes the class easier: 1,384 mutagens go, 349 nonmutagens with such a group stay.
    """
    graphs = load("Mutagenicity")
    graphs = replace(graphs, true_saliency=mutagenic_groups(graphs))
    if explained_only:
        assert graphs.y is not None
        groups = np.bincount(graphs.node_graph, graphs.true_saliency) > 0
        is_mutagen = graphs.y == (graphs.class_titles or graphs.classes).index("mutagen")
        graphs = graphs.subset(groups | ~is_mutagen)
    return _with_random_split(graphs, seed)


def _with_random_split(graphs: GraphSet, seed: int = 0) -> GraphSet:
    """The set with a random 80:10:10 split as its official one, stratified by class."""
    fold = holdout(graphs, seed=seed)
    part = np.zeros(len(graphs), np.int8)
    part[fold.validation], part[fold.test] = PARTS.index("validation"), PARTS.index("test")
    return replace(graphs, part=part)


def _base(rng: np.random.Generator, kind: str, least: int, most: int) -> nx.Graph:
    width = int(rng.integers(least, most, endpoint=True))
    if kind == "tree":
        return nx.balanced_tree(int(rng.integers(2, 3, endpoint=True)), width)
    return nx.ladder_graph(width) if kind == "ladder" else nx.wheel_graph(width)


def _planted(rng: np.random.Generator, base: nx.Graph, shape: str, tied: int) -> tuple[int, list[tuple[int, int]]]:
    """The base with the shape after its nodes, node ``tied`` of it tied to a random node of the base."""
    start = len(base)
    edges = [*base.edges, *((start + a, start + b) for a, b in SHAPES[shape])]
    return start + SHAPE_NODES, [*edges, (int(rng.integers(start)), start + tied)]


def _with_extra_edges(
    rng: np.random.Generator, nodes: int, edges: list[tuple[int, int]]
) -> tuple[int, list[tuple[int, int]]]:
    """With random edges between nodes that have none. One drawn inside the shape is dropped, and not drawn again."""
    found = {frozenset(edge) for edge in edges}
    for _ in range(int(EXTRA * len(edges))):
        pair: frozenset[int] = frozenset()
        while len(pair) < 2 or pair in found:
            pair = frozenset(rng.integers(nodes, size=2).tolist())
        if min(pair) < nodes - SHAPE_NODES:
            found.add(pair)
            edges = [*edges, (min(pair), max(pair))]
    return nodes, edges


def _packed(made: Sequence[tuple[int, list[tuple[int, int]]]], **fields: Any) -> GraphSet:
    """Undirected graphs whose last five nodes are the shape."""
    truth = np.concatenate([np.arange(nodes) >= nodes - SHAPE_NODES for nodes, _ in made])
    both_ways = [(nodes, [*edges, *((b, a) for a, b in edges)]) for nodes, edges in made]
    return pack(both_ways, true_saliency=truth, **fields)
