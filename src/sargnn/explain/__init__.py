"""Explanations: saliency maps, the same as an algorithm of PyTorch Geometric, effects of parts, and metrics."""

from sargnn.explain.algorithm import SaliencyExplainer
from sargnn.explain.fragments import fragment_effects
from sargnn.explain.maps import RULES, node_saliency
from sargnn.explain.parts import Parts, find_parts

__all__ = ["RULES", "Parts", "SaliencyExplainer", "find_parts", "fragment_effects", "node_saliency"]
