"""PyTorch Geometric: a list of ``Data``, or a data set of them, with ``edge_index``, ``x``, ``y``, ``edge_attr``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.data.graphs import EDGE_ARRAYS, GRAPH_ARRAYS, GraphSet
from sargnn.data.io.graph_fields import no_column
from sargnn.data.io.targets import TargetColumns
from sargnn.data.io.tu import Place, Table, add_targets, assemble
from sargnn.data.problems import InputErrors, Problems, refused
from sargnn.data.roles import USUAL, Roles

__all__ = ["from_pyg", "raw_folder"]

KEYS = {
    "node_labels": ("node_label",),
    "node_attributes": ("node_attr", "x"),
    "true_saliency": ("true_saliency",),
    "edge_labels": ("edge_label",),
    "edge_attributes": ("edge_attr",),
    "graph_attributes": ("graph_attr",),
}
"""Where a field stands in a ``Data``: under the first name that occurs. All but ``x`` are the names that
:meth:`GraphSet.to_pyg` gives."""


def from_pyg(
    items: Sequence[Any],
    problems: Problems,
    *,
    name: str = "graphs",
    roles: Roles = USUAL,
    labelled: bool | None = True,
) -> GraphSet:
    """A set of PyTorch Geometric graphs; ``y`` is the class or, as ``[1, T]`` with NaN for gaps, the targets, unless
    the ``roles`` name other labels.

    >>> import torch
    >>> from torch_geometric.data import Data
    >>> pair = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), x=torch.ones(2, 3), y=torch.tensor([7]))
    >>> graphs = from_pyg([pair], Problems())
    >>> graphs.classes, graphs.node_attributes.shape
    (('7',), (2, 3))
    """
    reader = _Reader(items, problems, name)
    fields: dict[str, Any] = {}
    each_graph = np.arange(len(items))
    targets = TargetColumns(problems, roles.task)
    wanted = ("y",) if roles.labels is None else roles.labels
    tables = {label: reader.stack((label,), each_graph) for label in wanted}
    for label, table in tables.items():
        if table is None and labelled and roles.labels and not problems.found:
            problems.add(*no_column(label, list(map(str, items[0].keys()))), file=name, field=label)
    add_targets(targets, {label: table for label, table in tables.items() if table is not None}, len(items))
    fields |= targets.finish(labelled=bool(labelled))
    for field, keys in KEYS.items():
        owner = reader.edge_graph if field in EDGE_ARRAYS else each_graph if field in GRAPH_ARRAYS else reader.graph
        table = reader.stack(keys, owner, columns=1 if field == "true_saliency" else None)
        with problems.caught():
            if table and field.endswith("_labels"):
                fields[field], fields[field.replace("labels", "label_names")] = table.categories()
            elif table:
                fields[field] = table.reals(gaps=False)[:, 0] if field == "true_saliency" else table.reals()
    problems.stop()
    return assemble(name, reader.graph, reader.source, reader.target, notes=targets.notes, **fields)


def raw_folder(dataset: Any) -> Path | None:
    """Where a data set keeps the files that it was made of, if it does."""
    folder = Path(dataset.raw_dir) if getattr(dataset, "root", None) else None
    return folder if folder and folder.is_dir() else None


class _Reader:
    """The graphs' nodes and edges, one after the other."""

    def __init__(self, items: Sequence[Any], problems: Problems, name: str) -> None:
        self.items = items
        self.problems = problems
        self.name = name
        sizes, ends = [], []
        for g, data in enumerate(items):
            with problems.caught():
                sizes.append(self._num_nodes(data, g))
                ends.append(self._edge_index(data, sizes[-1], g))
        problems.stop()
        self.graph = np.repeat(np.arange(len(items)), sizes)
        self.edge_graph = np.repeat(np.arange(len(items)), [pairs.shape[1] for pairs in ends])
        first_node = np.cumsum(sizes) - sizes
        self.source, self.target = np.concatenate(ends, axis=1) + first_node[self.edge_graph]

    def stack(self, keys: Sequence[str], owner: np.ndarray, columns: int | None = None) -> Table | None:
        """What all graphs hold under the first of ``keys`` that occurs; ``owner`` is the graph of each row."""
        key = next((k for k in keys if any(getattr(data, k, None) is not None for data in self.items)), None)
        if key is None:
            return None
        counts = np.bincount(owner, minlength=len(self.items))
        blocks = []
        before = self.problems.count
        for graph, (data, count) in enumerate(zip(self.items, counts.tolist(), strict=True)):
            if count == 0:
                continue
            with self.problems.caught():
                block = np.atleast_1d(self._numbers(getattr(data, key, None), key, graph))
                block = block[:, None] if block.ndim == 1 else block
                columns = block.shape[1] if columns is None else columns
                if block.shape != (count, columns):
                    raise self._refuse(f"{key} of shape {block.shape}, expected {(count, columns)}", graph, key)
                blocks.append(block)
        if not blocks or columns == 0 or self.problems.count > before:
            return None
        first_row = np.cumsum(counts) - counts
        place = Place(lambda row: (f"{self.name}: {key}[{row - first_row[owner[row]]}]", None), owner)
        return Table(np.concatenate(blocks), place)

    def _num_nodes(self, data: Any, graph: int) -> int:
        if getattr(data, "edge_index", None) is None:
            got = f"a {type(data).__name__} without edge_index"
            raise self._refuse(f"{got}, expected PyTorch Geometric Data", graph, "edge_index")
        if not data.num_nodes:
            raise self._refuse("no nodes, expected at least one", graph, "num_nodes")
        return int(data.num_nodes)

    def _edge_index(self, data: Any, size: int, graph: int) -> np.ndarray:
        """int64 [2, E]: positions within the graph."""
        pairs = self._numbers(data.edge_index, "edge_index", graph)
        if pairs.ndim != 2 or len(pairs) != 2:
            raise self._refuse(f"edge_index of shape {pairs.shape}, expected (2, E)", graph, "edge_index")
        exists = (pairs >= 0) & (pairs < size) & (pairs == np.rint(pairs))
        if not exists.all():
            end, edge = map(int, np.argwhere(~exists)[0])
            got = f"node {pairs[end, edge]:g} in edge_index[{end}, {edge}]"
            raise self._refuse(f"{got}, expected 0..{size - 1}", graph, "edge_index")
        return pairs.astype(np.int64)

    def _numbers(self, value: Any, key: str, graph: int) -> np.ndarray:
        """float64, from a tensor on any device or from whatever NumPy takes."""
        if value is None:
            raise self._refuse(f"no {key}, expected it in every graph or in none", graph, key)
        try:
            value = value.detach().cpu().double() if hasattr(value, "detach") else value
            return np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError, RuntimeError) as error:
            raise self._refuse(f"{key} that is not numbers ({error})", graph, key) from error

    def _refuse(self, got: str, graph: int, field: str) -> InputErrors:
        return refused(f"got {got}", self.name, graph=graph, field=field)
