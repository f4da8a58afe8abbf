"""The paper's tables and figures as values: what was published, what is measured, and over which grids. No logic.

Accuracies are per cent, mean and standard deviation over ten folds (over initialisations on TRIANGLES).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = [
    "ABLATIONS", "BATCH_SIZES", "CLAIMS", "DATA_SETS", "EQUAL_FLOPS", "EQUAL_PARAMETERS", "IMPLIED", "MAPPED", "OTHER_INPUTS", "POLICIES",
    "PRESETS", "QUOTED", "SYSTEMS", "TABLE1", "TABLE2", "TABLE3", "Preset",
]  # fmt: skip

Number = tuple[float, float]
Values = dict[str, Any]

DATA_SETS = ("MUTAG", "ENZYMES", "IMDB-MULTI", "TRIANGLES", "Letter-high", "PROTEINS", "IMDB-BINARY")
"""The columns of Table 2."""

TABLE1: dict[str, dict[str, dict[str, Number]]] = {
    "base": {
        "gcn": {"MUTAG": (71.6, 10.9), "Letter-high": (61.1, 2.6)}, "gin": {"MUTAG": (81.4, 6.6), "Letter-high": (73.3, 2.5)},
        "sage": {"MUTAG": (75.8, 7.8), "Letter-high": (71.0, 2.7)}, "gat": {"MUTAG": (76.1, 4.2), "Letter-high": (82.1, 1.8)},
    },
    "gnm-gnn": {
        "gcn": {"MUTAG": (76.7, 7.0), "Letter-high": (73.2, 1.9)}, "gin": {"MUTAG": (84.7, 5.6), "Letter-high": (79.5, 2.2)},
        "sage": {"MUTAG": (78.4, 7.3), "Letter-high": (75.9, 2.3)}, "gat": {"MUTAG": (77.5, 4.3), "Letter-high": (82.6, 1.3)},
    },
    "sar-pooling-w": {
        "gcn": {"MUTAG": (76.2, 6.0), "Letter-high": (70.7, 1.8)}, "gin": {"MUTAG": (83.8, 4.0), "Letter-high": (75.3, 1.8)},
        "sage": {"MUTAG": (82.8, 6.8), "Letter-high": (76.8, 2.5)}, "gat": {"MUTAG": (79.9, 2.7), "Letter-high": (83.4, 4.6)},
    },
    "sar-pooling-s": {
        "gcn": {"MUTAG": (75.9, 10.1), "Letter-high": (70.5, 2.9)}, "gin": {"MUTAG": (84.0, 7.3), "Letter-high": (74.1, 3.4)},
        "sage": {"MUTAG": (81.9, 10.3), "Letter-high": (75.8, 2.9)}, "gat": {"MUTAG": (78.3, 3.2), "Letter-high": (84.4, 4.1)},
    },
    "sar-gnn-w": {
        "gcn": {"MUTAG": (80.0, 5.1), "Letter-high": (77.6, 2.4)}, "gin": {"MUTAG": (85.1, 5.0), "Letter-high": (82.3, 1.8)},
        "sage": {"MUTAG": (84.6, 4.2), "Letter-high": (80.8, 2.6)}, "gat": {"MUTAG": (81.4, 2.8), "Letter-high": (85.1, 2.6)},
    },
    "sar-gnn-s": {
        "gcn": {"MUTAG": (82.2, 5.5), "Letter-high": (76.8, 1.7)}, "gin": {"MUTAG": (85.3, 5.5), "Letter-high": (83.6, 1.7)},
        "sage": {"MUTAG": (87.4, 3.1), "Letter-high": (80.5, 2.6)}, "gat": {"MUTAG": (80.2, 3.4), "Letter-high": (85.0, 5.2)},
    },
}  # fmt: skip
"""Ablation: variant -> backbone -> data set."""

TABLE2: dict[str, tuple[Number, ...]] = {
    "dgcnn": ((83.9, 5.8), (38.6, 4.8), (46.4, 3.5), (77.3, 4.2), (44.7, 2.9), (72.5, 4.1), (66.9, 3.9)),
    "ecc": ((81.4, 7.6), (29.5, 8.2), (43.5, 3.1), (80.4, 0.5), (80.8, 1.5), (72.3, 4.0), (66.2, 2.1)),
    "chebygin": ((83.4, 6.0), (26.3, 2.7), (39.0, 1.5), (67.0, 3.0), (27.0, 2.2), (71.2, 3.4), (50.0, 0.5)),
    "dss-gnn": ((84.1, 5.9), (62.5, 5.7), (50.1, 2.4), (93.3, 1.1), (83.6, 2.0), (69.2, 5.6), (71.5, 3.6)),
    "gsn": ((84.4, 5.5), (63.2, 6.8), (51.1, 2.7), (76.1, 5.2), (40.3, 2.4), (72.9, 3.7), (72.5, 4.1)),
    "graphormer": ((83.1, 6.7), (58.7, 5.2), (48.9, 2.7), (56.1, 2.1), (76.3, 2.4), (76.3, 3.4), (72.9, 3.3)),
    "sagpool": ((72.6, 5.7), (31.9, 5.7), (46.0, 3.8), (63.2, 10.3), (72.2, 3.3), (72.6, 3.3), (69.2, 3.5)),
    "graph-unet": ((76.0, 7.2), (34.4, 3.0), (47.6, 3.0), (54.0, 1.0), (42.5, 1.3), (74.2, 5.2), (68.3, 3.3)),
    "dgm": ((86.2, 6.7), (40.3, 2.2), (49.2, 2.5), (53.4, 2.3), (56.4, 3.4), (68.8, 6.9), (73.1, 3.8)),
    "ugformer": ((78.2, 5.9), (68.9, 4.7), (49.6, 2.1), (81.0, 4.6), (80.6, 2.7), (70.1, 3.5), (70.1, 2.3)),
    "slim": ((78.8, 4.8), (56.1, 3.4), (47.6, 2.1), (68.9, 3.1), (71.3, 1.8), (74.1, 4.7), (70.8, 5.7)),
    "adsf": ((76.4, 6.2), (66.0, 4.3), (45.2, 4.9), (62.4, 5.2), (80.1, 2.4), (73.9, 6.8), (69.4, 2.7)),
    "gcn": ((71.6, 10.9), (68.1, 4.0), (48.2, 3.8), (46.0, 1.0), (61.1, 2.6), (73.3, 3.1), (68.4, 6.7)),
    "gin": ((81.4, 6.6), (62.3, 5.0), (48.5, 3.3), (51.6, 2.7), (73.3, 2.5), (73.5, 3.4), (70.2, 2.8)),
    "sage": ((75.8, 7.8), (62.1, 6.2), (47.6, 3.5), (52.5, 0.4), (71.0, 2.7), (73.0, 4.6), (70.7, 4.4)),
    "gat": ((76.1, 4.2), (65.4, 5.2), (46.0, 3.2), (65.4, 3.4), (82.1, 1.8), (73.5, 2.6), (70.0, 5.1)),
    "sar-gcn": ((82.2, 5.5), (69.3, 5.0), (49.1, 3.1), (81.7, 0.9), (77.6, 2.4), (76.8, 3.4), (69.2, 4.8)),
    "sar-gin": ((85.3, 5.5), (65.7, 3.5), (51.6, 3.7), (78.2, 4.2), (84.8, 1.3), (75.3, 6.4), (73.7, 3.9)),
    "sar-sage": ((87.4, 3.1), (68.7, 4.0), (48.7, 3.2), (78.9, 1.2), (80.5, 2.6), (76.0, 4.7), (70.9, 4.1)),
    "sar-gat": ((81.4, 2.8), (69.1, 4.7), (47.7, 2.6), (87.4, 4.6), (85.1, 2.6), (75.8, 1.9), (72.5, 2.8)),
}
"""Comparison: system -> accuracy in the order of ``DATA_SETS``."""

SYSTEMS = (*TABLE2, "deepsets", "topological-forest")
"""The rows of Table 2, and two baselines that pass no messages, for which the paper has no value."""

TABLE3: dict[str, tuple[Number, Number]] = {
    "chebygin": ((67.0, 3.0), (88.0, 1.0)),
    "sar-gcn": ((81.7, 0.9), (91.2, 1.7)),
    "sar-gin": ((78.2, 4.2), (89.8, 2.1)),
    "sar-sage": ((78.9, 1.2), (89.3, 2.0)),
    "sar-gat": ((87.4, 4.6), (91.8, 1.5)),
}
"""TRIANGLES: system -> accuracy without and with supervised saliency."""

QUOTED = {
    ("ecc", "IMDB-MULTI"): "Errica et al. 2020", ("gin", "IMDB-MULTI"): "Errica et al. 2020",
    ("sage", "IMDB-MULTI"): "Errica et al. 2020", ("ecc", "ENZYMES"): "Errica et al. 2020",
    ("gcn", "TRIANGLES"): "Knyazev et al. 2019", ("chebygin", "TRIANGLES"): "Knyazev et al. 2019",
}  # fmt: skip
"""Published cells that equal another paper's value to the digit, mean and deviation: quoted, it seems, not re-run."""

OTHER_INPUTS = {
    "Letter-high": (("dgcnn", "chebygin", "gsn", "graph-unet"), "near what structure without the coordinates can give"),
    "ENZYMES": (
        ("chebygin", "graph-unet", "sagpool", "dgm"),
        "far below a baseline without edges, as if the attributes of nodes were left out, as the code of these systems does",
    ),
    "IMDB-BINARY": (("chebygin",), "what guessing gives: the two classes are equally large"),
}
"""Published cells that look as if they were run on other inputs than those of the set: by data set, which, and why."""


@dataclass(frozen=True)
class Preset:
    """How much of a study is computed."""

    folds: int
    repeats: int
    epochs: int
    patience: int
    rates: tuple[tuple[float, float], ...]
    """Learning rate and weight decay of the grid."""
    shapes: int
    """How many other settings of the grid, times the rates: the same for every system."""
    seeds: int
    """Repeats where a set has one official split."""
    widths: tuple[int, ...] = (16, 64, 128)
    """Features of the SAR models in the figures about cost."""
    cost_set: str = "TRIANGLES"
    """The set of these figures: the paper's, or a small one."""
    selection_epochs: int | None = None
    """Epochs of the trainings that select a setting; none: as many as those that are tested."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Settings of every training."""
    wide: bool = False
    """Whether base and SAR models are searched over :data:`WIDE_SHAPES`."""


FIRST_RATES = ((1e-3, 0.0), (5e-3, 0.0))
"""Of the presets that came first."""
WIDE_RATES = ((1e-3, 5e-4), (3e-3, 5e-4), (1e-2, 0.0))
"""The first is that of the authors' published configuration."""
ANNEALED: Values = {"training.schedule": "cosine", "training.clip": 1.0, "training.memory_rate": 1e-3}
"""The rate falls to zero, so that short trainings can be compared; the memory learns no faster than it can."""

PRESETS = {
    "smoke": Preset(
        folds=2, repeats=1, epochs=3, patience=0, rates=((5e-3, 0.0),), shapes=1, seeds=1, widths=(16, 32), cost_set="MUTAG"
    ),
    "lean": Preset(folds=10, repeats=1, epochs=100, patience=25, rates=FIRST_RATES, shapes=1, seeds=1),
    "quick": Preset(folds=10, repeats=3, epochs=100, patience=25, rates=FIRST_RATES, shapes=2, seeds=3),
    "wide": (
        wide := Preset(
            folds=10, repeats=1, epochs=100, patience=0, rates=WIDE_RATES, shapes=4, seeds=3, selection_epochs=40,
            training=ANNEALED, wide=True,
        )
    ),
    "paper": replace(wide, repeats=3, widths=(16, 32, 64, 128)),
}  # fmt: skip
"""smoke: does it run; lean: every system once, at its default shape; quick: a short search; wide: a
search as wide as what the paper and its code leave open; paper: the same with three trainings per fold."""

BATCH_SIZES = {
    "MUTAG": 32, "ENZYMES": 64, "PROTEINS": 64, "IMDB-BINARY": 64, "IMDB-MULTI": 128, "Letter-high": 128, "TRIANGLES": 512,
}  # fmt: skip
"""Of all systems on a data set."""

ALWAYS: Values = {"model.norm": "batch", "training.monitor": "accuracy"}
"""Settings of all systems everywhere, as far as they have them. Batch normalisation after each layer is in the authors' code, not
in the equations; base models and SAR models get it alike, the other systems are as their authors describe them."""

SHAPES: dict[str, tuple[Values, ...]] = {
    "base": (
        {"model.layers": 3}, {"model.layers": 2}, {"model.layers": 4}, {"model.layers": 3, "model.hidden": 128},
        {"model.layers": 2, "model.hidden": 128}, {"model.layers": 1}, {"model.layers": 5}, {"model.layers": 3, "model.hidden": 32},
    ),
    "sar": (
        {"model.fusion": "weighted"}, {"model.fusion": "scaling", "model.gamma": 3.0},
        {"model.fusion": "weighted", "model.beta": 4.0}, {"model.fusion": "scaling", "model.gamma": 4.0, "model.hidden": 128},
        {"model.fusion": "weighted", "model.hidden": 128, "model.layers": 2},
        {"model.fusion": "weighted", "model.iterations": 2}, {"model.fusion": "scaling", "model.iterations": 2, "model.gamma": 3.0},
        {"model.fusion": "scaling", "model.gamma": 3.0, "model.layers": 2},
    ),
    "sar-w": (
        {"model.layers": 3}, {"model.layers": 2}, {"model.beta": 4.0}, {"model.hidden": 128}, {"model.layers": 2, "model.hidden": 128},
        {"model.iterations": 2}, {"model.beta": 10.0}, {"model.layers": 4},
    ),
    "sar-s": (
        {"model.gamma": 3.0}, {"model.gamma": 3.0, "model.layers": 2}, {"model.gamma": 1.0}, {"model.gamma": 4.0, "model.hidden": 128},
        {"model.gamma": 4.0, "model.layers": 2, "model.hidden": 128}, {"model.gamma": 3.0, "model.iterations": 2},
        {"model.gamma": 10.0}, {"model.gamma": 3.0, "model.layers": 4},
    ),
    "dgcnn": (
        {}, {"model.hidden": 64}, {"model.layers": 2}, {"model.nodes": 20}, {"model.layers": 4}, {"model.nodes": 50},
        {"model.dropout": 0.0}, {"model.layers": 2, "model.hidden": 64},
    ),
    "ecc": (
        {}, {"model.layers": 2}, {"model.halvings": 1}, {"model.hidden": 32}, {"model.halvings": 0}, {"model.layers": 2, "model.halvings": 1},
        {"model.layers": 4}, {"model.dropout": 0.25},
    ),
    "chebygin": (
        {}, {"model.readout": "sum"}, {"model.order": 4}, {"model.layers": 2}, {"model.attention": "linear"}, {"model.order": 2},
        {"model.aggregation": "mean"}, {"model.hidden": 32},
    ),
    "dss-gnn": (
        {}, {"model.hidden": 64}, {"model.hops": 3}, {"model.layers": 3}, {"model.layers": 2}, {"model.dropout": 0.5},
        {"model.hops": 3, "model.hidden": 64}, {"model.layers": 5},
    ),
    "gsn": (
        {}, {"model.layers": 2}, {"model.readout": "mean"}, {"model.dropout": 0.5}, {"model.hidden": 32}, {"model.layers": 3},
        {"model.layers": 2, "model.hidden": 32}, {"model.readout": "mean", "model.dropout": 0.5},
    ),
    "graphormer": (
        {}, {"model.layers": 2}, {"model.hidden": 32}, {"model.dropout": 0.3}, {"model.layers": 6}, {"model.hidden": 128},
        {"model.layers": 2, "model.hidden": 32}, {"model.max_distance": 5},
    ),
    "sagpool": (
        {}, {"model.hidden": 64}, {"model.ratio": 0.25}, {"model.layers": 2}, {"model.ratio": 0.75}, {"model.dropout": 0.0},
        {"model.hidden": 64, "model.layers": 2}, {"model.hidden": 32},
    ),
    "graph-unet": (
        {}, {"model.ratios": "0.8,0.6"}, {"model.hidden": 32}, {"model.dropout": 0.5}, {"model.classifier": 128}, {"model.ratios": "0.8"},
        {"model.hidden": 128}, {"model.hidden": 32, "model.classifier": 128},
    ),
    "dgm": (
        {}, {"model.hidden": 64}, {"model.clusters": "8,2"}, {"model.overlap": 0.25}, {"model.dropout": 0.0}, {"model.clusters": "10"},
        {"model.weighted": False}, {"model.hidden": 64, "model.clusters": "8,2"},
    ),
    "ugformer": (
        {}, {"model.variant": "all-nodes"}, {"model.layers": 1}, {"model.neighbours": 16}, {"model.blocks": 2}, {"model.dropout": 0.1},
        {"model.variant": "all-nodes", "model.layers": 1}, {"model.feed_forward": 1024},
    ),
    "slim": (
        {}, {"model.landmarks": 50}, {"model.hops": 2}, {"model.hops": 1}, {"model.hidden": 64}, {"model.dropout": 0.5},
        {"model.landmarks": 50, "model.hops": 2}, {"model.landmarks": 100},
    ),
    "adsf": (
        {}, {"model.layers": 3}, {"model.hops": 2}, {"model.restart": 0.3}, {"model.restart": 0.7}, {"model.dropout": 0.3},
        {"model.hidden": 128}, {"model.heads": 4},
    ),
    "deepsets": (
        {}, {"model.layers": 2}, {"model.hidden": 64}, {"model.hidden": 32}, {"model.hidden": 256}, {"model.dropout": 0.5},
        {"model.layers": 2, "model.hidden": 64}, {"model.layers": 3},
    ),
    "topological-forest": tuple(
        {"model.bins": bins, "model.leaf": leaf} for bins in (50, 20, 100, 10) for leaf in (1, 2, 4, 8)
    ),
}  # fmt: skip
"""Grids besides the learning rate, most useful first: a preset takes as many as it says, the same number for every kind. Systems
that are not of the paper's family have their own, which begins with their defaults. A forest has no learning rate and takes as
many shapes as the others have settings."""

HEADS: Values = {"model.heads": 8, "model.memory_heads": 8, "model.hidden": 128}
"""Of the authors' code."""
WIDE_SHAPES: dict[str, tuple[Values, ...]] = {
    "base": (
        HEADS, {**HEADS, "model.norm": "none"}, {**HEADS, "model.layers": 2, "model.dropout": 0.3, "model.hidden": 256},
        {**HEADS, "model.layers": 4, "model.dropout": 0.3},
    ),
    "sar-w": (
        HEADS, {**HEADS, "model.normalize": "none", "model.beta": 4.0},
        {**HEADS, "model.layers": 2, "model.dropout": 0.3, "model.hidden": 256, "model.beta": 10.0},
        {**HEADS, "model.layers": 4, "model.dropout": 0.3, "model.normalize": "none", "model.beta": 30.0, "model.iterations": 2},
    ),
    "sar-s": (
        {**HEADS, "model.gamma": 3.0}, {**HEADS, "model.normalize": "none", "model.gamma": 4.0},
        {**HEADS, "model.layers": 2, "model.dropout": 0.3, "model.hidden": 256, "model.gamma": 10.0},
        {**HEADS, "model.layers": 4, "model.dropout": 0.3, "model.normalize": "none", "model.gamma": 3.0, "model.iterations": 2},
    ),
}  # fmt: skip
"""Grids of the wide search over base and SAR models: heads, width, depth, normalisation, dropout, the strength of the fusion, and
both readings of its softmax. GraphSAGE takes both readings of its layer in turn, shape by shape. Without saliency (base, GNM-GNN)
the fusion has nothing to vary. Where the fusion is open (Table 2), shapes of the two kinds take turns."""

ABLATIONS: dict[str, Values] = {
    "SAR-GCN, the equations": {},
    "uniform saliency": {"model.saliency": "uniform"},
    "random saliency": {"model.saliency": "random"},
    "no saliency (GNM-GNN)": {"model.saliency": "none"},
    "no softmax in the fusion": {"model.normalize": "none"},
    "random-walk inputs": {"data.encodings": "auto,random-walk"},
    "random-walk inputs, no softmax": {"data.encodings": "auto,random-walk", "model.normalize": "none"},
    "no batch normalisation": {"model.norm": "none"},
    "batch statistics at test": {"model.norm": "transductive"},
    "as published (authors' code)": {
        "model.normalize": "as-published", "model.memory_block": "as-published", "model.memory_heads": 8, "model.hidden": 128,
        "model.attention": 256, "model.input_norm": True, "model.bias": True, "model.saliency": "random",
    },
}  # fmt: skip
"""Is it the saliency that helps? The values in which each differs from the first, besides :data:`IMPLIED`; the table says in how
many. No saliency (GNM-GNN) is selected from the shapes of base models: there is no fusion to vary.

Batch statistics at test: trained as the first, but the validation and the test graphs are normalised by the statistics of
the batch they are judged in (a whole fold of these sets) and not by those of training, as in the authors' code, which
evaluates in training mode. Their dropout at test and their update of the running statistics are left out."""
IMPLIED: dict[tuple[str, Any], Values] = {("model.saliency", "none"): {"model.normalize": "none"}}
"""Setting of an ablation -> what changes with it: weights that no saliency enters are not normalised by a softmax."""
OF_THE_AUTHORS_CODE = ("batch statistics at test", "as published (authors' code)")
"""Ablations of the system ``as-published``, which starts from the authors' code; the others are of ``sar-gcn``."""
EQUATIONS: Values = {
    "model.memory_block": "equation", "model.normalize": "softmax", "model.saliency": "learned", "model.memory_heads": 1,
    "model.hidden": 64, "model.attention": None, "model.input_norm": False, "model.bias": False,
}  # fmt: skip
"""What makes ``as-published`` the model of the equations again: where those ablations start from."""
ABLATIONS_OF_TABLE2 = ("SAR-GCN, the equations", "as published (authors' code)")
"""Rows whose published value is that of SAR-GCN: which of the two the paper measured cannot be told."""
ABLATION_SETS = ("MUTAG", "ENZYMES", "Letter-high")

POLICIES: dict[str, Values] = {
    "joint": {},
    "alternating, every epoch": {"training.policy": "alternating"},
    "alternating, every 10 epochs": {"training.policy": "alternating", "training.alternate_epochs": 10},
}
"""Of training SAR-GCN, on the sets of Table 1. The paper does not say how long a turn is."""

MAPPED = {"Letter-high": ("sar-gin", "gin", "dss-gnn", "ecc"), "ENZYMES": ("sar-sage", "sage", "ugformer", "adsf")}
"""Systems whose graph vectors are drawn, by data set. The paper draws four methods and names its own alone, SAR on GIN and on
GraphSAGE. The others are our choice: the base model, and the two best of Table 2 that are neither base nor SAR models."""

EQUAL_PARAMETERS = {16: 47, 32: 94, 64: 188, 128: 376}
"""Features of SAR-GCN -> features of the GCN with as many parameters, both of three layers, on TRIANGLES."""

EQUAL_FLOPS = {"gcn": {16: 39, 32: 76, 64: 150, 128: 298}, "gat": {16: 38, 32: 75, 64: 149, 128: 296}}
"""Backbone -> features of SAR on it -> features of the backbone alone with as many operations per graph, on TRIANGLES."""

BACKBONE_WIDTH = 64
"""Features of the backbone on which the memory grows."""

CLAIMS = {
    "optimization": "joint training classifies better than alternating training",
    "vectors": "classes are easier to separate in SAR's graph vectors than in those of the other methods",
    "parameters": "SAR-GCN is significantly better than GCN with the same number of parameters",
    "time": "both take comparable time for a graph",
    "memory": "a small memory already brings a large gain over GCN",
    "larger memory": "a larger memory gains more",
    "flops": "SAR is better by a large margin at the same computational complexity",
    "figure-saliency-triangles": "SAR-GCN's saliency finds the nodes of triangles better than ChebyGIN's and SAGPool's attention",
    "figure-saliency-mutag": "SAR-GraphSAGE's saliency finds fused rings, ChebyGIN's and SAGPool's attention does not",
    "triangles kept": "subgraphs of DSS-GNN keep triangles whole (here: most of those around a node of one)",
    "rings broken": "they do not keep fused rings whole (here: most of those around an atom of some)",
}
"""What the paper says of its figures, in our words. Their numbers are in pictures alone."""
