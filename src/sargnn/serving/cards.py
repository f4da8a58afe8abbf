"""What is known of a run: its task, what it reads, how it scored, how it was trained."""

from __future__ import annotations

from typing import Any

from sargnn.serving.loaded import LoadedRun
from sargnn.training import card

__all__ = ["card_of", "line_of"]


def line_of(run: LoadedRun) -> dict[str, Any]:
    """A run in a few words."""
    settings = run.trained.settings
    return {
        "name": run.name,
        "system": settings.name,
        "task": run.task.kind,
        "outputs": list(run.task.names),
        "saliency": run.says_saliency,
        "calibrated": run.calibration is not None,
        "trust": run.trust is not None,
    }


def card_of(run: LoadedRun) -> dict[str, Any]:
    """All that is known of a run: the card of its model, and what a page needs to ask it."""
    known: dict[str, Any] = {"inputs": run.inputs(), "example": run.example}
    known |= {"report": (run.folder / "report.html").is_file(), "reliance": run.record.get("reliance")}
    return card.card_of(run.trained, run.record) | line_of(run) | known
