"""The model: memory, saliency, fusion and backbones as layers for PyTorch Geometric, and SARGNN, the loop over them."""

from sargnn.nn.backbones import GATLayer, GCNLayer, GINLayer, SAGELayer
from sargnn.nn.ensemble import Ensemble
from sargnn.nn.fusion import Fusion
from sargnn.nn.graph_model import Encoding, GraphModel
from sargnn.nn.memory import GraphNeuralMemory, InitialMemory
from sargnn.nn.model import SARGNN, VARIANTS, ModelConfig
from sargnn.nn.saliency import NodeSaliency

__all__ = [
    "SARGNN",
    "VARIANTS",
    "Encoding",
    "Ensemble",
    "Fusion",
    "GATLayer",
    "GCNLayer",
    "GINLayer",
    "GraphModel",
    "GraphNeuralMemory",
    "InitialMemory",
    "ModelConfig",
    "NodeSaliency",
    "SAGELayer",
]
