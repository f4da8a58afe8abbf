"""Sets of graphs that can be browsed: the one that the server was started with, and files that were dropped.

A file that was dropped is known by a name that cannot be guessed, so nobody sees another's graphs. The oldest are
forgotten when there are too many.
"""

from __future__ import annotations

import io
import secrets
import zipfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sargnn.data.graphs import PARTS, GraphSet
from sargnn.data.problems import Problems
from sargnn.data.sources import SUFFIXES, read
from sargnn.errors import InputError
from sargnn.serving.answers import answer_of
from sargnn.serving.limits import Limits, Refused
from sargnn.serving.loaded import LoadedRun
from sargnn.serving.outcomes import Outcome

__all__ = ["BrowsedSet", "Sets", "map_of", "read_file"]

MOST_FILES = 32
UNPACKED = 10
"""Times ``max_bytes`` that a zip may hold when unpacked."""
LISTED = 100
"""Graphs left out that are named."""
MOST_NEIGHBOURS = 3_000
"""Graphs that t-SNE lays out; more are laid out by PCA."""


@dataclass(eq=False)
class BrowsedSet:
    """A set and what the runs say of it, by the name of the run."""

    name: str
    graphs: GraphSet
    left_out: tuple[str, ...] = ()
    private: bool = False
    """Whether it is known to those only who were told its name."""
    said: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    """By run, then graph: its answer."""

    def card(self) -> dict[str, Any]:
        counts = {"graphs": len(self.graphs), "nodes": self.graphs.num_nodes}
        return {"name": self.name, "title": self.graphs.name, **counts, "notes": list(self.graphs.notes)}

    def rows(self, run: LoadedRun, start: int, stop: int) -> dict[str, list[Any]]:
        """The graphs from ``start`` to ``stop`` as columns: what they are, what is true, what the run says."""
        graphs, said = self.graphs, self.said.get(run.name, {})
        index = range(start, min(stop, len(graphs)))
        edges = np.diff(graphs.edge_ptr).tolist()
        columns: dict[str, list[Any]] = {
            "graph": list(index),
            "name": [graphs.graph_names[g] if graphs.graph_names else None for g in index],
            "nodes": [int(graphs.sizes[g]) for g in index],
            "edges": [edges[g] for g in index],
            "part": [None if graphs.part is None else PARTS[graphs.part[g]] for g in index],
        }
        for key in ("truth", "right", "prediction", "confidence", "values", "error"):
            columns[key] = [said.get(g, {}).get(key) for g in index]
        return columns

    def take(self, run: LoadedRun, start: int, outcomes: list[Outcome | InputError]) -> None:
        """Keep what a run says of the graphs from ``start`` on."""
        truths = _truths(run, self.graphs, start, start + len(outcomes))
        said = self.said.setdefault(run.name, {})
        for position, outcome in enumerate(outcomes):
            if isinstance(outcome, InputError):
                said[start + position] = {"error": str(outcome)}
                continue
            target = None if truths is None else truths[position]
            known: dict[str, Any] = {}
            if target is not None:
                right = run.task.right(np.asarray([target]), outcome.values[None])
                known = {"truth": run.task.truth(target), "right": bool(np.all(right))}
            said[start + position] = answer_of(run, outcome) | known


class Sets(Mapping[str, GraphSet]):
    """The sets of one server by name."""

    def __init__(self) -> None:
        self._sets: OrderedDict[str, BrowsedSet] = OrderedDict()

    def __getitem__(self, name: str) -> GraphSet:
        return self._sets[name].graphs

    def __iter__(self) -> Iterator[str]:
        return iter(self._sets)

    def __len__(self) -> int:
        return len(self._sets)

    def find(self, name: str) -> BrowsedSet:
        if name not in self._sets:
            raise Refused(404, "got a set that is not here, expected one of /v1/sets")
        self._sets.move_to_end(name)
        return self._sets[name]

    def public(self) -> list[BrowsedSet]:
        """Those that everybody may know of."""
        return [one for one in self._sets.values() if not one.private]

    def add(self, graphs: GraphSet, name: str | None = None, left_out: tuple[str, ...] = ()) -> BrowsedSet:
        """Hold a set, under a name that cannot be guessed unless one is given."""
        made = BrowsedSet(name or secrets.token_urlsafe(16), graphs, left_out, private=name is None)
        self._sets[made.name] = made
        private = [other for other, one in self._sets.items() if one.private]
        for other in private[:-MOST_FILES]:
            del self._sets[other]
        return made


def read_file(name: str, content: bytes, limits: Limits) -> tuple[GraphSet, tuple[str, ...]]:
    """The graphs of a file that was sent, and why some of it was left out. Only the end of its name is used."""
    stem, suffix = Path(name.replace("\\", "/")).stem, Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"got a file that ends in {suffix[:20]!r}, expected one of {', '.join(SUFFIXES)}")
    _refuse_too_many(suffix, content, limits)
    problems = Problems()
    with TemporaryDirectory(prefix="sargnn-") as folder:
        path = Path(folder, f"graphs{suffix}")
        path.write_bytes(content)
        try:
            graphs = read(str(path), problems, labelled=None)
        except InputError as error:
            raise InputError(str(error).replace(f"{path}", "file").replace(folder, "")) from error
        left_out = tuple(str(problem).replace(str(path), "file") for problem in problems.left_out[:LISTED])
    if len(graphs) > limits.max_graphs * UNPACKED:
        raise Refused(413, f"got {len(graphs)} graphs in a file, expected at most {limits.max_graphs * UNPACKED}")
    notes = tuple(note.replace(str(path), "file") for note in graphs.notes if not note.startswith("left out: "))
    return replace(graphs, name=stem[:80] or "file", notes=notes), left_out


def _refuse_too_many(suffix: str, content: bytes, limits: Limits) -> None:
    """What can be counted before it is read."""
    if suffix == ".zip":
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                size = sum(member.file_size for member in archive.infolist())
        except Exception as error:  # a damaged zip raises almost anything
            raise InputError(f"got no readable zip ({' '.join(str(error).split())})") from error
        if size > UNPACKED * limits.max_bytes:
            message = f"got {size} bytes when unpacked, expected at most {UNPACKED * limits.max_bytes}"
            raise Refused(413, message)
    elif suffix in (".csv", ".tsv", ".smi", ".jsonl", ".ndjson"):
        lines = content.count(b"\n")
        if lines > UNPACKED * limits.max_graphs + 1:
            raise Refused(413, f"got {lines} lines, expected at most {UNPACKED * limits.max_graphs} graphs in a file")


def map_of(vectors: np.ndarray, method: str) -> np.ndarray:
    """float [K, 2]: the vectors on a plane, by their two main directions (``pca``) or so that neighbours stay
    neighbours (``tsne``).

    >>> map_of(np.array([[0.0, 0, 0], [2, 0, 0], [4, 0, 0]]), "pca")[:, 1].round(6).tolist()
    [0.0, 0.0, 0.0]
    """
    centred = vectors - vectors.mean(axis=0)
    left, scale, right = np.linalg.svd(centred, full_matrices=False)
    width = min(2, left.shape[1])
    plane = np.zeros((len(vectors), 2))
    signs = np.sign(right[np.arange(width), np.abs(right[:width]).argmax(axis=1)])  # one of the two mirror images
    plane[:, :width] = left[:, :width] * scale[:width] * signs
    if method == "pca" or not 4 <= len(vectors) <= MOST_NEIGHBOURS:
        return plane
    from sklearn.manifold import TSNE

    spread = np.linalg.norm(centred, axis=1).std() or 1.0
    start = plane / (plane[:, 0].std() or 1.0) * 1e-4
    perplexity = min(30.0, (len(vectors) - 1) / 3)
    found = TSNE(perplexity=perplexity, init=start.astype(np.float32), random_state=0).fit_transform(centred / spread)
    return np.asarray(found, dtype=float)


def _truths(run: LoadedRun, graphs: GraphSet, start: int, stop: int) -> Any | None:
    """The targets of some graphs as the task of the run stores them, if they have any."""
    try:
        return run.task.targets(graphs.subset(np.arange(start, min(stop, len(graphs)))))
    except InputError:
        return None
