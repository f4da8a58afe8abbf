"""The report: one file, complete in itself, safe to open, honest about mistakes."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex

from sargnn import viz
from sargnn.data.graphs import pack
from sargnn.pages.training_report import VARIABLES, GalleryItem, TrainingReport, choose_gallery, render
from sargnn.tasks import Classification, Verdict

EVIL = "<script>alert(1)</script>"
TRUTH = np.array([1.0, 0, 0] * 4)
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Every element with its attributes; the text that is shown; fails when tags do not balance."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def item(graph: int, true: str, predicted: str) -> GalleryItem:
    return GalleryItem(graph, true, Verdict(predicted, 0.75), true == predicted, np.array([0.7, 0.2, 0.1]))


def make_report(truth: np.ndarray | None = None, **changes: object) -> TrainingReport:
    triangle = (3, [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)])
    path = (3, [(0, 1), (1, 0), (1, 2), (2, 1)])
    drawn = [triangle, path, triangle, path]
    graphs = pack(drawn, name="Shapes & <sizes>", y=[0, 1, 0, 1], classes=["triangle", EVIL], true_saliency=truth)
    undefined = dict.fromkeys(metric.key for metric in Classification.metrics)
    result = undefined | {"accuracy": 0.75, "low": 0.301, "high": 0.954, "graphs": 4, "balanced_accuracy": 0.7}
    row = {"epoch": 1, "train_loss": 0.7, "validation_loss": 0.8, "validation_accuracy": 0.5}
    report = TrainingReport(
        model="SAR-GCN",
        settings={"model": {"layers": 3, "memory": True}, "data": {}, "training": {"seed": 17, "decay": 5e-4}},
        graphs=graphs,
        history=[row, {**row, "epoch": 2}],
        best_epoch=2,
        results={"validation": {**result, "accuracy": 0.5}, "test": result},
        task=Classification(graphs.classes),
        targets=np.array([0, 0, 1, 1]),
        values=np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7]]),
        gallery=[item(0, "triangle", "triangle"), item(1, EVIL, "triangle"), item(3, EVIL, EVIL)],
        parameters=41284,
        train_seconds=83.4,
        versions={"sargnn": "0.1.0"},
        notes=[f"a note with {EVIL}"],
        command="sargnn train 'a b' --seed 17",
    )
    return replace(report, **changes)  # type: ignore[arg-type]


def test_the_page_says_what_happened() -> None:
    text = Page(render(make_report())).text
    shown = re.sub(r"\s+", " ", text)
    for words in (
        "Shapes & <sizes>", "75.0%", "30.1% to 95.4%", "largest class alone is 50.0%", "right on 3 of 4 test graphs",
        "41,284", "1 min 23 s", "0.0005", "kept epoch 2", "sargnn train 'a b' --seed 17", "4 validation, 4 test",
        "Graph 3, mean of the layers",
    ):  # fmt: skip
        assert words in shown
    assert make_report().graphs.fingerprint in shown
    assert "Saliency AUC" not in shown
    known = {"test": {**make_report().results["test"], "saliency_auc": 0.9123}}
    assert "0.912" in Page(render(make_report(results=known))).text


FAR = np.array([[0.1, 0], [0.2, 0], [0.9, 1], [0.3, 0]])


def test_the_page_says_how_often_the_farthest_graphs_are_wrong() -> None:
    assert "trusted" not in Page(render(make_report())).text
    assert (
        "trusted" not in Page(render(make_report(distances=np.array([[0.1, 0], [0.2, 0]])))).text
    )  # too few for thirds
    text = re.sub(r"\s+", " ", Page(render(make_report(distances=FAR))).text)
    assert "the third that is nearest to the training graphs is wrong on 0.0%, the farthest third on 100.0%" in text
    assert "distance of the nearest training graph" in text
    similar = Page(render(make_report(distances=FAR, similarity=True))).text
    assert "similarity of the nearest training graph" in similar


def test_the_page_needs_nothing_from_outside_and_runs_nothing() -> None:
    html = render(make_report())
    page = Page(html)
    assert "script" not in {tag for tag, _ in page.elements}
    for _, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on")]
        for key in ("src", "href", "xlink:href", "action", "srcset"):
            assert attributes.get(key, "#").startswith(("#", "data:"))
    assert not re.search(r"@import|url\(\s*['\"]?(?!#)", html)
    for address in re.findall(r"https?://[^\s\"'<]+", html):
        assert address.startswith("http://www.w3.org/")  # names of XML vocabularies, which nothing loads


def test_user_text_is_escaped_everywhere() -> None:
    evil_graphs = replace(make_report().graphs, name=EVIL, notes=(EVIL,))
    html = render(
        make_report(
            graphs=evil_graphs, model=EVIL, command=EVIL, settings={EVIL: {EVIL: EVIL}}, versions={EVIL: EVIL},
            results={EVIL: make_report().results["test"]}, gallery=[item(1, EVIL, 'a" onload="x')],
        )
    )  # fmt: skip
    assert "<script" not in html
    assert Page(html).text.count(EVIL) > 12


def test_ids_are_unique_and_references_resolve() -> None:
    items = [item(0, "triangle", "triangle")] * 3  # equal drawings, too
    html = render(make_report(TRUTH, gallery=items))
    ids = [attributes["id"] for _, attributes in Page(html).elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', html)) <= set(ids)


def test_right_and_wrong_are_both_shown() -> None:
    page = Page(render(make_report()))
    kinds = [attributes.get("class", "") for tag, attributes in page.elements if tag == "figure"]
    assert kinds.count("card right") == 2
    assert kinds.count("card wrong") == 1
    assert "2 shown" in page.text
    assert re.search(rf"triangle\s+75.0%\s+but truly\s+{re.escape(EVIL)}", page.text)


def test_truth_is_shown_where_known() -> None:
    assert "true saliency" in render(make_report(TRUTH))
    assert "true saliency" not in render(make_report())


def test_little_is_enough() -> None:
    html = render(
        make_report(
            history=[], gallery=[], notes=[], command=None, settings={}, results={"all": make_report().results["test"]}
        )
    )
    sections = {attributes.get("id") for tag, attributes in Page(html).elements if tag == "section"}
    assert sections == {"results", "scores", "data", "settings"}
    assert "Accuracy on the all graphs" in html


def test_the_same_report_gives_the_same_bytes() -> None:
    assert render(make_report()) == render(make_report())


def test_drawings_stay_small() -> None:
    drawing = re.findall(r'class="plate".*?</svg>', render(make_report()), flags=re.DOTALL)
    assert len(drawing) == 3
    assert max(len(svg) for svg in drawing) < 60_000


def test_chart_colours_follow_the_page_and_shades_do_not() -> None:
    html = render(make_report())
    charts = "".join(re.findall(r'aria-label="(?:Predicted|Loss|Sizes).*?</svg>', html, flags=re.DOTALL))
    assert "var(--ink)" in charts
    assert not [colour for colour in VARIABLES if colour in charts]
    shades = {to_hex(viz.SALIENCY(level)) for level in range(256)}
    assert not shades & set(VARIABLES)
    assert all(f"--{variable}:" in html for variable in VARIABLES.values())


def test_gallery_takes_the_surest_mistakes_and_every_class() -> None:
    true = np.repeat([0, 1, 2], 10)
    predicted = true.copy()
    predicted[[0, 1, 10, 11]] = 2
    probability = np.full(30, 0.8)
    probability[[1, 11]] = 0.9
    chosen = choose_gallery(true, true == predicted, probability, count=9)
    assert sorted(chosen[6:]) in ([0, 1, 11], [1, 10, 11])  # three wrong: the surest of each class first
    assert np.bincount(true[chosen[:6]]).tolist() == [2, 2, 2]
    assert choose_gallery(true, true == predicted, probability, count=9, seed=1) != chosen


@given(
    outcome=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.floats(0, 1)), max_size=30),
    count=st.integers(0, 15),
    seed=st.integers(0, 3),
)
def test_gallery_properties(outcome: list[tuple[int, int, float]], count: int, seed: int) -> None:
    true, predicted = (np.array([row[i] for row in outcome], dtype=int) for i in (0, 1))
    probability = np.array([row[2] for row in outcome])
    right = true == predicted
    chosen = choose_gallery(true, right, probability, count=count, seed=seed)
    assert chosen == choose_gallery(true, right, probability, count=count, seed=seed)
    assert len(chosen) == len(set(chosen)) == min(count, len(outcome))
    if count >= 2 and right.any() and not right.all():
        assert 0 < right[chosen].sum() < len(chosen)


@pytest.mark.parametrize("part", ["test", "test-large"])
def test_headline_is_the_test_part_or_the_last(part: str) -> None:
    results = make_report().results
    assert f"Accuracy on the {part} graphs" in render(
        make_report(results={"train": results["test"], part: results["test"]})
    )
