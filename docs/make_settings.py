"""Write docs/settings.md from the code: ``python docs/make_settings.py``."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sargnn.data.features.encodings import DataConfig
from sargnn.nn.model import ModelConfig
from sargnn.systems import SYSTEMS
from sargnn.training.loop import TrainingConfig

PAGE = Path(__file__).with_name("settings.md")

HEAD = """\
# Settings

Set a field with `--set section.field=value`, or in a TOML or JSON file with `--config`. Separate list values by
commas: `--set data.encodings=degree,random-walk`. An unknown field is refused, with the nearest known one named.

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
    own_inputs = "".join(f"Own default: `data.{key}={_value(value)}`.\n\n" for key, value in system.data.items())
    return f"### {name}\n\n{own_inputs}{_table('model', system.config)}"


def _presets() -> str:
    """What each name of the model family sets."""
    rows = []
    for name, system in SYSTEMS.items():
        if system.config is ModelConfig:
            sections = {"": system.values, "data.": system.data, "training.": system.training}
            values = {f"{section}{key}": value for section, own in sections.items() for key, value in own.items()}
            rows.append(f"| `{name}` | {', '.join(f'`{key}={_value(value)}`' for key, value in values.items())} |")
    about = "These are fields of `model` unless another section is named."
    return "\n".join(["## What `--model NAME` sets\n", about, "", "| name | sets |", "|---|---|", *rows, ""])


def _table(section: str, config: type[Any]) -> str:
    hints, meanings = get_type_hints(config), _meanings(config)
    rows = ["| field | default | values | meaning |", "|---|---|---|---|"]
    for field in fields(config):
        cells = (_default(field), _values(hints[field.name]), meanings.get(field.name, ""))
        rows.append(f"| `{section}.{field.name}` | {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([*rows, ""])


def _meanings(config: type[Any]) -> dict[str, str]:
    """The docstring below each field, on one line; those of base classes too."""
    found: dict[str, str] = {}
    for kind in reversed(config.__mro__[:-1]):
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
                words = re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", str(ast.literal_eval(text.value)))
                found[field.target.id] = " ".join(words.replace("``", "`").split())
    return found


def _default(field: Field[Any]) -> str:
    return f"`{_value(field.default)}`" if _value(field.default) else "empty"


def _value(value: Any) -> str:
    """A value as ``--set`` takes it."""
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _values(hint: Any) -> str:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in args)
    if origin in (Union, types.UnionType):
        return ", or ".join("`none`" if arg is type(None) else _values(arg) for arg in args)
    if origin is tuple:
        return f"list of {_values(args[0])}"
    return {int: "integer", float: "number", bool: "`true`, `false`", str: "text"}[hint]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
