"""Write docs/beyond-the-paper.md, from its template, and the README's table of accuracies from the rows that are kept:
``python docs/make_beyond.py``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, StrictUndefined

from sargnn.files import write_file
from sargnn.reproduction import paper
from sargnn.reproduction.beyond import (
    ALL,
    LARGE,
    ONE,
    PARTS,
    PLUS,
    SALIENT,
    SALIENT_SEARCHED,
    SEARCHED,
    WIDE,
    best_printed,
    beyond,
)
from sargnn.reproduction.page import facts_in
from sargnn.reproduction.studies import STUDIES
from sargnn.studies.protocol import CellResult
from sargnn.studies.statistics import TTest, corrected_t_test, interval
from sargnn.studies.store import Store, read_rows
from sargnn.studies.study import Results, finished_results

PAGE = Path(__file__).with_name("beyond-the-paper.md")
TEMPLATE = PAGE.with_name("beyond-the-paper.md.j2")
README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- the recommended model: python docs/make_beyond.py -->\n", "<!-- end of the recommended model -->\n"
ROWS = Path(__file__).parents[1] / "results"

Row = dict[str, Any]

PRESET = "quick"
"""The preset of the recommended model."""
FORMS = {
    PLUS: f"`{PLUS}`", SALIENT: f"`{SALIENT}`", LARGE: f"`{LARGE}`", SALIENT_SEARCHED: "width, inputs selected",
}  # fmt: skip
"""The forms of the model that are trained on every set, and their columns."""
GOALS = {
    ("MUTAG", "test"): 90.0, ("ENZYMES", "test"): 74.0, ("IMDB-MULTI", "test"): 52.5, ("TRIANGLES", "test"): 99.9,
    ("TRIANGLES", "test-large"): 99.0, ("Letter-high", "test"): 94.0, ("PROTEINS", "test"): 78.0,
    ("IMDB-BINARY", "test"): 75.0,
}  # fmt: skip
"""What the project set itself: mean accuracy in per cent, by data set and test part."""
FEW = paper.ABLATION_SETS
"""Sets on which every part is measured."""
REST = tuple(data for data in paper.DATA_SETS if data not in FEW)
RIVALS = 3
"""Systems of Table 2 that the model is tested against on each set: the best ones."""
COSTED = 5
"""Systems of Table 2 whose costs are shown for each set: the best ones."""
LEAN = "†"
"""The mark of results of the preset ``lean``."""
UNIFORM = "uniform saliency"
"""The row of the parts that takes the learned saliency away."""
LEVEL = 0.05
"""p below which a difference counts as shown."""
MARGIN = 2.0
"""Points: two models are as accurate as each other if the interval of their difference is within it."""


class Measured(NamedTuple):
    """What the rows say."""

    plus: Results
    """The recommended model and its parts, by row and data set."""
    others: Results
    """Table 2, by system and data set."""
    lean: frozenset[tuple[str, str]]
    """Those of ``others`` that have the rows of the preset ``lean`` alone."""

    def accuracy(self, system: str, data: str) -> str:
        """The mean in per cent, with the mark of its preset."""
        result = (self.plus if system in (PLUS, SALIENT, LARGE) else self.others).get((system, data))
        mark = LEAN if (system, data) in self.lean else ""
        return f"{100 * result.mean:.1f}{mark}" if result else "not measured"


def read_measured(files: Iterable[Path]) -> Measured:
    """Every cell whose rows are all in ``files``, which :meth:`Store.export` wrote."""
    files = list(files)
    facts = facts_in(record.job for file in files for record in read_rows(file)).__getitem__
    with TemporaryDirectory() as folder, Store(Path(folder) / "rows.sqlite") as store:
        for file in files:
            store.import_rows(file)
        plus = finished_results(beyond(paper.PRESETS[PRESET], facts), store)
        quick, lean = (
            finished_results(STUDIES["table2"](paper.PRESETS[name], facts), store) for name in (PRESET, "lean")
        )
    return Measured(plus, lean | quick, frozenset(lean.keys() - quick.keys()))


def page(
    measured: Measured,
    *,
    tried: Sequence[Row] = (),
    tried_later: Sequence[Row] = (),
    large: Sequence[Row] = (),
    costs: Sequence[Row] = (),
    read: Sequence[Row] = (),
) -> str:
    """The text of docs/beyond-the-paper.md."""
    template = Environment(undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    return template.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        plus=PLUS, salient=SALIENT, large=LARGE, wide=WIDE, lean=LEAN, level=LEVEL, rivals_count=RIVALS, costed=COSTED,
        preset=PRESET, protocol=paper.PRESETS[PRESET],
        settings={k: len(p.rates) * p.shapes for k, p in paper.PRESETS.items()},
        goals=goals(measured.plus), gates=gates(measured.plus), parts=parts(measured.plus),
        saliency=saliency_verdict(measured.plus), rivals=rivals(measured), searched=searched(measured.plus),
        readouts=readouts(read), trials=trials(tried), later_trials=later_trials(tried_later),
        large_graphs=large_graphs(large), costs=cost_table(measured, costs), origin=origin(measured.plus),
    )  # fmt: skip


def goals(results: Results) -> str:
    """Every form of the model beside the best printed numbers and the goals, and how many it passes."""
    lines, reached, above = [], dict.fromkeys(FORMS, 0), dict.fromkeys(FORMS, 0)
    for (data, part), goal in GOALS.items():
        system, (printed, _) = best_printed(data)
        cells = [data, f"{printed}<br>{system}"] if part == "test" else [f"{data},<br>26-100 nodes", "-"]
        for form in FORMS:
            if (result := results.get((form, data))) is None:
                cells.append("not measured")
                continue
            scores = _accuracies(result, part)
            mean = round(100 * float(scores.mean()), 9)  # a mean that is the goal reaches it, whatever its last bits
            reached[form] += mean >= goal
            above[form] += part == "test" and mean > printed
            over = f"{mean - printed:+.1f}, " if part == "test" else ""
            verdict = "goal reached" if mean >= goal else f"{goal - mean:.2f} short"
            ends = _range(interval(scores, _tested_fraction(result)))
            cells.append(f"**{mean:.1f}** ({ends})<br>{over}{verdict}")
        lines.append([*cells[:2], f"{goal}", *cells[2:]])
    told = [_counts(form, results, above[form], reached[form]) for form in FORMS]
    return "\n".join([*told, "", _table(["data", "best printed", "goal", *FORMS.values()], lines)])


def _counts(form: str, results: Results, above: int, reached: int) -> str:
    sets = sum((form, data) in results for data in paper.DATA_SETS)
    missing = sum((form, data) not in results for data, _ in GOALS)
    goals_met = f"{reached} of {len(GOALS)} goals reached" + (f", {missing} not measured" if missing else "")
    return f"* {FORMS[form]}: above the best printed number on {above} of {sets} sets; {goals_met}"


def _accuracies(result: CellResult, part: str) -> np.ndarray:
    """Of each fold, or of each training where there is one split."""
    if part == "test":
        return result.folds
    return np.array([row.scores[part]["accuracy"] for row in result.rows])


def _tested_fraction(result: CellResult) -> float:
    """n_test / n_train, the mean over folds; 0 for trainings on one split, which differ by their seeds alone."""
    tested = np.array(list({row.fold: row.test["graphs"] for row in result.rows}.values()))
    return float((tested / (tested.sum() - tested)).mean()) if len(tested) > 1 else 0.0


def _range(ends: Sequence[float] | None) -> str:
    return f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}" if ends else "one training"


def readouts(rows: Sequence[Row]) -> str:
    """Node AUC and accuracy of each readout where the truth is known, every seed and their mean."""
    sets = list(dict.fromkeys(row["data"] for row in rows))
    lines = []
    for readout, members in dict.fromkeys((row["readout"], row["members"]) for row in rows):
        cells = [f"`{readout}`", str(members)]
        for data in sets:
            own = [r for r in rows if (r["data"], r["readout"], r["members"]) == (data, readout, members)]
            aucs = [row["node_auc"] for row in own]
            cells.append(f"**{np.mean(aucs):.2f}** ({', '.join(f'{auc:.2f}' for auc in aucs)})")
            cells.append(f"{100 * np.mean([row['accuracy'] for row in own]):.1f}")
        lines.append(cells)
    columns = [f"{data}: {what}" for data in sets for what in ("node AUC", "accuracy")]
    return _table(["readout", "members", *columns], lines)


def parts(results: Results) -> str:
    """The model without each of its parts, and which of these are shown to matter."""
    tests: dict[str, TTest] = {}
    tables = [_parts_table(results, (SALIENT, *PARTS), FEW, tests), _parts_table(results, (SALIENT, ALL), REST, tests)]
    return "\n\n".join([verdicts(tests), *tables])


def _parts_table(results: Results, names: Sequence[str], sets: Sequence[str], tests: dict[str, TTest]) -> str:
    """Accuracies, each with its difference to the whole model; the differences are added to ``tests``."""
    lines = []
    for name in names:
        cells = []
        for data in sets:
            result, whole = results.get((name, data)), results.get((SALIENT, data))
            cells.append(f"{100 * result.mean:.1f}" if result else "not measured")
            if result and whole and name != SALIENT:
                found = tests[f"{name} on {data}"] = compared(result, whole)
                cells[-1] += f"<br>{_told(found)}"
        lines.append([name, *cells])
    return _table(["", *sets], lines)


def gates(results: Results) -> str:
    """The recommended model against the one before, on the same folds."""
    lines, tests = [], {}
    for data in paper.DATA_SETS:
        found = [results.get((row, data)) for row in (PLUS, SALIENT)]
        cells = [f"{100 * r.mean:.1f}" if r else "not measured" for r in found]
        if found[0] and found[1]:
            tests[data] = compared(found[0], found[1])
        lines.append([data, *cells, _told(tests[data]) if data in tests else ""])
    return f"{verdicts(tests)}\n\n{_table(['data', PLUS, SALIENT, 'difference'], lines)}"


def verdicts(tests: dict[str, TTest]) -> str:
    """Which differences are shown, by name."""
    shown = {where: found.difference for where, found in tests.items() if _is_shown(found)}
    worse, better = ([w for w, d in shown.items() if d < 0], [w for w, d in shown.items() if d > 0])
    told = [f"* {how}: {'; '.join(some) or 'none'}" for how, some in (("worse", worse), ("better", better))]
    return "\n".join([f"Of {len(tests)} differences, shown (p < {LEVEL}):", "", *told])


def saliency_verdict(results: Results) -> str:
    """On which sets learned saliency is shown to be as accurate as uniform saliency, and where that is open."""
    told, alike = [], []
    for data in FEW:
        learned, uniform = results.get((SALIENT, data)), results.get((UNIFORM, data))
        if learned and uniform:
            shifted = (1 + learned.folds - uniform.folds) / 2  # from -1..1 to the 0..1 of accuracies
            ends = [2 * end - 1 for end in interval(shifted, _tested_fraction(learned)) or (0.0, 1.0)]
            told.append(f"{data} {_range(ends)}")
            alike += [data] if 100 * max(map(abs, ends)) <= MARGIN else []
    verdict = (
        f"Learned and uniform saliency are as accurate, within {MARGIN:g} points, on: {', '.join(alike) or 'no set'}."
    )
    return f"{verdict}\nLearned minus uniform, 95 % interval in points: {', '.join(told) or 'not measured'}."


def compared(result: CellResult, other: CellResult) -> TTest:
    """Two results on the same folds; without a test where there is one split."""
    if min(result.cell.folds, other.cell.folds) < 2:
        return TTest(result.mean - other.mean, None, None)
    return corrected_t_test(result.folds - other.folds, _tested_fraction(result))


def _is_shown(found: TTest) -> bool:
    return found.p_value is not None and found.p_value < LEVEL


def _told(found: TTest) -> str:
    difference = f"{100 * found.difference:+.1f}"
    if found.p_value is None:
        return difference
    return f"{difference}, p < 0.001" if found.p_value < 0.001 else f"{difference}, p = {found.p_value:.3f}"


def rivals(measured: Measured) -> str:
    """The best systems of Table 2 on each set, and the paired tests against them."""
    lines, tests = [], []
    for data in paper.DATA_SETS:
        own = measured.plus.get((SALIENT, data))
        cells = [f"{100 * own.mean:.1f}" if own else "not measured"]
        for system in best(measured.others, data)[:RIVALS]:
            cells.append(f"{system} {measured.accuracy(system, data)}")
            if own:
                tests.append(compared(own, measured.others[system, data]))
                cells[-1] += f"<br>{_told(tests[-1])}"
        lines.append([data, *cells, *["not measured"] * (1 + RIVALS - len(cells))])
    shown = [found.difference > 0 for found in tests if _is_shown(found)]
    count = sum(found.p_value is not None for found in tests)
    verdict = f"Of {count} tests, {sum(shown)} show `{SALIENT}` to be better and {len(shown) - sum(shown)} to be worse."
    places = [f"{place} of Table 2" for place in ("best", "second", "third")[:RIVALS]]
    return f"{verdict}\n\n{_table(['data', SALIENT, *places], lines)}"


def searched(results: Results) -> str:
    """The strongest other systems with a search of their own, beside the model and against one member of it."""
    lines, tests = [], {}
    for name in (SALIENT, SALIENT_SEARCHED, LARGE, ONE, *SEARCHED):
        cells = [name]
        for data in FEW:
            result, member = results.get((name, data)), results.get((ONE, data))
            cells.append(f"{100 * result.mean:.1f} ± {100 * result.std:.1f}" if result else "not measured")
            if result and member and name in SEARCHED:
                found = tests[f"{name.removesuffix(', searched')} on {data}"] = compared(result, member)
                cells[-1] += f"<br>{_told(found)}"
        lines.append(cells)
    return f"{verdicts(tests)}\n\n{_table(['', *FEW], lines)}"


def best(others: Results, data: str) -> list[str]:
    """The systems that are measured on a set, the highest mean first."""
    found = {system: result.mean for (system, name), result in others.items() if name == data}
    return sorted(found, key=found.__getitem__, reverse=True)


def trials(lines: Sequence[Row]) -> str:
    """What was seen on validation graphs while the recipe was looked for: first the base, then one row per trial."""
    if not lines:
        return ""
    first, *rows = lines
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        trial = found.setdefault((_words(row["changes"]) or "nothing", row["edges"], f"{row['epochs']}"), {})
        trial[row["data"]] = f"{100 * row['accuracy_of_one']:.1f}, {100 * row['accuracy_of_four']:.1f}"
    hardware = ", ".join(sorted({row["hardware"] for row in rows}))
    base = f"Base: {_words(first['base'], '; ')}. Trained on {hardware}."
    return f"{_split_tables(['changed', 'edges', 'epochs'], found, (FEW, REST))}\n\n{base}"


def _words(values: Row, between: str = "<br>") -> str:
    """Settings; what is simply done is named alone."""
    texts = {key: ",".join(value) if isinstance(value, list) else str(value) for key, value in values.items()}
    return between.join(key if values[key] is True else f"{key}={text}" for key, text in texts.items())


def later_trials(rows: Sequence[Row]) -> str:
    """Changes of the finished recipe: accuracy on validation graphs, and what saliency finds where that is known."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    truths = list(dict.fromkeys(f"{row['data']}: node AUC" for row in rows if "accuracy_of_one" not in row))
    for row in rows:
        trial = found.setdefault((_words(row["changes"]) or "nothing",), {})
        if "accuracy_of_one" in row:
            trial[row["data"]] = f"{100 * row['accuracy_of_one']:.1f}, {100 * row['accuracy_of_three']:.1f}"
        else:
            seeds = trial.get(f"{row['data']}: node AUC")
            trial[f"{row['data']}: node AUC"] = ", ".join(filter(None, [seeds, f"{row['node_auc']:.2f}"]))
    return _split_tables(["changed"], found, (FEW, REST, truths))


def _split_tables(
    first: list[str], rows: dict[tuple[str, ...], dict[str, str]], groups: Iterable[Sequence[str]]
) -> str:
    """One table per group of columns, because all of them are wider than a page; each has the rows it has values of."""
    tables = []
    for group in groups:
        columns = [column for column in group if any(column in cells for cells in rows.values())]
        own = {name: cells for name, cells in rows.items() if any(column in cells for column in columns)}
        lines = [[*name, *(cells.get(column, "-") for column in columns)] for name, cells in own.items()]
        tables += [_table([*first, *columns], lines)] if lines else []
    return "\n\n".join(tables)


def large_graphs(rows: Sequence[Row]) -> str:
    """What a model that counts in small graphs does in larger ones, by what it is given."""
    lines = []
    for model, inputs in dict.fromkeys((row["model"], row["inputs"]) for row in rows):
        own = [row for row in rows if (row["model"], row["inputs"]) == (model, inputs)]
        scores = [", ".join(f"{100 * row[part]:.1f}" for row in own) for part in ("train", "test", "test-large")]
        lines.append([model, inputs, *scores])
    graphs = " or ".join(f"{count:,}" for count in dict.fromkeys(row["training_graphs"] for row in rows))
    table = _table(["model", "node inputs", "training graphs", "test graphs", "26-100 nodes"], lines)
    return f"{table}\n\nTrained on {graphs} generated TRIANGLES graphs of 4 to 25 nodes; one accuracy per seed."


def cost_table(measured: Measured, rows: Sequence[Row]) -> str:
    """What the recommended model and the best others on each set cost."""
    if not rows:
        return ""
    lines = []
    for data in dict.fromkeys(row["data"] for row in rows):
        known = {row["system"]: row for row in rows if row["data"] == data}
        for system in (SALIENT, LARGE, *best(measured.others, data)[:COSTED]):
            row = known[system]
            times = [f"{row['epoch']['seconds']:.3g} s"]
            times += [f"{1000 * row[kind]['seconds']:.3g} ms" for kind in ("prediction", "forward")]
            lines.append([data, f"`{system}`", measured.accuracy(system, data), f"{row['parameters']:,}", *times])
    made = rows[0]
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    others = ", ".join(f"{busy:.1f}" for busy in dict.fromkeys(row["others"] for row in rows))
    return (
        _table(["data", "model", "accuracy", "parameters", "per epoch", "per prediction", "model alone"], lines)
        + f"\n\nMedians of {made['rounds']} rounds; {made['hardware']};\n{versions};\n"
        f"cores used by other work meanwhile: {others}."
    )


def origin(results: Results) -> str:
    """By what the rows of the recommended model were made."""
    rows = [row for result in results.values() for row in result.rows]
    names = {"on": "device", "version": "version", "commit": "commit"}
    told = [f"{word} {' and '.join(sorted({getattr(row, key) for row in rows}))}" for word, key in names.items()]
    return f"{len(rows):,} trainings {'; '.join(told)}." if rows else "No trainings."


def _table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return "\n".join([_line(columns), "|---" * len(columns) + "|", *map(_line, lines)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def readme(results: Results) -> str:
    """The README with its table of accuracies as the rows give it."""
    lines = []
    for data in paper.DATA_SETS:
        system, (printed, deviation) = best_printed(data)
        found = [results.get((row, data)) for row in (PLUS, SALIENT, LARGE)]
        cells = [f"{100 * r.mean:.1f} ± {100 * r.std:.1f}" if r else "not measured" for r in found]
        lines.append([data, f"{printed} ± {deviation} ({system})", *cells])
    table = _table(["data", "the paper's best, of any system", f"`{PLUS}`", f"`{SALIENT}`", f"`{LARGE}`"], lines)
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    return before + BEGIN + table + "\n" + END + rest.partition(END)[2]


def row_files() -> list[Path]:
    """The rows that are kept."""
    names = ("paper-quick.jsonl.gz", "paper-lean.jsonl.gz", "beyond.jsonl.gz")
    return [ROWS / name for name in names if (ROWS / name).exists()]


def read_lines(name: str) -> list[Row]:
    """The rows of a file of JSON lines; none if it is not there."""
    file = ROWS / name
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def kept_page(measured: Measured) -> str:
    """The page of what is measured and of the other rows that are kept."""
    return page(
        measured,
        tried=read_lines("beyond-validation.jsonl"),
        tried_later=read_lines("recipe-validation.jsonl"),
        large=read_lines("large-graphs.jsonl"),
        costs=read_lines("costs.jsonl"),
        read=read_lines("readouts.jsonl"),
    )


if __name__ == "__main__":
    kept = read_measured(row_files())
    write_file(PAGE, kept_page(kept))
    write_file(README, readme(kept.plus))
