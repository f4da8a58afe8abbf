"""The page ``docs/reproduction.md``: tables and figures from the rows that are kept, and what they show and do not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, StrictUndefined

from sargnn.errors import InputError
from sargnn.experiments import paper, sheet
from sargnn.experiments.figures import FIGURES, finished_rows
from sargnn.experiments.store import Row, Store, read_rows
from sargnn.experiments.study import STUDIES, Results, SetFacts, Study, finished_results
from sargnn.experiments.tables import Comparison, Where, comparisons, markdown
from sargnn.files import write_file
from sargnn.training.protocol import CellResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["page", "write_page"]

PRESET = "quick"
"""The preset of the rows that are kept."""

OTHERS = ("PROTEINS", "IMDB-BINARY", "IMDB-MULTI")
"""Sets of Table 2 of which the page speaks together."""

Found = dict[str, dict[Where, Comparison]]


def write_page(file: Path, out: Path) -> list[Path]:
    """Write the page of the rows in ``file``, and its pictures to the folder ``images`` beside it; gives what was
    written."""
    from sargnn import viz

    text, pictures = page(file)
    for name, picture in pictures.items():
        viz.save(picture, out.parent / name)
    write_file(out, text)
    return [out, *(out.parent / name for name in pictures)]


def page(file: Path) -> tuple[str, dict[str, Figure]]:
    """The page as Markdown and its pictures by address, from rows that :meth:`~sargnn.experiments.store.Store.export`
    wrote, and from nothing else: no data set is needed."""
    records = [{**record["job"], **record["row"], "finished": record["finished"]} for record in read_rows(file)]
    rows = [record for record in records if record["stage"] in ("select", "assess")]
    facts = facts_in(rows)
    studies = {name: make(paper.PRESETS[PRESET], facts.__getitem__) for name, make in STUDIES.items()}
    with TemporaryDirectory() as folder, Store(Path(folder) / "rows.sqlite") as store:
        store.import_rows(file)
        results = {name: finished_results(study, store) for name, study in studies.items()}
        pictured = {name: plan.study(paper.PRESETS[PRESET], facts.__getitem__) for name, plan in FIGURES.items()}
        found = {name: (study, *finished_rows(FIGURES[name], study, store)) for name, study in pictured.items()}
    if not all(results.values()):
        raise InputError(f"{file}: got too few rows, expected some cells of each of {', '.join(STUDIES)}")
    sheets = {name: FIGURES[name].sheet(*own) for name, own in found.items()}
    addresses = {name: f"images/{name}.png" for name, made in sheets.items() if made.rows}
    figures = [sheet.markdown(sheets[name], address) for name, address in addresses.items()]
    text = _render(file.name, rows, studies, results, figures, [name for name in FIGURES if name not in addresses])
    return text, {address: FIGURES[name].draw(*found[name]) for name, address in addresses.items()}


def facts_in(rows: Iterable[Row]) -> dict[str, SetFacts]:
    """Of every data set that has rows: its fingerprint and folds; a set without rows has no cell either way."""
    facts: dict[str, SetFacts] = defaultdict(lambda: SetFacts("no rows", 10))
    for row in rows:
        folds = max(row["fold"] + 1, facts[row["data"]].folds if row["data"] in facts else 1)
        facts[row["data"]] = SetFacts(row["fingerprint"], folds)
    return facts


def _render(
    file: str, rows: list[Row], studies: dict[str, Study], results: dict[str, Results], figures: list[str],
    missing: list[str],
) -> str:  # fmt: skip
    found = {name: comparisons(study, results[name]) for name, study in studies.items()}
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((files("sargnn") / "templates" / "reproduction.md.j2").read_text("utf-8"))
    text = template.render(
        file=file, preset_name=PRESET, preset=paper.PRESETS[PRESET], paper=paper.PRESETS["paper"],
        origins=_origins(rows), quoted=_quoted(), sizes=_sizes(results["table2"]),
        day=max(row["finished"] for row in rows)[:10],
        tables=[markdown(study, results[name]) for name, study in studies.items()], figures=figures, missing=missing,
        accuracy=lambda table, row, column: f"{found[table][row, column].measured:.1f}",
        deviation=lambda table, row, column: f"{found[table][row, column].measured_std:.1f}",
        mutag=_table1_counts(found, "MUTAG"), letter=_table1_counts(found, "Letter-high"),
        enzymes=_enzymes(found), triangles=_triangles(results["table2"]), others=_table2_counts(found, OTHERS),
        supervised=_ends(found["table3"], "supervised"), unmeasured=_unmeasured(studies, results),
    )  # fmt: skip
    return text.rstrip() + "\n"


def _origins(rows: list[Row]) -> list[Row]:
    """How many trainings of each data set were made, on what, by which version."""
    groups: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["device"], row["version"], row["commit"]].append(row["seconds"])
    return [
        {
            "data": data,
            "device": device,
            "version": version,
            "commit": commit,
            "trainings": len(each),
            "seconds": sum(each),
        }
        for (data, device, version, commit), each in sorted(groups.items())
    ]


def _quoted() -> dict[str, list[str]]:
    """By source, the published cells that look quoted."""
    sources: dict[str, list[str]] = defaultdict(list)
    for (system, data), source in paper.QUOTED.items():
        mean, deviation = paper.TABLE2[system][paper.DATA_SETS.index(data)]
        sources[source].append(f"{system} on {data} ({mean} ± {deviation})")
    return dict(sources)


def _sizes(table2: Results) -> list[tuple[str, str, str]]:
    """Every system on the two test parts of TRIANGLES."""
    return [
        (system, _spread(result, "test"), _spread(result, "test-large"))
        for (system, data), result in table2.items()
        if data == "TRIANGLES"
    ]


def _accuracies(result: CellResult, part: str) -> np.ndarray:
    """Per cent, of each training."""
    return 100 * np.array([row["scores"][part]["accuracy"] for row in result.rows])


def _spread(result: CellResult, part: str) -> str:
    values = _accuracies(result, part)
    return f"{values.mean():.1f} ± {values.std():.1f}"


def _table1_counts(found: Found, data: str) -> dict[str, Any]:
    """Verdicts on a data set, and how far below the published values the cells are."""
    cells = [c for (_, column), c in found["table1"].items() if column.endswith(f" {data}")]
    verdicts = [c.verdict for c in cells]
    gaps = [c.published - c.measured for c in cells if c.published is not None]
    counts = {verdict: verdicts.count(verdict) for verdict in ("reproduced", "higher", "lower")}
    return {"cells": len(cells), "least": min(gaps), "most": max(gaps), **counts}


def _table2_counts(found: Found, sets: Sequence[str]) -> dict[str, Any]:
    """Verdicts on some data sets, and their cells where the SAR model is better than its base model."""
    cells = {where: c for where, c in found["table2"].items() if where[1] in sets}
    gains = [
        c.measured - cells[system[4:], data].measured for (system, data), c in cells.items() if system[:4] == "sar-"
    ]
    verdicts = [c.verdict for c in cells.values()]
    counts = {verdict: verdicts.count(verdict) for verdict in ("reproduced", "higher", "lower")}
    return {"cells": len(cells), "least": min(gains), "most": max(gains), **counts}


def _ends(found: dict[Where, Comparison], column: str) -> tuple[float, float]:
    """The lowest and the highest measured value of a column."""
    values = [c.measured for where, c in found.items() if where[1] == column]
    return min(values), max(values)


def _unmeasured(studies: dict[str, Study], results: dict[str, Results]) -> list[str]:
    """The cells without rows, a line a row of a table."""
    lines = []
    for name, study in studies.items():
        missing: dict[str, list[str]] = defaultdict(list)
        for row, column in study.cells.keys() - results[name].keys():
            missing[row].append(column)
        lines += [f"{study.title}, {row}: {', '.join(sorted(columns))}" for row, columns in sorted(missing.items())]
    return lines


def _enzymes(found: Found) -> dict[str, Any]:
    cells = {system: c for (system, data), c in found["table2"].items() if data == "ENZYMES"}
    base = [c for system, c in cells.items() if not system.startswith("sar-")]
    gaps = [c.published - c.measured for s, c in cells.items() if s.startswith("sar-") and c.published is not None]
    reproduced = sum(c.verdict == "reproduced" for c in base)
    return {"base_reproduced": reproduced, "sar_least": min(gaps), "sar_most": max(gaps)}


def _triangles(table2: Results) -> dict[str, str]:
    cells = {system: result for (system, data), result in table2.items() if data == "TRIANGLES"}
    sar = [_accuracies(result, "test").mean() for system, result in cells.items() if system.startswith("sar-")]
    large = [_accuracies(result, "test-large").mean() for result in cells.values()]
    ends = {"sar_least": min(sar), "sar_most": max(sar), "large_least": min(large), "large_most": max(large)}
    return {name: f"{value:.1f}" for name, value in ends.items()}
