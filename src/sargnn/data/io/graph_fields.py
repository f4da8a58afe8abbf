"""Graph attributes that have a field of their own in a set: what is to be predicted, the part, the name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from sargnn.data.graphs import PARTS
from sargnn.data.io.columns import is_given, natural_order, text_of
from sargnn.data.io.targets import PREFIX, TargetColumns, Tell
from sargnn.data.problems import Problems, shown
from sargnn.data.roles import Roles
from sargnn.reading import number_of

__all__ = ["CLASS_NAMES", "GraphFields", "no_column", "one_of"]

CLASS_NAMES = ("label", "y", "class", "target")
"""Where the class of a graph is looked for, in this order, unless another name is given."""

NO_VALUE = ("no value", "one for every graph or for none")
"""What came and what was expected."""

LISTED = 20
"""Columns that a message names."""


def no_column(name: str, columns: Sequence[str]) -> tuple[str, str]:
    """What came and what was expected where a column is not there: the columns that are, the nearest first.

    >>> no_column("NR-AH", ["smiles", "NR-AR", "NR-AhR"])
    ("no column 'NR-AH'", "one of 'NR-AhR', 'NR-AR', 'smiles'")
    """
    near = get_close_matches(name.lower(), [column.lower() for column in columns], n=len(columns) or 1, cutoff=0.5)
    order = sorted(columns, key=lambda column: near.index(column.lower()) if column.lower() in near else len(near))
    return f"no column {shown(name)}", one_of(order)


def one_of(columns: Sequence[str]) -> str:
    """The first of them, as messages list them.

    >>> one_of(["active", "toxic"])
    "one of 'active', 'toxic'"
    """
    return f"one of {', '.join(map(shown, columns[:LISTED]))}{', ...' if len(columns) > LISTED else ''}"


ROLE_OF = {"part": "split", "weights": "weight", "groups": "group"}
"""From a field of a set to the role of its column."""


class _OwnColumn:
    """A column with a field of its own: every graph has a value in it, or none has."""

    def __init__(self, name: str, expected: str, meaning: Callable[[Any], Any]) -> None:
        self.name = name
        self.expected = expected
        self.meaning = meaning
        """Of a value as it was written; None for what has none."""
        self.values: list[Any] = []
        self.missing, self.wrong = Problems(), Problems()

    def take(self, columns: dict[str, Sequence[Any]], count: int, tell: Tell) -> None:
        """Take the values of ``count`` more graphs out of the columns."""
        if self.name not in columns:
            self.values += [None] * count
            self.missing.take([tell(self.name, 0, *NO_VALUE)], count)
            return
        for row, value in enumerate(columns.pop(self.name)):
            value = value.tolist() if hasattr(value, "tolist") else value
            self.values.append(self.meaning(value))
            if value is None or value != value or (isinstance(value, str) and not is_given(value)):
                self.missing.take([tell(self.name, row, *NO_VALUE)])
            elif self.values[-1] is None:
                self.wrong.take([tell(self.name, row, shown(value), self.expected)])

    def finish(self, problems: Problems) -> list[Any] | None:
        """The values, if there are any; what is wrong goes to the ``problems``."""
        if self.missing.count == len(self.values):
            return None
        for found in (self.missing, self.wrong):
            problems.take(found.found, found.count)
        return None if problems.count else self.values


class GraphFields:
    """Takes them out of the columns of one chunk after the other."""

    def __init__(self, problems: Problems, roles: Roles) -> None:
        self.problems = problems
        self.roles = roles
        self.notes: list[str] = []
        self._names: list[str | None] = []
        self._targets = TargetColumns(problems, roles.task)
        of_split = (roles.split, f"one of {', '.join(PARTS)}", _part_of_word) if roles.split else None
        self._own = {
            "part": _OwnColumn(*(of_split or ("part", f"one of {', '.join(PARTS)}", _part))),
            **({"weights": _OwnColumn(roles.weight, "a number above 0", _weight)} if roles.weight else {}),
            **({"groups": _OwnColumn(roles.group, "a text or a number", _group)} if roles.group else {}),
        }
        self._seen: dict[str, None] = {}

    def take(self, columns: dict[str, Sequence[Any]], names: list[str | None], tell: Tell) -> None:
        """Take what is known of the graphs called ``names``; other columns stay."""
        self._seen |= dict.fromkeys(columns)
        wanted = self._wanted(columns)
        sought = (*(self.roles.labels or ()), "label")[0]
        self._targets.add({name: columns.pop(name) for name in wanted}, len(names), tell, sought)
        for name in list(columns):  # another target would give the class away
            if name in CLASS_NAMES or name.startswith(PREFIX):
                del columns[name]
                note = f"took {shown(wanted[0])} as the class, not {shown(name)}" if wanted else ""
                if len(wanted) == 1 and note not in self.notes:
                    self.notes.append(note)
        own = columns.pop(self.roles.id or "graph_name", columns.pop("graph_name", names))
        self._names += [None if name is None else text_of(name) for name in own]
        for column in self._own.values():
            column.take(columns, len(names), tell)

    def _wanted(self, columns: dict[str, Sequence[Any]]) -> list[str]:
        """The columns that hold what is to be predicted."""
        if self.roles.labels is not None:
            prefixed = (PREFIX + name if PREFIX + name in columns else name for name in self.roles.labels)
            named = [name for name in prefixed if name in columns]
            if named or "labels" not in self.roles.assumed:
                return named
        named = [name for name in CLASS_NAMES if name in columns][:1]
        return named or [name for name in columns if name.startswith(PREFIX)]

    def finish(self, *, labelled: bool) -> dict[str, Any]:
        """The fields of a set; that some graphs have a class and others none is a problem if ``labelled``."""
        fields: dict[str, Any] = {}
        if any(name is not None for name in self._names):
            fields["graph_names"] = tuple(str(g) if name is None else name for g, name in enumerate(self._names))
        for role, name in self.roles.names("labels", "id", "split", "weight", "group") if self._names else ():
            if role not in self.roles.assumed and not {name, PREFIX + name} & self._seen.keys():
                self.problems.add(*no_column(name, list(self._seen)), field=name)
        fields |= self._targets.finish(labelled=labelled)
        self.notes += self._targets.notes
        for field, column in self._own.items():
            found = Problems()
            values = column.finish(found)
            if found.count and ROLE_OF[field] in self.roles.assumed:
                self.notes.append(f"left the {field} out: {found.found[0]}")
            else:
                self.problems.take(found.found, found.count)
            if values is not None:
                fields[field] = _AS_ARRAY[field](values)
        return fields


def _part(value: Any) -> int | None:
    """The code of a part of the official split."""
    part = value.strip() if isinstance(value, str) else ""
    return PARTS.index(part) if part in PARTS else None


def _part_of_word(value: Any) -> int | None:
    """The same for words that others use."""
    word = value.strip().lower() if isinstance(value, str) else ""
    return _part({"training": "train", "val": "validation", "valid": "validation"}.get(word, word))


def _weight(value: Any) -> float | None:
    try:
        weight = number_of(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        return None
    return weight if 0 < weight < float("inf") else None


def _group(value: Any) -> str | None:
    return text_of(value) if isinstance(value, str | int | float) else None


def _codes(names: list[str]) -> np.ndarray:
    """int64: the place of each name among all, in natural order."""
    place = {name: i for i, name in enumerate(sorted(set(names), key=natural_order))}
    return np.array([place[name] for name in names], np.int64)


_AS_ARRAY: dict[str, Callable[[list[Any]], np.ndarray]] = {
    "part": lambda values: np.array(values, np.int8),
    "weights": lambda values: np.array(values, np.float32),
    "groups": _codes,
}
