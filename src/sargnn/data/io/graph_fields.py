"""Graph attributes that have a field of their own in a set: the class, the part, the name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sargnn.data.graphs import PARTS
from sargnn.data.io.columns import NUMBER, natural_order, text_of
from sargnn.data.problems import Problem, Problems, kind_of, shown

__all__ = ["CLASS_NAMES", "GraphFields", "is_given"]

CLASS_NAMES = ("label", "y", "class", "target")
"""Where the class of a graph is looked for, in this order, unless another name is given."""

NO_CLASS = ("no class", "one for every graph")
NO_PART = ("no value", "one for every graph or for none")
"""What came and what was expected."""

Tell = Callable[[str, int, str, str], Problem]
"""From a column, a row, what came and what was expected to a problem that knows its place."""


def is_given(text: str) -> bool:
    """Whether a cell holds a class: an empty one does not, nor does what programs write for a missing number.

    >>> is_given("7"), is_given(" "), is_given("NaN")
    (True, False, False)
    """
    return text.strip().lower() not in ("", "nan")


class GraphFields:
    """Takes them out of the columns of one chunk after the other."""

    def __init__(self, problems: Problems, labels: str | None) -> None:
        self.problems = problems
        self.class_names = CLASS_NAMES if labels is None else (labels,) if labels else ()
        self.notes: list[str] = []
        self._names: list[str | None] = []
        self._classes: list[str | None] = []
        self._parts: list[int] = []
        self._missing = {"class": Problems(), "part": Problems()}
        """These are problems only if other graphs have a class, or a part."""
        self._unfit = Problems()
        """Values that are no class: problems only where classes are looked at."""

    def take(self, columns: dict[str, Sequence[Any]], names: list[str | None], tell: Tell) -> None:
        """Take what is known of the graphs called ``names``; other columns stay."""
        own = columns.pop("graph_name", names)
        self._names += [None if name is None else text_of(name) for name in own]
        if "part" in columns:
            self._parts += [self._part(value, row, tell) for row, value in enumerate(columns.pop("part"))]
        else:
            self._parts += [-1] * len(names)
            self._missing["part"].take([tell("part", 0, *NO_PART)], len(names))
        key = next((name for name in self.class_names if name in columns), None)
        if key:
            self._classes += [self._class(value, row, key, tell) for row, value in enumerate(columns.pop(key))]
        else:
            self._classes += [None] * len(names)
            self._missing["class"].take([tell((*self.class_names, "label")[0], 0, *NO_CLASS)], len(names))
        for name in CLASS_NAMES:  # another target would give the class away
            note = f"took {shown(key)} as the class, not {shown(name)}"
            if columns.pop(name, None) is not None and key and note not in self.notes:
                self.notes.append(note)

    def _class(self, value: Any, row: int, key: str, tell: Tell) -> str | None:
        value = value.tolist() if hasattr(value, "tolist") else value
        while isinstance(value, list | tuple) and len(value) == 1:
            value = value[0]
        strange = not isinstance(value, str | int | float | None)
        text = "" if strange or value is None or value != value else text_of(value)
        fraction = NUMBER.fullmatch(text) and not text.lstrip("-").isdigit()
        if strange or fraction:
            got = kind_of(value) if strange else text
            self._unfit.take([tell(key, row, got, "a whole number or a text as the class")])
            return None
        if not is_given(text):
            self._missing["class"].take([tell(key, row, *NO_CLASS)])
            return None
        return text

    def _part(self, value: Any, row: int, tell: Tell) -> int:
        """The code of a part, or -1."""
        part = value.strip() if isinstance(value, str) else ""
        if part in PARTS:
            return PARTS.index(part)
        if not part and (value is None or isinstance(value, str)):
            self._missing["part"].take([tell("part", row, *NO_PART)])
        else:
            self.problems.take([tell("part", row, shown(value), f"one of {', '.join(PARTS)}")])
        return -1

    def finish(self, *, labelled: bool) -> dict[str, Any]:
        """The fields of a set; that some graphs have a class and others none is a problem if ``labelled``."""
        fields: dict[str, Any] = {}
        if any(name is not None for name in self._names):
            fields["graph_names"] = tuple(str(g) if name is None else name for g, name in enumerate(self._names))
        without = self._missing["class"]
        (self.problems if labelled else without).take(self._unfit.found, self._unfit.count)
        if not without.count:
            names = sorted({name for name in self._classes if name is not None}, key=natural_order)
            index = {name: i for i, name in enumerate(names)}
            fields["y"] = np.array([index.get(name or "", -1) for name in self._classes], np.int64)
            fields["classes"] = tuple(names)
        elif without.count < len(self._classes):
            if labelled:
                self.problems.take(without.found, without.count)
            else:
                self.notes.append(f"left the classes out: {without.count} graphs have none")
        without = self._missing["part"]
        if without.count < len(self._parts):
            self.problems.take(without.found, without.count)
            fields["part"] = np.array(self._parts, np.int8)
        return fields
