"""Hyper-parameter search: what is searched, what is pruned, and that a study goes on where it stopped."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna", reason="optuna is not installed (extra: search)")

from command import answer_of, error_of
from sargnn.errors import InputError
from sargnn.studies import search
from sargnn.studies.search import Choice, Range, Search, read_space
from sargnn.training.run import TrainingRun
from sargnn.training.settings import read_settings
from tiny import FOLD, shapes, tiny

SPACE = read_space(["model.hidden=4,8", "training.learning_rate=1e-3..0.1:log", "model.layers=1..3"])


def start(folder: Path, **values: Any) -> Search:
    given: dict[str, Any] = {"space": SPACE, "fold": FOLD, "trials": 4}
    return Search.start(shapes(), values.pop("settings", tiny("gcn")), folder, **(given | values))


def told(study: Search) -> list[tuple[dict[str, Any], float | None, str]]:
    return [(trial.params, trial.value, trial.state.name) for trial in study.study.get_trials()]


def test_a_space_is_read_from_text() -> None:
    space = read_space(["model.layers = 2..5", "model.beta=0..2", "model.fusion= weighted , scaling"])
    assert space == {
        "model.layers": Range(2, 5),
        "model.beta": Range(0, 2),
        "model.fusion": Choice(("weighted", "scaling")),
    }
    assert isinstance(space["model.layers"], Range)
    assert isinstance(space["model.layers"].low, int)
    assert read_space(["training.learning_rate=1e-4..0.01:log"])["training.learning_rate"] == Range(1e-4, 0.01, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model.layers", "--space: got 'model.layers', expected key=a,b,c, key=low..high or key=low..high:log"),
        ("model.layers=", "--space: got 'model.layers=', expected key=a,b,c"),
        ("model.layers=1,,2", "--space: got 'model.layers=1,,2', expected key=a,b,c"),
        ("model.layers=1..x", "--space: got 'model.layers=1..x', expected two numbers"),
        ("model.layers=1..2..3", "expected two numbers"),
        ("model.layers=1..2:ln", "--space: got scale 'ln' in 'model.layers=1..2:ln', expected log or none"),
        ("model.layers=3..2", "expected low < high"),
        ("model.dropout=0..1:log", "expected low < high, and low > 0"),
    ],
)
def test_a_wrong_space_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_space([text])


def test_the_default_space_is_what_the_model_has() -> None:
    assert set(search._default_space(tiny("sar-gcn"))) == {text.partition("=")[0] for text in search.SPACE}


def test_settings_that_no_trial_could_use_are_refused_before_the_first(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown setting 'model\.hiden'; did you mean 'model\.hidden'"):
        start(tmp_path, space=read_space(["model.hiden=4,8"]))
    with pytest.raises(InputError, match=r"model\.dropout: got 1\.5, expected 0 up to"):
        start(tmp_path, space=read_space(["model.dropout=0..1.5"]))
    assert not list(tmp_path.iterdir())


def test_a_study_in_two_calls_is_the_study_in_one(tmp_path: Path) -> None:
    whole = start(tmp_path / "whole")
    rows = list(whole)
    assert [row["trial"] for row in rows] == [0, 1, 2, 3]
    assert len(list(start(tmp_path / "parts", trials=2))) == 2
    rest = start(tmp_path / "parts")
    assert [row["trial"] for row in rest] == [2, 3]
    assert told(rest) == told(whole)
    assert list(start(tmp_path / "parts")) == []


def test_the_best_trial_is_the_one_of_least_validation_loss(tmp_path: Path) -> None:
    study = start(tmp_path)
    rows = list(study)
    best = min(rows, key=lambda row: row["value"])
    path = study.save_best(tmp_path)
    chosen = read_settings(file=path)
    assert chosen == study.best
    assert chosen.name == "gcn"
    assert (chosen.model.hidden, chosen.model.layers) == (int(best["model.hidden"]), best["model.layers"])
    run = TrainingRun.start(shapes(), chosen, fold=FOLD)
    assert min(row["validation_loss"] for row in run) == best["value"]


def test_accuracy_is_maximised_where_it_is_monitored(tmp_path: Path) -> None:
    settings = tiny("gcn", training__monitor="accuracy")
    study = Search.start(shapes(), settings, tmp_path, space=SPACE, fold=FOLD, trials=2)
    values = [row["value"] for row in study]
    assert study.best_value == max(values)


def test_the_loss_of_the_last_epoch_judges_where_that_is_kept(tmp_path: Path) -> None:
    settings = tiny("gcn", training__monitor="last")
    study = Search.start(shapes(), settings, tmp_path, space=SPACE, fold=FOLD, trials=2)
    values = [row["value"] for row in study]
    assert study.best_value == min(values)
    *_, last = TrainingRun.start(shapes(), study.best, fold=FOLD)
    assert last["validation_loss"] == min(values)


def test_a_metric_that_the_validation_graphs_do_not_define_judges_no_trial(tmp_path: Path) -> None:
    one_class = replace(FOLD, validation=FOLD.validation[::2])
    study = start(tmp_path, fold=one_class, trials=2, settings=tiny("gcn", training__monitor="auroc"))
    assert [trial["value"] for trial in study] == [None, None]
    assert (study.done, study.pruned) == (2, 2)
    for wanted in ("best", "best_value"):
        with pytest.raises(InputError, match=r"got no trial .* expected at least one; change the space or the metric"):
            getattr(study, wanted)


def test_hopeless_trials_are_pruned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "STARTUP_TRIALS", 1)
    monkeypatch.setattr(search, "WARMUP_EPOCHS", 0)
    study = start(tmp_path, space=read_space(["training.learning_rate=1e-2,1e2,1e4,1e6"]), trials=10)
    rows = list(study)
    assert study.done == 10
    assert 0 < study.pruned < 10
    pruned = [row["training.learning_rate"] for row in rows if row["value"] is None]
    assert "1e-2" not in pruned
    assert study.best.training.learning_rate == 0.01


def test_nothing_but_divergence_is_an_error(tmp_path: Path) -> None:
    study = start(tmp_path, space=read_space(["training.learning_rate=1e30,1e31"]), trials=1)
    list(study)
    with pytest.raises(InputError, match="got no trial that was trained to its end"):
        _ = study.best


def test_an_interrupted_trial_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = start(tmp_path)

    def interrupted(*_: Any) -> float:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Search, "_train", interrupted)
        with pytest.raises(KeyboardInterrupt):
            list(study)
    assert study.done == 0
    assert len(list(start(tmp_path))) == 4


def test_a_folder_keeps_to_its_study(tmp_path: Path) -> None:
    list(start(tmp_path, trials=1))
    others: list[tuple[str, dict[str, Any]]] = [
        ("space", {"space": read_space(["model.hidden=4"])}),
        ("split", {"fold": None}),
    ]
    for what, value in others:
        with pytest.raises(InputError, match=f"got another {what}, expected that of the study there"):
            start(tmp_path, **value)
    with pytest.raises(InputError, match="got another data, expected that of the study there"):
        Search.start(shapes(seed=9), tiny("gcn"), tmp_path, space=SPACE, fold=FOLD)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "study.db").write_text("no database" * 100)
    with pytest.raises(InputError, match=r"study.db: cannot be opened"):
        start(tmp_path / "broken")


def test_without_optuna_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(InputError, match=r"got no package optuna, expected: pip install 'sargnn\[search\]'"):
        start(tmp_path)


def test_the_command(tmp_path: Path) -> None:
    shapes().save(tmp_path / "data")
    words = ["search", tmp_path / "data", "--out", tmp_path / "study", "--model", "gcn", "--set", "training.epochs=2"]
    words += ["--space", "model.hidden=4,8", "--trials"]
    assert answer_of(*words, 1)["trials"] == 1
    answer = answer_of(*words, 3)
    assert answer["trials"] == 3
    assert answer["best"]["model.hidden"] in ("4", "8")
    assert json.loads(Path(answer["config"]).read_text())["model"]["hidden"] in (4, 8)


def test_the_command_searches_for_the_recommended_model(tmp_path: Path) -> None:
    shapes().save(tmp_path / "data")
    words = ["search", tmp_path / "data", "--out", tmp_path / "study", "--set", "training.epochs=2"]
    answer = answer_of(*words, "--space", "model.hidden=4,8", "--trials", 1)
    assert answer["validation_loss"] > 0
    assert json.loads(Path(answer["config"]).read_text())["name"] == "sargnn-plus"
    assert "unknown setting 'model.x'" in error_of("search", tmp_path / "data", "--space", "model.x=1,2")
