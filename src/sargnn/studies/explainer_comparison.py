"""Explainers compared on one data set: time, fidelity to the model, agreement with the truth.

Every row is one explainer of one model, as JSON. A random explainer, the baseline, is always among them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from sargnn.data.chemistry import known_causes, mutagenic_groups
from sargnn.data.graphs import GraphSet
from sargnn.data.molecule import atom_symbols
from sargnn.data.splits import Fold, holdout, official
from sargnn.errors import InputError
from sargnn.explain import metrics
from sargnn.explain.masking import hard_mask, masked_probabilities, soft_mask
from sargnn.metrics import node_auc
from sargnn.studies.explainers import EXPLAINERS, Explained, Subject, explain
from sargnn.training.hardware import hardware, versions
from sargnn.training.loop import predict_outputs
from sargnn.training.run import TrainingRun
from sargnn.training.settings import Settings

__all__ = ["ATTENTION_SYSTEMS", "as_table", "compare_explainers", "truths_of"]

Row = dict[str, Any]

ATTENTION_SYSTEMS = ("chebygin", "sagpool", "graph-unet", "graphormer")
"""Systems whose own node scores are compared with saliency: attention before pooling, top-k pooling scores, and the
attention of the graph token."""
SPARSITIES = (0.5, 0.6, 0.7, 0.8, 0.9)
"""Fractions of nodes left out of the explanation, over which fidelity is a curve."""
LEARNT = 30
"""Training graphs that PGExplainer learns from."""
RELABELLED = 5
"""Graphs that are explained again with their nodes in another order."""


@dataclass(frozen=True, eq=False)
class Sample:
    """What is explained: some of the test graphs, or of the validation graphs."""

    graphs: GraphSet
    fold: Fold
    part: str
    index: np.ndarray
    """The graphs to explain, in increasing order."""
    learn: np.ndarray
    """Training graphs for explainers that learn."""
    truths: dict[str, np.ndarray]
    """By name, float [N] over the nodes of those graphs; empty where nothing is known."""

    @property
    def node_graph(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.index)), self.graphs.sizes[self.index])


def compare_explainers(
    graphs: GraphSet, settings: Settings, *, count: int = 100, seeds: int = 2, explainers: Sequence[str] = (),
    part: str = "test", device: torch.device | str = "cpu",
) -> Iterator[Row]:  # fmt: skip
    """One row for every explainer of the model of ``settings``, then one for every attention system.

    At most ``count`` graphs of ``part`` are explained; choose settings with ``part="validation"``. Models and
    explainers are trained with ``seeds`` seeds, which shows how stable they are; most numbers are of the first.
    ``explainers`` are names of :data:`EXPLAINERS` and :data:`ATTENTION_SYSTEMS`, by default all.
    """
    known = [*EXPLAINERS, *ATTENTION_SYSTEMS]
    for name in explainers:
        if name not in known:
            raise InputError(f"--explainer: got {name!r}, expected one of {', '.join(known)}")
    names = [name for name in known if not explainers or name in {*explainers, "random"}]
    sample = _sample(graphs, settings.training.seed, part, count)
    own = [name for name in names if name in EXPLAINERS]
    saliency = yield from _rows(sample, settings, own, seeds, device)
    for system in names[len(own) :]:
        yield from _rows(sample, _attending(system, settings), ["saliency-mean"], seeds, device, reference=saliency)


def _attending(system: str, settings: Settings) -> Settings:
    """An attention system, trained as the compared model is, with its own inputs and the changes made to the compared
    model's node inputs: most systems read no inputs of edges and of whole graphs."""
    own = Settings.of(system)
    changes = settings.changes().get("data", {})
    own_alone = ("edge_encodings", "graph_encodings")
    changed = {name: getattr(settings.data, name) for name in changes if name not in own_alone}
    return replace(own, data=replace(own.data, **changed), training=settings.training)


def _sample(graphs: GraphSet, seed: int, part: str, count: int) -> Sample:
    if part not in ("validation", "test"):
        raise InputError(f"--part: got {part!r}, expected validation or test")
    fold = official(graphs) or holdout(graphs, seed=seed)
    rng = np.random.default_rng(seed)
    index = np.sort(rng.permutation(getattr(fold, part))[:count])
    learn = rng.permutation(fold.train)[:LEARNT]  # the training graphs may come sorted by class
    nodes = np.isin(graphs.node_graph, index)
    return Sample(graphs, fold, part, index, learn, {name: truth[nodes] for name, truth in truths_of(graphs).items()})


def truths_of(graphs: GraphSet) -> dict[str, np.ndarray]:
    """By name, float [N]: which nodes truly matter, as the set says, or by the known chemistry of MUTAG and of
    Mutagenicity."""
    if graphs.true_saliency is not None:
        return {"true saliency": graphs.true_saliency}
    if atom_symbols(graphs) is None:
        return {}
    if graphs.name == "Mutagenicity" and "mutagen" in (graphs.class_titles or graphs.classes):
        return {"NO2 and NH2": mutagenic_groups(graphs)}
    return known_causes(graphs) if graphs.name == "MUTAG" else {}


def _rows(
    sample: Sample, settings: Settings, names: Sequence[str], seeds: int, device: torch.device | str,
    reference: np.ndarray | None = None,
) -> Generator[Row, None, np.ndarray]:  # fmt: skip
    """One row per explainer; at the end, the map that all were compared with: by default the mean saliency."""
    runs = [_trained(sample, settings, settings.training.seed + k, device) for k in range(seeds)]
    subjects = [
        Subject(run.trained.model, run.data, sample.index, sample.learn, run.trained.settings.training.seed)
        for run in runs
    ]
    saliency = explain("saliency-mean", subjects[0]).scores  # a model's first call is slow, and this one is not timed
    reference = saliency if reference is None else reference
    for name in names:
        maps = [explain(name, subject) for subject in subjects]
        yield {
            "data": sample.graphs.name, "fingerprint": sample.graphs.fingerprint, "part": sample.part,
            "model": settings.name, "explainer": name, "graphs": len(sample.index),
            "training_graphs": len(sample.fold.train),
            "accuracy": {key: runs[0].scores[sample.part][key] for key in ("accuracy", "low", "high")},
            "seconds_per_graph": maps[0].seconds / len(sample.index),
            "cpu_seconds_per_graph": maps[0].cpu_seconds / len(sample.index), "setup_seconds": maps[0].setup_seconds,
            **_confirmed(subjects[0], maps[0].scores, sample.node_graph),
            **_judged(sample, maps, reference),
            "by_seed": [_of_seed(sample, run, found.scores) for run, found in zip(runs, maps, strict=True)],
            "relabelling_error": _relabelling_error(name, sample, runs[0]),
            "settings": settings.to_json(), "train_seconds": runs[0].seconds,
            "versions": versions(), "hardware": hardware(runs[0].data.device),
        }  # fmt: skip
    return reference


def _trained(sample: Sample, settings: Settings, seed: int, device: torch.device | str) -> TrainingRun:
    own = replace(settings, training=replace(settings.training, seed=seed))
    run = TrainingRun.start(sample.graphs, own, fold=sample.fold, device=device)
    if not predict_outputs(run.trained.model, run.data, sample.index[:1]).saliency:
        raise InputError(f"--model: got '{settings.name}' without saliency, expected one that has it, such as sar-gcn")
    for _ in run:
        pass
    return run.finish()


def _confirmed(subject: Subject, scores: np.ndarray, node_graph: np.ndarray) -> Row:
    """Fidelity to the model: hard masks over the curve of sparsities, and their means."""
    ask = partial(masked_probabilities, subject.model, subject.data, subject.index)
    whole, soft = ask(None), soft_mask(scores, node_graph)
    inside = [hard_mask(scores, node_graph, sparsity) for sparsity in SPARSITIES]
    kept, removed = [ask(mask) for mask in inside], [ask(~mask) for mask in inside]
    plus = np.array([metrics.changed(whole, p) for p in removed])
    minus = np.array([metrics.changed(whole, p) for p in kept])
    return {
        "fidelity_plus": _interval(plus.mean(axis=0)), "fidelity_minus": _interval(minus.mean(axis=0)),
        "characterization": metrics.characterization(float(plus.mean()), float(minus.mean())),
        "probability_plus": _interval(np.mean([metrics.probability_drop(whole, p) for p in removed], axis=0)),
        "probability_minus": _interval(np.mean([metrics.probability_drop(whole, p) for p in kept], axis=0)),
        "unfaithfulness": _interval(np.mean([metrics.unfaithfulness(whole, p) for p in kept], axis=0)),
        "soft_fidelity_plus": _interval(metrics.changed(whole, ask(1 - soft))),
        "soft_fidelity_minus": _interval(metrics.changed(whole, ask(soft))),
        "curve": {
            "sparsity": list(SPARSITIES),
            "fidelity_plus": plus.mean(axis=1).tolist(), "fidelity_minus": minus.mean(axis=1).tolist(),
        },
    }  # fmt: skip


def _judged(sample: Sample, maps: Sequence[Explained], reference: np.ndarray) -> Row:
    """The explanation against the truth, against the saliency, and against itself with another seed."""
    scores, node_graph = maps[0].scores, sample.node_graph
    aucs = {name: metrics.node_aucs(scores, truth, node_graph) for name, truth in sample.truths.items()}
    precisions = {name: metrics.precision_at_k(scores, truth, node_graph) for name, truth in sample.truths.items()}
    return {
        "node_auc": {name: _interval(values) for name, values in aucs.items()},
        "precision_at_k": {name: _interval(values) for name, values in precisions.items()},
        "agreement": _interval(metrics.agreement(scores, reference, node_graph)),
        "stability": _interval(metrics.stability([m.scores for m in maps], node_graph)),
    }


def _of_seed(sample: Sample, run: TrainingRun, scores: np.ndarray) -> Row:
    return {
        "seed": run.trained.settings.training.seed, "accuracy": run.scores[sample.part]["accuracy"],
        "node_auc": {name: node_auc(scores, truth, sample.node_graph) for name, truth in sample.truths.items()},
    }  # fmt: skip


def _relabelling_error(name: str, sample: Sample, run: TrainingRun) -> float:
    """Of a few graphs, and of the training graphs of an explainer that learns, all in another order of nodes."""
    explained = sample.index[:RELABELLED]
    few = sample.graphs.subset(np.concatenate([explained, sample.learn]))
    renamed, order = metrics.relabelled(few)
    index, learn = np.split(np.arange(len(few)), [len(explained)])
    before, after = (
        explain(name, Subject(run.trained.model, run.trained.tensors(graphs, run.data.device), index, learn)).scores
        for graphs in (few, renamed)
    )
    return metrics.relabelling_error(before, after, order[: len(before)])


def _interval(values: np.ndarray) -> Row | None:
    found = metrics.interval(values)
    return None if found is None else found._asdict()


COLUMNS = {
    "fidelity_plus": "fid+ ↑", "fidelity_minus": "fid- ↓", "characterization": "charact. ↑",
    "unfaithfulness": "unfaithful ↓", "agreement": "like saliency", "stability": "stable ↑",
    "relabelling_error": "relabelled ↓",
}  # fmt: skip


def as_table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table, means with their 95 % intervals."""
    header = ["data", "model", "explainer", "accuracy", "ms per graph", "node AUC ↑", "precision@k ↑"]
    header += COLUMNS.values()
    lines = [header, ["---"] * len(header)]
    for row in rows:
        accuracy = "{accuracy:.1%} ({low:.0%}-{high:.0%})".format(**row["accuracy"])
        truths = [next(iter(row[name].values()), None) for name in ("node_auc", "precision_at_k")]
        cells = [row["data"], row["model"], row["explainer"], accuracy, f"{1000 * row['seconds_per_graph']:.3g}"]
        lines.append([*cells, *map(_cell, truths), *(_cell(row[key]) for key in COLUMNS)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Row | float | None) -> str:
    """A mean with its interval, or a number.

    >>> _cell({"mean": 0.5, "low": 0.25, "high": 0.75}), _cell(None), _cell(0.123)
    ('.50 (.25 to .75)', '-', '0.12')
    """
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2g}"
    mean, low, high = (f"{value[key]:.2f}".replace("0.", ".", 1) for key in ("mean", "low", "high"))
    return f"{mean} ({low} to {high})"
