"""Docstrings as they are written here, as Markdown for the API reference: roles become code, examples become blocks."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|math):`~?([^`]+)`")
EXAMPLE = re.compile(r"^( *)>>> .*(?:\n.+)*", re.MULTILINE)
FLAG = re.compile(r" *# doctest: .*")


class Docstrings(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """The same text without roles, and with every example in a block of its own."""
    text = ROLE.sub(r"`\1`", text)
    return EXAMPLE.sub(lambda found: f"{found[1]}```pycon\n{FLAG.sub('', found[0])}\n{found[1]}```", text)
