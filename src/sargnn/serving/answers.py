"""What the server says of one graph, as JSON: prediction, certainty, set, saliency, drawing. The static site says the
same."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.serving.loaded import LoadedRun
from sargnn.serving.outcomes import Outcome

__all__ = ["answer_of", "drawing_of", "refusal", "saliency_of", "warm_up"]

MOST_DRAWN = 2_000
"""Nodes of a graph that is drawn; more would take a browser minutes."""


def answer_of(
    run: LoadedRun, outcome: Outcome, *, calibrated: bool = False, coverage: float | None = None
) -> dict[str, Any]:
    """The prediction for one graph: in words, how sure, and every number of a file of predictions by its column."""
    task, values = run.task, outcome.values
    found: dict[str, Any] = {}
    if coverage is not None:
        (members,) = needed(run).sets(values[None], coverage)
        found["set"] = [name for name, inside in zip(task.names, members.tolist(), strict=True) if inside]
    if calibrated:
        (values,) = needed(run).apply(values[None])
    verdict = task.verdict(values)
    cells = dict(zip(task.columns(), task.cells(values), strict=True))
    return {"prediction": verdict.text, "confidence": verdict.confidence, "values": cells, **found}


def needed(run: LoadedRun) -> Any:
    """The calibration of a run, which must be there."""
    if run.calibration is None:
        raise InputError(f"got no calibration of {run.name}, expected: sargnn calibrate {run.folder.name} DATA")
    return run.calibration


def saliency_of(outcome: Outcome) -> dict[str, Any]:
    """How much each node counted, in every layer and in one map; nothing where the model has no saliency."""
    if outcome.map is None:
        return {}
    return {"saliency": outcome.map.tolist(), "layers": outcome.layers.tolist()}


def refusal(position: int, error: Exception, status: int = 422) -> dict[str, Any]:
    """The answer for a graph that cannot be predicted."""
    return {"graph": position, "status": status, "error": " ".join(str(error).splitlines())}


def drawing_of(one: GraphSet) -> dict[str, Any]:
    """Where nodes and bonds are drawn, and what is written at them."""
    from sargnn.pages.explanations import Explanation, _drawing  # loads matplotlib: predictions do not wait for it
    from sargnn.tasks import Verdict

    if one.num_nodes > MOST_DRAWN:
        raise InputError(f"got {one.num_nodes} nodes, expected at most {MOST_DRAWN} to draw")
    found = _drawing(one, Explanation(0, Verdict("", None), np.zeros((0, one.num_nodes)), "", np.zeros(one.num_nodes)))
    bonds = [[a, b, 1.0, 0, ""] for a, b in found["edges"]]
    drawn = {"molecule": False, "bonds": bonds, "texts": [[label, 0.0] for label in found["labels"]]}
    return drawn | {key: found[key] for key in ("x", "y", "names", "labels")}


def warm_up() -> None:
    """Load what drawings need."""
    import_module("sargnn.pages.explanations")
