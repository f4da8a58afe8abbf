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

HEAD = """\
# Explainers compared

Which explainer should you use, and when does it say anything at all? Always compare with a random explainer on the same
model and graphs: an explainer that does not beat random says nothing. [Explaining](explain.md) defines the columns.

## Which explainer when

* **Saliency**: use it when the model has it. One forward pass for a whole set, deterministic, independent of node
  order. Compare it with random once per trained model: the tables have settings in which it is no better.
* **Gradients and integrated gradients**: use them for any model. They cost one backward pass, or twenty, and are
  deterministic. They explain the logit of one class, which saliency does not.
* **GNNExplainer**: use it for a few graphs of a model that has neither. It fits a mask per graph, from random numbers:
  run it with several seeds.
* **PGExplainer**: use it for many graphs of one model, once it is trained. It scores edges.
* **AttentionExplainer**: reads the weights with which neighbourhoods are summed: GAT's attention, or the fused weights
  of a SAR model. For plain GCN, GIN and GraphSAGE these are constants of the structure.
* **Scores of pooling systems** (ChebyGIN, SAGPool, Graph U-Net, Graphormer): use them only where such a model is used
  anyway. Where nodes tie, top-k pooling keeps those that come first, so its maps can depend on node order (column
  *relabelled*).
* **Random**: always. It is the baseline.
"""

TRUTH = """\
## Does saliency find the triangles?

Node AUC on test graphs, one number per seed. Published for ChebyGIN, on another draw of the set, with degrees as inputs
and a regression head: .736 unsupervised, .967 supervised (Knyazev, Taylor and Amer, 2019).
"""

VALIDATION = """\
## Which settings help?

Node AUC on validation graphs, one number per seed. The settings used above were chosen by it.
"""

SIDE_BY_SIDE = """\
## All explainers, data set by data set

Intervals are 95 % over graphs.
"""

ORIGIN = """\
## Where the numbers come from

Every number on this page is computed from `results/explain-compare.jsonl` by `python docs/make_explainers.py`. Each row
there has its command, versions and hardware, and everything that `sargnn explain-compare` measures. Hardware:
{hardware}.
"""

VIEWS = (
    ("Right, fast, stable?", slice(4, 7), slice(12, 14)),
    ("Faithful to the model?", slice(7, 12), slice(0)),
)
"""Columns of the comparison that are shown together: all of them are wider than a page."""


def page(rows: list[Row]) -> str:
    """The text of docs/explainers.md."""
    tests = [row for row in rows if row["part"] == "test"]
    parts = [
        HEAD,
        "## How fast is saliency?\n",
        _speed(tests),
        TRUTH,
        _truth([row for row in tests if row["data"] == "TRIANGLES" and row["graphs"] > 100]),
        VALIDATION,
        _truth([row for row in rows if row["part"] == "validation"]),
        SIDE_BY_SIDE,
        *_comparisons([row for row in tests if row["graphs"] <= 100]),
        ORIGIN.format(hardware="; ".join(dict.fromkeys(row["hardware"] for row in rows))),
    ]
    return "\n".join(parts)


def _speed(rows: list[Row]) -> str:
    """How many times longer GNNExplainer takes for a graph than saliency, in one run."""
    lines = [
        "| data | saliency, all at once | saliency, one by one | GNNExplainer | times slower |",
        "|---|---|---|---|---|",
    ]
    for data, run in _by(rows, "data", "command"):
        seconds = {row["explainer"]: row["cpu_seconds_per_graph"] for row in run if row["model"] == run[0]["model"]}
        if "gnn-explainer" in seconds:
            slow = seconds["gnn-explainer"]
            cells = [seconds["saliency-mean"], seconds["saliency-one-by-one"]]
            ratios = " and ".join(f"{slow / quick:,.0f}" for quick in cells)
            lines.append(f"| {data} | {' | '.join(f'{1000 * s:.3g} ms' for s in [*cells, slow])} | {ratios} |")
    lines += [
        "",
        "CPU time per graph. Last column: how much longer GNNExplainer takes than each form of saliency.",
    ]
    whole = max(rows, key=lambda row: (row["graphs"], row["explainer"] == "saliency-mean"))
    took = f"{whole['graphs'] * whole['seconds_per_graph']:.2g} s ({whole['hardware']})"
    lines += [f"{whole['graphs']:,} graphs of {whole['data']} in one call, inputs encoded: {took}."]
    return "\n".join([*lines, ""])


def _truth(rows: list[Row]) -> str:
    """Node AUC by model, setting and rule."""
    lines = [f"| data | model, settings | {' | '.join(MAPS)} | accuracy, % |", "|---" * (len(MAPS) + 3) + "|"]
    for where, run in _by(rows, "data", "training_graphs", "model", "command"):
        if all(row["explainer"] == "random" for row in run):
            continue  # trained beside an attention system, to compare it with
        aucs = {
            row["explainer"]: _by_seed(row, "{:.3f}", lambda seed: next(iter(seed["node_auc"].values()))) for row in run
        }
        accuracies = _by_seed(run[0], "{:.1f}", lambda seed: 100 * seed["accuracy"])
        cells = [f"{where}<br>n = {run[0]['training_graphs']:,}", f"{run[0]['model']}<br>{_settings(run[0])}"]
        cells += [aucs.get(f"saliency-{rule}", aucs.get(rule, "-")) for rule in MAPS]
        lines.append(f"| {' | '.join(cells)} | {accuracies} |")
    return "\n".join([*lines, "", "n: training graphs.", ""])


def _by_seed(row: Row, form: str, value: Callable[[Row], float]) -> str:
    return " ".join(form.format(value(seed)) for seed in row["by_seed"])


def _settings(row: Row) -> str:
    """What differs from the defaults and decides what is computed, not how it is fitted."""
    changes = Settings.from_json(row["settings"]).changes()
    told = {**changes.get("model", {}), **changes.get("data", {})}
    told |= {key: value for key, value in changes.get("training", {}).items() if key == "saliency_weight"}
    words = [f"{key}={','.join(value) if isinstance(value, list | tuple) else value}" for key, value in told.items()]
    return "<br>".join([*words, *([row["changed"]] if "changed" in row else [])]) or "defaults"


def _comparisons(rows: list[Row]) -> list[str]:
    found = []
    for data, run in _by(rows, "data", "training_graphs"):
        truth = next(iter(run[0]["node_auc"]), "none")
        plus, aucs = [row["fidelity_plus"] for row in run], [row["node_auc"].get(truth) for row in run]
        counts = f"{run[0]['training_graphs']:,} training graphs, {run[0]['graphs']} test graphs; truth: {truth}."
        head, rule, *lines = [line.strip("| ").split(" | ") for line in as_table(run).splitlines()]
        accuracies = ", ".join(dict.fromkeys(f"{line[1]} {line[3]}" for line in lines))
        found += [f"### {data}\n", f"{counts} Accuracy: {accuracies}.\n"]
        found += [f"* Above random by fid+, intervals apart: {_above_random(run, plus)}"]
        found += [f"* Above random by node AUC: {_above_random(run, aucs)}\n"]
        for title, *columns in VIEWS:
            cells = [["model", "explainer", *(c for some in columns for c in head[some])]]
            cells += [rule[: len(cells[0])]]
            cells += [[*line[1:3], *(c for some in columns for c in line[some])] for line in lines]
            found += [f"**{title}**\n", *(f"| {' | '.join(line)} |" for line in cells), ""]
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
