"""The one environment of all templates: strict, and safe for HTML."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from sargnn.pages.environment import render

EVIL = "<script>alert(1)</script>"


def page(**values: object) -> str:
    return render(
        "check.html.j2", **({"title": "t", "count": 0, "problems": [], "figures": [], "summary": {}} | values)
    )


def test_html_is_escaped_in_the_frame_and_in_the_body() -> None:
    shown = page(title=EVIL, summary={"classes": EVIL})
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;") == 3  # title, heading and summary


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'title' is undefined"):
        render("check.html.j2", count=0, problems=[], figures=[], summary={})


def test_every_page_is_whole() -> None:
    shown = page()
    assert shown.startswith("<!DOCTYPE html>")
    assert shown.endswith("</html>")
    assert "No problems found." in shown
