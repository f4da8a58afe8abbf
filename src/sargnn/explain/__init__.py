"""Explanations: saliency maps, the same as an algorithm of PyTorch Geometric, and metrics."""

from sargnn.explain.algorithm import SaliencyExplainer
from sargnn.explain.maps import RULES, node_saliency

__all__ = ["RULES", "SaliencyExplainer", "node_saliency"]
