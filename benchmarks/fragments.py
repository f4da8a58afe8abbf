"""Which functional groups a model holds for or against a class: fragments of a set of molecules, and what they cost.

    sargnn train Mutagenicity --out runs/mutagenicity
    python benchmarks/fragments.py runs/mutagenicity Mutagenicity --for 0 --out results/fragments.jsonl
    python benchmarks/fragments.py --table --out results/fragments.jsonl

Per part of the run's split and kind of fragment (``kind`` fragment): in how many molecules, how many, the mean effect
in log-odds with its 95 % interval, and the fraction of these molecules that have the class, which no model was asked
for. Per kind of parts (``kind`` cost; of nodes and edges on every tenth molecule): how many, the CPU seconds to find
them and to find their effects, and the accuracy of the run. Of the test molecules (``kind`` flips): how many change
their class by a removal of fragments, by one alone, and how many of these changes hold for what is left as a molecule
of its own.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.bench.rows import write_rows
from sargnn.explain.fragments import fragment_effects
from sargnn.explain.parts import find_parts
from sargnn.training.model_folder import read_training
from sargnn.training.open_run import open_run

PARTS = ("all", "train", "test")
SAMPLED = 10
"""Of nodes and edges the cost alone is measured, on every tenth molecule."""
FEWEST = 10
"""Molecules that a kind of fragment of the table must be in."""


def measure(run: Path, data: str, output: str) -> Iterator[dict[str, Any]]:
    """A row per kind of parts of the whole set, and per part of the split and kind of fragment."""
    opened = {part: open_run(run, data, part) for part in PARTS}
    trained, graphs = opened["all"].trained, opened["all"].graphs
    column, scores = trained.task.names.index(output), read_training(run)["scores"]
    about = {"data": graphs.name, "model": trained.settings.name, "for": output}
    accuracy, effects = scores["test"]["accuracy"], np.empty(0)
    for kind in ("nodes", "edges", "fragments"):
        some = graphs if kind == "fragments" else graphs.subset(np.arange(0, len(graphs), SAMPLED))
        tensors, start = trained.tensors(some), time.process_time()
        parts = find_parts(some, kind)
        found = time.process_time()
        effects = trained.effects_of_tensors(tensors, parts)[:, column]
        spent = {"seconds_to_find": found - start, "seconds_of_effects": time.process_time() - found}
        counts = {"molecules": len(some), "parts": len(parts)}
        yield {"kind": "cost", **about, "of": kind, **counts, **spent, "test_accuracy": accuracy}
    test, start = opened["test"].chosen, time.process_time()
    flips = trained.counterfactuals(test, find_parts(test, "fragments"))
    changed = {"molecules": len(test), "changed": len(flips), "hold": sum(flip.holds for flip in flips)}
    alone = sum(len(flip.parts) == 1 for flip in flips)
    yield {"kind": "flips", **about, **changed, "of_one_fragment": alone, "seconds": time.process_time() - start}
    assert graphs.y is not None
    names, has_class = np.array(parts.names), graphs.y == graphs.classes.index(output)
    for part, one in opened.items():
        inside = np.flatnonzero(np.isin(parts.graph, one.index))
        for row in fragment_effects(parts.at(inside), effects[inside]):
            molecules = np.unique(parts.graph[inside[names[inside] == row.name]])
            ends = {end: value if np.isfinite(value) else None for end, value in (("low", row.low), ("high", row.high))}
            fraction = {"has_class": float(has_class[molecules].mean())}
            yield {"kind": "fragment", **about, "part": part, **asdict(row), **ends, **fraction}


def table(rows: list[dict[str, Any]], part: str, count: int = 12) -> str:
    """The fragments that do most, for and against, in Markdown."""
    shown = [row for row in rows if row["kind"] == "fragment" and row["part"] == part and row["graphs"] >= FEWEST]
    lines = ["| fragment | molecules | effect (95 % interval) | of these have the class |", "|---|---|---|---|"]
    for row in shown[:count]:
        effect = f"{row['mean']:+.2f} ({row['low']:+.2f} to {row['high']:+.2f})"
        lines.append(f"| {row['name']} | {row['graphs']:,} | {effect} | {row['has_class']:.0%} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("run", nargs="?")
    parser.add_argument("data", nargs="?")
    parser.add_argument("--for", dest="output", default="0")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if not given.table:
        write_rows(given.out, measure(Path(given.run), given.data, given.output))
    rows = [json.loads(line) for line in given.out.read_text().splitlines()]
    for part in PARTS:
        print(f"{part}\n{table(rows, part)}\n")
    for row in rows:
        if row["kind"] == "cost":
            cost = row["seconds_to_find"] + row["seconds_of_effects"]
            print(f"{row['of']}: {row['parts']:,} parts of {row['molecules']:,} molecules, {cost:.1f} s of CPU")
        if row["kind"] == "flips":
            print("{changed} of {molecules} change, {of_one_fragment} by one fragment; {hold} hold".format(**row))


if __name__ == "__main__":
    main()
