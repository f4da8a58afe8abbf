"""A study: many cells, computed by an engine into a store, and read back as results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sargnn.studies.engine import run_bundles
from sargnn.studies.jobs import TrainingJob, TrainingRow
from sargnn.studies.protocol import Cell, CellResult, assessment_jobs, bundles, collect, select, selection_jobs
from sargnn.studies.store import Store

__all__ = ["Results", "Study", "StudyProgress", "finished_results", "run_study"]

WORK = "sargnn.studies.protocol:work"
AT_ONCE = 2
"""Systems or variants of which a GPU trains all jobs on a data set together."""

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


def run_study(study: Study, store: Store, progress: StudyProgress, *, device: str = "cpu", **engine: Any) -> Results:
    """Compute what the store does not have yet on ``device``, then give the result of every cell.

    ``engine`` are further options of :func:`~sargnn.studies.engine.run_bundles`.
    """
    cells = list(study.cells.values())

    def run(jobs: list[TrainingJob], what: str) -> None:
        made = bundles(jobs, AT_ONCE if device.startswith("cuda") else None)
        run_bundles(made, WORK, store, device=device, on_progress=partial(progress, what), **engine)

    run([job for cell in cells for job in selection_jobs(cell)], "selecting")
    chosen = {cell: select(cell, _rows(store, selection_jobs(cell))) for cell in cells}
    run([job for cell in cells for job in assessment_jobs(cell, chosen[cell])], "assessing")
    return finished_results(study, store)


def finished_results(study: Study, store: Store) -> Results:
    """The results of the cells whose rows are all in the store."""
    results = {}
    for where, cell in study.cells.items():
        candidates = selection_jobs(cell)
        compared = _rows(store, candidates)
        if len(compared) == len(candidates):
            chosen = select(cell, compared)
            rows = _rows(store, assessment_jobs(cell, chosen))
            if len(rows) == cell.folds * cell.repeats:
                results[where] = collect(cell, chosen, rows)
    return results


def _rows(store: Store, jobs: Sequence[TrainingJob]) -> list[TrainingRow]:
    found = ((job, store.row(job)) for job in jobs)
    return [TrainingRow.from_json(job, row) for job, row in found if row is not None]
