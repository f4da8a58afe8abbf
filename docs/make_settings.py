"""Write docs/settings.md from the code: ``python docs/make_settings.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sargnn.data.features.encodings import DataConfig
from sargnn.nn.model import ModelConfig
from sargnn.systems import SYSTEMS
from sargnn.training.loop import TrainingConfig
from sargnn.training.setting_fields import as_typed, fields_of

PAGE = Path(__file__).with_name("settings.md")

HEAD = """\
# Settings

Set a field with `--set section.field=value`, or in a TOML or JSON file with `--config`. Separate list values by
commas: `--set data.encodings=degree,random-walk`. An unknown field is refused, with the nearest known one named.

`sargnn settings [FIELD] --model NAME` lists the same in a terminal, with the defaults of that model.

This page is generated from the code by `python docs/make_settings.py`.
"""


FAMILY = "For `sargnn-plus`, `sargnn-large`, the SAR models `sar-*` and the base models."


def page() -> str:
    """The text of docs/settings.md."""
    parts = [
        HEAD,
        _section("data", "Node inputs, for every model.", DataConfig),
        _section("training", "Training, for every model.", TrainingConfig),
        _section("model", FAMILY, ModelConfig),
        _presets(),
        "## model.* of the other systems\n",
        *(_system(name) for name, system in SYSTEMS.items() if system.config is not ModelConfig),
    ]
    return "\n".join(parts)


def _section(name: str, about: str, config: type[Any]) -> str:
    return f"## {name}.*\n\n{about}\n\n{_table(name, config)}"


def _system(name: str) -> str:
    system = SYSTEMS[name]
    own_inputs = "".join(f"Own default: `data.{key}={as_typed(value)}`.\n\n" for key, value in system.data.items())
    return f"### {name}\n\n{own_inputs}{_table('model', system.config)}"


def _presets() -> str:
    """What each name of the model family sets."""
    rows = []
    for name, system in SYSTEMS.items():
        if system.config is ModelConfig:
            sections = {"": system.values, "data.": system.data, "training.": system.training}
            values = {f"{section}{key}": value for section, own in sections.items() for key, value in own.items()}
            rows.append(f"| `{name}` | {', '.join(f'`{key}={as_typed(value)}`' for key, value in values.items())} |")
    about = "These are fields of `model` unless another section is named."
    return "\n".join(["## What `--model NAME` sets\n", about, "", "| name | sets |", "|---|---|", *rows, ""])


def _table(section: str, config: type[Any]) -> str:
    rows = ["| field | default | values | meaning |", "|---|---|---|---|"]
    for field in fields_of(section, config):
        cells = (f"`{field.default}`" if field.default else "empty", field.values, field.meaning)
        rows.append(f"| `{field.name}` | {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([*rows, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
