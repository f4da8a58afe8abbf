"""Every model that ``--model NAME`` can build: a table from name to class and config values."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from sargnn.errors import InputError
from sargnn.nn.model import SARGNN, VARIANTS, ModelConfig

__all__ = ["SYSTEMS", "System", "find_system"]


@dataclass(frozen=True)
class System:
    """A named model: its class, the class of its config, and the config values that make it what its name says."""

    model: type[nn.Module]
    config: type[Any]
    values: dict[str, Any] = field(default_factory=dict)

    def build(self, config: Any, inputs: int, classes: int) -> nn.Module:
        """The model of ``config`` for node inputs of width ``inputs`` and that many classes."""
        return self.model(config, inputs=inputs, classes=classes)


_AS_PUBLISHED = {
    "backbone": "gcn", "normalize": "as-published", "memory_block": "as-published", "saliency": "redrawn",
    "hidden": 128, "attention": 256, "memory_heads": 8, "norm": "batch", "input_norm": True, "bias": True,
}  # fmt: skip

SYSTEMS: dict[str, System] = {
    **{f"sar-{b}": System(SARGNN, ModelConfig, {"backbone": b}) for b in ("gcn", "gin", "sage", "gat")},
    **{b: System(SARGNN, ModelConfig, {"backbone": b, **VARIANTS["base"]}) for b in ("gcn", "gin", "sage", "gat")},
    "as-published": System(SARGNN, ModelConfig, _AS_PUBLISHED),
}


def find_system(name: str) -> System:
    """The system of that name.

    >>> find_system("sar-gin").values
    {'backbone': 'gin'}
    """
    if name not in SYSTEMS:
        close = difflib.get_close_matches(name, SYSTEMS, n=1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise InputError(f"--model: got '{name}', expected one of {', '.join(SYSTEMS)}{hint}")
    return SYSTEMS[name]
