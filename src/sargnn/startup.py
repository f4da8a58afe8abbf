"""What need not be loaded before a command can start."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

__all__ = ["load_compiler_late"]

COMPILER = "torch._dynamo"
"""PyTorch's compiler. PyTorch Geometric imports it only to recognise compiled models, and it takes longer to load than
PyTorch itself."""


class _LateCompiler:
    """A finder that gives the compiler as a module which is loaded when something of it is first used."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == COMPILER else None
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


def load_compiler_late() -> None:
    """Let ``import torch._dynamo`` cost nothing until the compiler is used. Call it before PyTorch is imported."""
    if COMPILER not in sys.modules and _LateCompiler not in sys.meta_path:
        sys.meta_path.insert(0, _LateCompiler)
