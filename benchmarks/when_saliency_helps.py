"""When does saliency help accuracy? Graphs in which few nodes carry the class and others distract: the paper's model
with the true, the learned, a uniform and a random saliency, all else equal.

    python benchmarks/when_saliency_helps.py --out results/when-saliency-helps.jsonl
    python benchmarks/when_saliency_helps.py --out results/when-saliency-helps.jsonl --table --picture out.png

*Graphs*: random trees. Four signal nodes have the value of the class, +1 or -1, under noise, and a mark. Of the twelve
others, a fraction are distractors: all those of a graph have the same value, +1 or -1 by chance, and no mark; the rest
are near 0. ``accuracy``: of test graphs made alike. ``accuracy_more``: of graphs with 36 others, all distractors.

*Arms*: SAR-GIN by the equations (fused weights, softmax, memory readout), two layers of 32 features. All arms have the
same parameters; the saliency that enters the fusion is ``oracle``: the truth; ``learned``; ``uniform``: 1/N, for which
β does not matter; or ``random``: of projections that stay as they were drawn. Equivalent: the 95 % interval of the
difference lies within 2 points, a margin that was fixed before the first training.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from scipy import stats
from torch import Tensor

import sargnn
from sargnn import viz
from sargnn.batching import Batch
from sargnn.bench.rows import conditions
from sargnn.data.splits import Fold
from sargnn.nn import SARGNN, ModelConfig
from sargnn.nn.saliency import NodeSaliency
from sargnn.viz.style import COLOURS, house_style

SIGNAL, OTHERS, MORE = 4, 12, 36
TEST = 500
MARGIN = 0.02
DISTRACTORS = (0.0, 0.5, 1.0)
SIZES = (100, 300, 1000)
BETAS = (1.0, 10.0, 30.0)
ARMS = ("oracle", "learned", "uniform", "random")
SHOWN_BETA = 10.0
"""Of the picture and the table of differences; every β is in the rows."""


class ArmSaliency(NodeSaliency):
    """Learned or random saliency as it is; of the other arms, what stands in its place."""

    def __init__(self, arm: str, width: int, memory: int, attention: int) -> None:
        super().__init__(width, memory, attention, learned=arm != "random")
        self.arm = arm

    def forward(self, memory: Tensor, h: Tensor, batch: Batch) -> Tensor:
        if self.arm == "oracle":
            assert batch.truth is not None
            return batch.truth
        return batch.uniform if self.arm == "uniform" else super().forward(memory, h, batch)


@dataclass(frozen=True)
class ArmConfig(ModelConfig):
    """SAR-GIN with the saliency of an arm."""

    arm: Literal["oracle", "learned", "uniform", "random"] = "learned"
    """Where the saliency comes from."""


class Arm(SARGNN):
    """The paper's model, its saliency replaced."""

    def make_saliency(self, width: int) -> ArmSaliency:
        c = self.config
        return ArmSaliency(c.arm, width, c.memory_width, c.attention_width)


def planted(count: int, others: int, distractors: float, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Trees whose signal nodes are marked, shuffled among the others."""
    made = []
    for number in range(count):
        size, label = SIGNAL + others, number % 2
        distracting = round(distractors * others)
        value = np.repeat([2 * label - 1, rng.choice([-1, 1]), 0], [SIGNAL, distracting, others - distracting])
        truth = np.repeat([1.0, 0.0], [SIGNAL, others])
        order = rng.permutation(size)
        spread = np.where(value == 0, 0.3, 1.0)
        attributes = np.stack([truth + 0.3 * rng.normal(size=size), value + spread * rng.normal(size=size)], axis=1)
        parents = [(node, int(rng.integers(node))) for node in range(1, size)]
        edges = [*parents, *((b, a) for a, b in parents)]
        made.append({"graph": (size, edges), "attributes": attributes[order], "truth": truth[order], "label": label})
    return made


def sets(training: int, distractors: float, seed: int) -> tuple[sargnn.GraphSet, Fold, np.ndarray]:
    """A set, its fold (validation graphs as many as a quarter of the training graphs), and the graphs with more."""
    rng = np.random.default_rng(seed)
    validation = training // 4
    made = planted(training + validation + TEST, OTHERS, distractors, rng) + planted(TEST, MORE, 1.0, rng)
    graphs = sargnn.pack(
        [one["graph"] for one in made],
        name="planted",
        classes=["-1", "+1"],
        y=[one["label"] for one in made],
        node_attributes=np.concatenate([one["attributes"] for one in made]),
        true_saliency=np.concatenate([one["truth"] for one in made]),
    )
    index = np.arange(len(made))
    parts = np.split(index, np.cumsum([training, validation, TEST]))
    return graphs, Fold(*parts[:3]), parts[3]


def measure(arm: str, beta: float, training: int, distractors: float, seed: int) -> dict[str, Any]:
    """One training."""
    graphs, fold, more = sets(training, distractors, seed)
    values = {
        "model.arm": arm, "model.beta": beta, "model.backbone": "gin", "model.layers": 2, "model.hidden": 32,
        "data.encodings": "attributes", "training.epochs": 40, "training.patience": 0, "training.batch_size": 32,
        "training.learning_rate": 0.003, "training.seed": seed,
    }  # fmt: skip
    run = sargnn.train(graphs, sargnn.Settings.of("when_saliency_helps:Arm", values), fold=fold)
    assert run.prediction is not None
    right = run.prediction.values.argmax(1) == graphs.y
    return {
        "arm": arm, "beta": beta, "training": training, "distractors": distractors, "seed": seed,
        "accuracy": float(right[fold.test].mean()), "accuracy_more": float(right[more].mean()),
        "node_auc": run.scores["test"]["saliency_auc"], "train_loss": run.state.history[-1]["train_loss"],
        "train_seconds": run.seconds, "parameters": sum(p.numel() for p in run.trained.model.parameters()),
    }  # fmt: skip


def trials(seeds: int) -> Iterator[tuple[str, float, int, float, int]]:
    """What is trained: every arm at every β, uniform at one, for it is the same at all."""
    for seed, training, distractors, arm, beta in product(range(seeds), SIZES, DISTRACTORS, ARMS, BETAS):
        if arm != "uniform" or beta == SHOWN_BETA:
            yield arm, beta, training, distractors, seed


def scores(rows: list[dict[str, Any]], key: str, **facts: Any) -> np.ndarray:
    """Of the rows with these facts, by seed."""
    own = {row["seed"]: row[key] for row in rows if all(row[name] == value for name, value in facts.items())}
    return np.array([own[seed] for seed in sorted(own)])


def difference(one: np.ndarray, other: np.ndarray) -> tuple[float, float, float]:
    """Mean paired difference over seeds and its 95 % interval."""
    paired = one - other
    half = stats.t.ppf(0.975, len(paired) - 1) * paired.std(ddof=1) / np.sqrt(len(paired))
    return paired.mean(), paired.mean() - half, paired.mean() + half


def verdict(low: float, high: float) -> str:
    if low > 0:
        return "helps"
    if high < 0:
        return "hurts"
    return "equivalent" if low > -MARGIN and high < MARGIN else "not settled"


def table(rows: list[dict[str, Any]]) -> str:
    """Accuracies, and what learned saliency and the truth add to a uniform one."""
    heads = ("test graphs", "distractors", "training graphs", "uniform", "random", "learned", "oracle")
    lines = [f"| {' | '.join(heads)} | learned - uniform | oracle - uniform |", "|---" * (len(heads) + 2) + "|"]
    for key, distractors, training in product(("accuracy", "accuracy_more"), DISTRACTORS, SIZES):
        own = {
            arm: scores(rows, key, arm=arm, beta=SHOWN_BETA, training=training, distractors=distractors) for arm in ARMS
        }
        alike = "alike" if key == "accuracy" else "more distractors"
        means = " | ".join(f"{100 * own[arm].mean():.1f}" for arm in ("uniform", "random", "learned", "oracle"))
        gains = []
        for arm in ("learned", "oracle"):
            mean, low, high = difference(own[arm], own["uniform"])
            gains.append(f"{100 * mean:+.1f} ({100 * low:+.1f} to {100 * high:+.1f}), {verdict(low, high)}")
        lines.append(f"| {alike} | {distractors:.0%} | {training} | {means} | {' | '.join(gains)} |")
    return "\n".join([*lines, "", *by_beta(rows)])


def by_beta(rows: list[dict[str, Any]]) -> list[str]:
    """The lines of a second table: means over all fractions and sizes, for each β."""
    lines = ["| test graphs | β | uniform | random | learned | oracle |", "|---|---|---|---|---|---|"]
    for (key, alike), beta in product((("accuracy", "alike"), ("accuracy_more", "more distractors")), BETAS):
        means = []
        for arm in ("uniform", "random", "learned", "oracle"):
            own = scores_of_all(rows, key, arm, SHOWN_BETA if arm == "uniform" else beta)
            means.append(f"{100 * own.mean():.1f}")
        lines.append(f"| {alike} | {beta:g} | {' | '.join(means)} |")
    return lines


def scores_of_all(rows: list[dict[str, Any]], key: str, arm: str, beta: float) -> np.ndarray:
    """By fraction of distractors, training size and seed."""
    places = product(DISTRACTORS, SIZES)
    return np.array([scores(rows, key, arm=arm, beta=beta, distractors=d, training=n) for d, n in places])


def picture(rows: list[dict[str, Any]]) -> Figure:
    """Accuracy by training size, a column for each fraction of distractors: test graphs alike, and with more below."""
    with house_style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.2), sharex=True, sharey="row", layout="constrained")
        for (i, key), (j, distractors) in product(enumerate(("accuracy", "accuracy_more")), enumerate(DISTRACTORS)):
            axis = axes[i, j]
            for arm, colour in zip(ARMS, COLOURS, strict=False):
                facts = {"arm": arm, "beta": SHOWN_BETA, "distractors": distractors}
                own = np.array([scores(rows, key, training=size, **facts) for size in SIZES]) * 100
                error = own.std(axis=1, ddof=1) / np.sqrt(own.shape[1])
                axis.errorbar(SIZES, own.mean(axis=1), error, color=colour, label=arm, linewidth=1.4, capsize=2)
            axis.set_xscale("log")
            axis.set_xticks(SIZES, [str(size) for size in SIZES])
            axis.minorticks_off()
            if i == 0:
                axis.set_title(f"{distractors:.0%} distractors in training")
            else:
                axis.set_xlabel("training graphs")
        axes[0, 0].set_ylabel("accuracy, test graphs alike (%)")
        axes[1, 0].set_ylabel("accuracy, more distractors (%)")
        axes[0, 0].legend()
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--part", default="0/1", help="K/N: every N-th training from the K-th on, for N processes")
    parser.add_argument("--out", type=Path, required=True, help="the file of the rows")
    parser.add_argument("--table", action="store_true", help="only sum up the rows that are there")
    parser.add_argument("--picture", type=Path, help="also draw accuracy by training size")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if not options.table:
        first, step = map(int, options.part.split("/"))
        with options.out.open("a") as file:
            for trial in list(trials(options.seeds))[first::step]:
                file.write(json.dumps(measure(*trial) | conditions()) + "\n")
                file.flush()
    rows = [json.loads(line) for line in options.out.read_text().splitlines()]
    print(table(rows))
    if options.picture:
        viz.save(picture(rows), options.picture)


if __name__ == "__main__":
    main()
