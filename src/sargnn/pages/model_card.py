"""A trained model as a page for people who may use it: Markdown, as the hub shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sargnn.pages.environment import render as render_template

__all__ = ["render"]

SHOWN = 30
"""Names that a list shows."""


def render(card: Mapping[str, Any], address: str) -> str:
    """The page of a card (:mod:`sargnn.training.card`) of a model that can be loaded from ``address``."""
    scores = card["scores"]
    held_out = next((part for part in ("test", "validation") if part in scores), None)
    return render_template(
        "model_card.md.j2",
        card=card,
        address=address,
        part=held_out,
        rows=[] if held_out is None else _rows(scores[held_out], card["metrics"]),
        baselines=list(scores.get(held_out, {}).get("baselines", {})),
        outputs=_listed(card["outputs"]),
        features=_listed(card["features"]),
        notes=[code(text) for text in card["notes"]],
        data=code(card["data"]["name"]),
        classes=card["task"] == "classification",
    )


def code(text: object) -> str:
    """A text that came from a file as Markdown that shows it and does nothing else.

    >>> print(code("<b>a|b`c"))
    `<b>a\\|b'c`
    """
    plain = " ".join(str(text).replace("`", "'").replace("|", "\\|").split())
    return f"`{plain}`" if plain else ""


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(code, names[:SHOWN])) + more


def _rows(scores: Mapping[str, Any], metrics: Mapping[str, str]) -> list[tuple[str, str, str, list[str]]]:
    """Of each score: its name, its value, its 95 % interval, and what baselines have."""
    found, others = [], scores.get("baselines", {})
    for key, name in metrics.items():
        ends = scores.get("intervals", {}).get(key)
        interval = f"{ends[0]:.3g} to {ends[1]:.3g}" if ends else ""
        found.append((name, _number(scores.get(key)), interval, [_number(other.get(key)) for other in others.values()]))
    if scores.get("saliency_auc") is not None:
        blank = [""] * len(others)
        found.append(("Saliency AUC: nodes that matter first", _number(scores["saliency_auc"]), "", blank))
    return found


def _number(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.3g}"
