"""Nested cross-validation of a user's own data: what it answers, writes, refuses and continues."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command import answer_of, error_of, text_of
from sargnn.data.graphs import GraphSet
from sargnn.data.splits import stratified_folds, write_splits
from sargnn.data.synthetic import triangles
from sargnn.errors import InputError
from sargnn.studies import cross_validation, protocol
from sargnn.studies.cross_validation import CrossValidation, cross_validate, expand, in_words
from sargnn.studies.store import Store
from sargnn.tasks import task_of
from tiny import binary_shapes, measured_shapes, shapes

SMALL = ["model.layers=1", "model.hidden=4", "training.epochs=2", "training.batch_size=8"]
SET = [part for assignment in SMALL for part in ("--set", assignment)]


@pytest.fixture
def data(tmp_path: Path) -> str:
    shapes(name="<my> shapes").save(tmp_path / "set")
    return str(tmp_path / "set")


def cv(data: str, *more: object) -> dict[str, Any]:
    return answer_of("cv", data, "--folds", 3, "--repeats", 2, "--workers", 1, *SET, *more)


# The command


def test_the_answer_says_all_of_one_model(data: str) -> None:
    answer = cv(data, "--model", "gin")
    assert (answer["model"], answer["graphs"]) == ("gin", 24)
    assert len(answer["folds"]) == len(answer["selected"]) == 3
    assert answer["mean"] == pytest.approx(np.mean(answer["folds"]))
    assert answer["std"] == pytest.approx(np.std(answer["folds"]))
    low, high = answer["interval"]
    assert low <= answer["mean"] <= high
    assert np.sum(answer["confusion"]) == 24 * 2
    assert np.trace(answer["confusion"]) / 48 == pytest.approx(answer["mean"])  # folds of equal size
    assert 0 <= answer["balanced_accuracy"] <= 1
    assert 0 <= answer["auroc"] <= 1
    for settings in answer["selected"]:
        assert settings["training"].get("learning_rate", 0.001) in (0.001, 0.005)
    assert not {"comparison", "other", "report"} & answer.keys()


def test_balanced_accuracy_is_that_of_all_folds_together(tmp_path: Path) -> None:
    """Two of the three folds have no graph of the rare class; a model that never finds it finds half of the classes."""
    graphs = shapes()
    replace(graphs, y=np.array([1] + [0] * (len(graphs) - 1)), classes=("many", "one")).save(tmp_path / "set")
    answer = cv(str(tmp_path / "set"), "--model", "gcn")
    assert np.sum(answer["confusion"], axis=1).tolist() == [2 * (len(graphs) - 1), 2]
    shares = [row[i] / sum(row) for i, row in enumerate(answer["confusion"])]
    assert answer["balanced_accuracy"] == pytest.approx(np.mean(shares))


def test_people_get_per_cents_and_each_selected_setting_once(data: str) -> None:
    told = text_of("cv", data, "--folds", 3, "--repeats", 1, *SET, "--set", "training.learning_rate=0.005")
    lines = dict(line.strip().split("  ", 1) for line in told.splitlines()[1:])
    assert re.fullmatch(r" *\d+\.\d% ± \d+\.\d%, 95% interval \d+\.\d% to \d+\.\d%", lines["accuracy"])
    assert lines["selected"].count("training.learning_rate=0.005") == 1
    assert lines["selected"].endswith("(3x)")
    assert "confusion" not in told


def test_two_models_are_told_beside_each_other() -> None:
    one = {
        "model": "gcn", "metric": "accuracy", "mean": 0.5, "std": 0.1, "interval": [0.4, 0.625], "folds": [0.4, 0.6],
        "auroc": None, "balanced_accuracy": 0.25,
        "selected": [{"name": "gcn", "training": {"epochs": 2}}, {"name": "gcn"}],
    }  # fmt: skip
    other = {**one, "model": "gin", "interval": None, "auroc": 0.75}
    found = {"models": ["gcn", "gin"], "difference": 0.0125, "statistic": 1.0, "p_value": 0.25}
    told = in_words({**one, "graphs": 10, "other": other, "comparison": found})
    assert told == {
        "model": "gcn",
        "accuracy": "50.0% ± 10.0%, 95% interval 40.0% to 62.5%",
        "folds": "40.0% 60.0%",
        "balanced accuracy": "25.0%",
        "AUROC": "undefined",
        "selected": "training.epochs=2 (1x); the defaults (1x)",
        "model of the other": "gin",
        "accuracy of the other": "50.0% ± 10.0%",
        "folds of the other": "40.0% 60.0%",
        "balanced accuracy of the other": "25.0%",
        "AUROC of the other": "0.750",
        "selected of the other": "training.epochs=2 (1x); the defaults (1x)",
        "difference": "+1.2 points, p = 0.25",
        "graphs": "10",
    }


def test_the_folder_of_a_trained_model_is_left_alone(data: str, tmp_path: Path) -> None:
    answer_of("train", data, "--out", tmp_path / "run", *SET)
    report = (tmp_path / "run" / "report.html").read_bytes()
    assert "which holds a trained model" in error_of("cv", data, *SET, "--out", tmp_path / "run")
    assert (tmp_path / "run" / "report.html").read_bytes() == report


def test_processes_side_by_side_give_the_same_answer(data: str) -> None:
    alone = cv(data, "--model", "gin")
    assert answer_of("cv", data, "--folds", 3, "--repeats", 2, "--workers", 2, *SET, "--model", "gin") == alone
    assert "--workers: got 0, expected at least 1" in error_of("cv", data, "--workers", 0)


def test_two_models_are_compared_and_reported(data: str, tmp_path: Path) -> None:
    answer = cv(data, "--model", "gin", "--model", "sar-gcn", "--grid", "model.beta=1,4", "--out", tmp_path / "out")
    assert (answer["model"], answer["other"]["model"]) == ("gin", "sar-gcn")
    expected = np.array(answer["folds"]) - np.array(answer["other"]["folds"])
    assert answer["comparison"]["models"] == ["gin", "sar-gcn"]
    assert answer["comparison"]["difference"] == pytest.approx(expected.mean())
    page, text = ((tmp_path / "out" / f"report.{kind}").read_text() for kind in ("html", "md"))
    assert answer["report"] == str(tmp_path / "out" / "report.html")
    assert "&lt;my&gt; shapes" in page
    assert "<my>" not in page
    assert page.count("<svg") == 2 * (1 + 3) + 1  # a confusion matrix and three learning curves each; sizes of graphs
    assert "<script" not in page
    assert text.count("| 0 | 8 |") == 2
    assert "corrected resampled t-test" in text


def test_the_same_call_again_computes_nothing(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    first = cv(data, "--model", "gcn", "--out", out)
    with Store(out / "rows.sqlite") as store:
        assert len(store.rows()) == 3 * 2 + 3 * 2

    def refuse(jobs: Any, device: str) -> Any:
        raise AssertionError("nothing is left to compute")

    monkeypatch.setattr(protocol, "work", refuse)
    assert cv(data, "--model", "gcn", "--out", out) == first


def test_other_folds_are_other_jobs(data: str, tmp_path: Path) -> None:
    small = ("--model", "gcn", "--set", "training.learning_rate=0.01", "--out", tmp_path / "out")
    first, other = cv(data, *small, "--seed", 0), cv(data, *small, "--seed", 1)
    assert first["selected"][0]["training"]["learning_rate"] == 0.01
    assert first["confusion"] != other["confusion"] or first["auroc"] != other["auroc"]
    with Store(tmp_path / "out" / "rows.sqlite") as store:
        assert len(store.rows()) == 2 * 3 * 2  # a single setting needs no selection


def test_a_split_file_decides_the_folds(data: str, tmp_path: Path) -> None:
    write_splits(tmp_path / "two.json", stratified_folds(np.array([0, 1] * 12), 2))
    assert len(cv(data, "--model", "gcn", "--split", tmp_path / "two.json")["folds"]) == 2


def test_an_official_split_has_a_score_for_each_repeat(tmp_path: Path) -> None:
    triangles(20, 10, 10, 10).save(tmp_path / "set")
    answer = cv(str(tmp_path / "set"), "--model", "gcn")
    assert (len(answer["folds"]), len(answer["selected"])) == (2, 1)
    assert np.sum(answer["confusion"]) == 20


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--model", "gcn", "--model", "gcn"], "--model: got gcn, gcn, expected one model, or two to compare"),
        (["--repeats", "0"], "--repeats: got 0, expected at least 1"),
        (["--folds", "1"], "folds: got 1, expected 2..24"),
        (["--grid", "model.layers"], "--grid: got 'model.layers', expected key=value,value"),
        (["--grid", "model.layres=1,2"], "unknown setting 'model.layres'; did you mean 'model.layers'?"),
        (["--grid", "model.layers=1,x"], "model.layers: got 'x', expected a whole number"),
        (["--grid", "model.hidden=4,8", "--set", "model.hidden=4"], "--grid: got model.hidden a second time"),
        (["--set", "training.seed=4"], "got training.seed in a setting, expected --seed"),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(data: str, more: list[str], expected: str) -> None:
    assert expected in error_of("cv", data, *more)


def test_a_split_file_that_does_not_fit_is_refused(data: str, tmp_path: Path) -> None:
    write_splits(tmp_path / "large.json", stratified_folds(np.array([0, 1] * 20), 2))
    assert "expected 0..23" in error_of("cv", data, "--split", tmp_path / "large.json")
    (tmp_path / "bare.json").write_text('[{"test": [], "model_selection": [{"train": [0, 1], "validation": [2]}]}]')
    assert "got no graphs in fold 0 test" in error_of("cv", data, "--split", tmp_path / "bare.json")


def test_a_store_that_is_none_is_refused(data: str, tmp_path: Path) -> None:
    (tmp_path / "rows.sqlite").write_text("not a store, but a text that is long enough to look at")
    assert "expected a results store" in error_of("cv", data, *SET, "--out", tmp_path)


# The grid and the folds


def test_a_grid_is_the_product_of_its_entries() -> None:
    settings = expand("sar-gcn", ["training.epochs=7"], ["model.layers=2,3", "model.fusion=weighted, scaling"])
    assert [(s.model.layers, s.model.fusion) for s in settings] == [
        (2, "weighted"), (2, "scaling"), (3, "weighted"), (3, "scaling"),
    ]  # fmt: skip
    assert {(s.training.epochs, s.training.learning_rate) for s in settings} == {(7, 0.001)}


def test_without_a_grid_models_have_the_same_two_learning_rates_but_for_those_that_bring_theirs() -> None:
    for model in ("gcn", "sar-gat"):
        assert [s.training.learning_rate for s in expand(model, [], [])] == [0.001, 0.005]
    assert [s.training.learning_rate for s in expand("gcn", ["training.learning_rate=0.1"], [])] == [0.1]
    for model in ("sargnn-plus", "topological-forest", "fingerprint-forest"):
        [own] = expand(model, [], [])  # its name says how it is trained, or it has no learning rate
        assert own.training.learning_rate == 0.001


@pytest.mark.parametrize(("folds", "own"), [(10, True), (4, False)])
def test_fixed_folds_are_used_where_ten_are_asked_for(folds: int, own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = shapes()
    monkeypatch.setattr(cross_validation, "has_own_folds", lambda graphs: True)
    fixed = stratified_folds(np.array([0, 1] * 12), 10, seed=99)
    monkeypatch.setattr(cross_validation, "protocol_folds", lambda graphs: fixed)
    found = cross_validation._folds(graphs, CrossValidation(folds=folds), task_of(graphs))
    assert len(found) == folds
    assert (found is fixed) is own


def test_it_is_a_function_too(data: str) -> None:
    from sargnn.data.sources import load

    graphs = load(data)
    plan = CrossValidation(["gcn"], [*SMALL, "training.learning_rate=0.01"], folds=2, repeats=1)
    answer = cross_validate(graphs, data, plan)
    assert len(answer["folds"]) == 2
    with pytest.raises(InputError, match="--model: got none"):
        CrossValidation([])


@pytest.mark.parametrize(
    ("graphs", "metric", "kind"), [(binary_shapes(), "auroc", "multilabel"), (measured_shapes(), "rmse", "regression")]
)
def test_targets_are_cross_validated_and_two_models_paired(
    graphs: GraphSet, metric: str, kind: str, tmp_path: Path
) -> None:
    """The set is handed over as it is: no worker reads it again from where its columns were named."""
    settings = ["training.epochs=3", "training.learning_rate=0.005"]
    plan = CrossValidation(["gcn", "topological-forest"], settings, folds=3, repeats=1, task=kind)
    answer = cross_validate(graphs, None, plan, tmp_path / "out")
    assert answer["metric"] == metric
    assert set(answer["targets"]) == set(graphs.target_names)
    rows = [fold for fold in answer["folds"] if fold is not None]
    assert answer["mean"] == pytest.approx(np.mean(rows))
    assert answer["comparison"]["difference"] == pytest.approx(answer["mean"] - answer["other"]["mean"])
    page = Path(answer["report"]).read_text()
    assert graphs.target_names[0] in page
    assert "ccuracy on" not in page
    again = cross_validate(graphs, None, plan, tmp_path / "out")
    assert again == answer


def test_the_metric_selects_among_settings(tmp_path: Path) -> None:
    plan = CrossValidation(
        ["gcn"], ["training.epochs=12", "training.monitor=rmse"], ["training.learning_rate=0.000001,0.01"], 3, 1
    )
    answer = cross_validate(measured_shapes(gaps=False), None, plan)
    assert {chosen["training"]["learning_rate"] for chosen in answer["selected"]} == {0.01}
