"""Sets and settings so small that a training run takes milliseconds, and how to compare two runs bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from sargnn.data.graphs import GraphSet, pack
from sargnn.data.splits import Fold
from sargnn.training.settings import Settings

FOLD = Fold(np.arange(0, 16), np.arange(16, 20), np.arange(20, 24))
"""Of the 24 graphs of :func:`shapes`."""

DEMANDING: dict[str, Any] = {
    "model__norm": "batch",
    "model__dropout": 0.3,
    "training__policy": "alternating",
    "training__schedule": "plateau",
    "training__schedule_epochs": 1,
}
"""Everything that has a state between epochs: running statistics, random numbers, turns, a rate that depends on the
past."""


def shapes(*, truth: bool = False, seed: int = 0, name: str = "shapes", count: int = 24) -> GraphSet:
    """Rings and paths of 3 to 8 nodes in turn, with two noisy attributes; a path's true saliency is on its ends, that
    of a ring on every node."""
    rng = np.random.default_rng(seed)
    graphs, saliency = [], []
    for number in range(count):
        n = int(rng.integers(3, 9))
        ends = [] if number % 2 else [(n - 1, 0)]
        pairs = [*zip(range(n - 1), range(1, n), strict=True), *ends]
        graphs.append((n, [*pairs, *((b, a) for a, b in pairs)]))
        saliency += [1.0] * n if ends else [1.0, *[0.0] * (n - 2), 1.0]
    nodes = sum(n for n, _ in graphs)
    return pack(
        graphs,
        name=name,
        y=[number % 2 for number in range(count)],
        classes=["ring", "path"],
        node_attributes=rng.normal(size=(nodes, 2)),
        true_saliency=saliency if truth else None,
    )


def labelled(graphs: GraphSet, seed: int = 0) -> GraphSet:
    """The graphs with three kinds of edges, an attribute of each edge, and two of each graph."""
    rng = np.random.default_rng(seed)
    return replace(
        graphs,
        edge_labels=rng.integers(0, 3, graphs.num_edges),
        edge_label_names=("single", "double", "triple"),
        edge_attributes=rng.normal(2, 3, (graphs.num_edges, 1)).astype(np.float32),
        graph_attributes=rng.normal(5, 2, (len(graphs), 2)).astype(np.float32),
    )


def tiny(model: str = "sar-gcn", **values: Any) -> Settings:
    """Settings of a model of two layers and eight features for three epochs of two batches; ``training__epochs=5`` sets
    ``training.epochs``."""
    small = {"model.layers": 2, "model.hidden": 8, "training.epochs": 3, "training.batch_size": 8}
    small["training.learning_rate"] = 0.01
    return Settings.of(model, small | {key.replace("__", "."): value for key, value in values.items()})


def tensors(folder: Path, file: str = "weights.safetensors") -> dict[str, bytes]:
    """The tensors of a saved file, as bytes."""
    return {name: value.tobytes() for name, value in load_file(folder / file).items()}


def timeless(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A history without what two equal runs may differ in."""
    return [{key: value for key, value in row.items() if key != "seconds"} for row in history]


def with_targets(graphs: GraphSet, targets: Any, names: Sequence[str] | None = None) -> GraphSet:
    """The graphs with columns of targets in place of classes."""
    columns = np.asarray(targets, np.float64)
    names = tuple(names or (f"t{number}" for number in range(columns.shape[1])))
    return replace(graphs, y=None, classes=(), targets=columns, target_names=names)


def binary_shapes(*, gaps: bool = True, count: int = 24, **more: Any) -> GraphSet:
    """:func:`shapes` with three binary targets: is a path, has more than five nodes, both; a quarter is missing."""
    graphs = shapes(count=count, **more)
    assert graphs.y is not None
    path, large = graphs.y == 1, graphs.sizes > 5
    targets = np.stack([path, large, path & large], axis=1).astype(np.float64)
    if gaps:
        targets[np.arange(count * 3).reshape(count, 3) % 4 == 1] = np.nan
    return with_targets(graphs, targets, ["path", "large", "large-path"])


def measured_shapes(*, gaps: bool = True, count: int = 24, **more: Any) -> GraphSet:
    """:func:`shapes` with two numbers: how many nodes there are, and a hundred times the number of edges."""
    graphs = shapes(count=count, **more)
    edges = np.diff(graphs.edge_ptr) / 2
    targets = np.stack([graphs.sizes, 100 * edges], axis=1).astype(np.float64)
    if gaps:
        targets[::5, 1] = np.nan
    return with_targets(graphs, targets, ["nodes", "edges"])
