"""``sargnn reproduce``: a table or a figure of the paper, or all of them, computed into a store and written down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sargnn import viz
from sargnn.console import note, show_study
from sargnn.data.sources import load
from sargnn.data.synthetic import triangles
from sargnn.files import write_file
from sargnn.reproduction import figure_notes, tables
from sargnn.reproduction.beyond import beyond
from sargnn.reproduction.figures import FIGURES, finished_rows, run_figure
from sargnn.reproduction.paper import PRESETS
from sargnn.reproduction.saliency_figures import SALIENCY_FIGURES, saliency_notes
from sargnn.reproduction.studies import STUDIES as PAPER
from sargnn.reproduction.studies import plan_study
from sargnn.studies.bundles import made_by
from sargnn.studies.store import Job, Row, Store
from sargnn.studies.study import Study, finished_results, run_study

__all__ = ["NAMES", "SALIENCY_FIGURES", "Reproduction"]

Answer = dict[str, Any]

STUDIES = {**PAPER, "beyond": beyond}
"""The paper's tables, the ablations that it lacks, and the recommended model."""
NAMES = (*STUDIES, *FIGURES, *SALIENCY_FIGURES)
"""What can be reproduced, in the order of ``all``."""
FEW_TRIANGLES = (200, 50, 50, 0)
"""Graphs to train on, validate and test in place of TRIANGLES."""


@dataclass(frozen=True)
class DrawingJob(Job):
    """One of the saliency figures."""

    figure: str
    preset: str

    def to_json(self) -> Row:
        return {"stage": "draw", "figure": self.figure, "preset": self.preset}


@dataclass(frozen=True)
class Reproduction:
    """Where and how things are computed: a preset, the folder of store and pages, some data sets and systems or
    all, an engine."""

    preset: str
    out: Path
    data: str | None = None
    engine: str = "local"
    """none: only write down what the store has."""
    workers: int | None = None
    address: str | None = None
    device: str = "cpu"
    systems: str | None = None

    def run(self, name: str, store: Store) -> Answer:
        """Compute and write one table or figure."""
        return self._run(name, store, show_study())

    def run_all(self, store: Store) -> Answer:
        """Every table and figure in turn. Progress is over the whole: trainings that several need are computed once."""
        studies = {name: self._study(name) for name in (*STUDIES, *FIGURES)}
        show = show_study(whole=sum(study.trainings for study in studies.values()))
        answers = {}
        for name in NAMES:
            note(f"{name}:")
            answers[name] = self._run(name, store, show)
        return {name: answer.get("measured") for name, answer in answers.items()} | {"folder": str(self.out)}

    def _run(self, name: str, store: Store, show: Callable[..., None]) -> Answer:
        if name in SALIENCY_FIGURES:
            return self._saliency_figure(name, store)
        study = self._study(name)
        if self.engine != "none":
            options: Row = {option: getattr(self, option) for option in ("engine", "workers", "address", "device")}
            if name in FIGURES:
                run_figure(FIGURES[name], study, store, show, **options)
            else:
                run_study(study, store, show, **options)
        store.export(self.out / f"{self.preset}.jsonl")
        return self._write_figure(name, study, store) if name in FIGURES else self._write_table(name, study, store)

    def _study(self, name: str) -> Study:
        make = FIGURES[name].study if name in FIGURES else STUDIES[name]
        return plan_study(make, PRESETS[self.preset], self.data, self.systems)

    def _write_table(self, name: str, study: Study, store: Store) -> Answer:
        results = finished_results(study, store)
        write_file(self._file(name, "md"), tables.markdown(study, results))
        write_file(self._file(name, "html"), tables.html(study, results))
        if study.published:
            viz.save(tables.figure(study, results), self._file(name, "png"))
        cells = {f"{row} / {column}": [r.mean, r.std] for (row, column), r in results.items()}
        return {"cells": len(study.cells), "measured": len(results), "folder": str(self.out), "accuracy": cells}

    def _write_figure(self, name: str, study: Study, store: Store) -> Answer:
        results, rows = finished_rows(FIGURES[name], study, store)
        made, picture = FIGURES[name].notes(study, results, rows), FIGURES[name].draw(study, results, rows)
        viz.save(picture, self._file(name, "png"))
        write_file(self._file(name, "md"), figure_notes.markdown(made, self._file(name, "png").name))
        write_file(self._file(name, "html"), figure_notes.html(made, viz.to_svg(picture)))
        return {"cells": len(study.cells), "measured": len(results), **self._verdicts(made)}

    def _saliency_figure(self, name: str, store: Store) -> Answer:
        """Drawn unless the store says that it was, and its files are still there."""
        job = DrawingJob(name, self.preset)
        drawn = store.row(job)
        if drawn is None or not all(Path(file).exists() for file in drawn["files"]):
            if self.engine == "none":
                return {"measured": 0, "folder": str(self.out)}
            draw, preset = SALIENCY_FIGURES[name], PRESETS[self.preset]
            drawn = draw(self.out / self.preset, preset, self._sets(name), device=self.device)
            store.finish(job, {**made_by(), **drawn})
        png, svg = (Path(file) for file in drawn["files"])
        made = saliency_notes(name, drawn)
        write_file(self._file(name, "md"), figure_notes.markdown(made, f"{self.preset}/{png.name}"))
        write_file(self._file(name, "html"), figure_notes.html(made, svg.read_text("utf-8")))
        return {"measured": len(made.rows), **self._verdicts(made)}

    def _verdicts(self, made: figure_notes.FigureNotes) -> Answer:
        return {"folder": str(self.out), "verdicts": dict(Counter(claim.verdict for claim in made.claims))}

    def _sets(self, name: str) -> Any:
        """The graphs of a saliency figure: none for the paper's own, or a few where the preset spares TRIANGLES."""
        if PRESETS[self.preset].cost_set == "TRIANGLES" or name == "figure-saliency-mutag":
            return None
        few = triangles(*FEW_TRIANGLES, seed=0)
        return few if name == "figure-saliency-triangles" else [load("MUTAG"), few]

    def _file(self, name: str, kind: str) -> Path:
        return self.out / f"{name}-{self.preset}.{kind}"
