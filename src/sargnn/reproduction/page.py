"""The page ``docs/reproduction.md``: tables and figures from the stored rows, and what they show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sargnn import viz
from sargnn.errors import InputError
from sargnn.files import write_file
from sargnn.pages.environment import render
from sargnn.reproduction import figure_notes, paper
from sargnn.reproduction.figures import FIGURES, finished_rows
from sargnn.reproduction.studies import STUDIES, SetFacts
from sargnn.reproduction.tables import CellVerdict, Where, cell_verdicts, markdown, verdict_counts
from sargnn.studies.protocol import CellResult
from sargnn.studies.store import Record, Row, Store, read_rows
from sargnn.studies.study import Results, Study, finished_results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["page", "write_page"]

PRESET = "quick"
"""The preset of the tables and figures."""
WIDE = "wide"
"""That of the wide search over base and SAR models."""
LEAN = "lean"
"""That of Table 2 for every system."""

OTHERS = ("PROTEINS", "IMDB-BINARY", "IMDB-MULTI")
"""Sets of Table 2 of which the page speaks together."""

Found = dict[Where, CellVerdict]


def write_page(rows: Sequence[Path], out: Path) -> list[Path]:
    """Write the page of the files of rows, and its pictures to the folder ``images`` beside it; gives the files."""
    text, pictures = page(rows)
    for name, picture in pictures.items():
        viz.save(picture, out.parent / name)
    write_file(out, text)
    return [out, *(out.parent / name for name in pictures)]


def page(sources: Sequence[Path]) -> tuple[str, dict[str, Figure]]:
    """The page as Markdown and its pictures by address, from files of :meth:`~sargnn.studies.store.Store.export`
    alone: no data set is needed."""
    by_id = {record.id: record for file in sources for record in read_rows(file)}  # files may share rows
    records = [record for record in by_id.values() if record.job["stage"] in ("select", "assess")]
    facts = facts_in(record.job for record in records)
    quick = paper.PRESETS[PRESET]
    studies = {name: make(quick, facts.__getitem__) for name, make in STUDIES.items()}
    lean = STUDIES["table2"](paper.PRESETS[LEAN], facts.__getitem__)
    with TemporaryDirectory() as folder, Store(Path(folder) / "rows.sqlite") as store:
        for file in sources:
            store.import_rows(file)
        results = {name: finished_results(study, store) for name, study in studies.items()}
        whole = finished_results(lean, store)
        wide = {name: STUDIES[name](paper.PRESETS[WIDE], facts.__getitem__) for name in ("table1", "table2")}
        searched = {name: finished_results(study, store) for name, study in wide.items()}
        pictured = {name: plan.study(quick, facts.__getitem__) for name, plan in FIGURES.items()}
        found = {name: (study, *finished_rows(FIGURES[name], study, store)) for name, study in pictured.items()}
    if not all(results.values()):
        names = ", ".join(map(str, sources))
        raise InputError(f"{names}: got too few rows, expected some cells of each of {', '.join(STUDIES)}")
    notes = {name: FIGURES[name].notes(*own) for name, own in found.items()}
    addresses = {name: f"images/{name}.png" for name, made in notes.items() if made.rows}
    text = render(
        "reproduction.md.j2", paper=paper.PRESETS["paper"], preset_name=PRESET, preset=quick, lean_name=LEAN,
        lean=paper.PRESETS[LEAN], sources=[file.name for file in sources],
        missing=[name for name in FIGURES if name not in addresses],
        figures=[figure_notes.markdown(notes[name], address) for name, address in addresses.items()],
        origins=_origins(records), day=max(record.finished for record in records)[:10], quoted=_quoted(),
        other_inputs=_other_inputs(), **_of_tables(studies, results),
        **_of_every_system(lean, whole, results["table2"]), wide_name=WIDE, wide=paper.PRESETS[WIDE],
        wide_tables=[_measured_table(study, searched[name]) for name, study in wide.items() if searched[name]],
        letter_wide=_table1_counts(cell_verdicts(wide["table1"], searched["table1"]), "Letter-high"),
        mutag_wide=_table1_counts(cell_verdicts(wide["table1"], searched["table1"]), "MUTAG"),
        enzymes_wide=_table2_counts(cell_verdicts(wide["table2"], searched["table2"]), ("ENZYMES",)),
    )  # fmt: skip
    return text.rstrip() + "\n", {address: FIGURES[name].draw(*found[name]) for name, address in addresses.items()}


def facts_in(jobs: Iterable[Row]) -> dict[str, SetFacts]:
    """Fingerprint and folds of every data set that has rows, by the JSON of their jobs; a set without rows has no cell
    either way."""
    facts: dict[str, SetFacts] = defaultdict(lambda: SetFacts("no rows", 10))
    for job in jobs:
        folds = max(job["fold"] + 1, facts[job["data"]].folds if job["data"] in facts else 1)
        facts[job["data"]] = SetFacts(job["fingerprint"], folds)
    return facts


def _of_tables(studies: dict[str, Study], results: dict[str, Results]) -> dict[str, Any]:
    """The tables of the preset and the numbers of base and SAR models in the text. Rows without any measured cell are
    named, not shown."""
    family = {w: result for w, result in results["table2"].items() if w[0].removeprefix("sar-") in paper.TABLE1["base"]}
    told = {**results, "table2": family}
    found = {name: cell_verdicts(study, told[name]) for name, study in studies.items()}
    shown = {name: _begun(study, results[name]) for name, study in studies.items()}
    begun = {row for row, _ in shown["table2"].cells}
    supervised = [c.measured for where, c in found["table3"].items() if where[1] == "supervised"]
    return {
        "tables": {name: markdown(study, results[name]) for name, study in shown.items()},
        "accuracy": lambda table, row, column: f"{found[table][row, column].measured:.1f}",
        "deviation": lambda table, row, column: f"{found[table][row, column].measured_std:.1f}",
        "mutag": _table1_counts(found["table1"], "MUTAG"),
        "letter": _table1_counts(found["table1"], "Letter-high"),
        "enzymes": _enzymes(found["table2"]),
        "triangles": _triangles(family),
        "others": _table2_counts(found["table2"], OTHERS),
        "supervised": (min(supervised), max(supervised)),
        "unmeasured": [line for name, study in shown.items() for line in _unmeasured(study, results[name])],
        "not_begun": [system for system in paper.SYSTEMS if system not in begun],
    }


def _of_every_system(study: Study, results: Results, quick: Results) -> dict[str, Any]:
    """Table 2 for every system, one grid for all, and what the text says of it."""
    named = replace(study, title=f"{study.title}, every system, preset {LEAN}")
    verdicts = verdict_counts(cell_verdicts(study, results).values())
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    every = {"table": markdown(named, results), "verdicts": counts}
    on_triangles = {system: result for (system, data), result in {**results, **quick}.items() if data == "TRIANGLES"}
    sizes = [
        (system, _spread(on_triangles[system], "test"), _spread(on_triangles[system], "test-large"))
        for system in paper.SYSTEMS
        if system in on_triangles
    ]
    return {"every": {**every, "cells": verdicts.total()}, "sizes": sizes}


def _measured_table(study: Study, results: Results) -> str:
    """The table of the measured cells alone."""
    cells = {where: cell for where, cell in study.cells.items() if where in results}
    return markdown(replace(study, title=f"{study.title}, preset {WIDE}", cells=cells), results)


def _begun(study: Study, results: Results) -> Study:
    """The study without the rows of which nothing is measured."""
    begun = {row for row, _ in results}
    return replace(study, cells={where: cell for where, cell in study.cells.items() if where[0] in begun})


class Origin(NamedTuple):
    """What trainings were made of and by."""

    data: str
    device: str
    version: str
    commit: str


def _origins(records: list[Record]) -> list[tuple[Origin, list[float]]]:
    """Of each origin, the seconds of its trainings."""
    groups: dict[Origin, list[float]] = defaultdict(list)
    for _, job, row, _ in records:
        groups[Origin(job["data"], row["device"], row["version"], row["commit"])].append(row["seconds"])
    return sorted(groups.items())


def _quoted() -> dict[str, list[str]]:
    """By source, the published cells that look quoted."""
    sources: dict[str, list[str]] = defaultdict(list)
    for (system, data), source in paper.QUOTED.items():
        mean, deviation = paper.TABLE2[system][paper.DATA_SETS.index(data)]
        sources[source].append(f"{system} on {data} ({mean} ± {deviation})")
    return dict(sources)


def _other_inputs() -> list[str]:
    """By data set, the published cells that look as if they were run on other inputs, and why."""
    lines = []
    for data, (systems, reason) in paper.OTHER_INPUTS.items():
        at = paper.DATA_SETS.index(data)
        cells = ", ".join(f"{system} ({paper.TABLE2[system][at][0]})" for system in systems)
        lines.append(f"{data}: {cells}: {reason}")
    return lines


def _accuracies(result: CellResult, part: str) -> np.ndarray:
    """Per cent, of each training."""
    return 100 * np.array([row.scores[part]["accuracy"] for row in result.rows if row.scores])


def _spread(result: CellResult, part: str) -> str:
    values = _accuracies(result, part)
    return f"{values.mean():.1f} ± {values.std():.1f}" if len(values) > 1 else f"{values[0]:.1f}, one training"


def _counts(cells: Iterable[CellVerdict], differences: list[float]) -> dict[str, Any]:
    """Verdicts, and the ends of some differences."""
    verdicts = verdict_counts(cells)
    counts = {verdict: verdicts[verdict] for verdict in ("reproduced", "higher", "lower")}
    return {
        "cells": verdicts.total(),
        "least": min(differences, default=0.0),
        "most": max(differences, default=0.0),
        **counts,
    }


def _table1_counts(found: Found, data: str) -> dict[str, Any]:
    """Verdicts on a data set, and how far below the published values the cells are."""
    cells = [c for (_, column), c in found.items() if column.endswith(f" {data}")]
    return _counts(cells, [c.published - c.measured for c in cells if c.published is not None])


def _table2_counts(found: Found, sets: Sequence[str]) -> dict[str, Any]:
    """Verdicts on some data sets, and how much better the SAR models are than their base models."""
    cells = {where: c for where, c in found.items() if where[1] in sets}
    sar = {(system[4:], data): c for (system, data), c in cells.items() if system[:4] == "sar-"}
    return _counts(cells.values(), [c.measured - cells[base].measured for base, c in sar.items()])


def _unmeasured(study: Study, results: Results) -> list[str]:
    """The cells without rows, one line per row of the table."""
    missing: dict[str, list[str]] = defaultdict(list)
    for row, column in study.cells.keys() - results.keys():
        missing[row].append(column)
    return [f"{study.title}, {row}: {', '.join(sorted(columns))}" for row, columns in sorted(missing.items())]


def _enzymes(found: Found) -> dict[str, Any]:
    cells = {system: c for (system, data), c in found.items() if data == "ENZYMES"}
    gaps = [c.published - c.measured for s, c in cells.items() if s.startswith("sar-") and c.published is not None]
    reproduced = sum(c.verdict == "reproduced" for s, c in cells.items() if not s.startswith("sar-"))
    return {"base_reproduced": reproduced, "sar_least": min(gaps), "sar_most": max(gaps)}


def _triangles(table2: Results) -> dict[str, str]:
    cells = {system: result for (system, data), result in table2.items() if data == "TRIANGLES"}
    sar = [_accuracies(result, "test").mean() for system, result in cells.items() if system.startswith("sar-")]
    large = [_accuracies(result, "test-large").mean() for result in cells.values()]
    ends = {"sar_least": min(sar), "sar_most": max(sar), "large_least": min(large), "large_most": max(large)}
    return {name: f"{value:.1f}" for name, value in ends.items()}
