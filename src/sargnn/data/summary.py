"""A set in a few lines: what there is, never the arrays themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sargnn.data.graphs import GraphSet

__all__ = ["summary"]

SHOWN = 8
"""Names in a line."""
LONGEST = 24


def summary(graphs: GraphSet) -> str:
    """What a set holds, in at most a dozen lines of text.

    >>> from sargnn.data.synthetic import motifs
    >>> print(summary(motifs(4)).splitlines()[0])
    GraphSet motifs-house: 4 graphs, 100 nodes, 198 directed edges
    """
    head = f"GraphSet {graphs.name}: {len(graphs):,} graphs, {graphs.num_nodes:,} nodes"
    lines = {"": f"{head}, {graphs.num_edges:,} directed edges"}
    if len(graphs):
        sizes = graphs.sizes
        lines["nodes per graph"] = f"{np.median(sizes):g} (median), {sizes.min():,} to {sizes.max():,}"
    if graphs.y is not None:
        counts = np.bincount(graphs.y, minlength=len(graphs.classes)).tolist()
        titles = graphs.class_titles or graphs.classes
        lines["classes"] = _some([f"{_cut(name)} ({n:,})" for name, n in zip(titles, counts, strict=True)])
    if graphs.targets is not None:
        known = (~np.isnan(graphs.targets)).sum(axis=0).tolist()
        lines["targets"] = _some([f"{_cut(name)} ({n:,})" for name, n in zip(graphs.target_names, known, strict=True)])
    for of in ("node", "edge"):
        names = getattr(graphs, f"{of}_label_titles") or getattr(graphs, f"{of}_label_names")
        if getattr(graphs, f"{of}_labels") is not None:
            lines[f"{of} labels"] = _some(list(map(_cut, names))) or "numbers"
    for of in ("node", "edge", "graph"):
        if (values := getattr(graphs, f"{of}_attributes")) is not None:
            names = list(map(_cut, getattr(graphs, f"{of}_attribute_names")))
            lines[f"{of} attributes"] = f"{values.shape[1]}" + (f": {_some(names)}" if names else "")
    kept = {"true_saliency": "true saliency", "part": "an official split", "weights": "weights", "groups": "groups"}
    also = [text for field, text in kept.items() if getattr(graphs, field) is not None]
    if also := [*also, *(["SMILES"] if graphs.smiles else []), *(["names"] if graphs.graph_names else [])]:
        lines["also"] = ", ".join(also)
    if graphs.notes:
        lines["notes"] = "; ".join(_cut(note, 100) for note in graphs.notes[:2])
    width = max(map(len, lines))
    return "\n".join(f"  {name:<{width}}  {text}" if name else text for name, text in lines.items())


def _some(words: Sequence[str]) -> str:
    return ", ".join(words[:SHOWN]) + (f", ... {len(words):,} in all" if len(words) > SHOWN else "")


def _cut(text: str, most: int = LONGEST) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"
