"""What the numbers of a TU set mean: the file ``NAME_label_readme.txt`` that some zips hold.

Its sections say how names became numbers, one map for each column of labels::

    Node labels were converted to integer values using this map:

    Component 0:
        0   C
        1   O

    Class labels were converted to integer values using this map:

        0   mutagen
        1   nonmutagen

The names are titles for people. The set keeps its numbers, and with them its fingerprint.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sargnn.data.known import TITLES

__all__ = ["titles_of"]

SECTION = re.compile(r"(node|edge|class) labels were converted", re.IGNORECASE)
COMPONENT = re.compile(r"component [0-9]+", re.IGNORECASE)
LINE = re.compile(r"(-?[0-9]+)\s+(\S.*)")

FIELDS = dict(zip(("class", "node", "edge"), TITLES.items(), strict=True))


def titles_of(text: bytes, names: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    r"""The titles that a readme gives to the ``names`` of a set, by field; those that it gives in part are left out.

    >>> readme = b"Class labels were converted to integer values using this map:\n\n\t0\tmutagen\n\t1\tnonmutagen\n"
    >>> titles_of(readme, {"classes": ("0", "1"), "node_label_names": ("3",)})
    {'class_titles': ('mutagen', 'nonmutagen')}
    """
    found = {}
    for kind, maps in _maps(text.decode("utf-8", "replace")).items():
        field, titled = FIELDS[kind]
        cells = [name.split(",") for name in names.get(field, ())]
        known = all(len(row) == len(maps) and all(c in m for c, m in zip(row, maps, strict=True)) for row in cells)
        if cells and known:
            found[titled] = tuple(",".join(m[c] for c, m in zip(row, maps, strict=True)) for row in cells)
    return found


def _maps(text: str) -> dict[str, list[dict[str, str]]]:
    """For each kind of label, number to name, one map per column; an empty one is a heading without lines."""
    maps: dict[str, list[dict[str, str]]] = {}
    lines: dict[str, str] = {}
    kind = ""
    for line in map(str.strip, text.splitlines()):
        if section := SECTION.match(line):
            kind = section[1].lower()
            maps[kind] = [lines := {}]
        elif COMPONENT.match(line) and kind:
            if lines:
                maps[kind].append(lines := {})
        elif (pair := LINE.fullmatch(line)) and kind:
            lines[pair[1]] = pair[2]
    return maps
