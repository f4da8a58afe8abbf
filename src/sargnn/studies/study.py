"""A study: many cells, run through an engine into a store, and read back as results."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sargnn.studies.engine import run_bundles
from sargnn.studies.protocol import Cell, CellResult, assessment_jobs, bundles, collect, select, selection_jobs
from sargnn.studies.store import Store, job_id

__all__ = ["Results", "Study", "StudyProgress", "finished_results", "run_study"]

WORK = "sargnn.studies.protocol:work"

Results = dict[tuple[str, str], CellResult]
"""By row and column name."""
StudyProgress = Callable[[str, int, int, float | None], None]
"""Called with what is done, the jobs done, the jobs in all, and the seconds left (None: not known yet)."""


@dataclass(frozen=True)
class Study:
    """Cells by row and column name, and what was published for them."""

    title: str
    cells: dict[tuple[str, str], Cell]
    published: dict[tuple[str, str], tuple[float, float]]
    baseline: str | None = None
    """The row that the others are compared with, column by column."""

    @property
    def trainings(self) -> int:
        """How many there are in all, whether done or not."""
        return sum(len(selection_jobs(cell)) + cell.folds * cell.repeats for cell in self.cells.values())


def run_study(study: Study, store: Store, progress: StudyProgress, **engine: Any) -> Results:
    """Compute what the store does not have yet, then give the result of every cell.

    ``engine`` are options of :func:`~sargnn.studies.engine.run_bundles`.
    """
    cells = list(study.cells.values())
    _run([job for cell in cells for job in selection_jobs(cell)], "selecting", store, progress, engine)
    chosen = {cell: select(cell, _rows(store, selection_jobs(cell))) for cell in cells}
    jobs = [job for cell in cells for job in assessment_jobs(cell, chosen[cell])]
    _run(jobs, "assessing", store, progress, engine)
    return finished_results(study, store)


def finished_results(study: Study, store: Store) -> Results:
    """The results of the cells whose rows are all in the store."""
    results = {}
    for where, cell in study.cells.items():
        candidates = selection_jobs(cell)
        compared = _rows(store, candidates)
        if len(compared) < len(candidates):
            continue
        chosen = select(cell, compared)
        jobs = assessment_jobs(cell, chosen)
        rows = _rows(store, jobs)
        if len(rows) == len(jobs):
            results[where] = collect(cell, chosen, rows)
    return results


def _run(jobs: list[dict[str, Any]], what: str, store: Store, progress: StudyProgress, engine: dict[str, Any]) -> None:
    at_once = 8 if os.environ.get("SARGNN_DEVICE", "cpu").startswith("cuda") else None
    run_bundles(bundles(jobs, at_once), WORK, store, on_progress=lambda *state: progress(what, *state), **engine)


def _rows(store: Store, jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = [store.row(job_id(job)) for job in jobs]
    return [row for row in rows if row is not None]
