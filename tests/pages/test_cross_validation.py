"""The report of a cross-validation: sentences and tables by hand, names escaped."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sargnn.data.graphs import pack
from sargnn.pages.cross_validation import Curves, FoldLine, ModelPage, headline, markdown, verdict, write_report
from sargnn.tasks.scores import METRICS

EVIL = "<script>|"
GRAPHS = pack([(1, []), (2, [])], name="two <sets>", y=[0, 1], classes=["dot", EVIL])
SUMMARY: dict[str, Any] = {
    "model": "gcn", "metric": "accuracy", "mean": 0.75, "std": 0.05, "interval": [0.7, 0.8],
    "balanced_accuracy": 0.7, "auroc": 0.8125,
    "confusion": [[3, 1], [0, 4]],
}  # fmt: skip
FOLD = FoldLine(0, 2, (0.5, 1.0), (3, 4), {"name": "gcn", "model": {"layers": 2}})
BASELINES = {"largest class": {"accuracy": 0.5}, "nearest neighbour": {"accuracy": 0.625}, "odd": {"accuracy": None}}
COMPARISON = {"models": ["gcn", "gin"], "difference": -0.031, "p_value": 0.04321}


def model() -> ModelPage:
    history = {"train_loss": [0.9, 0.5], "validation_loss": [0.8, 0.6], "validation_accuracy": [0.5, 1.0]}
    return ModelPage(SUMMARY, [FOLD], {0: Curves(history, best_epoch=2)})


def test_the_result_in_one_sentence() -> None:
    assert headline(SUMMARY) == (
        "Test accuracy 75.0% ± 5.0% (95 % interval 70.0% to 80.0%), balanced accuracy 70.0%, AUROC 0.812."
    )
    assert headline({**SUMMARY, "interval": None, "auroc": None}) == (
        "Test accuracy 75.0% ± 5.0%, balanced accuracy 70.0%."
    )
    assert headline({**SUMMARY, "baselines": BASELINES}).endswith(
        "AUROC 0.812. The largest class alone has 50.0%. The nearest neighbour alone has 62.5%."
    )


@pytest.mark.parametrize(("p_value", "text"), [(0.04321, "0.0432"), (None, "not defined")])
def test_the_comparison_in_one_sentence(p_value: float | None, text: str) -> None:
    assert verdict({**COMPARISON, "p_value": p_value}, METRICS["accuracy"]) == (
        f"gcn minus gin: -3.1 points; p = {text} by the corrected resampled t-test (Nadeau & Bengio 2003)."
    )


def test_the_tables_of_the_text() -> None:
    lines = markdown(GRAPHS, [model()], None).splitlines()
    assert lines[0] == "# Cross-validation on two &lt;sets&gt;"
    assert "| 0 | 2 | 75.0% | 50.0%, 100.0% | model.layers=2 |" in lines
    assert "| dot | 3 | 1 |" in lines
    assert "| &lt;script&gt;\\| | 0 | 4 |" in lines  # a bar in a name does not end its cell


def test_the_page_is_escaped_and_draws_every_fold(tmp_path: Path) -> None:
    page = write_report(tmp_path, GRAPHS, [model(), model()], COMPARISON)
    text = page.read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"report.md", "report.html"}
    assert "<title>Cross-validation on two &lt;sets&gt;</title>" in text
    assert "<script" not in text
    assert text.count("<svg") == 5  # a matrix and one fold's curves for each of two models, and the sizes of graphs
    assert "-3.1 points" in text


def test_the_page_has_the_parts_of_a_training_report(tmp_path: Path) -> None:
    """Headline with interval and baselines, the other scores, folds, plots, data, and how it was made."""
    own = replace(model(), summary=SUMMARY | {"baselines": BASELINES})
    text = write_report(tmp_path, GRAPHS, [own], None, made={"folds": 1, "sargnn": "0.1.0"}).read_text()
    said = " ".join(re.sub(r"<[^>]+>", " ", text[text.index("<main>") :]).split())
    assert (
        "± 5.0% over folds; 95% interval of the mean 70.0% to 80.0%; the largest class alone has 50.0%; the nearest"
        in said
    )
    assert "Balanced accuracy 70.0%" in said
    assert "AUROC 0.812" in said
    assert "0 75.0% 50.0%, 100.0% 2 3, 4 model.layers=2" in said
    assert f"data fingerprint {GRAPHS.fingerprint} folds 1 sargnn 0.1.0" in said
    assert 'style="left: 70.0%; right: 20.0%"' in text  # the interval as a band
    assert 'style="left: 50.0%"' in text  # a baseline as a tick
    assert 'style="left: 62.5%"' in text
