"""The paper's figures: each is a study, perhaps further measurements of its models, and a sheet made of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sargnn.reproduction import cost_figures, costs, optimization_figure
from sargnn.reproduction import tsne_figure as vector_figure
from sargnn.reproduction.figure_notes import Sheet
from sargnn.studies.engine import run_bundles
from sargnn.studies.store import Job, Row, Store, job_id
from sargnn.studies.study import Results, Study, StudyProgress, finished_results, run_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "FigurePlan", "finished_rows", "run_figure"]


@dataclass(frozen=True)
class FigurePlan:
    """How a figure is made: of the results of a study, and perhaps of the rows of further jobs."""

    study: Callable[..., Study]
    """Of a preset, as for tables."""
    sheet: Callable[[Study, Results, list[Row]], Sheet]
    draw: Callable[[Study, Results, list[Row]], Figure]
    jobs: Callable[[Study, Results], list[Job]] = lambda study, results: []
    """What to measure once the study is done."""
    work: str = ""
    """The function that does it, ``module:function``."""


FIGURES = {
    "figure-optimization": FigurePlan(
        optimization_figure.study, optimization_figure.sheet, optimization_figure.draw
    ),
    "figure-tsne": FigurePlan(
        vector_figure.study, vector_figure.sheet, vector_figure.draw, vector_figure.jobs, vector_figure.WORK
    ),
    "figure-model-size": FigurePlan(
        cost_figures.model_size, cost_figures.model_size_sheet, cost_figures.draw_model_size, cost_figures.jobs,
        costs.WORK,
    ),
    "figure-complexity": FigurePlan(
        cost_figures.complexity, cost_figures.complexity_sheet, cost_figures.draw_complexity, cost_figures.jobs,
        costs.WORK,
    ),
}  # fmt: skip


def run_figure(plan: FigurePlan, study: Study, store: Store, progress: StudyProgress, **engine: Any) -> None:
    """Compute what the store does not have yet; ``engine`` as in :func:`~sargnn.studies.study.run_study`."""
    results = run_study(study, store, progress, **engine)
    # One job a bundle: each is measured alone, and stored when it is done.
    bundles = [(job,) for job in plan.jobs(study, results)]
    if bundles:
        run_bundles(bundles, plan.work, store, on_progress=lambda *state: progress("measuring", *state), **engine)


def finished_rows(plan: FigurePlan, study: Study, store: Store) -> tuple[Results, list[Row]]:
    """What the store has of a figure: the results of its study, and the rows of its further jobs."""
    results = finished_results(study, store)
    rows = [store.row(job_id(job)) for job in plan.jobs(study, results)]
    return results, [row for row in rows if row is not None]
