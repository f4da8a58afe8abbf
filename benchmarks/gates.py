"""What makes the saliency of a gated readout right? One member of ``sargnn-plus`` with other gates, trained on classes
alone where the nodes that decide are known: one row per training, for ``results/gates.jsonl``.

    python benchmarks/gates.py --out results/gates.jsonl
    python benchmarks/gates.py --out results/gates.jsonl --table

*Gates*: ``sigmoid``, the recipe's; ``softmax``, which share out one whole (read as mean, and times log n); ``last``
see the features after the last layer alone; ``hard`` can be exactly 0 and 1 (hard-concrete, drawn in training);
``bottleneck`` are held at 1/2 by a divergence of weight 1 (mean over nodes), so that opening or closing one costs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

import sargnn
from sargnn.batching import Batch
from sargnn.bench.rows import conditions
from sargnn.data.splits import holdout, official
from sargnn.nn import SARGNN, ModelConfig
from sargnn.nn.gates import GatedReadout
from sargnn.nn.graph_model import Encoding
from sargnn.nn.memory import perceptron
from sargnn.nn.readouts import READOUTS

sys.path.insert(0, str(Path(__file__).parent))
GATES = ("sigmoid", "softmax", "last", "hard", "bottleneck")
TEMPERATURE, STRETCH = 2 / 3, 0.1
"""Of the hard-concrete gates."""


@dataclass(frozen=True)
class GatesConfig(ModelConfig):
    """SARGNN with one of the gates."""

    gate: Literal["sigmoid", "softmax", "last", "hard", "bottleneck"] = "sigmoid"
    """Which gates."""


class OtherGates(GatedReadout):
    """The gated readout with one of the gates."""

    def __init__(self, gate: str, inputs: int, hidden: int, layers: int) -> None:
        super().__init__(inputs, hidden, layers)
        self.gate = gate
        self.loss: Tensor | None = None
        if gate == "last":
            self.mlp = perceptron(hidden, hidden, 1)

    def forward(self, features: Sequence[Tensor], batch: Batch) -> tuple[Tensor, Tensor]:
        if self.gate != "softmax":
            return super().forward(features, batch)
        s = batch.softmax_nodes(self._logits(features))
        return self.norm(READOUTS["salient"].vector(features[-1], None, s, batch), batch), s

    def gates(self, features: Sequence[Tensor], batch: Batch) -> Tensor:
        logits, nodes = self._logits(features), batch.uniform > 0
        opened = logits.sigmoid()
        if self.gate == "hard":
            if self.training:
                noise = torch.rand_like(logits).clamp(1e-6, 1 - 1e-6)
                opened = ((noise.logit() + logits) / TEMPERATURE).sigmoid()
            opened = (opened * (1 + 2 * STRETCH) - STRETCH).clamp(0, 1)
        if self.gate == "bottleneck":
            kept = opened[nodes].clamp(1e-6, 1 - 1e-6)
            self.loss = (kept * (2 * kept).log() + (1 - kept) * (2 * (1 - kept)).log()).mean()
        return torch.where(nodes, opened, 0.0)

    def _logits(self, features: Sequence[Tensor]) -> Tensor:
        seen = features[-1:] if self.gate == "last" else features
        return self.mlp(torch.cat(tuple(seen), dim=-1)).squeeze(-1)


class Gates(SARGNN):
    """One member of the recommended model, its gates replaced."""

    def __init__(self, config: GatesConfig, inputs: int, classes: int, **widths: int) -> None:
        super().__init__(config, inputs, classes, **widths)
        self.gates[0] = OtherGates(config.gate, inputs, config.hidden, config.layers)

    def encode(self, batch: Batch) -> Encoding:
        return super().encode(batch)._replace(loss=self.gates[0].loss if self.training else None)


def measure(data: str, gates: Sequence[str], seeds: range) -> Iterator[dict[str, Any]]:
    """The rows of a set of ``benchmarks/saliency.py``: every gate with every seed."""
    from saliency import SETS, found

    graphs = SETS[data]()
    fold = official(graphs) or holdout(graphs)
    test = graphs.subset(fold.test)
    own = sargnn.Settings.of("sargnn-plus", {"model.members": 1}).flat()
    values = {key: value for key, value in own.items() if "." in key}
    for gate in gates:
        maps: list[np.ndarray] = []
        for seed in seeds:
            settings = sargnn.Settings.of("gates:Gates", {**values, "model.gate": gate, "training.seed": seed})
            run = sargnn.train(graphs, settings, fold=fold)
            maps.append(run.trained.saliency(test))
            row = {"data": data, "gate": gate, "seed": seed, "accuracy": run.scores["test"]["accuracy"]}
            yield row | found(maps, test) | {"train_seconds": run.seconds}


def table(rows: list[dict[str, Any]]) -> str:
    """Mean accuracy, mean and worst node AUC, and mean rank correlation between seeds."""
    sets = list(dict.fromkeys(row["data"] for row in rows))
    lines = ["| gates | " + " | ".join(sets) + " |", "|---" * (len(sets) + 1) + "|"]
    for gate in GATES:
        cells = []
        for data in sets:
            own = [row for row in rows if (row["gate"], row["data"]) == (gate, data)]
            aucs, alike = [row["node_auc"] for row in own], [x for row in own for x in row["agreement"]]
            accuracy = 100 * np.mean([row["accuracy"] for row in own])
            cells.append(f"{np.mean(aucs):.2f}, {min(aucs):.2f}; {np.mean(alike):.2f}; {accuracy:.1f} %" if own else "")
        lines.append(f"| `{gate}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", nargs="+", default=("triangles", "ba-2motifs", "motifs", "mutagenicity, explained"))
    parser.add_argument("--gates", nargs="+", default=GATES, choices=GATES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True, help="the file of the rows")
    parser.add_argument("--table", action="store_true", help="only sum up the rows that are there")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if not options.table:
        with options.out.open("a") as file:
            for data in options.data:
                for row in measure(data, options.gates, range(options.seeds)):
                    file.write(json.dumps(row | conditions()) + "\n")
                    file.flush()
    print(table([json.loads(line) for line in options.out.read_text().splitlines()]))


if __name__ == "__main__":
    main()
