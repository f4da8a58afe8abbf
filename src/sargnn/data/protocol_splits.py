"""The folds of the protocol: a set's official split, the published folds of Errica et al. (2020), or our own."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

from sargnn.data.cache import data_folder, fetch
from sargnn.data.graphs import GraphSet
from sargnn.data.known import KNOWN, mismatch
from sargnn.data.splits import Fold, official, read_splits, stratified_folds
from sargnn.files import write_file

__all__ = ["has_own_folds", "protocol_folds"]

PUBLISHED = {
    "ENZYMES": ("ENZYMES_splits.json", "CHEMICAL/ENZYMES_splits.json"),
    "PROTEINS": ("PROTEINS_full_splits.json", "CHEMICAL/PROTEINS_full_splits.json"),
    "IMDB-BINARY": ("IMDB-BINARY_degree_splits.json", "COLLABORATIVE_DEGREE/IMDB-BINARY_splits.json"),
    "IMDB-MULTI": ("IMDB-MULTI_degree_splits.json", "COLLABORATIVE_DEGREE/IMDB-MULTI_splits.json"),
}
"""Sets whose folds are published: the name of the file on a mirror, and its path where it was published."""
WHERE_PUBLISHED = "https://raw.githubusercontent.com/diningphil/gnn-comparison/master/data_splits"
OWN = ("MUTAG", "Letter-high")
"""Sets without published folds, whose folds are fixed in this package."""


def protocol_folds(graphs: GraphSet) -> list[Fold]:
    """The outer folds of a set, each with its inner hold-out; a single one where the set has an official split.

    Any set that is not known gets ten stratified folds, the same ones every time.
    """
    if (fold := official(graphs)) is not None:
        return [fold]
    if not has_own_folds(graphs):
        assert graphs.y is not None
        return stratified_folds(graphs.y, 10, seed=0)
    if graphs.name in PUBLISHED:
        return read_splits(_published(graphs.name), graphs)
    with resources.as_file(resources.files("sargnn.data") / "folds" / f"{graphs.name}.json") as path:
        return read_splits(path, graphs)


def has_own_folds(graphs: GraphSet) -> bool:
    """Whether ten folds are fixed for a set: it is a known one, not just another set of that name."""
    return graphs.name in (*PUBLISHED, *OWN) and not mismatch(graphs, KNOWN[graphs.name])


def _published(name: str) -> Path:
    """The published split file: on the mirror, in the cache, or fetched from where it was published."""
    on_mirror, published = PUBLISHED[name]
    mirror = Path(os.environ.get("SARGNN_MIRROR", "")) / "splits" / on_mirror
    cached = data_folder() / "splits" / on_mirror
    if os.environ.get("SARGNN_MIRROR") and mirror.is_file():
        return mirror
    if not cached.is_file():
        hint = f"set SARGNN_MIRROR to a folder that holds splits/{on_mirror}"
        failure = f"cannot fetch the published folds of {name}"
        write_file(cached, fetch(f"{WHERE_PUBLISHED}/{published}", failure, hint))
    return cached
