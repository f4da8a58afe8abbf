"""The paper's figures: each is a study, perhaps further measurements of its models, and notes made of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sargnn.reproduction import cost_figures, costs, optimization_figure, tsne_figure
from sargnn.reproduction.figure_notes import FigureNotes, Measured
from sargnn.studies.engine import run_bundles
from sargnn.studies.store import Job, Store
from sargnn.studies.study import Results, Study, StudyProgress, finished_results, run_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "FigurePlan", "finished_rows", "run_figure"]


@dataclass(frozen=True)
class FigurePlan:
    """How a figure is made: of the results of a study, and perhaps of the rows of further jobs."""

    study: Callable[..., Study]
    """Of a preset, as for tables."""
    notes: Callable[[Study, Results, Measured], FigureNotes]
    draw: Callable[[Study, Results, Measured], Figure]
    jobs: Callable[[Study, Results], Sequence[Job]] = lambda study, results: ()
    """What to measure once the study is done."""
    work: str = ""
    """The function that does it, ``module:function``."""


FIGURES = {
    "figure-optimization": FigurePlan(optimization_figure.study, optimization_figure.notes, optimization_figure.draw),
    "figure-tsne": FigurePlan(
        tsne_figure.study, tsne_figure.notes, tsne_figure.draw, tsne_figure.jobs, tsne_figure.WORK
    ),
    "figure-model-size": FigurePlan(
        cost_figures.model_size, cost_figures.model_size_notes, cost_figures.draw_model_size, cost_figures.jobs,
        costs.WORK,
    ),
    "figure-complexity": FigurePlan(
        cost_figures.complexity, cost_figures.complexity_notes, cost_figures.draw_complexity, cost_figures.jobs,
        costs.WORK,
    ),
}  # fmt: skip


def run_figure(plan: FigurePlan, study: Study, store: Store, progress: StudyProgress, **engine: Any) -> None:
    """Compute what the store does not have yet; ``engine`` as in :func:`~sargnn.studies.study.run_study`."""
    results = run_study(study, store, progress, **engine)
    # One job per bundle: each is measured alone, and stored when it is done.
    bundles = [(job,) for job in plan.jobs(study, results)]
    if bundles:
        run_bundles(bundles, plan.work, store, on_progress=lambda *state: progress("measuring", *state), **engine)


def finished_rows(plan: FigurePlan, study: Study, store: Store) -> tuple[Results, Measured]:
    """What the store has of a figure: the results of its study, and the rows of its further jobs."""
    results = finished_results(study, store)
    rows = {job: store.row(job) for job in plan.jobs(study, results)}
    return results, {job: row for job, row in rows.items() if row is not None}
