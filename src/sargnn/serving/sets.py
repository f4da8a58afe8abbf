"""Sets of graphs that can be browsed: the one that the server was started with, and files that were dropped.

A file that was dropped is known by a name that cannot be guessed, so nobody sees another's graphs. The oldest are
forgotten when there are too many.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Iterator, Mapping

from sargnn.data.graphs import GraphSet
from sargnn.serving.browsed import BrowsedSet
from sargnn.serving.limits import Refused

__all__ = ["Sets"]

MOST_FILES = 32


class Sets(Mapping[str, GraphSet]):
    """The sets of one server by name."""

    def __init__(self) -> None:
        self._sets: OrderedDict[str, BrowsedSet] = OrderedDict()

    def __getitem__(self, name: str) -> GraphSet:
        return self._sets[name].graphs

    def __iter__(self) -> Iterator[str]:
        return iter(self._sets)

    def __len__(self) -> int:
        return len(self._sets)

    def find(self, name: str) -> BrowsedSet:
        if name not in self._sets:
            raise Refused(404, "got a set that is not here, expected one of /v1/sets")
        self._sets.move_to_end(name)
        return self._sets[name]

    def public(self) -> list[BrowsedSet]:
        """Those that everybody may know of."""
        return [one for one in self._sets.values() if not one.private]

    def add(self, graphs: GraphSet, name: str | None = None, left_out: tuple[str, ...] = ()) -> BrowsedSet:
        """Hold a set, under a name that cannot be guessed unless one is given."""
        made = BrowsedSet(name or secrets.token_urlsafe(16), graphs, left_out, private=name is None)
        self._sets[made.name] = made
        private = [other for other, one in self._sets.items() if one.private]
        for other in private[:-MOST_FILES]:
            del self._sets[other]
        return made
