"""Settings from the command line, from files and from saved models: typed, checked, and the same on the way back."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sargnn.data.features.encodings import ENCODINGS, DataConfig
from sargnn.errors import InputError
from sargnn.nn.model import ModelConfig, SARConfig
from sargnn.systems import SYSTEMS
from sargnn.training.loop import TrainingConfig
from sargnn.training.settings import Settings, read_settings

SECTIONS = {"model": ModelConfig, "data": DataConfig, "training": TrainingConfig}
OURS = [name for name, system in SYSTEMS.items() if issubclass(system.config, SARConfig)]
KEYS = [f"{section}.{field.name}" for section, kind in SECTIONS.items() for field in fields(kind)]


def values_of(key: str) -> st.SearchStrategy[Any]:
    """Values of the right type, most of them allowed."""
    section, field = key.split(".")
    hint = get_type_hints(SECTIONS[section])[field]
    if key == "data.encodings":
        return st.lists(st.sampled_from(["auto", *ENCODINGS]), min_size=1, max_size=3, unique=True)
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if get_origin(hint) is tuple:
        return st.lists(st.integers(0, 3), max_size=3)
    if hint is bool:
        return st.booleans()
    if hint is float:
        return st.one_of(st.floats(0, 0.9), st.integers(0, 5))
    whole = st.integers(0, 64)
    return whole if hint is int else st.one_of(st.none(), whole)


some_values = st.dictionaries(st.sampled_from(KEYS), st.none(), max_size=6).flatmap(
    lambda chosen: st.fixed_dictionaries({key: values_of(key) for key in chosen})
)


def as_text(value: Any) -> str:
    """As a person would type it."""
    if isinstance(value, list):
        return ",".join(map(as_text, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


@given(name=st.sampled_from(OURS), values=some_values)
def test_any_settings_come_back_from_json_as_they_were(name: str, values: dict[str, Any]) -> None:
    try:
        settings = Settings.of(name, values)
    except InputError:
        return  # values that do not go together
    content = json.dumps(settings.to_json(), allow_nan=False)
    assert Settings.from_json(json.loads(content)) == settings


@given(name=st.sampled_from(OURS), values=some_values)
def test_text_and_typed_values_mean_the_same(name: str, values: dict[str, Any]) -> None:
    texts = [f"{key}={as_text(value)}" for key, value in values.items()]
    try:
        settings = Settings.of(name, values)
    except InputError:
        with pytest.raises(InputError):
            read_settings(name, texts)
    else:
        assert read_settings(name, texts) == settings


@given(st.text(max_size=30))
def test_any_text_after_set_is_understood_or_refused_in_one_line(text: str) -> None:
    _understood_or_refused([text])


@given(st.sampled_from(KEYS), st.one_of(st.text(max_size=12), st.integers().map(str), st.floats().map(str)))
def test_any_value_of_any_field_is_understood_or_refused_in_one_line(key: str, value: str) -> None:
    _understood_or_refused([f"{key}={value}"])


def _understood_or_refused(assignments: list[str]) -> None:
    try:
        settings = read_settings("sar-gcn", assignments)
    except InputError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 (either is right)
    else:
        assert Settings.from_json(json.loads(json.dumps(settings.to_json(), allow_nan=False))) == settings


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just(10**400)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=4,
)


@given(st.sampled_from(KEYS), json_values)
def test_any_json_value_of_any_field_is_understood_or_refused(key: str, value: Any) -> None:
    with suppress(InputError):
        settings = Settings.of("sar-gcn", {key: value})
        json.dumps(settings.to_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("training.epochs=50", ("training", "epochs", 50)),
        (" training.epochs = 50 ", ("training", "epochs", 50)),
        ("training.learning_rate=3e-3", ("training", "learning_rate", 0.003)),
        ("training.saliency_layers=0, 2", ("training", "saliency_layers", (0, 2))),
        ("training.saliency_layers=", ("training", "saliency_layers", ())),
        ("model.fusion=scaling", ("model", "fusion", "scaling")),
        ("model.input_norm=True", ("model", "input_norm", True)),
        ("model.memory=none", ("model", "memory", None)),
        ("model.memory=12", ("model", "memory", 12)),
        ("data.encodings=degree, random-walk", ("data", "encodings", ("degree", "random-walk"))),
    ],
)
def test_values_are_typed_by_their_field(assignment: str, expected: tuple[str, str, Any]) -> None:
    section, field, value = expected
    got = getattr(getattr(read_settings("sar-gcn", [assignment]), section), field)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("training.epochs", "--set: got 'training.epochs', expected key=value such as training.epochs=50"),
        ("training.epochs=", "training.epochs: got '', expected a whole number"),
        ("training.epochs=2.5", "training.epochs: got '2.5', expected a whole number"),
        ("training.epochs=0", "training.epochs: got 0, expected at least 1"),
        ("training.learning_rate=fast", "training.learning_rate: got 'fast', expected a finite number"),
        ("training.learning_rate=nan", "training.learning_rate: got 'nan', expected a finite number"),
        ("training.weight_decay=inf", "training.weight_decay: got 'inf', expected a finite number"),
        ("training.monitor=f2", "training.monitor: got 'f2', expected one of loss, accuracy"),
        ("training.seed=-1", "training.seed: got -1, expected 0 or more"),
        ("model.input_norm=maybe", "model.input_norm: got 'maybe', expected true or false"),
        ("model.dropout=1", "model.dropout: got 1.0, expected 0 up to (not including) 1"),
        ("data.encodings=degre", "did you mean 'degree'?"),
        ("training.epoch=5", "unknown setting 'training.epoch'; did you mean 'training.epochs'?"),
        ("epochs=5", "unknown setting 'epochs'; did you mean 'training.epochs'?"),
        ("model.hiden=5", "unknown setting 'model.hiden'; did you mean 'model.hidden'?"),
        ("training.fusion=scaling", "unknown setting 'training.fusion'; did you mean 'model.fusion'?"),
        ("=5", "unknown setting ''; expected one of model.backbone"),
        ("a\nb=5", r"unknown setting 'a\nb'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(assignment: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_settings("sar-gcn", [assignment])
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_defaults_file_model_set_and_seed_in_that_order(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('name = "sar-gin"\n[training]\nepochs = 7\nbatch_size = 5\nseed = 1\n[model]\nhidden = 16\n')
    settings = read_settings(None, ["training.batch_size=6", "training.seed=2"], file, seed=3)
    assert settings.name == "sar-gin"
    assert settings.model.backbone == "gin"
    assert settings.model.hidden == 16
    training = settings.training
    assert (training.epochs, training.batch_size, training.seed, training.patience) == (7, 6, 3, 50)
    assert read_settings("sar-gat", [], file).name == "sar-gat"
    assert read_settings().name == "sargnn-plus"


def test_toml_and_json_files_mean_the_same(tmp_path: Path) -> None:
    toml, as_json = tmp_path / "a.toml", tmp_path / "a.json"
    toml.write_text('[data]\nencodings = ["degree", "constant"]\n[training]\nsaliency_layers = [0, 1]\n')
    as_json.write_text('{"data": {"encodings": ["degree", "constant"]}, "training": {"saliency_layers": [0, 1]}}')
    assert read_settings(file=toml) == read_settings(file=as_json)
    assert read_settings(file=toml).data.encodings == ("degree", "constant")


def test_a_saved_config_serves_as_a_config_file(tmp_path: Path) -> None:
    settings = Settings.of("sar-sage", {"training.epochs": 9, "model.memory": None})
    (tmp_path / "a.json").write_text(json.dumps(settings.to_json()))
    assert read_settings(file=tmp_path / "a.json") == settings


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "[training", "cannot read"),
        ("a.json", "{", "cannot read"),
        ("a.json", "[" * 100_000, "cannot read"),
        ("a.toml", "x = " + "[" * 100_000, "cannot read"),
        ("a.json", "[1]", "expected tables model, data and training"),
        ("a.json", "3", "expected tables model, data and training"),
        ("a.toml", "name = 3", "got name = 3"),
        ("a.toml", 'name = "sar-gcnn"', "did you mean 'sar-gcn'?"),
        ("a.toml", "epochs = 3", "expected a table of fields such as [training]"),
        ("a.toml", "[training]\nepoch = 3", "unknown setting 'training.epoch'; did you mean 'training.epochs'?"),
        ("a.toml", "[trainin]\nepochs = 3", "did you mean 'training.epochs'?"),
        ("a.toml", "[training]\nepochs = inf", "training.epochs: got inf, expected a whole number"),
        ("a.toml", "[training]\nepochs = true", "training.epochs: got True, expected a whole number"),
        ("a.toml", "[training]\nepochs = 2.5", "training.epochs: got 2.5, expected a whole number"),
        ("a.toml", "[training]\nsaliency_layers = 1", "training.saliency_layers: got 1, expected a list"),
        ("a.toml", "[training.schedule]\nkind = 1", "training.schedule: got {'kind': 1}, expected one of"),
        ("a.json", '{"training": {"learning_rate": 1' + "0" * 400 + "}}", "expected a finite number"),
        ("a.json", "\udcff", "cannot read"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InputError) as caught:
        read_settings(file=tmp_path / name)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--config: cannot read .*none.toml"):
        read_settings(file=tmp_path / "none.toml")


def test_an_unknown_model_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"--model: got 'sar-sag', expected one of .*; did you mean 'sar-sage'\?"):
        read_settings("sar-sag")


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_has_the_values_that_make_it_and_comes_back(name: str) -> None:
    settings = Settings.of(name)
    for field, value in SYSTEMS[name].values.items():
        assert getattr(settings.model, field) == value
    assert Settings.from_json(json.loads(json.dumps(settings.to_json(), allow_nan=False))) == settings


@pytest.mark.parametrize("name", OURS)
def test_other_values_stand_beside_those_of_the_name(name: str) -> None:
    settings = Settings.of(name, {"model.layers": 2})
    assert settings.model.layers == 2
    assert settings.model.backbone == SYSTEMS[name].values.get("backbone", "gcn")


# Settings that were saved when the authors' code was a setting of every SAR model


def test_a_retired_field_at_its_old_default_is_left_out() -> None:
    assert Settings.from_json({"name": "sar-gcn", "model": {"memory_block": "equation"}}) == Settings.of("sar-gcn")
    with pytest.raises(InputError, match=r"unknown setting 'model\.memory_block'"):
        Settings.from_json({"name": "sar-gcn", "model": {"memory_block": "other"}})
    with pytest.raises(InputError, match=r"^model\.norm: got 'transductive', expected one of none, batch, layer$"):
        Settings.of("sar-gcn", {"model.norm": "transductive"})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("norm", "transductive"), ("saliency", "redrawn"), ("normalize", "as-published"),
        ("memory_block", "as-published"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["sar-gin", "sargnn-plus"])
def test_values_of_the_authors_code_are_read_as_the_system_as_published(name: str, field: str, value: str) -> None:
    settings, usual = Settings.from_json({"name": name, "model": {field: value}}), Settings.of(name)
    assert settings.name == "as-published"
    expected = {**usual.to_json()["model"], "memory_block": "equation", field: value}
    assert settings.to_json()["model"] == expected
    assert (settings.data, settings.training) == (usual.data, usual.training)
    assert Settings.from_json(settings.changes()) == settings


def test_as_published_is_what_it_was() -> None:
    assert Settings.of("as-published").changes() == {"name": "as-published"}
    saved = {
        "backbone": "gcn", "normalize": "as-published", "memory_block": "as-published", "saliency": "redrawn",
        "hidden": 128, "attention": 256, "memory_heads": 8, "norm": "batch", "input_norm": True, "bias": True,
    }  # fmt: skip
    assert Settings.from_json({"name": "as-published", "model": saved}) == Settings.of("as-published")
