"""Sets that the server holds: who knows of them, and for how long."""

from __future__ import annotations

import pytest

from sargnn.serving.limits import Refused
from sargnn.serving.sets import MOST_FILES, Sets
from tiny import shapes


def test_a_dropped_file_is_known_to_nobody_else_and_forgotten_in_time() -> None:
    sets = Sets()
    sets.add(shapes(), name="data")
    names = [sets.add(shapes()).name for _ in range(MOST_FILES + 2)]
    assert [one.name for one in sets.public()] == ["data"]
    assert len(set(names)) == len(names)
    assert min(map(len, names)) >= 20
    assert "data" in sets
    assert [name in sets for name in names] == [False, False, *[True] * MOST_FILES]
    with pytest.raises(Refused, match="not here"):
        sets.find(names[0])
