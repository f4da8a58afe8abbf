"""Which nodes decided, for which target: maps of nodes compared where each target has true nodes of its own.

    python benchmarks/target_maps.py motifs --seeds 0 1 2 --out results/target-maps.jsonl
    python benchmarks/target_maps.py tox21.csv --targets NR-AhR SR-MMP --out results/target-maps.jsonl
    python benchmarks/target_maps.py --table --out results/target-maps.jsonl

*Models*: ``sargnn-salient``, which has one memory and one saliency for all targets; and the same with ``model.slots =
target``: a memory read, a saliency, a pooled vector and a classifier of its own for each.

*Maps*: ``saliency``, of the model (of slots: that of the target's slot); ``contribution``, of each node to the target
through the readout, at the last layer; ``gradient x input``; ``effect``, by removing the node.

*Motifs*: a tree in which a house or a cycle of five nodes is planted, both or neither; each is a target. ``auc``: the
chance that a node of the target's motif is ranked above another node; ``auc_other``: the same against nodes of the
other motif alone, where both are planted, which a map shared by both targets cannot pass. ``drop``: how much the
log-odds of the target fall when the tenth of the nodes that are highest on the map is removed, mean over graphs that
are predicted to have the target; ``drop_random``: a random tenth.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import sargnn
from sargnn.batching import PackedBatch
from sargnn.batching.tensor_set import TensorSet
from sargnn.bench.rows import conditions
from sargnn.data.problems import Problems
from sargnn.data.roles import Roles
from sargnn.data.sources import read
from sargnn.explain.masking import hard_mask, induced
from sargnn.explain.metrics import node_aucs
from sargnn.nn.graph_model import GraphModel
from sargnn.tasks import Multilabel
from sargnn.training.run import TrainingRun

TREE, MOTIF = 20, 5
HOUSE = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)]
CYCLE = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
REMOVED = 0.1


def planted(count: int, seed: int) -> tuple[sargnn.GraphSet, np.ndarray]:
    """Trees with a house, a cycle, both or neither, and bool [N, 2], the nodes of each. What is not planted is replaced
    by five more nodes of the tree, so that all graphs are of one size."""
    rng = np.random.default_rng(seed)
    graphs, truth, targets = [], [], []
    for number in range(count):
        has = (number % 2, number // 2 % 2)
        size, pairs, nodes = TREE, [], np.zeros((TREE + 2 * MOTIF, 2), bool)
        tree = TREE + MOTIF * (2 - sum(has))
        for v in range(1, tree):
            pairs.append((v, int(rng.integers(v))))
        size = tree
        for target, motif in enumerate((HOUSE, CYCLE)):
            if has[target]:
                pairs += [(size + a, size + b) for a, b in motif] + [(size, int(rng.integers(tree)))]
                nodes[size : size + MOTIF, target] = True
                size += MOTIF
        order = rng.permutation(size)
        pairs = [(int(order[a]), int(order[b])) for a, b in pairs]
        graphs.append((size, [*pairs, *((b, a) for a, b in pairs)]))
        shuffled = np.empty_like(nodes)
        shuffled[order] = nodes
        truth.append(shuffled)
        targets.append(has)
    made = sargnn.pack(graphs, name="planted", targets=targets, target_names=["house", "cycle"])
    return made, np.concatenate(truth)


def measure(graphs: sargnn.GraphSet, truth: np.ndarray | None, model: str, values: dict[str, Any], seed: int) -> Any:
    """One training, and a row per target and map."""
    slots = {"shared": "shared", "slots": "target"}[model]
    settings = sargnn.Settings.of("sargnn-salient", {"model.slots": slots, **values, "training.seed": seed})
    task = Multilabel.of(graphs)
    fold = sargnn.holdout(graphs, seed=seed, validation=0.1, test=0.2, strata=task.strata(graphs.targets))
    run = TrainingRun.start(graphs, settings, fold=fold, task=task)
    for _ in run:
        pass
    run.finish()
    test, trained = graphs.subset(fold.test), run.trained
    nodes = None if truth is None else truth[np.isin(graphs.node_graph, fold.test)]
    parameters = sum(p.numel() for p in trained.model.parameters())
    facts = {"model": model, "seed": seed, "parameters": parameters, "train_seconds": run.seconds}
    data = trained.tensors(test)
    for target, called in enumerate(task.names):
        own = {**facts, "target": called, "auroc": run.scores["test"]["targets"][called]["auroc"]}
        for map_name, seconds, scores in maps(trained, data, target, model):
            row = {**own, "map": map_name, "seconds_per_graph": seconds / len(test)}
            yield row | judged(trained, test, data, scores, nodes, target, seed)


def maps(trained: Any, data: TensorSet, target: int, model: str) -> Iterator[tuple[str, float, np.ndarray]]:
    """Every map of the nodes, by name, with the time that it took."""
    start = time.perf_counter()
    layers = trained.predict_tensors(data).saliency
    yield "saliency", time.perf_counter() - start, layers[target if model == "slots" else -1]
    start = time.perf_counter()
    yield "contribution", *_timed(start, by_gradient(trained.model, data, target, at_inputs=False))
    start = time.perf_counter()
    yield "gradient x input", *_timed(start, by_gradient(trained.model, data, target, at_inputs=True))
    start = time.perf_counter()
    yield "effect", *_timed(start, trained.effects_of_tensors(data)[:, target])


def _timed(start: float, scores: np.ndarray) -> tuple[float, np.ndarray]:
    return time.perf_counter() - start, scores


def by_gradient(model: GraphModel, data: TensorSet, target: int, at_inputs: bool) -> np.ndarray:
    """Σ_f h_jf ∂z_t/∂h_jf, with h the node inputs, or the last node features of each member and their mean."""
    model.eval()
    found = []
    for start in range(0, len(data), 256):
        batch = data.packed(np.arange(start, min(start + 256, len(data))))
        members = [model] if at_inputs else model.ensemble_members()
        parts = []
        for member in members:
            batch = replace(batch, x=batch.x.detach().requires_grad_())
            encoding = member.encode(batch)
            place = batch.x if at_inputs else encoding.nodes
            (gradient,) = torch.autograd.grad(member.head(encoding.graph)[:, target].sum(), place)
            parts.append((gradient * place).sum(-1).detach())
        found.append(torch.stack(parts).mean(0))
    return torch.cat(found).double().numpy()


def judged(
    trained: Any, test: sargnn.GraphSet, data: TensorSet, scores: np.ndarray, truth: np.ndarray | None, target: int,
    seed: int,
) -> dict[str, Any]:  # fmt: skip
    """How well a map finds the target's nodes, and how much the target falls without them."""
    found: dict[str, Any] = {}
    if truth is not None:
        aucs = node_aucs(scores, truth[:, target], test.node_graph)
        other = truth.any(axis=1)
        found["auc"] = float(np.nanmean(aucs))
        found["auc_other"] = float(
            np.nanmean(node_aucs(scores[other], truth[other, target], _renumbered(test.node_graph[other])))
        )
    index = np.arange(len(data))
    whole = log_odds(trained.model, data.packed(index))[:, target]
    positive = whole > 0
    for name, own in (("drop", scores), ("drop_random", np.random.default_rng(seed).random(len(scores)))):
        kept = ~hard_mask(own, test.node_graph, sparsity=1 - REMOVED)
        left = log_odds(trained.model, induced(data.packed(index), torch.from_numpy(kept)))[:, target]
        found[name] = float((whole - left)[positive].mean()) if positive.any() else None
    return found | {"graphs": len(test), "predicted_positive": int(positive.sum())}


def _renumbered(node_graph: np.ndarray) -> np.ndarray:
    return np.unique(node_graph, return_inverse=True)[1]


def log_odds(model: GraphModel, batch: PackedBatch) -> np.ndarray:
    model.eval()
    with torch.no_grad():
        return model.head(model.encode(batch).graph).double().numpy()


def table(rows: list[dict[str, Any]]) -> str:
    """Means over seeds and targets."""
    keys = ("auroc", "auc", "auc_other", "drop", "drop_random", "seconds_per_graph")
    lines = ["| data | model | map | " + " | ".join(keys) + " |", "|---" * (len(keys) + 3) + "|"]
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["data"], row["model"], row["map"]), []).append(row)
    for names, own in groups.items():
        values = [[row[key] for row in own if row.get(key) is not None] for key in keys]
        cells = [f"{np.mean(v):.3f} ± {np.std(v) / np.sqrt(len(v)):.3f}" if v else "" for v in values]
        lines.append(f"| {' | '.join(names)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", nargs="?", help="motifs, or a CSV file of molecules")
    parser.add_argument("--targets", nargs="*", default=[], help="columns of the file")
    parser.add_argument("--models", nargs="*", default=["shared", "slots"])
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--graphs", type=int, default=1000, help="of the motifs")
    parser.add_argument("--set", nargs="*", default=[], help="settings, as in training.epochs=20")
    parser.add_argument("--out", type=Path, required=True, help="the file of the rows")
    parser.add_argument("--table", action="store_true", help="only sum up the rows that are there")
    options = parser.parse_args()
    if not options.table:
        values = dict(item.split("=") for item in options.set)
        with options.out.open("a") as file:
            for seed in options.seeds:
                truth = None
                if options.data == "motifs":
                    graphs, truth = planted(options.graphs, seed)
                else:
                    graphs = read(options.data, Problems(), Roles(labels=tuple(options.targets)))
                for model in options.models:
                    for row in measure(graphs, truth, model, values, seed):
                        file.write(json.dumps({"data": graphs.name, **row, "set": values} | conditions()) + "\n")
                        file.flush()
    print(table([json.loads(line) for line in options.out.read_text().splitlines()]))


if __name__ == "__main__":
    main()
