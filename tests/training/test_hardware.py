"""Devices by name, and what a result was computed with."""

from __future__ import annotations

import platform

import numpy as np
import pytest
import torch

import sargnn
from sargnn.errors import InputError
from sargnn.training.hardware import find_device, hardware, versions


def test_devices() -> None:
    gpu = torch.cuda.is_available()
    assert find_device("cpu").type == "cpu"
    assert find_device("auto").type == ("cuda" if gpu else "cpu")
    for name in ("gpu", "", "meta", "cuda:x", "cuda:-1", "mps:0", "cuda:123456789"):
        with pytest.raises(InputError, match=r"--device: got .*, expected cpu, cuda, cuda:N or auto"):
            find_device(name)
    with pytest.raises(InputError, match=r"--device: got 'cuda:99', but this machine has \d+ CUDA devices; use cpu"):
        find_device("cuda:99")


def test_the_versions_are_those_that_run() -> None:
    assert versions() == {
        "python": platform.python_version(),
        "sargnn": sargnn.__version__,
        "torch": torch.__version__,
        "torch_geometric": __import__("torch_geometric").__version__,
        "numpy": np.__version__,
    }


def test_a_cpu_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    monkeypatch.setattr("platform.machine", lambda: "abacus")
    assert hardware(torch.device("cpu")) == f"abacus CPU, 7 cores, {torch.get_num_threads()} threads"
