"""Every setting in words: its name, default, values and meaning, read from the configs. The settings page and
``sargnn settings`` are made of these."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
from dataclasses import dataclass, fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sargnn.data.features.encodings import DataConfig
from sargnn.errors import InputError
from sargnn.systems import find_system
from sargnn.training.loop import TrainingConfig
from sargnn.training.settings import Settings, nearest_setting

__all__ = ["SettingField", "as_typed", "fields_of", "find_settings"]


@dataclass(frozen=True)
class SettingField:
    """One field of a config."""

    name: str
    """As ``--set`` takes it: section.field."""
    default: str
    values: str
    """What it can be, in words."""
    meaning: str


def find_settings(model: str, wanted: str | None = None) -> list[SettingField]:
    """The settings of a model with its own defaults: all, those of a section, or those with a field of that name.

    >>> [(field.name, field.default, field.values) for field in find_settings("sargnn-large", "epochs")]
    [('training.epochs', '100', 'integer')]
    """
    configs = {"data": DataConfig, "training": TrainingConfig, "model": find_system(model).config}
    own = Settings.of(model).flat()
    every = [
        SettingField(each.name, as_typed(own[each.name]), each.values, each.meaning)
        for section, config in configs.items()
        for each in fields_of(section, config)
    ]
    found = [each for each in every if wanted in (None, each.name, *each.name.split("."))]
    if not found:
        near = nearest_setting(str(wanted), [*configs, *(each.name for each in every)])
        hint = f"; did you mean '{near}'?" if near else ", expected a field, or data, training or model"
        raise InputError(f"unknown setting '{wanted}' of {model}{hint}")
    return found


def fields_of(section: str, config: type[Any]) -> list[SettingField]:
    """The fields of one config with the defaults of its class."""
    hints, meanings = get_type_hints(config), _meanings(config)
    return [
        SettingField(f"{section}.{f.name}", as_typed(f.default), _values(hints[f.name]), meanings.get(f.name, ""))
        for f in fields(config)
    ]


def as_typed(value: Any) -> str:
    """A value as ``--set`` takes it.

    >>> as_typed(("degree", "random-walk")), as_typed(None), as_typed(True), as_typed(0.5)
    ('degree,random-walk', 'none', 'true', '0.5')
    """
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


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


def _values(hint: Any) -> str:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in args)
    if origin in (Union, types.UnionType):
        return ", or ".join("`none`" if arg is type(None) else _values(arg) for arg in args)
    if origin is tuple:
        return f"list of {_values(args[0])}"
    return {int: "integer", float: "number", bool: "`true`, `false`", str: "text"}[hint]
