"""Graph attributes that have a field of their own in a set: what is to be predicted, the part, the name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from sargnn.data.graphs import PARTS
from sargnn.data.io.columns import text_of
from sargnn.data.io.targets import PREFIX, TargetColumns, Tell
from sargnn.data.problems import Problems, shown
from sargnn.data.roles import Roles

__all__ = ["CLASS_NAMES", "GraphFields", "no_column"]

CLASS_NAMES = ("label", "y", "class", "target")
"""Where the class of a graph is looked for, in this order, unless another name is given."""

NO_PART = ("no value", "one for every graph or for none")
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
    some = ", ".join(map(shown, order[:LISTED])) + (", ..." if len(order) > LISTED else "")
    return f"no column {shown(name)}", f"one of {some}"


class GraphFields:
    """Takes them out of the columns of one chunk after the other."""

    def __init__(self, problems: Problems, roles: Roles) -> None:
        self.problems = problems
        self.roles = roles
        self.notes: list[str] = []
        self._names: list[str | None] = []
        self._targets = TargetColumns(problems, roles.task)
        self._parts: list[int] = []
        self._no_part = Problems()
        """A problem only if other graphs have a part."""
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
        own = columns.pop("graph_name", names)
        self._names += [None if name is None else text_of(name) for name in own]
        if "part" in columns:
            self._parts += [self._part(value, row, tell) for row, value in enumerate(columns.pop("part"))]
        else:
            self._parts += [-1] * len(names)
            self._no_part.take([tell("part", 0, *NO_PART)], len(names))

    def _wanted(self, columns: dict[str, Sequence[Any]]) -> list[str]:
        """The columns that hold what is to be predicted."""
        if self.roles.labels is not None:
            prefixed = (PREFIX + name if PREFIX + name in columns else name for name in self.roles.labels)
            return [name for name in prefixed if name in columns]
        named = [name for name in CLASS_NAMES if name in columns][:1]
        return named or [name for name in columns if name.startswith(PREFIX)]

    def _part(self, value: Any, row: int, tell: Tell) -> int:
        """The code of a part, or -1."""
        part = value.strip() if isinstance(value, str) else ""
        if part in PARTS:
            return PARTS.index(part)
        if not part and (value is None or isinstance(value, str)):
            self._no_part.take([tell("part", row, *NO_PART)])
        else:
            self.problems.take([tell("part", row, shown(value), f"one of {', '.join(PARTS)}")])
        return -1

    def finish(self, *, labelled: bool) -> dict[str, Any]:
        """The fields of a set; that some graphs have a class and others none is a problem if ``labelled``."""
        fields: dict[str, Any] = {}
        if any(name is not None for name in self._names):
            fields["graph_names"] = tuple(str(g) if name is None else name for g, name in enumerate(self._names))
        for name in (self.roles.labels or ()) if labelled and self._names else ():
            if not {name, PREFIX + name} & self._seen.keys():
                self.problems.add(*no_column(name, list(self._seen)), field=name)
        fields |= self._targets.finish(labelled=labelled)
        self.notes += self._targets.notes
        without = self._no_part
        if without.count < len(self._parts):
            self.problems.take(without.found, without.count)
            fields["part"] = np.array(self._parts, np.int8)
        return fields
