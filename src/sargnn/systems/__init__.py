"""Every model that ``--model NAME`` can build: a table from name to class and config values."""

from __future__ import annotations

import difflib
import inspect
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any

from sargnn.errors import InputError
from sargnn.nn.ensemble import Ensemble
from sargnn.nn.graph_model import GraphModel
from sargnn.nn.model import VARIANTS

__all__ = ["SYSTEMS", "System", "find_system"]


@dataclass(frozen=True)
class System:
    """A named model: where its class is, and the config values that make it what its name says.

    The module is imported when the class is first asked for: only the system that is used costs time.
    """

    place: str
    """``module:Class``; the class of its config is called ``ClassConfig``, or stands after a comma."""
    values: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    """Values of the data config that belong to the system: the node inputs without which it would be another one."""
    training: dict[str, Any] = field(default_factory=dict)
    """Values of the training config that belong to it."""

    @cached_property
    def model(self) -> type[GraphModel]:
        """The class of the model."""
        return self._named(0)

    @cached_property
    def config(self) -> type[Any]:
        """The class of its config."""
        return self._named(1)

    def build(self, config: Any, inputs: int, classes: int, edge_inputs: int = 0, graph_inputs: int = 0) -> GraphModel:
        """The model of ``config`` for node inputs of width ``inputs``, that many classes and, if it takes them, inputs
        of edges and of whole graphs."""
        more = {"edge_inputs": edge_inputs, "graph_inputs": graph_inputs}
        more = {name: width for name, width in more.items() if width}
        for name in more.keys() - inspect.signature(self.model).parameters.keys():
            field = {"edge_inputs": "edge_encodings"}.get(name, name)
            what = name.replace("_", " ")
            raise InputError(f"data.{field}: got {more[name]} {what}, expected none: {self.model.__name__} reads none")
        members = getattr(config, "members", 1)
        models = [self.model(config, inputs=inputs, classes=classes, **more) for _ in range(members)]
        return models[0] if members == 1 else Ensemble(models)

    def _named(self, which: int) -> Any:
        module, _, names = self.place.partition(":")
        model, _, config = names.partition(",")
        return getattr(import_module(module), (model, config or f"{model}Config")[which])


_SAR = "sargnn.nn.model:SARGNN,ModelConfig"
_AS_PUBLISHED = {
    "backbone": "gcn", "normalize": "as-published", "memory_block": "as-published", "saliency": "redrawn",
    "hidden": 128, "attention": 256, "memory_heads": 8, "norm": "batch", "input_norm": True, "bias": True,
}  # fmt: skip

_PLUS = System(
    _SAR,
    {
        "backbone": "gin", "readout": "salient", "normalize": "none", "norm": "batch", "activate": True,
        "input_norm": True, "dropout": 0.3, "edge_channels": 4, "relative": True, "members": 3,
    },
    data={"encodings": ("auto", "random-walk"), "walk_steps": 16, "max_degree": 64, "edge_encodings": ("auto",)},
    training={
        "epochs": 50, "patience": 0, "batch_size": None, "schedule": "cosine", "monitor": "last",
        "label_smoothing": 0.1,
    },
)  # fmt: skip

_LARGE = replace(
    _PLUS, values={**_PLUS.values, "hidden": 128, "members": 8}, training={**_PLUS.training, "epochs": 100}
)

SYSTEMS: dict[str, System] = {
    "sargnn-plus": _PLUS,
    "sargnn-large": _LARGE,
    **{f"sar-{b}": System(_SAR, {"backbone": b}) for b in ("gcn", "gin", "sage", "gat")},
    **{b: System(_SAR, {"backbone": b, **VARIANTS["base"]}) for b in ("gcn", "gin", "sage", "gat")},
    "as-published": System(_SAR, _AS_PUBLISHED),
    "chebygin": System("sargnn.systems.chebygin:ChebyGIN"),
    "sagpool": System("sargnn.systems.sagpool:SAGPool"),
    "deepsets": System("sargnn.systems.deepsets:DeepSets"),
    "graph-unet": System("sargnn.systems.graph_unet:GraphUNet"),
    "dgcnn": System("sargnn.systems.dgcnn:DGCNN"),
    "ecc": System("sargnn.systems.ecc:ECC"),
    "gsn": System("sargnn.systems.gsn:GSN", data={"encodings": ("auto", "substructures")}),
    "graphormer": System("sargnn.systems.graphormer:Graphormer"),
    "ugformer": System("sargnn.systems.ugformer:UGformer"),
    "adsf": System("sargnn.systems.adsf:ADSF"),
    "dss-gnn": System("sargnn.systems.dss_gnn:DSSGNN"),
    "slim": System("sargnn.systems.slim:SLIM"),
    "dgm": System("sargnn.systems.dgm:DGM"),
    "topological-forest": System(
        "sargnn.systems.topological_forest:TopologicalForest", data={"encodings": ("auto", "topology")}
    ),
}


def find_system(name: str) -> System:
    """The system of that name.

    >>> find_system("sar-gin").values
    {'backbone': 'gin'}
    """
    if name not in SYSTEMS:
        close = difflib.get_close_matches(name, SYSTEMS)
        close.sort(key=lambda known: sorted(known) != sorted(name))  # letters swapped come before letters replaced
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise InputError(f"--model: got '{name}', expected one of {', '.join(SYSTEMS)}{hint}")
    return SYSTEMS[name]
