"""Can a prediction be trusted? How near a graph is to those trained on, what is new in it, whether members agree.

Molecules are compared by the Tanimoto similarity of their Morgan fingerprints (their distance is 1 less that), other
graphs by the Euclidean distance of the vectors that the model classifies. The *percentile* says how far that is: the
percentage of training graphs that are nearer to their own nearest training graph. Beyond 100 % of them, a graph is
farther from the training graphs than these are from each other.

What this needs of the training graphs is kept beside the weights as ``trust.safetensors``: fingerprints or vectors,
names, distances, scaffolds and categories.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from sargnn.batching.tensor_set import TensorSet
from sargnn.data.descriptors import fingerprints, smiles_of
from sargnn.data.graphs import GraphSet
from sargnn.data.scaffolds import scaffolds
from sargnn.data.set_chunks import Element, SetChunks
from sargnn.data.sources import Source
from sargnn.errors import InputError
from sargnn.reading import parse_json
from sargnn.training.model_folder import WEIGHTS, read_tensors, write_tensors
from sargnn.training.neighbours import nearest_molecules, nearest_vectors
from sargnn.training.trained_model import Prediction, TrainedModel

__all__ = ["FILE", "Trust", "TrustReference", "load_trust", "save_trust"]

FILE = "trust.safetensors"
ELEMENTS: tuple[Element, Element] = ("node", "edge")
NEAREST = 3
"""Training graphs that are named for each prediction."""
KEPT = 100_000
"""Training graphs that are kept: of more, so many are drawn."""
COMPARED = 5000
"""Training graphs whose own distances make the percentiles: of more, so many are drawn."""


@dataclass(frozen=True, eq=False)
class Trust:
    """What speaks for and against the predictions of some graphs.

    >>> one = Trust((("CCO",),), np.array([[0.4]]), True, np.array([25.0]), None, ((),), None)
    >>> one.columns()
    {'nearest_1': ['CCO'], 'similarity_1': [0.6], 'distance_percentile': [25.0], 'unseen_categories': ['']}
    """

    nearest: tuple[tuple[str, ...], ...]
    """[G][K]: the names of the nearest training graphs, the nearest first."""
    distances: np.ndarray
    """float64 [G, K]: how far they are; of molecules, 1 less the Tanimoto similarity."""
    similarity: bool
    """Whether a similarity is shown in place of the distance: of molecules."""
    percentile: np.ndarray
    """float64 [G]: the percentage of training graphs that are nearer to their own nearest."""
    unseen_scaffold: np.ndarray | None
    """bool [G]: whether no training molecule has its scaffold; none where graphs are not molecules."""
    unseen_categories: tuple[tuple[str, ...], ...]
    """[G]: its labels of nodes and edges that no training graph has."""
    spread: np.ndarray | None
    """float64 [G]: the standard deviation over the members of an ensemble, the largest over classes or targets; none of
    a single model."""

    def columns(self) -> dict[str, list[Any]]:
        """One list per column of a table of predictions."""
        found: dict[str, list[Any]] = {}
        for k in range(self.distances.shape[1]):
            measured = 1 - self.distances[:, k] if self.similarity else self.distances[:, k]
            found[f"nearest_{k + 1}"] = [names[k] for names in self.nearest]
            found[f"{'similarity' if self.similarity else 'distance'}_{k + 1}"] = measured.tolist()
        found["distance_percentile"] = self.percentile.tolist()
        if self.unseen_scaffold is not None:
            found["unseen_scaffold"] = self.unseen_scaffold.tolist()
        found["unseen_categories"] = [" ".join(names) for names in self.unseen_categories]
        return found if self.spread is None else {**found, "spread": self.spread.tolist()}


@dataclass(frozen=True, eq=False)
class TrustReference:
    """The training graphs of a model, as far as new graphs are compared with them.

    >>> from sargnn import Settings, motifs, train
    >>> run = train(motifs(40), Settings.of("gin", {"training.epochs": 1, "model.hidden": 8}))
    >>> trust = run.trust_reference.trust(motifs(5))
    >>> trust.distances.shape, trust.percentile.shape
    ((5, 3), (5,))
    """

    trained: TrainedModel
    by: Literal["fingerprints", "vectors"]
    """What graphs are compared by."""
    points: np.ndarray
    """[T, ...]: fingerprints, uint8, eight bits to a byte, or float32 vectors of the training graphs."""
    names: tuple[str, ...]
    """What the training graphs are called."""
    distances: np.ndarray
    """float64 [R], sorted: how far training graphs are from the nearest other one."""
    scaffolds: tuple[str, ...]
    """Those of the training molecules, each once."""
    categories: dict[str, tuple[str, ...]]
    """The labels that training graphs have, of ``node`` and of ``edge``."""

    @classmethod
    def of(
        cls, trained: TrainedModel, graphs: GraphSet, train: np.ndarray, data: TensorSet | None = None
    ) -> TrustReference:
        """Of the graphs at ``train``, which the model was fitted to; ``data``: all graphs as the model encodes them."""
        kept = train if len(train) <= KEPT else np.sort(np.random.default_rng(0).permutation(train)[:KEPT])
        smiles = [graphs.smiles[g] for g in kept.tolist()] if graphs.smiles else []
        points = _fingerprints(smiles)
        by: Literal["fingerprints", "vectors"] = "vectors" if points is None else "fingerprints"
        if points is None:
            encoded = data or trained.tensors(graphs, next(trained.model.parameters()).device)
            points = trained.vectors_of_tensors(encoded, kept)
        names = tuple(graphs.graph_names[g] if graphs.graph_names else str(g) for g in kept.tolist())
        known = () if by == "vectors" else tuple(sorted(set(scaffolds(smiles))))
        categories: dict[str, tuple[str, ...]] = {of: _labels_in(graphs, train, of) for of in ELEMENTS}
        return cls(trained, by, points, names, np.sort(_own_distances(by, points)), known, categories)

    @property
    def similarity(self) -> bool:
        """Whether distances are 1 less a similarity: of molecules."""
        return self.by == "fingerprints"

    def nearest(self, graphs: GraphSet) -> tuple[np.ndarray, np.ndarray]:
        """float64 and int64 [G, K]: how far the nearest training graphs are, and which they are."""
        points = fingerprints(smiles_of(graphs, "trust is")) if self.similarity else self.trained.vectors(graphs)
        if (width := points.shape[1]) != self.points.shape[1]:
            raise InputError(f"{FILE}: got training graphs of {self.points.shape[1]} numbers each, expected {width}")
        return _nearest(self.by, points, self.points, NEAREST)

    def trust(self, data: Source, prediction: Prediction | None = None) -> Trust:
        """What speaks for and against the ``prediction`` for these graphs, or for what :func:`sargnn.load` takes; it is
        made if it is not given."""
        graphs = self.trained.read(data)
        prediction = prediction or self.trained.predict(graphs)
        distances, index = self.nearest(graphs)
        known = {of: set(names) for of, names in self.categories.items()}
        unseen = zip(*([own - known[of] for own in _labels_of(graphs, of)] for of in ELEMENTS), strict=True)
        spread = prediction.spread
        return Trust(
            tuple(tuple(self.names[t] for t in row) for row in index.tolist()),
            distances,
            self.similarity,
            100 * np.searchsorted(self.distances, distances[:, 0]) / max(len(self.distances), 1),
            ~np.isin(list(scaffolds(graphs.smiles)), self.scaffolds) if self.similarity else None,
            tuple(tuple(sorted(nodes | edges)) for nodes, edges in unseen),
            None if spread is None else spread.reshape(len(graphs), -1).max(axis=1),
        )


def save_trust(folder: Path, reference: TrustReference) -> None:
    """Write ``trust.safetensors`` with a checksum of itself and of the weights beside it."""
    words = {
        "by": reference.by,
        "weights": _weights_in(folder),
        "names": json.dumps(reference.names),
        "scaffolds": json.dumps(reference.scaffolds),
        "categories": json.dumps(reference.categories),
    }
    tensors = {"points": torch.from_numpy(reference.points), "distances": torch.from_numpy(reference.distances)}
    write_tensors(folder / FILE, tensors, reference.trained, words)


def load_trust(folder: Path | str, trained: TrainedModel) -> TrustReference:
    """What the folder of the ``trained`` model keeps of its training graphs; refused if the weights have changed since.

    >>> from tempfile import TemporaryDirectory
    >>> from sargnn import Settings, load_model, motifs, train
    >>> with TemporaryDirectory() as folder:
    ...     run = train(motifs(20), Settings.of("gin", {"training.epochs": 1, "model.hidden": 8}), folder)
    ...     reference = load_trust(folder, load_model(folder))
    >>> reference.trust(motifs(3)).percentile.shape
    (3,)
    """
    path = Path(folder) / FILE
    again = f"train again, or: sargnn calibrate {folder} DATA, with the data it was trained on"
    if not path.exists():
        raise InputError(f"{path}: no such file, which earlier versions did not write; {again}")
    tensors, words = read_tensors(path)
    if words.get("weights") != _weights_in(Path(folder)):
        raise InputError(f"{path}: got the training graphs of other weights; {again}")
    by: Literal["fingerprints", "vectors"] = "vectors" if words.get("by") == "vectors" else "fingerprints"
    try:
        names, known, categories = (parse_json(words[name]) for name in ("names", "scaffolds", "categories"))
        points, distances = tensors["points"].numpy(), tensors["distances"].numpy()
        texts = [*names, *known, *(text for of in ELEMENTS for text in categories[of])]
        sound = (points.ndim, distances.ndim) == (2, 1) and len(points) == len(names) > 0
        sound &= points.dtype == (np.float32 if by == "vectors" else np.uint8) and distances.dtype == np.float64
        sound &= bool(np.isfinite(points).all() and np.isfinite(distances).all())
        sound &= bool((distances[:1] >= 0).all() and (np.diff(distances) >= 0).all())
        sound &= all(isinstance(text, str) for text in texts)
    except (KeyError, TypeError, ValueError, RecursionError):
        sound = False
    if not sound:
        raise InputError(f"{path}: got no sound points, distances and names, expected those of sargnn train; {again}")
    own: dict[str, tuple[str, ...]] = {of: tuple(categories[of]) for of in ELEMENTS}
    return TrustReference(trained, by, points, tuple(names), distances, tuple(known), own)


def _fingerprints(smiles: Sequence[str]) -> np.ndarray | None:
    """uint8 [G, bits / 8], or none where graphs are not molecules, or RDKit is missing: training must not fail then."""
    try:
        return fingerprints(smiles) if smiles else None
    except InputError:
        return None


def _nearest(by: str, points: np.ndarray, known: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    find = nearest_molecules if by == "fingerprints" else nearest_vectors
    return find(points, known, min(count, len(known)))


def _own_distances(by: str, points: np.ndarray) -> np.ndarray:
    """float64: of training graphs, at most :data:`COMPARED`, to the nearest other one."""
    if len(points) < 2:
        return np.empty(0)
    chosen = np.random.default_rng(0).permutation(len(points))[:COMPARED]
    distances, index = _nearest(by, points[chosen], points, 2)
    return np.asarray(np.where(index[:, 0] == chosen, distances[:, 1], distances[:, 0]))


def _labels_in(graphs: GraphSet, index: np.ndarray, of: Element) -> tuple[str, ...]:
    """The names of the labels that the graphs at ``index`` have, chunk by chunk."""
    return tuple(sorted(set().union(*(own for some in SetChunks(graphs, index) for own in _labels_of(some, of)))))


def _labels_of(graphs: GraphSet, of: Element) -> list[set[str]]:
    """Of each graph the names of its labels of nodes or edges."""
    labels, owner = getattr(graphs, f"{of}_labels"), getattr(graphs, f"{of}_graph")
    found: list[set[str]] = [set() for _ in range(len(graphs))]
    if labels is not None and len(labels):
        names: Sequence[str] = getattr(graphs, f"{of}_label_names") or list(map(str, range(int(labels.max()) + 1)))
        for graph, label in np.unique(np.stack([owner, labels]), axis=1).T.tolist():
            found[graph].add(names[label])
    return found


def _weights_in(folder: Path) -> str:
    return hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
