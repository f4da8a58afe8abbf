"""Explanations: saliency maps, the same as an algorithm of PyTorch Geometric, effects of parts, and metrics."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sargnn.explain.algorithm import SaliencyExplainer as SaliencyExplainer
    from sargnn.explain.fragments import fragment_effects as fragment_effects
    from sargnn.explain.maps import RULES as RULES
    from sargnn.explain.maps import node_saliency as node_saliency
    from sargnn.explain.parts import Parts as Parts
    from sargnn.explain.parts import find_parts as find_parts

_MODULE_OF = {
    "RULES": "maps",
    "Parts": "parts",
    "SaliencyExplainer": "algorithm",
    "find_parts": "parts",
    "fragment_effects": "fragments",
    "node_saliency": "maps",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: predictions need neither PyTorch Geometric nor NetworkX."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'sargnn.explain' has no attribute '{name}'")
    return getattr(import_module(f"sargnn.explain.{_MODULE_OF[name]}"), name)
