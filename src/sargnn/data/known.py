"""The published sets: what a copy of each must hold, and what its files do not say."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError

__all__ = ["KNOWN", "TITLES", "KnownSet", "hide_truth", "mismatch", "told_apart", "with_knowledge", "with_titles"]

TITLES = {"classes": "class_titles", "node_label_names": "node_label_titles", "edge_label_names": "edge_label_titles"}
"""The names of a set, as its files have them, and what people call them."""


@dataclass(frozen=True)
class KnownSet:
    """What a published set must hold; a copy that differs is refused."""

    graphs: int
    nodes: int
    edges: int
    """Directed, each pair once."""
    classes: int
    parts: tuple[int, ...] = ()
    """Graphs in each of ``PARTS`` (see :mod:`sargnn.data.graphs`), in the order of the file."""
    fingerprint: str = ""
    """Of the published files."""
    attribute_is_truth: bool = False
    """The node attribute is the true saliency and gives the class away: it is never an input."""
    class_titles: tuple[str, ...] = ()
    """What the numbers of the files mean, for people: of classes, and of node and edge labels."""
    node_label_titles: tuple[str, ...] = ()
    edge_label_titles: tuple[str, ...] = ()


KNOWN = {
    "MUTAG": KnownSet(
        188,
        3371,
        7442,
        2,
        fingerprint="2446ed5312de5512",
        class_titles=("nonmutagen", "mutagen"),
        node_label_titles=("C", "N", "O", "F", "I", "Cl", "Br"),
        edge_label_titles=("aromatic", "single", "double", "triple"),
    ),
    "ENZYMES": KnownSet(600, 19580, 74564, 6, fingerprint="334abd20118d42bc"),
    "PROTEINS": KnownSet(1113, 43471, 162088, 2, fingerprint="5682bc4df23b6def"),
    "IMDB-BINARY": KnownSet(1000, 19773, 193062, 2, fingerprint="995ae58c0768092d"),
    "IMDB-MULTI": KnownSet(1500, 19502, 197806, 3, fingerprint="cd4a82e8a9a1ffde"),
    "Letter-high": KnownSet(2250, 10507, 20250, 15, fingerprint="7f1b3cb84ed45650"),
    "TRIANGLES": KnownSet(
        45000,
        938438,
        2947024,
        10,
        parts=(30000, 5000, 5000, 5000),
        fingerprint="e362f828738f30ba",
        attribute_is_truth=True,
    ),
}


def with_knowledge(graphs: GraphSet) -> GraphSet:
    """What the files of a known set do not say, or say misleadingly."""
    graphs = with_titles(hide_truth(graphs))
    known = KNOWN.get(graphs.name)
    if known is None or not known.parts or mismatch(graphs, known):
        return graphs
    return replace(graphs, part=np.repeat(np.arange(len(known.parts), dtype=np.int8), known.parts))


def with_titles(graphs: GraphSet) -> GraphSet:
    """The set with the titles of a known set that bears its name and has as many classes and labels, numbered."""
    if (known := KNOWN.get(graphs.name)) is None:
        return graphs
    titles = {}
    for names, field in TITLES.items():
        found, own = getattr(known, field), getattr(graphs, names)
        if len(found) == len(own) and all(re.fullmatch("-?[0-9]+", name) for name in own):
            titles[field] = getattr(graphs, field) or found
    return replace(graphs, **titles)


def mismatch(graphs: GraphSet, known: KnownSet) -> str:
    """The first count that differs, in words; empty if none does."""
    counts = KnownSet(len(graphs), graphs.num_nodes, graphs.num_edges, len(graphs.classes))
    for what in ("graphs", "nodes", "edges", "classes"):
        got, expected = getattr(counts, what), getattr(known, what)
        if got != expected:
            return f"got {got} {what}, expected {expected}"
    return ""


def told_apart(graphs: GraphSet) -> GraphSet:
    """The set with a note if it passes for a known set and is another: with classes shuffled, say. One of another
    size, such as generated triangles, passes for none."""
    known = KNOWN.get(graphs.name)
    if known is None or known.graphs != len(graphs) or known.fingerprint == graphs.fingerprint:
        return graphs
    note = f"this is not the published {graphs.name}: got the fingerprint {graphs.fingerprint}"
    return replace(graphs, notes=(*graphs.notes, f"{note}, expected {known.fingerprint}"))


def hide_truth(graphs: GraphSet) -> GraphSet:
    """Move a node attribute that is the true saliency to where no model can see it."""
    known = KNOWN.get(graphs.name)
    if known is None or not known.attribute_is_truth or graphs.node_attributes is None:
        return graphs
    columns = graphs.node_attributes.shape[1]
    if columns != 1:
        raise InputError(f"{graphs.name}: got {columns} node attributes, expected only the true saliency")
    if np.isnan(graphs.node_attributes).any():
        raise InputError(f"{graphs.name}: got gaps in the true saliency, expected a number for every node")
    return replace(graphs, true_saliency=graphs.node_attributes[:, 0], node_attributes=None)
