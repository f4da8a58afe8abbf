"""``sargnn settings``: what --set takes, for people and for programs."""

from __future__ import annotations

import json

import pytest

from command import Command


def test_all_settings_with_the_defaults_of_the_model(sargnn: Command) -> None:
    plain = json.loads(sargnn("settings", "--model", "sar-gcn", "--json").out)
    plus = json.loads(sargnn("settings", "--json").out)
    assert {each["name"].partition(".")[0] for each in plain} == {"data", "training", "model"}
    assert [each["name"] for each in plain] == [each["name"] for each in plus]
    members = {name: next(e["default"] for e in found if e["name"] == "model.members") for name, found in
               {"plain": plain, "plus": plus}.items()}  # fmt: skip
    assert members == {"plain": "1", "plus": "3"}
    assert all(each["meaning"] and each["values"] for each in plain)


def test_one_field_a_section_and_the_system_s_own(sargnn: Command) -> None:
    told = sargnn("settings", "epochs", "--model", "sar-gcn").out
    assert told == "training.epochs=200  (integer)\n    Passes over the training graphs at most.\n"
    assert sargnn("settings", "training.epochs", "--model", "sar-gcn").out == told
    section = json.loads(sargnn("settings", "training", "--json").out)
    assert len(section) > 10
    assert all(each["name"].startswith("training.") for each in section)
    sagpool = json.loads(sargnn("settings", "model", "--model", "sagpool", "--json").out)
    assert {each["name"] for each in sagpool} != {
        each["name"] for each in json.loads(sargnn("settings", "model", "--json").out)
    }


def test_lines_fit_the_terminal(sargnn: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, sargnn("settings").out.splitlines())) <= 60


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("epoch", "training.epochs"), ("trainig", "training"), ("training.bach_size", "training.batch_size")],
)
def test_near_misses_are_named(sargnn: Command, typed: str, meant: str) -> None:
    assert sargnn("settings", typed).error == f"unknown setting '{typed}' of sargnn-plus; did you mean '{meant}'?"


def test_what_is_like_nothing(sargnn: Command) -> None:
    assert "expected a field, or data, training or model" in sargnn("settings", "zzz").error
    assert "did you mean 'sagpool'?" in sargnn("settings", "--model", "sagpol").error
