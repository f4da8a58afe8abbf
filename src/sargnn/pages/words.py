"""Numbers and settings as people write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import Any

from sargnn.console import visible

__all__ = ["duration", "in_markdown", "in_words", "percent", "settings_in_words"]


def percent(fraction: float) -> str:
    """
    >>> percent(0.905)
    '90.5%'
    """
    return f"{100 * fraction:.1f}%"


def duration(seconds: float) -> str:
    """
    >>> duration(0.84), duration(83.2), duration(7384.0)
    ('0.8 s', '1 min 23 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def in_markdown(text: str, most: int = 120) -> str:
    r"""A name from a file as one piece of text of a Markdown page: no HTML, no link, no cell of its own, not too long.

    >>> in_markdown("<b>a|b</b>\n"), in_markdown("x" * 9, 4)
    ('&lt;b&gt;a\\|b&lt;/b&gt;', 'xxx…')
    """
    text = visible(" ".join(text.split()), most)
    return re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", escape(text, quote=False))


def in_words(value: object) -> str:
    """A setting's value as people write it.

    >>> in_words(True), in_words(None), in_words((64, 64)), in_words(5e-4), in_words(45000)
    ('yes', 'none', '64, 64', '0.0005', '45,000')
    """
    if value is None or isinstance(value, bool):
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(in_words(part) for part in value) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {in_words(part)}" for key, part in value.items()) or "none"
    return str(value)


def settings_in_words(changes: Mapping[str, Any]) -> str:
    """Changed settings as ``--set`` takes them.

    >>> settings_in_words({"name": "gcn", "model": {"layers": 2}, "training": {"learning_rate": 0.005}})
    'model.layers=2 training.learning_rate=0.005'
    """
    sections = ((section, fields) for section, fields in changes.items() if section != "name")
    return " ".join(f"{section}.{key}={value}" for section, fields in sections for key, value in fields.items())
