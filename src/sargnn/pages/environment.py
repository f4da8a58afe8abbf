"""The one Jinja environment of every page: strict about missing values; HTML is escaped, Markdown is not."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from sargnn.pages.words import duration, in_words, percent, settings_in_words

__all__ = ["render"]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("sargnn.pages"),
        autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent, "words": in_words, "duration": duration, "settings": settings_in_words,
    }  # fmt: skip
    return environment


def render(template: str, **values: Any) -> str:
    """The page that a template of ``pages/templates`` makes of ``values``."""
    return _environment().get_template(template).render(**values)
