"""Every model that ``--model NAME`` can build: a table from name to class and config values, and your own models."""

from __future__ import annotations

import difflib
import os
import sys
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any

from sargnn.errors import InputError
from sargnn.nn.graph_model import GraphModel
from sargnn.nn.model import VARIANTS

__all__ = ["SYSTEMS", "System", "find_system"]


@dataclass(frozen=True)
class System:
    """A named model: where its class is, and its config values. Its module is imported when first needed."""

    place: str
    """``module:Class``; the class of its config is called ``ClassConfig``, or stands after a comma."""
    values: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    """Values of the data config that belong to it: the node inputs that define it."""
    training: dict[str, Any] = field(default_factory=dict)
    """Values of the training config that belong to it."""

    @cached_property
    def classes(self) -> tuple[type[GraphModel], type[Any]]:
        """The classes of the model and of its config."""
        module, _, names = self.place.partition(":")
        model, _, config = names.partition(",")
        found = vars(import_module(module))
        return found[model], found[config or f"{model}Config"]

    @property
    def model(self) -> type[GraphModel]:
        return self.classes[0]

    @property
    def config(self) -> type[Any]:
        return self.classes[1]


_SAR = "sargnn.nn.model:SARGNN,ModelConfig"
_SALIENT = System(
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
_PLUS = replace(_SALIENT, values={**_SALIENT.values, "readout": "gated", "saliency": "none"})
_LARGE = replace(
    _SALIENT, values={**_SALIENT.values, "hidden": 128, "members": 8}, training={**_SALIENT.training, "epochs": 100}
)

SYSTEMS: dict[str, System] = {
    "sargnn-plus": _PLUS,
    "sargnn-large": _LARGE,
    "sargnn-salient": _SALIENT,
    **{f"sar-{b}": System(_SAR, {"backbone": b}) for b in ("gcn", "gin", "sage", "gat")},
    **{b: System(_SAR, {"backbone": b, **VARIANTS["base"]}) for b in ("gcn", "gin", "sage", "gat")},
    "as-published": System("sargnn.systems.as_published:AsPublished"),
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
    "gsat": System(
        "sargnn.systems.gsat:GSAT",
        training={"epochs": 100, "patience": 0, "batch_size": 128, "monitor": "last"},
    ),
    "topological-forest": System(
        "sargnn.systems.topological_forest:TopologicalForest", data={"encodings": ("auto", "topology")}
    ),
    "fingerprint-forest": System(
        "sargnn.systems.fingerprint_forest:FingerprintForest",
        data={"graph_encodings": ("morgan",)},
        training={"monitor": "last"},
    ),
}


def find_system(name: str) -> System:
    """The system of that name: one of :data:`SYSTEMS`, or your own model, ``package.module:Class``, whose config is the
    dataclass ``ClassConfig`` of the same module. The module may be in the current folder.

    >>> find_system("sar-gin").values
    {'backbone': 'gin'}
    """
    if ":" in name:
        return _own_model(name)
    if name not in SYSTEMS:
        close = difflib.get_close_matches(name, SYSTEMS)
        close.sort(key=lambda known: sorted(known) != sorted(name))  # letters swapped come before letters replaced
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise InputError(f"--model: got '{name}', expected one of {', '.join(SYSTEMS)}, or package.module:Class{hint}")
    return SYSTEMS[name]


def _own_model(name: str) -> System:
    """The system of a class outside this package."""
    place, _, model = name.partition(":")
    if os.getcwd() not in sys.path:  # where the command was started, as for `python -m`
        sys.path.insert(0, os.getcwd())
    try:
        module = vars(import_module(place))
    except (ImportError, ValueError, TypeError) as error:  # of no name, and of one that starts with a dot
        raise InputError(f"--model: got '{name}', expected a module that can be imported ({error})") from error
    found, config = module.get(model), module.get(f"{model}Config")
    if not (isinstance(found, type) and issubclass(found, GraphModel)):
        what = "no such class" if found is None else "something else"
        raise InputError(f"--model: got '{name}', which is {what}, expected a subclass of sargnn.nn.GraphModel")
    if not (isinstance(config, type) and is_dataclass(config)):
        raise InputError(f"--model: got '{name}' without its config, expected a dataclass {model}Config in {place}")
    for own in fields(config):
        if own.default is MISSING and own.default_factory is MISSING:
            raise InputError(f"--model: got {model}Config.{own.name} without a default, expected one for every field")
    return System(name)
