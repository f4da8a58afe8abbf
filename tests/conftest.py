"""Fixtures that every test may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from study_fixtures import side, store  # noqa: F401 (fixtures)

# Two tests run at a time. A second thread of each, and of every process that they start, would only wait for a core:
# beside other work a training on two threads took five times as long as on one.
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"

settings.register_profile("sargnn", deadline=None, derandomize=True)
settings.load_profile("sargnn")


@pytest.fixture
def no_kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine without a C compiler."""
    from sargnn.batching.kernels import library

    monkeypatch.setenv("SARGNN_KERNELS", "0")
    library.cache_clear()
    yield
    library.cache_clear()


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder that holds ``NAME.zip`` of the known data sets."""
    folder = Path(os.environ.get("SARGNN_MIRROR") or Path(__file__).parents[2] / "shared" / "data")
    if not (folder / "MUTAG.zip").exists():
        pytest.skip(f"the data mirror is not at {folder}; set SARGNN_MIRROR to a folder with NAME.zip")
    return folder.resolve()
