"""How SAR models train at rising learning rates, plain and with the training that the wide search gives them: one row
per training, for ``results/memory-training.jsonl``, and the picture of the rows.

    python benchmarks/memory_training.py --out results/memory-training.jsonl
    python benchmarks/memory_training.py --out results/memory-training.jsonl --picture docs/images/memory-training.png
    python benchmarks/memory_training.py --out results/memory-training.jsonl --table

Letter-high, one fold, 128 features, the paper's equations (one head). *Plain*: Adam at a constant rate. *Remedied*: the
memory learns at 0.001 at most, gradients are clipped at norm 1, the rate follows a cosine. Each of these alone, too.
After every epoch, on the validation graphs: how evenly the memory's attention is spread (its entropy over that of equal
weights, graphs of one node left out), and how large the memory is after each layer. Beside it the training loss.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from sargnn import Fold, GraphSet, Settings, TrainingRun, load, viz
from sargnn.batching import Batch
from sargnn.bench.rows import write_rows
from sargnn.console import note
from sargnn.data.protocol_splits import protocol_folds
from sargnn.errors import Diverged
from sargnn.nn import SARGNN
from sargnn.nn.memory import GraphNeuralMemory
from sargnn.viz import COLOURS, house_style

RATES = (1e-3, 3e-3, 1e-2)
SLOW, CLIPPED, FALLING = ({"memory_rate": 1e-3}, {"clip": 1.0}, {"schedule": "cosine"})
TRAININGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "memory at 0.001": SLOW,
    "clipped gradients": CLIPPED,
    "falling rate": FALLING,
    "remedied": SLOW | CLIPPED | FALLING,
}
"""What differs from Adam at a constant rate."""
PICTURED = ("plain", "remedied")


class MemoryWatch:
    """Sees every read of a model's memory: how evenly it attends, and how large it is afterwards.

    softmax(q_m Kᵀ / √d) is computed here a second time, from the equation: the model itself never forms K.
    """

    def __init__(self, model: SARGNN) -> None:
        self.seen: list[tuple[float, float]] = []
        for layer in model.memory_layers:
            layer.register_forward_hook(self._look)

    def _look(self, layer: GraphNeuralMemory, inputs: tuple[Tensor, Tensor, Batch], after: Tensor) -> None:
        if layer.training:
            return
        h, memory, batch = inputs
        h, memory = h.double(), memory.double()
        key, query = layer.key.weight.double(), layer.query.weight.double()
        graph = batch.spread(torch.arange(batch.num_graphs, dtype=h.dtype).unsqueeze(-1)).squeeze(-1).long()
        scores = ((memory @ query.mT)[graph] * (h @ key.mT)).sum(-1) * query.shape[0] ** -0.5
        spread = [_spread(scores[graph == g]) for g in range(batch.num_graphs)]
        self.seen.append((float(np.mean([s for s in spread if s is not None])), float(after.norm(dim=-1).mean())))


def _spread(scores: Tensor) -> float | None:
    """The entropy of softmax(scores) over that of equal weights, 0..1; none for a single node.

    >>> _spread(torch.zeros(3))
    1.0
    """
    if len(scores) < 2:
        return None
    p = scores.softmax(0)
    return float(-torch.xlogy(p, p).sum() / np.log(len(scores)))


def measure(
    graphs: GraphSet, fold: Fold, backbones: Sequence[str], seeds: int, epochs: int, hidden: int = 128
) -> Iterator[dict[str, Any]]:
    """Every backbone, rate and training."""
    for seed, backbone, rate, (name, values) in product(range(seeds), backbones, RATES, TRAININGS.items()):
        own = {"training.learning_rate": rate, "training.epochs": epochs, "training.patience": 0, "training.seed": seed}
        own |= {f"training.{key}": value for key, value in values.items()}
        own |= {"model.hidden": hidden, "training.layout": "packed"}
        curves = trained(graphs, fold, Settings.of(f"sar-{backbone}", own))
        note(f"seed {seed}, sar-{backbone}, {rate}, {name}: loss {curves['train_loss'][-1]:.3f}")
        yield {
            "model": f"sar-{backbone}",
            "seed": seed,
            "learning_rate": rate,
            "training": name,
            "epochs": epochs,
        } | curves


def trained(graphs: GraphSet, fold: Fold, settings: Settings) -> dict[str, Any]:
    """The curves of one training, by epoch; spread and size of the memory by layer in each."""
    run = TrainingRun.start(graphs, settings, fold=fold)
    assert isinstance(run.trained.model, SARGNN)
    watch = MemoryWatch(run.trained.model)
    curves: dict[str, Any] = {"train_loss": [], "validation_accuracy": [], "entropy": [], "memory_norm": []}
    try:
        for row in run:
            # One pass over the validation graphs per epoch, perhaps in several batches: the mean over them.
            layers = np.array(watch.seen).reshape(-1, len(run.trained.model.memory_layers), 2).mean(axis=0)
            watch.seen.clear()
            for key in ("train_loss", "validation_accuracy"):
                curves[key].append(round(row[key], 4))
            for key, column in zip(("entropy", "memory_norm"), layers.T.round(4).tolist(), strict=True):
                curves[key].append(column)
    except Diverged as error:
        note(str(error))
    return curves


@house_style()
def draw(rows: Sequence[dict[str, Any]]) -> Figure:
    """Loss, entropy and norm by epoch, plain and remedied; a column for each learning rate, a colour for each model."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    figure = Figure(figsize=(3 * len(RATES), 6.5), layout="constrained")
    panels = figure.subplots(3, len(RATES), sharex=True, sharey="row")
    for column, rate in enumerate(RATES):
        panels[0][column].set(title=f"learning rate {rate:g}", ylim=(0, 3))
        panels[-1][column].set(xlabel="epoch", yscale="log")
        panels[-1][column].yaxis.set_major_formatter("{x:,.0f}")
        for (number, model), training in product(enumerate(models), PICTURED):
            own = [r for r in rows if (r["model"], r["learning_rate"], r["training"]) == (model, rate, training)]
            style = {"color": COLOURS[number], "linestyle": "-" if training == "remedied" else ":", "linewidth": 1.3}
            for row, curve in enumerate(_curves(own)):
                panels[row][column].plot(1 + np.arange(len(curve)), curve, **style, label=f"{model}, {training}")
    for row, name in enumerate(
        ("training loss", "entropy of the attention,\nfirst layer", "norm of the memory,\nlast layer")
    ):
        panels[row][0].set(ylabel=name)
    panels[0][0].legend(loc="lower left", fontsize=6)
    return figure


def _curves(rows: Sequence[dict[str, Any]]) -> Iterator[np.ndarray]:
    """Means over seeds, as long as the shortest of them."""
    for key, layer in (("train_loss", None), ("entropy", 0), ("memory_norm", -1)):
        curves = [np.array(row[key]) if layer is None else np.array(row[key])[:, layer] for row in rows]
        yield np.mean([curve[: min(map(len, curves))] for curve in curves], axis=0) if curves else np.empty(0)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The training loss after the last epoch, mean over seeds, as Markdown; "diverged" where one did."""
    kinds = list(product(dict.fromkeys(row["model"] for row in rows), RATES))
    lines = ["| model | learning rate | " + " | ".join(TRAININGS) + " |", "|---" * (2 + len(TRAININGS)) + "|"]
    for model, rate in kinds:
        cells = []
        for training in TRAININGS:
            own = [r for r in rows if (r["model"], r["learning_rate"], r["training"]) == (model, rate, training)]
            whole = all(len(row["train_loss"]) == row["epochs"] for row in own)
            cells.append(f"{np.mean([row['train_loss'][-1] for row in own]):.2f}" if whole else "diverged")
        lines.append(f"| {model} | {rate:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--backbones", nargs="+", default=["gcn", "gin"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--fold", type=int, default=0)
    parser.add_argument("--data", default="Letter-high")
    parser.add_argument("--out", type=Path, required=True, help="the file of the rows")
    parser.add_argument("--picture", type=Path, help="draw the rows of --out to this file; nothing is trained")
    parser.add_argument("--table", action="store_true", help="sum up the rows of --out; nothing is trained")
    options = parser.parse_args()
    if options.picture or options.table:
        rows = [json.loads(line) for line in options.out.read_text().splitlines()]
        if options.picture:
            viz.save(draw(rows), options.picture)
        if options.table:
            print(table(rows))
        return
    torch.set_num_threads(1)
    graphs = load(options.data)
    fold = protocol_folds(graphs)[options.fold]
    write_rows(options.out, measure(graphs, fold, options.backbones, options.seeds, options.epochs))


if __name__ == "__main__":
    main()
