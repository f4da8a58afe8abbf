"""What a command prints: one JSON object, or names and values for people."""

from __future__ import annotations

import json
from typing import Any

from sargnn.console import table

__all__ = ["Answer", "answer"]

Answer = dict[str, Any]

OF_HEADLINE = ("low", "high", "interval")
"""How the names of the ends of its interval end: of an accuracy they are fractions."""

IN_A_LINE = 6
"""A value with more items than these, such as the cells of a table, is shown with one line per item."""


def answer(result: Answer, as_json: bool, title: object) -> None:
    """Print a command's result.

    >>> answer({"graphs": 2, "accuracy": 0.5}, True, "")
    {"graphs": 2, "accuracy": 0.5}
    """
    if as_json:
        print(json.dumps(result, allow_nan=False))
    else:
        headline = next((name for name in result if name.endswith(("accuracy", "auroc", "rmse"))), "")
        plain = OF_HEADLINE if headline.endswith(("auroc", "rmse")) else ()
        shown = {name: _readable("" if name.endswith(plain) else name, value) for name, value in result.items()}
        table(str(title), {name.replace("_", " "): text for name, text in shown.items()})


def _readable(name: str, value: Any) -> str:
    if value is None:
        return "not measured: there are no such graphs" if name.endswith("accuracy") else "none"
    if isinstance(value, float):
        return f"{value:.1%}" if name in ("low", "high") or name.endswith(("accuracy", "interval")) else f"{value:.4g}"
    if isinstance(value, dict):
        items = [f"{key} {_readable(name, item)}" for key, item in value.items()]
        return ", ".join(items) if len(items) <= IN_A_LINE else "".join(f"\n    {item}" for item in items)
    if isinstance(value, list | tuple):
        return ", ".join(_readable(name, item) for item in value)
    return str(value)
