"""What a result was computed with: the device and the versions."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version

import torch

from sargnn import __version__
from sargnn.errors import InputError

__all__ = ["find_device", "hardware", "versions"]


def versions() -> dict[str, str]:
    """The versions of Python, this package and its main dependencies."""
    others = {package: version(package) for package in ("torch", "torch_geometric", "numpy")}
    return {"python": platform.python_version(), "sargnn": __version__, **others}


def hardware(device: torch.device) -> str:
    """The device in words."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()} CPU, {os.cpu_count()} cores, {torch.get_num_threads()} threads"


def find_device(name: str) -> torch.device:
    """``cpu``, ``cuda``, ``cuda:1``, or ``auto`` for a GPU if there is one.

    >>> find_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:[0-9]{1,2})?", name):
        raise InputError(f"--device: got {name!r}, expected cpu, cuda, cuda:N or auto")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= (count := torch.cuda.device_count()):
        raise InputError(f"--device: got '{name}', but this machine has {count} CUDA devices; use cpu")
    return device
