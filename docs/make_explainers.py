"""Write docs/explainers.md from the rows of results/explain-compare.jsonl: ``python docs/make_explainers.py``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from sargnn.studies.explainer_comparison import as_table
from sargnn.training.settings import Settings

PAGE = Path(__file__).with_name("explainers.md")
ROWS = Path(__file__).parents[1] / "results" / "explain-compare.jsonl"

Row = dict[str, Any]
MAPS = ("mean", "first", "last", "rollout", "random")

TRUTH = """\
## Does saliency find the triangles?

Test graphs. Published for ChebyGIN, on another draw of the set, with degrees as inputs and a regression head: .736
unsupervised, .967 supervised (Knyazev, Taylor and Amer, 2019).
"""

HEAD = """\
# Explainers compared

Every number on this page is read from `results/explain-compare.jsonl` by `python docs/make_explainers.py`; each row
there has the command, versions and hardware that made it, and all that `sargnn explain-compare` measures. Intervals
are 95 % over graphs. What the columns mean is in [Explaining](explain.md); a random explainer is always among the
rows, and what does not beat it says nothing.
"""

ADVICE = """\
## Which explainer when

* **Saliency** when the model has it: one forward pass for a whole set, nothing drawn at random, the same whatever the
  order of the nodes. Compare it with random once for every trained model: the tables have settings in which it is no
  better.
* **Gradients and integrated gradients** for any model, at the price of a backward pass, or twenty. Deterministic.
  They explain the logit of one class, which saliency does not.
* **GNNExplainer** for a few graphs of a model that has neither. It fits a mask to every graph anew, from random
  numbers: run it with several seeds.
* **PGExplainer** for many graphs of one model, once it is trained. It scores edges.
* **AttentionExplainer** reads the weights with which neighbourhoods are summed: GAT's attention, or the fused weights
  of a SAR model. For plain GCN, GIN and GraphSAGE these are constants of the structure.
* **Scores of pooling systems** (ChebyGIN, SAGPool, Graph U-Net, Graphormer) only where such a model is used anyway.
  Where nodes tie, top-k pooling keeps those that come first, so that its maps can depend on the order of the nodes
  (column *relabelled*).
* **Random** always.
"""


def page(rows: list[Row]) -> str:
    """The text of docs/explainers.md."""
    tests = [row for row in rows if row["part"] == "test"]
    parts = [
        HEAD,
        ADVICE,
        "## How fast\n",
        _speed(tests),
        TRUTH,
        _truth([row for row in tests if row["data"] == "TRIANGLES" and row["graphs"] > 100]),
        "## Chosen on validation graphs\n",
        _truth([row for row in rows if row["part"] == "validation"]),
        "## Side by side\n",
        *_comparisons([row for row in tests if row["graphs"] <= 100]),
    ]
    return "\n".join(parts)


def _speed(rows: list[Row]) -> str:
    """How many times longer GNNExplainer takes for a graph than saliency, in one run."""
    lines = ["| data | saliency, all at once | saliency, one by one | GNNExplainer | ratios |", "|---|---|---|---|---|"]
    for data, run in _by(rows, "data", "command"):
        seconds = {row["explainer"]: row["cpu_seconds_per_graph"] for row in run if row["model"] == run[0]["model"]}
        if "gnn-explainer" in seconds:
            slow = seconds["gnn-explainer"]
            cells = [seconds["saliency-mean"], seconds["saliency-one-by-one"]]
            ratios = " and ".join(f"{slow / quick:,.0f}" for quick in cells)
            lines.append(f"| {data} | {' | '.join(f'{1000 * s:.3g} ms' for s in [*cells, slow])} | {ratios} |")
    lines += ["", "Processor time for one graph; the last column says how many times longer GNNExplainer takes."]
    whole = max(rows, key=lambda row: (row["graphs"], row["explainer"] == "saliency-mean"))
    took = f"{whole['graphs'] * whole['seconds_per_graph']:.2g} s ({whole['hardware']})"
    lines += [f"{whole['graphs']:,} graphs of {whole['data']} in one call, inputs encoded: {took}."]
    return "\n".join([*lines, ""])


def _truth(rows: list[Row]) -> str:
    """Node AUC by model, setting and rule."""
    lines = [f"| data | model | setting | {' | '.join(MAPS)} | accuracy, % |", "|---" * (len(MAPS) + 4) + "|"]
    for where, run in _by(rows, "data", "training_graphs", "model", "command"):
        if all(row["explainer"] == "random" for row in run):
            continue  # trained beside an attention system, to compare it with
        aucs = {
            row["explainer"]: _by_seed(row, "{:.3f}", lambda seed: next(iter(seed["node_auc"].values()))) for row in run
        }
        accuracies = _by_seed(run[0], "{:.1f}", lambda seed: 100 * seed["accuracy"])
        cells = [f"{where}, {run[0]['training_graphs']:,} to train", run[0]["model"], _setting(run[0])]
        cells += [aucs.get(f"saliency-{rule}", aucs.get(rule, "-")) for rule in MAPS]
        lines.append(f"| {' | '.join(cells)} | {accuracies} |")
    return "\n".join([*lines, "", "Node AUC of the maps, one number for every seed.", ""])


def _by_seed(row: Row, form: str, value: Callable[[Row], float]) -> str:
    return " ".join(form.format(value(seed)) for seed in row["by_seed"])


def _setting(row: Row) -> str:
    """What differs from the defaults and decides what is computed, not how it is fitted."""
    changes = Settings.from_json(row["settings"]).changes()
    told = {**changes.get("model", {}), **changes.get("data", {})}
    told |= {key: value for key, value in changes.get("training", {}).items() if key == "saliency_weight"}
    words = [f"{key}={','.join(value) if isinstance(value, list | tuple) else value}" for key, value in told.items()]
    return ", ".join([*words, *([row["changed"]] if "changed" in row else [])]) or "defaults"


def _comparisons(rows: list[Row]) -> list[str]:
    found = []
    for data, run in _by(rows, "data", "training_graphs"):
        truth = next(iter(run[0]["node_auc"]), "none")
        hardware = ", ".join(dict.fromkeys(row["hardware"] for row in run))
        counts = f"{run[0]['training_graphs']:,} training graphs, {run[0]['graphs']} test graphs"
        found += [f"### {data}\n", f"{counts}; truth: {truth}; {hardware}.\n", as_table(run), ""]
        plus, aucs = [row["fidelity_plus"] for row in run], [row["node_auc"].get(truth) for row in run]
        found += [f"Above random, intervals apart, by fid+: {_above_random(run, plus)}."]
        found += [f"By node AUC: {_above_random(run, aucs)}.", ""]
    return found


def _above_random(run: list[Row], intervals: list[Row | None]) -> str:
    """The explainers whose interval lies above that of random."""
    random = next(value for row, value in zip(run, intervals, strict=True) if row["explainer"] == "random")
    names = [
        f"{row['explainer']} of {row['model']}"
        for row, value in zip(run, intervals, strict=True)
        if value and random and value["low"] > random["high"]
    ]
    return ", ".join(names) or "none"


def _by(rows: Iterable[Row], *keys: str) -> list[tuple[str, list[Row]]]:
    """Rows that agree in ``keys``, with the first of them, in the order in which they come."""
    ordered = sorted(rows, key=lambda row: [row[key] for key in keys])  # stable: explainers stay in their order
    return [(values[0], list(some)) for values, some in groupby(ordered, key=lambda row: [row[key] for key in keys])]


def read_rows(file: Path = ROWS) -> list[Row]:
    """The rows that are kept."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    PAGE.write_text(page(read_rows()), encoding="utf-8")
