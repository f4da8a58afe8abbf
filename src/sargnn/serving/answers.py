"""What the server says of one graph, as JSON: prediction, certainty, set, saliency, drawing. The static site says the
same."""

from __future__ import annotations

from importlib import import_module
from math import isfinite
from typing import Any

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.serving.loaded import LoadedRun
from sargnn.serving.outcomes import Outcome
from sargnn.tasks.calibration import Calibration

__all__ = ["answer_of", "drawing_of", "refusal", "saliency_of", "warm_up"]

MOST_DRAWN = 2_000
"""Nodes of a graph that is drawn; more would take a browser minutes."""


def answer_of(
    run: LoadedRun,
    outcome: Outcome,
    *,
    calibrated: bool = False,
    coverage: float | None = None,
    normalised: bool = False,
) -> dict[str, Any]:
    """The prediction for one graph: in words, how sure, and every number of a file of predictions by its column."""
    task, values = run.task, outcome.values
    found: dict[str, Any] = {}
    if coverage is not None:
        held_out, names = needed(run), task.names
        spread = outcome.spread[None] if normalised and outcome.spread is not None else None
        regions = held_out.columns(names, held_out.regions(values[None], coverage, spread))
        found["region"] = {name: _plain(cells[0]) for name, cells in regions.items()}
    if calibrated:
        (values,) = needed(run).apply(values[None])
    verdict = task.verdict(values)
    cells = dict(zip(task.columns(), task.cells(values), strict=True))
    if outcome.trust is not None:
        found["trust"] = {name: _plain(value) for name, value in outcome.trust.items()}
    return {"prediction": verdict.text, "confidence": verdict.confidence, "values": cells, **found}


def _plain(value: Any) -> Any:
    """A number that JSON has: an interval without an end has none there."""
    return None if isinstance(value, float) and not isfinite(value) else value


def needed(run: LoadedRun) -> Calibration:
    """The calibration of a run, which must be there."""
    if run.calibration is None:
        raise InputError(f"got no calibration of {run.name}, expected: sargnn calibrate {run.folder.name} DATA")
    return run.calibration


def saliency_of(run: LoadedRun, outcome: Outcome) -> dict[str, Any]:
    """How much each node counted, in every layer and in one map, where the model has saliency; and how much it raises
    each output, where that was asked for."""
    found: dict[str, Any] = {}
    if outcome.map is not None:
        found |= {"saliency": outcome.map.tolist(), "layers": outcome.layers.tolist()}
    if outcome.effects is not None:
        found["effects"] = dict(zip(run.task.names, outcome.effects.T.tolist(), strict=True))
    return found


def refusal(position: int, error: Exception, status: int = 422) -> dict[str, Any]:
    """The answer for a graph that cannot be predicted."""
    return {"graph": position, "status": status, "error": " ".join(str(error).splitlines())}


def drawing_of(one: GraphSet) -> dict[str, Any]:
    """Where nodes and bonds are drawn, and what is written at them."""
    from sargnn.pages.explanations import drawing  # which loads matplotlib: predictions do not wait for it

    if one.num_nodes > MOST_DRAWN:
        raise InputError(f"got {one.num_nodes} nodes, expected at most {MOST_DRAWN} to draw")
    return drawing(one, 0)


def warm_up() -> None:
    """Load what drawings need."""
    import_module("sargnn.pages.explanations")
