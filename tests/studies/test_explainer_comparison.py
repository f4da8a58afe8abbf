"""The comparison of explainers, on sets so small that it takes seconds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sargnn import cli
from sargnn.data.graphs import GraphSet
from sargnn.data.synthetic import triangles
from sargnn.errors import InputError
from sargnn.studies import explainer_comparison as module
from sargnn.studies import explainers
from sargnn.studies.explainer_comparison import as_table, compare_explainers
from sargnn.studies.explainers import EXPLAINERS
from sargnn.training.settings import DEFAULT_MODEL, Settings
from tiny import labelled, shapes, tiny

MASKED = ("fidelity_plus", "fidelity_minus", "probability_plus", "probability_minus", "unfaithfulness")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explainers, "GNN_EPOCHS", 2)
        patch.setattr(explainers, "PG_EPOCHS", 1)
        patch.setattr(module, "ATTENTION_SYSTEMS", ("sar-gin",))  # any system with node scores will do
        return list(compare_explainers(shapes(truth=True), tiny(), count=2, seeds=2))


def test_there_is_a_row_for_every_explainer_and_for_every_attention_system(rows: list[dict[str, Any]]) -> None:
    assert [(row["model"], row["explainer"]) for row in rows] == [
        *(("sar-gcn", name) for name in EXPLAINERS),
        ("sar-gin", "saliency-mean"),
    ]
    assert all(row["graphs"] == 2 and row["data"] == "shapes" and row["part"] == "test" for row in rows)
    assert all([one["seed"] for one in row["by_seed"]] == [0, 1] for row in rows)
    json.dumps(rows, allow_nan=False)


def test_the_numbers_of_a_row_are_what_they_are_called(rows: list[dict[str, Any]]) -> None:
    by_name = {row["explainer"]: row for row in rows[:-1]}
    for row in rows:
        assert row["seconds_per_graph"] > 0
        for name in MASKED:
            assert row[name]["low"] <= row[name]["mean"] <= row[name]["high"]
        assert len(row["curve"]["fidelity_plus"]) == len(row["curve"]["sparsity"])
        assert np.mean(row["curve"]["fidelity_plus"]) == pytest.approx(row["fidelity_plus"]["mean"])
        assert 0 <= row["characterization"] <= 1
        assert row["by_seed"][0]["accuracy"] == row["accuracy"]["accuracy"]
        assert row["by_seed"][0]["node_auc"]["true saliency"] == pytest.approx(row["node_auc"]["true saliency"]["mean"])
    first = by_name["saliency-mean"]
    assert by_name["saliency-one-by-one"]["agreement"]["mean"] == pytest.approx(1)
    assert first["agreement"]["mean"] == pytest.approx(1)  # it is compared with itself
    assert rows[-1]["agreement"]["mean"] < 0.99  # another model's saliency is compared with this one, not with itself
    assert first["relabelling_error"] < 1e-5
    assert by_name["gradient"]["relabelling_error"] < 1e-4
    assert by_name["random"]["relabelling_error"] > 0.01
    assert by_name["pg-explainer"]["setup_seconds"] > by_name["saliency-mean"]["setup_seconds"]


def test_the_table_has_a_line_for_every_row(rows: list[dict[str, Any]]) -> None:
    lines = as_table(rows).splitlines()
    assert len(lines) == len(rows) + 2
    assert len({line.count("|") for line in lines}) == 1
    assert lines[2].startswith("| shapes | sar-gcn | saliency-mean | ")


def test_what_cannot_be_compared_is_refused_before_any_training() -> None:
    with pytest.raises(InputError, match=r"^--model: got 'gcn' without saliency, expected one that has it"):
        next(compare_explainers(shapes(), tiny("gcn")))
    with pytest.raises(InputError, match=r"^--explainer: got 'oracle', expected one of saliency-mean, "):
        next(compare_explainers(shapes(), tiny(), explainers=["oracle"]))


def test_settings_are_chosen_on_validation_graphs_and_systems_by_name() -> None:
    graphs = triangles(train=40, validation=20, test=10, test_large=0)
    chosen = ["saliency-mean", "sagpool"]
    rows = list(compare_explainers(graphs, tiny(training__epochs=1), seeds=1, explainers=chosen, part="validation"))
    assert [(row["model"], row["explainer"]) for row in rows] == [
        ("sar-gcn", "saliency-mean"),
        ("sar-gcn", "random"),
        ("sagpool", "saliency-mean"),
    ]
    assert all((row["part"], row["graphs"], row["training_graphs"]) == ("validation", 20, 40) for row in rows)
    with pytest.raises(InputError, match=r"^--part: got 'train', expected validation or test$"):
        next(compare_explainers(graphs, tiny(), part="train"))


def test_the_default_model_is_compared_though_attention_systems_read_no_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explainers, "GNN_EPOCHS", 1)
    monkeypatch.setattr(explainers, "PG_EPOCHS", 1)
    settings = tiny(DEFAULT_MODEL, training__epochs=1, data__graph_encodings=("attributes",))
    rows = list(compare_explainers(labelled(shapes()), settings, count=2, seeds=1))
    assert [(row["model"], row["explainer"]) for row in rows] == [
        *((DEFAULT_MODEL, name) for name in EXPLAINERS),
        *((system, "saliency-mean") for system in module.ATTENTION_SYSTEMS),
    ]


def test_attention_systems_have_their_own_inputs_but_for_what_was_changed() -> None:
    attending = module._attending("sagpool", tiny(DEFAULT_MODEL, data__walk_steps=5))
    assert (attending.name, attending.model) == ("sagpool", Settings.of("sagpool").model)
    assert (attending.data.encodings, attending.data.walk_steps, attending.data.edge_encodings) == (("auto",), 5, ())
    chosen = tiny(data__encodings="degree,random-walk")
    assert module._attending("graphormer", chosen).data == chosen.data
    assert attending.training == tiny(DEFAULT_MODEL).training


def test_explainers_learn_from_graphs_of_all_classes_though_the_set_is_sorted_by_class() -> None:
    graphs = triangles(train=200, validation=10, test=10, test_large=0)
    sample = module._sample(graphs, seed=0, part="test", count=5)
    assert graphs.y is not None
    assert len(set(graphs.y[sample.learn].tolist())) > 5
    assert set(sample.learn) <= set(sample.fold.train)


# The command line


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GraphSet:
    monkeypatch.chdir(tmp_path)
    made = triangles(train=20, validation=10, test=10, test_large=0)
    made.save("data")
    return made


def call(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["sargnn", *arguments])
    capfd.readouterr()
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return int(caught.value.code or 0), *capfd.readouterr()


FAST = ("--set", "model.layers=2", "--set", "model.hidden=8", "--set", "training.epochs=2")


def test_explain_compare_writes_its_rows(
    data: GraphSet, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ATTENTION_SYSTEMS", ())
    chosen = ("--graphs", "3", "--seeds", "1", "--explainer", "saliency-mean", "--explainer", "gradient")
    status, out, err = call(
        capfd, monkeypatch, "explain-compare", "data", "--out", "rows.jsonl", "--json", *chosen, *FAST
    )
    assert status == 0, err
    answer = json.loads(out)
    assert [row["explainer"] for row in answer["rows"]] == ["saliency-mean", "gradient", "random"]
    assert answer["file"] == "rows.jsonl"
    assert [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()] == answer["rows"]
    assert answer["rows"][0]["stability"] is None
    assert "true saliency" in answer["rows"][0]["node_auc"]


def test_explain_takes_rules_forms_and_graphs(
    data: GraphSet, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call(capfd, monkeypatch, "train", "data", "--out", "run", *FAST)[0] == 0
    base = ("explain", "run", "data", "--out")
    status, out, err = call(
        capfd, monkeypatch, *base, "a", "--rule", "rollout", "--format", "svg", "--graphs", "5,0", "--json"
    )
    assert status == 0, err
    assert json.loads(out)["drawings"] == 2
    assert {path.name for path in Path("a/drawings").iterdir()} == {"graph-5.svg", "graph-0.svg"}
    items = json.loads(Path("a/saliency.json").read_text())
    assert [item["graph"] for item in items] == [5, 0]
    assert all(item["rule"] == "rollout" and sum(item["map"]) == pytest.approx(1, abs=1e-5) for item in items)
    assert ",rollout," in Path("a/saliency.csv").read_text()
    status, out, _ = call(capfd, monkeypatch, *base, "b", "--format", "html", "--graphs", "1", "--json")
    assert json.loads(out)["page"] == "b/explanations.html"
    assert "graph 1: predicted" in Path("b/explanations.html").read_text()
    wrong = {
        ("--graphs", "40"): "--graphs: got 40, expected 0..39, in TRIANGLES",
        ("--graphs", "1,x"): "--graphs: got '1,x', expected numbers of graphs such as 0,5,7",
        ("--graphs", "0", "--part", "test"): "--graphs: got 0, which is not in --part, in TRIANGLES",
        ("--rule", "sum"): "--rule: got 'sum', expected one of first, last, mean, rollout",
        ("--format", "gif"): "--format: got 'gif', expected one of png, svg, html",
    }
    for options, message in wrong.items():
        assert call(capfd, monkeypatch, *base, "c", *options) == (2, "", f"error: {message}\n")
    assert not Path("c").exists()
