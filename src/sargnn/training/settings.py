"""The settings of a run: model, data and training config, from ``--set key=value``, a file, or a model folder."""

from __future__ import annotations

import difflib
import tomllib
import types
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sargnn.data.features.encodings import DataConfig
from sargnn.data.problems import shown
from sargnn.errors import InputError
from sargnn.reading import number_of, parse_json, read_text
from sargnn.systems import find_system
from sargnn.training.loop import TrainingConfig

__all__ = ["DEFAULT_MODEL", "Settings", "nearest_setting", "read_settings"]

DEFAULT_MODEL = "sargnn-plus"
"""The recommended model (docs/beyond-the-paper.md)."""
SECTIONS = ("model", "data", "training")
AUTHORS_CODE = {
    "model.memory_block": "as-published", "model.normalize": "as-published", "model.saliency": "redrawn",
    "model.norm": "transductive",
}  # fmt: skip
"""Values that every SAR model took before they became those of the system ``as-published`` alone."""


@dataclass(frozen=True)
class Settings:
    """The name of a system and the three configs.

    >>> Settings.of("sar-gin", {"model.layers": 2, "training.epochs": 5}).model.layers
    2
    """

    name: str
    model: Any
    data: DataConfig
    training: TrainingConfig

    @classmethod
    def of(cls, name: str, values: dict[str, Any] | None = None) -> Settings:
        """The settings of system ``name`` with ``section.field`` values on top."""
        system = find_system(name)
        kinds = {"model": system.config, "data": DataConfig, "training": TrainingConfig}
        chosen = {"model": {**system.values}, "data": {**system.data}, "training": {**system.training}}
        for key, value in (values or {}).items():
            section, field, hint = _find_field(key, kinds)
            chosen[section][field] = _typed(key, value, hint)
        return cls(name, **{section: kind(**chosen[section]) for section, kind in kinds.items()})

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, **{section: asdict(getattr(self, section)) for section in SECTIONS}}

    def flat(self) -> dict[str, Any]:
        """The name of the system as ``model``, and every setting by its name in ``--set``.

        >>> Settings.of("gin").flat()["model.hidden"]
        64
        """
        return {"model": self.name, **_flatten({section: asdict(getattr(self, section)) for section in SECTIONS})}

    def changes(self) -> dict[str, Any]:
        """What differs from the system's defaults, in the form of :meth:`to_json`, which :meth:`from_json` reads too.

        It identifies a job, so that a field added to a config later does not change the ids of earlier jobs.
        """
        own, usual = self.to_json(), _usual(self.name)
        changed: dict[str, Any] = {"name": self.name}
        for section in SECTIONS:
            different = {key: value for key, value in own[section].items() if value != usual[section][key]}
            changed |= {section: different} if different else {}
        return changed

    @classmethod
    def from_json(cls, content: Any) -> Settings:
        """From :meth:`to_json`, every field checked as if typed on the command line."""
        if not isinstance(content, dict) or not isinstance(content.get("name"), str):
            raise InputError("settings: got no name, expected that of a model such as sar-gcn")
        values = _flatten({section: content.get(section, {}) for section in SECTIONS})
        return cls.of(*_as_now(content["name"], values))


def read_settings(
    model: str | None = None,
    assignments: Sequence[str] = (),
    file: Path | None = None,
    seed: int | None = None,
    metric: str | None = None,
    missing: str | None = None,
    source: Settings | None = None,
) -> Settings:
    """Settings from the command line: defaults, the file, then ``--model``, ``--set``, ``--seed``, ``--metric``
    and ``--missing``.

    Of a ``source`` that is fine-tuned, the model and its inputs take the place of the defaults.

    >>> read_settings("gin", ["model.hidden=32"]).model.hidden
    32
    """
    kept = {} if source is None else {k: v for k, v in source.flat().items() if k.startswith(("model.", "data."))}
    usual = DEFAULT_MODEL if source is None else source.name
    name, values = _read_file(file, usual) if file else (usual, {})
    values = kept | values
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise InputError(f"--set: got {shown(assignment, 80)}, expected key=value such as training.epochs=50")
        values[key.strip()] = value.strip()
    if seed is not None:
        values["training.seed"] = seed
    if metric is not None:
        values["training.monitor"] = metric
    if missing is not None:
        values["data.missing"] = missing
    return Settings.of(model or name, values)


def _read_file(path: Path, usual: str) -> tuple[str, dict[str, Any]]:
    """A TOML or JSON file with tables model, data and training, and the system's ``name``, if not the ``usual``."""
    try:
        text = read_text(path, "json")
        content = parse_json(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"--config: cannot read {path} ({error})") from error
    if not isinstance(content, dict):
        raise InputError(f"--config: got no tables in {path}, expected tables model, data and training")
    name = content.pop("name", usual)
    if not isinstance(name, str):
        raise InputError(f"--config: got name = {name!r} in {path}, expected the name of a model such as sar-gcn")
    return name, _flatten(content)


def _as_now(name: str, values: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name and values that earlier settings have now (see :data:`AUTHORS_CODE`)."""
    if "data.graph_inputs" in values:
        given = ("attributes",) if values["data.graph_inputs"] else ()
        values = {key: value for key, value in values.items() if key != "data.graph_inputs"}
        values |= {"data.graph_encodings": given}
    if name == "as-published":
        return name, values
    if any(values.get(key) == value for key, value in AUTHORS_CODE.items()):
        usual = {key: value for key, value in Settings.of(name).flat().items() if key != "model"}
        return "as-published", usual | {"model.memory_block": "equation"} | values
    equation = values.get("model.memory_block") == "equation"
    return name, {key: value for key, value in values.items() if not (equation and key == "model.memory_block")}


def _flatten(sections: dict[str, Any]) -> dict[str, Any]:
    flat = {}
    for section, table in sections.items():
        if not isinstance(table, dict):
            raise InputError(f"got {section} = {shown(table, 80)}, expected a table of fields such as [training]")
        flat.update({f"{section}.{field}": value for field, value in table.items()})
    return flat


def _find_field(key: str, kinds: dict[str, Any]) -> tuple[str, str, Any]:
    known = {f"{section}.{f.name}": (section, f.name) for section, kind in kinds.items() for f in fields(kind)}
    if key not in known:
        nearest = nearest_setting(key, list(known))
        hint = f"did you mean {nearest!r}?" if nearest else f"expected one of {', '.join(known)}"
        raise InputError(f"unknown setting {shown(key, 80)}; {hint}")
    section, field = known[key]
    return section, field, _hints(kinds[section])[field]


_hints = cache(get_type_hints)


@cache
def _usual(name: str) -> dict[str, Any]:
    """The defaults of a system, in the form of :meth:`Settings.to_json`; read only."""
    return Settings.of(name).to_json()


def nearest_setting(key: str, known: list[str]) -> str | None:
    """The field of that name in another section, or the one most alike."""
    by_field = {name.partition(".")[2]: name for name in known}
    field = key.rpartition(".")[2]
    if field in by_field:
        return by_field[field]
    if close := difflib.get_close_matches(key, known, n=1):
        return close[0]
    return next((by_field[name] for name in difflib.get_close_matches(field, by_field, n=1)), None)


def _typed(key: str, value: Any, hint: Any) -> Any:
    """``value`` (text, or already of its type) converted to the type ``hint``."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        if value in args:
            return value
        raise InputError(f"{key}: got {shown(value, 80)}, expected one of {', '.join(map(str, args))}")
    if origin in (Union, types.UnionType):
        if value is None or value == "none":
            return None
        return _typed(key, value, next(a for a in args if a is not type(None)))
    if origin is tuple:
        items = [i.strip() for i in value.split(",") if i.strip()] if isinstance(value, str) else value
        if not isinstance(items, list | tuple):
            raise InputError(f"{key}: got {shown(value, 80)}, expected a list")
        return tuple(_typed(key, item, args[0]) for item in items)
    if hint is bool:
        if (word := str(value).lower()) not in ("true", "false"):
            raise InputError(f"{key}: got {shown(value, 80)}, expected true or false")
        return word == "true"
    return _scalar(key, value, hint)


def _scalar(key: str, value: Any, hint: Any) -> Any:
    """A finite number, or text; 1.5 is no whole number."""
    if hint is str and isinstance(value, str):
        return value
    if hint is not str and isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            if isinstance(value, str):
                number_of(value)
            number = hint(value)
            if isfinite(number) and (isinstance(value, str) or number == value):
                return number
    expected = {int: "a whole number", float: "a finite number", str: "text"}.get(hint, str(hint))
    raise InputError(f"{key}: got {shown(value, 80)}, expected {expected}")
