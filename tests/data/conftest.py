"""What the tests of data sets share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sargnn.data.graphs import GraphSet
from sargnn.data.sources import load


@pytest.fixture(scope="module")
def known(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], GraphSet]:
    """load() by name, from the mirror, in a cache of its own: every set is parsed once and then opened."""
    folder = tmp_path_factory.mktemp("cache")

    def load_known(name: str) -> GraphSet:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SARGNN_MIRROR", str(mirror))
            patch.setenv("SARGNN_DATA", str(folder))
            return load(name)

    return load_known
