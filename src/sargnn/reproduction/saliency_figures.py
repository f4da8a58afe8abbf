"""The paper's figures of saliency: three systems on TRIANGLES and on MUTAG, and the subgraphs of DSS-GNN.

Each function trains what its figure shows, writes the figure as PNG and SVG, and returns what was measured;
:func:`saliency_notes` makes the text beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from scipy.stats import rankdata

from sargnn import viz
from sargnn.data.chemistry import fused_rings, known_causes, simple_graph
from sargnn.data.graphs import GraphSet
from sargnn.data.molecule import atom_symbols
from sargnn.data.sources import load
from sargnn.reproduction.figure_notes import Claim, FigureNotes, judge
from sargnn.reproduction.paper import CLAIMS, Preset, Values
from sargnn.systems.dss_gnn import DSSGNNConfig
from sargnn.training.hardware import find_device
from sargnn.training.run import TrainingRun, train
from sargnn.training.settings import Settings
from sargnn.viz.depiction import atom_positions, molecule_of
from sargnn.viz.graph import draw_panel, node_diameter
from sargnn.viz.layout import positions_of

__all__ = [
    "SALIENCY_FIGURES", "figure_dss_subgraphs", "figure_saliency_mutag", "figure_saliency_triangles", "saliency_notes",
    "subgraph", "worst_nodes",
]  # fmt: skip

TRIANGLES_VALUES: Values = {
    "data.encodings": ("degree", "random-walk"), "training.batch_size": 256, "training.learning_rate": 3e-3,
    "training.schedule": "cosine",
}  # fmt: skip
"""Of all systems. With degrees alone, saliency has no triangle to find (docs/explain.md)."""
TRIANGLES_SYSTEMS: dict[str, Values] = {
    "sar-gcn": {"model.layers": 2, "model.normalize": "none", "model.beta": 10.0}, "chebygin": {}, "sagpool": {},
}  # fmt: skip
"""SAR-GCN as its saliency finds triangles best on validation graphs (docs/explain.md)."""
MUTAG_VALUES: Values = {"training.batch_size": 32, "training.monitor": "accuracy"}
MUTAG_SYSTEMS: dict[str, Values] = {"sar-sage": {"model.norm": "batch"}, "chebygin": {}, "sagpool": {}}
TITLES = {"sar-gcn": "SAR-GCN", "sar-sage": "SAR-GraphSAGE", "chebygin": "ChebyGIN-unsup", "sagpool": "SAGPool"}

SHOWN = 3
"""Graphs in a figure."""
SAMPLED = 200
"""Graphs of a set whose subgraphs are counted."""
WORST = 3
"""Nodes marked in a graph, at most."""
MISPLACED = 0.5
"""The fraction of the ranking from which on a node's place is distinctly wrong."""
PANEL, MARGIN, HEADING = (2.7, 2.2), 0.5, 0.3
"""Width and height of a drawn graph, the margin for its name, and the strip of headings, in inches."""
SHADE, MARK = "#8fc1c4", "#c81e1e"


def figure_saliency_triangles(
    out: Path, preset: Preset, graphs: GraphSet | None = None, *, device: str = "cpu", seed: int = 0
) -> dict[str, Any]:
    """SAR-GCN, ChebyGIN-unsup and SAGPool on three random test graphs of TRIANGLES (or of ``graphs``).

    Returns ``files``, ``graphs`` shown, ``accuracy`` and ``node_auc`` of each system on the test graphs, ``caption``.
    """
    graphs = load("TRIANGLES") if graphs is None else graphs
    runs = _trained(graphs, TRIANGLES_SYSTEMS, TRIANGLES_VALUES, preset, device, seed)
    chosen = _chosen(runs["sar-gcn"].fold.test, seed)
    assert graphs.y is not None
    names = [f"{graphs.classes[graphs.y[g]]} triangles" for g in chosen]
    about = f"Test graphs {chosen} of {graphs.name}, drawn at random. Triangles are shaded; their number is the class."
    return _saliency_figure(out / "figure-saliency-triangles", graphs, runs, chosen, names, about)


def figure_saliency_mutag(
    out: Path, preset: Preset, graphs: GraphSet | None = None, *, device: str = "cpu", seed: int = 0
) -> dict[str, Any]:
    """SAR-GraphSAGE, ChebyGIN-unsup and SAGPool on three random mutagenic test molecules of MUTAG.

    The truth is the paper's: atoms of fused rings. Returns what :func:`figure_saliency_triangles` does.
    """
    graphs = load("MUTAG") if graphs is None else graphs
    graphs = replace(graphs, true_saliency=known_causes(graphs)["fused rings"])
    runs = _trained(graphs, MUTAG_SYSTEMS, MUTAG_VALUES, preset, device, seed)
    test = runs["sar-sage"].fold.test
    assert graphs.y is not None
    chosen = _chosen(test[graphs.y[test] == graphs.classes.index("1")], seed)
    names = [f"molecule {g}" for g in chosen]
    about = f"Mutagenic test molecules {chosen} of {graphs.name}, drawn at random. Fused rings are shaded."
    return _saliency_figure(out / "figure-saliency-mutag", graphs, runs, chosen, names, about)


def figure_dss_subgraphs(
    out: Path, preset: Preset, graphs: Sequence[GraphSet] | None = None, *, device: str = "cpu", seed: int = 0
) -> dict[str, Any]:
    """A molecule of MUTAG and a graph of TRIANGLES (or of the sets ``graphs``), each with two subgraphs of its bag.

    The bag EGO+ is a function of the graph alone: nothing is trained, and preset and device change nothing. Returns
    ``files``, ``caption``, and ``whole``: of each set, the fraction of subgraphs that leave the triangle or the system
    of fused rings around their root whole.
    """
    sets = [load("MUTAG"), load("TRIANGLES")] if graphs is None else graphs
    rng, hops = np.random.default_rng(seed), DSSGNNConfig().hops
    figure, axes = _grid([some.name for some in sets], ["the graph", "a subgraph", "another"])
    whole = {}
    for row, some in zip(axes, sets, strict=True):
        sample = [some[g] for g in rng.permutation(len(some))[:SAMPLED].tolist()]
        sample = [one for one in sample if _key_cycles(one)]
        whole[some.name] = float(np.mean([kept for one in sample for kept in _kept_whole(one, hops)]))
        one, positions = sample[0], _positions(sample[0])
        _draw(row[0], one, positions, np.zeros(one.num_nodes))
        for panel, root in zip(row[1:], rng.permutation(one.num_nodes).tolist(), strict=False):
            _draw(panel, subgraph(one, root, hops), positions, np.eye(one.num_nodes)[root])
    fractions = ", ".join(f"{fraction:.0%} on {name}" for name, fraction in whole.items())
    caption = (
        f"Subgraphs of DSS-GNN (EGO+, {hops} hops) around a dark root. Triangles and fused rings are shaded. Of the "
        f"subgraphs around a node of a triangle or of fused rings, these leave it whole: {fractions}."
    )
    return {**_written(figure, out / "figure-dss-subgraphs"), "whole": whole, "caption": caption}


def worst_nodes(saliency: np.ndarray, truth: np.ndarray) -> list[int]:
    """Nodes whose places by saliency and by truth (ties: their mean place) are at least half of the ranking apart; the
    three worst at most, the worst first. None where all nodes matter alike.

    >>> worst_nodes(np.array([0.1, 0.2, 0.3, 0.4]), np.array([3, 0, 0, 0]))
    [0, 3]
    """
    if np.ptp(truth) == 0:
        return []
    apart = np.abs(rankdata(saliency) - rankdata(truth)) / (len(truth) - 1)
    order = np.argsort(-apart, kind="stable")[:WORST]
    return [int(node) for node in order if apart[node] >= MISPLACED]


def subgraph(one: GraphSet, root: int, hops: int) -> GraphSet:
    """The subgraph of a graph's bag EGO+ that DSS-GNN sees around ``root``: all nodes, and the edges near the root.

    >>> from sargnn.data.graphs import pack
    >>> path = pack([(4, [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)])])
    >>> subgraph(path, 0, hops=2).edges.T.tolist()
    [[1, 0], [0, 1], [2, 1], [1, 2]]
    """
    near = nx.single_source_shortest_path_length(simple_graph(one, 0), root, cutoff=hops)
    edges = one.edges[:, np.isin(one.edges, list(near)).all(axis=0)]
    return replace(one, edges=edges, edge_ptr=np.array([0, edges.shape[1]]), edge_labels=None, edge_attributes=None)


def _trained(
    graphs: GraphSet, systems: dict[str, Values], values: Values, preset: Preset, device: str, seed: int
) -> dict[str, TrainingRun]:
    common = {**values, "training.epochs": preset.epochs, "training.patience": preset.patience, "training.seed": seed}
    return {
        name: train(graphs, Settings.of(name, {**common, **own}), device=find_device(device))
        for name, own in systems.items()
    }


def _chosen(index: np.ndarray, seed: int) -> list[int]:
    return sorted(map(int, np.random.default_rng(seed).permutation(index)[:SHOWN]))


def _saliency_figure(
    path: Path, graphs: GraphSet, runs: dict[str, TrainingRun], chosen: list[int], names: list[str], about: str
) -> dict[str, Any]:
    """A row for every chosen graph, a column for every system."""
    figure, axes = _grid(names, [TITLES[name] for name in runs])
    shown = graphs.subset(chosen)
    for column, run in zip(axes.T, runs.values(), strict=True):
        saliency = np.split(run.trained.saliency(shown), shown.node_ptr[1:-1])
        for panel, one, values in zip(column, shown, saliency, strict=True):
            assert one.true_saliency is not None
            _draw(panel, one, _positions(one), values, worst_nodes(values, one.true_saliency))
    caption = (
        f"{about} Colours go from 0 to the largest value of each drawing. Dotted circles: at most {WORST} nodes whose "
        f"place by saliency is at least {MISPLACED:.0%} of the ranking away from their true one."
    )
    tests = {name: run.scores["test"] for name, run in runs.items()}
    return {
        **_written(figure, path), "graphs": chosen,
        "accuracy": {name: scores["accuracy"] for name, scores in tests.items()},
        "node_auc": {name: scores["saliency_auc"] for name, scores in tests.items()}, "caption": caption,
    }  # fmt: skip


def _written(figure: Figure, path: Path) -> dict[str, Any]:
    files = [path.with_suffix(suffix) for suffix in (".png", ".svg")]
    for file in files:
        viz.save(figure, file)
    return {"files": [str(file) for file in files]}


def _key_cycles(one: GraphSet) -> list[list[int]]:
    """The nodes of every fused ring of a molecule, of every triangle of another graph, in order around it."""
    found = simple_graph(one, 0)
    if atom_symbols(one) is not None:
        return fused_rings(found)
    return [clique for clique in nx.enumerate_all_cliques(found) if len(clique) == 3]


def _kept_whole(one: GraphSet, hops: int) -> list[bool]:
    """For every triangle or system of fused rings, and every root in it: whether the root's subgraph has all of it."""
    found = simple_graph(one, 0)
    keys = [set(cycle) for cycle in _key_cycles(one)]
    if atom_symbols(one) is not None:
        keys = list(nx.connected_components(found.subgraph(set().union(*keys))))
    seen = [simple_graph(subgraph(one, root, hops), 0) for root in range(one.num_nodes)]
    return [all(seen[root].has_edge(*e) for e in found.subgraph(key).edges) for key in keys for root in key]


@viz.house_style()
def _grid(rows: list[str], columns: list[str]) -> tuple[Figure, np.ndarray]:
    """A figure with a frame for every row and column, both named."""
    width, height = MARGIN + PANEL[0] * len(columns), HEADING + PANEL[1] * len(rows)
    figure = Figure(figsize=(width, height))
    axes = np.empty((len(rows), len(columns)), dtype=object)
    for c, title in enumerate(columns):
        left = MARGIN + PANEL[0] * c
        figure.text((left + PANEL[0] / 2) / width, 1 - 0.1 / height, title, ha="center", va="top", fontsize=10)
        for r in range(len(rows)):
            bottom = height - HEADING - PANEL[1] * (r + 1)
            axes[r, c] = figure.add_axes((left / width, bottom / height, PANEL[0] / width, PANEL[1] / height))
    for r, name in enumerate(rows):
        middle = height - HEADING - PANEL[1] * (r + 0.5)
        figure.text(MARGIN / 2 / width, middle / height, name, rotation=90, ha="center", va="center", fontsize=9)
    return figure, axes


@viz.house_style()
def _draw(ax: Axes, one: GraphSet, positions: np.ndarray, values: np.ndarray, marked: Sequence[int] = ()) -> None:
    """The graph with what it is about shaded, and the ``marked`` nodes in dotted circles."""
    points = draw_panel(ax, _with_symbols(one), positions, values)
    for cycle in _key_cycles(one):
        ax.add_patch(Polygon(points[cycle], facecolor=SHADE, alpha=0.5, linewidth=0, zorder=0.5))
    for node in marked:
        radius = 0.75 * node_diameter(points)
        ax.add_patch(Circle(points[node], radius, fill=False, edgecolor=MARK, linestyle=":", linewidth=1.4, zorder=4))


def _positions(one: GraphSet) -> np.ndarray:
    molecule = molecule_of(one, 0)
    return positions_of(one) if molecule is None else atom_positions(molecule)


def _with_symbols(one: GraphSet) -> GraphSet:
    """The atoms of a molecule labelled by their symbols."""
    symbols = atom_symbols(one)
    if symbols is None:
        return one
    names, labels = np.unique(symbols, return_inverse=True)
    return replace(one, node_labels=labels, node_label_names=tuple(names.tolist()), node_label_titles=())


SALIENCY_FIGURES: dict[str, Callable[..., dict[str, Any]]] = {
    "figure-saliency-triangles": figure_saliency_triangles,
    "figure-saliency-mutag": figure_saliency_mutag,
    "figure-dss": figure_dss_subgraphs,
}
"""Pictures of single graphs, drawn at once from models trained for them."""


def saliency_notes(name: str, drawn: dict[str, Any]) -> FigureNotes:
    """The text beside the figure of that name: how well the systems find the nodes, or what DSS-GNN keeps.

    >>> drawn = {"caption": "", "accuracy": {"sar-gcn": 0.5, "sagpool": 0.25}, "node_auc": {"sar-gcn": 0.9}}
    >>> saliency_notes("figure-saliency-triangles", drawn).rows
    (('sar-gcn', '50.0', '0.900'), ('sagpool', '25.0', ''))
    """
    if "whole" in drawn:
        kept = tuple((data, f"{fraction:.0%}") for data, fraction in drawn["whole"].items())
        molecules, triangles = drawn["whole"].values()
        claims = [
            _most(CLAIMS["triangles kept"], triangles, triangles > 0.5),
            _most(CLAIMS["rings broken"], molecules, molecules < 0.5),
        ]
        title = "Figure: subgraphs of DSS-GNN"
        return FigureNotes(title, drawn["caption"], tuple(claims), ("data", "left whole"), kept)
    known = {system: value for system, value in drawn["node_auc"].items() if value is not None}
    rows = tuple(
        (system, f"{100 * accuracy:.1f}", f"{known[system]:.3f}" if system in known else "")
        for system, accuracy in drawn["accuracy"].items()
    )
    (sar, own), *others = known.items()
    claims = [
        judge(CLAIMS[name], f"node AUC, {sar} against {other}", np.array([own]), np.array([value]), unit="")
        for other, value in others
    ]
    title = f"Figure: saliency on {name.rpartition('-')[2].upper()}"
    return FigureNotes(title, drawn["caption"], tuple(claims), ("system", "test accuracy, %", "node AUC"), rows)


def _most(text: str, fraction: float, holds: bool) -> Claim:
    return Claim(text, f"{fraction:.0%} are left whole", None, "reproduced" if holds else "contradicted")
