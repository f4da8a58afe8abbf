"""Settings in words, read from the configs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from sargnn.errors import InputError
from sargnn.training.setting_fields import SettingField, as_typed, fields_of, find_settings
from sargnn.training.settings import Settings


@dataclass(frozen=True)
class Base:
    first: int = 3
    """From the :class:`~somewhere.Base`
    class."""


@dataclass(frozen=True)
class Config(Base):
    second: Literal["a", "b"] | None = None
    """Of ``b``."""
    third: tuple[float, ...] = (0.5, 1.0)
    fourth: bool = False


def test_fields_are_read_from_a_config_and_its_bases() -> None:
    assert fields_of("own", Config) == [
        SettingField("own.first", "3", "integer", "From the `Base` class."),
        SettingField("own.second", "none", "`a`, `b`, or `none`", "Of `b`."),
        SettingField("own.third", "0.5,1.0", "list of number", ""),
        SettingField("own.fourth", "false", "`true`, `false`", ""),
    ]


@pytest.mark.parametrize("model", ["sargnn-plus", "sar-gin", "as-published", "graphormer"])
def test_every_default_can_be_typed_back(model: str) -> None:
    values = {each.name: each.default for each in find_settings(model)}
    assert Settings.of(model, values) == Settings.of(model)
    assert as_typed(None) == "none"


def test_a_field_is_found_by_either_part_of_its_name() -> None:
    assert [each.name for each in find_settings("gin", "hidden")] == ["model.hidden"]
    assert len(find_settings("gin", "data")) == sum(each.name.startswith("data.") for each in find_settings("gin"))
    with pytest.raises(InputError, match=r"^unknown setting 'hiden' of gin; did you mean 'model.hidden'\?$"):
        find_settings("gin", "hiden")
