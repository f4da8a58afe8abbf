"""Explanations: saliency maps, the same as an algorithm of PyTorch Geometric, and metrics.

Imported lazily, like the package itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sargnn.explain.algorithm import SaliencyExplainer as SaliencyExplainer
    from sargnn.explain.maps import RULES as RULES
    from sargnn.explain.maps import node_saliency as node_saliency

_HOME = {
    "SaliencyExplainer": "sargnn.explain.algorithm",
    "RULES": "sargnn.explain.maps",
    "node_saliency": "sargnn.explain.maps",
}

__all__ = ["RULES", "SaliencyExplainer", "node_saliency"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sargnn.explain' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)
