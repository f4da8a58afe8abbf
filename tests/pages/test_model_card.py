"""The page of a model: every number of the card, and nothing that a name could smuggle in."""

from __future__ import annotations

from typing import Any

from sargnn.pages.model_card import render

SCORES: dict[str, Any] = {
    "test": {
        "graphs": 1200, "accuracy": 0.875, "auroc": None, "intervals": {"accuracy": [0.75, 0.9375], "auroc": None},
        "saliency_auc": 0.5625, "baselines": {"largest class": {"accuracy": 0.5, "auroc": 0.5}},
    }
}  # fmt: skip
CARD: dict[str, Any] = {
    "system": "sar-gcn", "task": "classification", "outputs": ["ring", "path"], "features": ["degree 0", "degree 1"],
    "parameters": 12345, "data": {"name": "shapes", "graphs": 12000, "fingerprint": "abc"}, "scores": SCORES,
    "metrics": {"accuracy": "Accuracy", "auroc": "AUROC"}, "changes": {"name": "sar-gcn", "model": {"layers": 2}},
    "train_seconds": 83.2, "hardware": "a CPU", "versions": {"python": "3.11", "torch": "2.6"}, "notes": ["no labels"],
}  # fmt: skip


def test_a_page_has_every_part() -> None:
    page = render(CARD, "hf://someone/shapes")
    assert page.startswith("---\nlibrary_name: sargnn\n")
    for text in (
        'load_model("hf://someone/shapes")', "12,000 graphs", "`ring`, `path`", "`degree 0`, `degree 1`", "`no labels`",
        "On 1,200 test graphs", "| score | value | 95 % interval | largest class |\n|---|---|---|---|\n",
        "| Accuracy | 0.875 | 0.75 to 0.938 | 0.5 |\n", "| AUROC | not defined |  | 0.5 |\n", "0.562",
        "12,345 parameters", "model.layers=2", "1 min 23 s on a CPU", "python 3.11, torch 2.6",
        "## Intended use", "## Limits", "one that belongs to none of them",
    ):  # fmt: skip
        assert text in page, text


def test_other_tasks_have_other_limits() -> None:
    assert "belongs to none" not in render({**CARD, "task": "regression"}, "hf://a/b")


def test_a_run_without_held_out_graphs_has_no_table() -> None:
    page = render({**CARD, "scores": {"train": {"graphs": 3}}}, "hf://a/b")
    assert "nothing is known about new graphs" in page
    assert "| score |" not in page


def test_what_was_not_recorded_is_said() -> None:
    page = render({**CARD, "train_seconds": None, "hardware": None}, "hf://a/b")
    assert "not recorded on hardware that was not recorded" in page


def test_names_are_shown_and_do_nothing() -> None:
    evil = "<script>x</script> | `code` [link](http://a)\n# Title"
    page = render({**CARD, "outputs": [evil], "data": {**CARD["data"], "name": evil}, "notes": [evil]}, "hf://a/b")
    shown = "`<script>x</script> \\| 'code' [link](http://a) # Title`"
    assert page.count(shown) == 4
    assert "\n# Title" not in page
