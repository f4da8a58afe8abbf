"""What is said of one graph: the prediction, which nodes and parts decided, and what would change it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sargnn.tasks import Verdict

__all__ = ["Explanation", "Flip", "Pair"]

Pair = tuple[int, int]
"""Two nodes that share an edge, the smaller one first."""


@dataclass(frozen=True)
class Flip:
    """Parts without which the model decides otherwise, found by masking them, and what it says of what is left."""

    parts: Sequence[int]
    """Numbers of the parts of this graph."""
    nodes: Sequence[int]
    """The nodes of these parts; of edges, their ends."""
    verdict: Verdict
    """Of what is left, as a graph of its own with inputs computed anew."""
    holds: bool
    """Whether that is another decision, too."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a model says of one graph, and which of its nodes decided."""

    graph: int
    """Its number in the set."""
    verdict: Verdict
    layers: np.ndarray
    """float [L, n]: the saliency of each layer; no rows where the model has none."""
    rule: str
    map: np.ndarray
    """float [n]: all layers in one by the rule."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The prediction in the columns of a file of predictions."""
    truth: str | None = None
    """The true value in words, where it is known."""
    right: bool | None = None
    """Whether a person would call the prediction right."""
    outputs: Sequence[str] = ()
    """The output of each row of the layers, where these are not layers: a model with one memory slot per target."""
    effects: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Of some outputs by name, float [p]: how much each part raises it."""
    kind: str = "nodes"
    """What the parts are: nodes, edges or fragments."""
    parts: Sequence[Sequence[int]] = ()
    """The nodes of each part; none where the parts are the nodes."""
    part_names: Sequence[str] = ()
    """What each fragment is called."""
    flip: Flip | None = None
    """A smallest removal after which the model decides otherwise, where it was looked for and is there."""

    @property
    def named_layers(self) -> dict[str, np.ndarray]:
        """The saliency of each layer, or of each output, by name."""
        names = [f"saliency for {name}" for name in self.outputs] or [f"layer {l}" for l in range(len(self.layers))]
        return dict(zip(names, self.layers, strict=True))

    def painted(self, effects: np.ndarray, pairs: Iterable[tuple[int, int]]) -> tuple[np.ndarray, dict[Pair, float]]:
        """The ``effects`` of the parts as they are drawn: float [n], and a number for some of the ``pairs`` of nodes
        that share an edge. Where fragments overlap, the largest effect is drawn."""
        nodes, ties = np.zeros(len(self.map)), dict[Pair, float]()
        if self.kind == "nodes":
            return effects, ties
        if self.kind == "edges":
            return nodes, {(a, b): value for (a, b), value in zip(self.parts, effects.tolist(), strict=True)}
        for part in np.argsort(np.abs(effects), kind="stable").tolist():
            inside = set(self.parts[part])
            nodes[list(inside)] = effects[part]
            ties |= {(a, b): float(effects[part]) for a, b in pairs if a in inside and b in inside}
        return nodes, ties
