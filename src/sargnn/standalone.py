"""Predict with an exported ONNX file, without the package that trained the model.

    python model.py graphs.jsonl > predictions.csv

`sargnn export --to onnx` writes a copy of this file beside the model, under its name. It needs NumPy and onnxruntime
and nothing else. Graphs come in the node-link form: one JSON object, a list of them, or one on each line::

    {"nodes": [{"id": 0, "label": "C", "charge": 0.5}, {"id": 1, "label": "O", "charge": 0}],
     "edges": [{"source": 0, "target": 1, "label": "single"}]}

Labels, attributes and the class names are matched as they were at training. What was fitted there stands in the ONNX
file, as JSON under ``sargnn``.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

NODES = ("labels", "attributes", "degree", "degree-scalar", "constant", "random-walk")
"""Encodings of nodes that this file knows; of edges and of graphs, it knows those in GIVEN."""
GIVEN = ("labels", "attributes")
PARTS = (
    ("x", "encodings", "node"),
    ("edge_attr", "edge_encodings", "edge"),
    ("graph_attr", "graph_encodings", "graph"),
)
"""Inputs of the model: their names, where the encoder has them, and what they are of."""
GRAPHS_AT_ONCE = 256
FARTHEST = 1e4
NO_ATTRIBUTES = ("id", "label", "node_name", "true_saliency", "source", "target", "key")
OF_GRAPHS = ("label", "y", "class", "target", "part", "name", "graph_name", "directed", "multigraph")
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def unknown_encodings(encoder: dict[str, Any]) -> list[str]:
    """The encodings of a fitted encoder that only the package can compute.

    >>> unknown_encodings({"encodings": [{"encoding": "degree"}, {"encoding": "substructures"}]})
    ['substructures']
    """
    known = {"encodings": NODES, "edge_encodings": GIVEN, "graph_encodings": ("attributes",)}
    return [b["encoding"] for part, names in known.items() for b in encoder.get(part, []) if b["encoding"] not in names]


class Graph:
    """One graph of a file: nodes in their order, every edge once and in both directions unless it is directed."""

    def __init__(self, item: dict[str, Any], number: int) -> None:
        self.number = number
        self.nodes: list[dict[str, Any]] = item["nodes"]
        self.own = {**{k: v for k, v in item.items() if not isinstance(v, list | dict)}, **item.get("graph", {})}
        place = {node["id"]: i for i, node in enumerate(self.nodes)}
        edges: dict[tuple[int, int], dict[str, Any]] = {}
        listed = item.get("edges", item.get("links", []))
        ends = [(place[edge["source"]], place[edge["target"]]) for edge in listed]
        for way in (1,) if item.get("directed") is True else (1, -1):
            for pair, edge in zip(ends, listed, strict=True):
                edges.setdefault((pair[0], pair[1]) if way == 1 else (pair[1], pair[0]), edge)
        looped = {pair: edge for pair, edge in edges.items() if pair[0] != pair[1]}
        self.pairs = np.array(sorted(looped, key=lambda pair: (pair[1], pair[0])), np.int64).reshape(-1, 2).T
        self.edges = [looped[source, target] for source, target in self.pairs.T.tolist()]

    @property
    def degrees(self) -> np.ndarray:
        return np.bincount(self.pairs[1], minlength=len(self.nodes))

    def returns(self, steps: int) -> np.ndarray:
        """float [n, steps]: the probability that a random walk is back after 2, 3, ... steps + 1 steps."""
        joined = np.zeros((len(self.nodes), len(self.nodes)))
        joined[self.pairs[0], self.pairs[1]] = joined[self.pairs[1], self.pairs[0]] = 1
        walk = joined / np.maximum(joined.sum(axis=1, keepdims=True), 1)
        walked, found = walk, []
        for _ in range(steps):
            walked = walked @ walk
            found.append(np.diag(walked))
        return np.stack(found, axis=1)


def text_of(value: Any) -> str:
    """A label as it was named at training: 7, 7.0 and "007" are one label, "7"."""
    if isinstance(value, str) and NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def natural(name: str) -> list[tuple[int, float, str]]:
    """A key to sort names by, in which numbers count by value."""
    pieces = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(0, float(piece), "") if piece[0] in "0123456789" else (1, 0.0, piece) for piece in pieces]


def attributes(block: dict[str, Any], rows: list[dict[str, Any]], of: str) -> np.ndarray:
    """Numbers, by the names of the training or in the natural order of their own, less means over deviations; gaps,
    which are the mean unless the model refuses them; then a column for each attribute that had gaps in training."""
    mean, std, missing = np.array(block["mean"]), np.array(block["std"]), block.get("missing", "flag")
    flags = block.get("gaps", []) if missing == "flag" else []
    if not rows:
        return np.empty((0, len(mean) + len(flags)))
    without = OF_GRAPHS if of == "graph" else NO_ATTRIBUTES
    found = {k for row in rows for k, v in row.items() if k not in without and isinstance(v, int | float)}
    names = block.get("names") or sorted(found, key=natural)
    if len(names) != len(mean):
        raise SystemExit(f"error: got {of} attributes {names}, expected {len(mean)} of them")
    if absent := [name for name in names if not any(name in row for row in rows)]:
        raise SystemExit(f"error: got no {of} with {absent[0]!r}, expected one for every {of}")
    if texts := [(name, row[name]) for row in rows for name in names if isinstance(row.get(name), str | list | dict)]:
        raise SystemExit(f"error: got {texts[0][1]!r} in {texts[0][0]!r} of a {of}, expected a number")
    values = np.array([[row.get(name) for name in names] for row in rows], float)  # NaN for None
    is_gap = np.isnan(values)
    if missing == "refuse" and is_gap.any():
        name = names[int(np.argwhere(is_gap)[0, 1])]
        raise SystemExit(f"error: got a {of} without {name!r}, expected one for every {of}")
    scaled = np.divide(np.float32(values) - mean, std, out=np.zeros(values.shape), where=std > 0)
    scaled = np.where(is_gap, 0, np.clip(scaled, -FARTHEST, FARTHEST))
    return np.concatenate([scaled, is_gap[:, flags]], axis=1)


def labels(block: dict[str, Any], rows: list[dict[str, Any]], of: str) -> np.ndarray:
    """One column for each label of the training, and where it learned what rare ones mean, one for all others; where
    not, another label is refused."""
    names, rare = block["names"], bool(block.get("rare"))
    found = [text_of(row.get("label")) for row in rows]
    unknown = [text for text in found if text not in names]
    if unknown and not rare:
        raise SystemExit(f"error: got {of} label {unknown[0]!r}, expected one of {', '.join(names)}")
    codes = [names.index(text) if text in names else len(names) for text in found]
    return one_hot(np.array(codes, int), len(names) + rare)


def one_hot(codes: np.ndarray, width: int) -> np.ndarray:
    return np.asarray(np.eye(width)[codes])


def encoded(block: dict[str, Any], graphs: list[Graph], of: str) -> np.ndarray:
    """The columns of one encoding of all nodes, of all edges, or of the graphs."""
    if block["encoding"] not in GIVEN:
        return np.concatenate([structure(block, graph) for graph in graphs])
    rows = [row for graph in graphs for row in {"node": graph.nodes, "edge": graph.edges, "graph": [graph.own]}[of]]
    return (labels if block["encoding"] == "labels" else attributes)(block, rows, of)


def structure(block: dict[str, Any], graph: Graph) -> np.ndarray:
    """What the edges alone say of the nodes."""
    kind = block["encoding"]
    if kind == "random-walk":
        return graph.returns(block["steps"])
    if kind == "degree":
        return one_hot(np.minimum(graph.degrees, block["max_degree"]), block["max_degree"] + 1)
    if kind == "degree-scalar":
        scaled = (graph.degrees[:, None] - block["mean"]) / (block["std"] or 1.0)
        return scaled if block["std"] else np.zeros_like(scaled)
    return np.ones((len(graph.nodes), 1))


def inputs_of(graphs: list[Graph], encoder: dict[str, Any]) -> dict[str, np.ndarray]:
    """What the model takes, all graphs side by side."""
    sizes = np.array([len(graph.nodes) for graph in graphs])
    first = np.cumsum(sizes) - sizes
    found = {"edge_index": np.concatenate([g.pairs + start for g, start in zip(graphs, first, strict=True)], axis=1)}
    found["batch"] = np.repeat(np.arange(len(graphs)), sizes)
    for name, part, of in PARTS:
        if blocks := encoder.get(part):
            found[name] = np.concatenate([encoded(block, graphs, of) for block in blocks], axis=1).astype(np.float32)
    return found


def read_graphs(path: Path) -> Iterator[Graph]:
    """The graphs of a JSON or JSON lines file."""
    if not path.is_file():  # a pipe would be waited for
        raise SystemExit(f"error: {path}: got no regular file, expected one of JSON or JSON lines")
    try:
        text = path.read_text(encoding="utf-8-sig")
        try:
            content = json.loads(text)
            items = content if isinstance(content, list) else [content]
        except json.JSONDecodeError:
            items = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (OSError, ValueError, RecursionError) as error:
        raise SystemExit(f"error: {path}: cannot be read as JSON or JSON lines ({error})") from error
    for number, item in enumerate(items):
        try:
            yield Graph(item, number)
        except (KeyError, TypeError) as error:
            expected = "nodes with ids, and edges between them"
            raise SystemExit(f"error: {path}: got no {error} in graph {number}, expected {expected}") from error


def main(arguments: list[str]) -> None:
    """Read graphs, write one row of predictions for each to standard output."""
    import onnxruntime

    if len(arguments) != 2:
        raise SystemExit(f"usage: python {Path(arguments[0]).name} graphs.json > predictions.csv")
    session = onnxruntime.InferenceSession(Path(arguments[0]).with_suffix(".onnx"), providers=["CPUExecutionProvider"])
    words = json.loads(session.get_modelmeta().custom_metadata_map["sargnn"])
    graphs = list(read_graphs(Path(arguments[1])))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["graph", *words["columns"]])
    for start in range(0, len(graphs), GRAPHS_AT_ONCE):
        some = graphs[start : start + GRAPHS_AT_ONCE]
        given = inputs_of(some, words["encoder"])
        outputs = session.run(None, {entry.name: given[entry.name] for entry in session.get_inputs()})[0]
        if session.get_outputs()[0].name == "logits":
            odds = np.exp(np.float64(outputs) - outputs.max(axis=1, keepdims=True))
            probabilities = odds / odds.sum(axis=1, keepdims=True)
            rows = [[words["classes"][row.argmax()], *row.tolist()] for row in probabilities]
        else:
            rows = outputs.tolist()
        out.writerows([graph.number, *row] for graph, row in zip(some, rows, strict=True))


if __name__ == "__main__":
    main(sys.argv)
