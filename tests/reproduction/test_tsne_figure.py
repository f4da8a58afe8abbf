"""How well classes separate, and maps of vectors."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from sargnn.reproduction import paper, tsne_figure
from sargnn.reproduction.figure_notes import FigureNotes
from sargnn.reproduction.paper import PRESETS
from sargnn.reproduction.studies import SetFacts
from sargnn.reproduction.tsne_figure import Vectors
from sargnn.studies.protocol import CellResult


def test_classes_that_stand_apart_separate_and_mixed_ones_do_not() -> None:
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], 20)
    noise = rng.normal(size=(60, 4))
    apart = tsne_figure.separation(noise + 50 * np.eye(4)[classes], classes)
    mixed = tsne_figure.separation(noise, classes)
    assert apart["neighbours"] == 1.0
    assert apart["silhouette"] > 0.9
    assert abs(mixed["silhouette"]) < 0.1
    assert mixed["neighbours"] < 0.7


def test_a_silhouette_by_hand() -> None:
    # on a line: class 0 at 0 and 1, class 1 at 4 and 6; a = 1, b = 5 and 4; a = 2, b = 3.5 and 5.5
    found = tsne_figure.separation(np.array([[0.0], [1.0], [4.0], [6.0]]), np.array([0, 0, 1, 1]))
    assert found["silhouette"] == pytest.approx((4 / 5 + 3 / 4 + 1.5 / 3.5 + 3.5 / 5.5) / 4)


def test_the_same_vectors_get_the_same_places() -> None:
    vectors = np.random.default_rng(0).normal(size=(12, 3))
    np.testing.assert_array_equal(tsne_figure.tsne(vectors), tsne_figure.tsne(vectors))


def notes_of(folds: int, silhouettes: dict[str, tuple[float, float]]) -> FigureNotes:
    """Of systems whose silhouettes are these in even and odd folds."""
    study = tsne_figure.study(PRESETS["lean"], lambda name: SetFacts("f", 10))
    results = {
        where: CellResult(cell, np.ones(10), cell.grid[:1] * 10, ())
        for where, cell in study.cells.items()
        if where[0] in silhouettes
    }
    rows = {}
    for job in tsne_figure.jobs(study, results):
        places = [[0.0, 0.0], [1.0, 1.0]] if job.fold == 0 else []
        own = Vectors(silhouettes[job.system][job.fold % 2], 0.5, 0.5, places, [0, 1], "a device", 1.0)
        rows.update({job: asdict(own)} if job.fold < folds else {})
    assert len(tsne_figure.draw(study, results, rows).axes) == len(silhouettes)
    return tsne_figure.notes(study, results, rows)


def test_claims_are_judged_over_folds() -> None:
    notes = notes_of(10, {"sar-gin": (0.3, 0.3), "gin": (0.1, 0.2), "dss-gnn": (0.1, 0.6), "ecc": (0.5, 0.6)})
    silhouettes = [claim for claim in notes.claims if "silhouette" in claim.measured]
    assert [claim.verdict for claim in silhouettes] == ["reproduced", "no difference shown", "contradicted"]
    # differences 0.2 and 0.1: s² = 10 · 0.05² / 9; 2.2622 · sqrt((1/10 + 1/9) s²) = 0.0548
    assert silhouettes[0].cells[1:3] == (
        "silhouette, sar-gin against gin: 0.3 against 0.15, +0.15", "0.0952 to 0.205 over 10 folds"
    )  # fmt: skip
    assert notes.rows[1] == ("gin", "Letter-high", "50.0 ± 0.0", "0.150 ± 0.050", "50.0 ± 0.0")


def test_one_fold_gets_no_verdict() -> None:
    notes = notes_of(1, {"sar-sage": (0.3, 0.3), "sage": (0.1, 0.1)})
    assert {claim.verdict for claim in notes.claims} == {"one fold, no verdict"}
    assert notes.rows[0] == ("sar-sage", "ENZYMES", "50.0, one fold", "0.300, one fold", "50.0, one fold")


def test_the_systems_are_trained_once_in_every_fold() -> None:
    study = tsne_figure.study(PRESETS["paper"], lambda name: SetFacts("f", 10))
    assert {(cell.folds, cell.repeats) for cell in study.cells.values()} == {(10, 1)}
    assert len(study.cells) == 8


@pytest.mark.parametrize("data", paper.MAPPED)
def test_the_systems_beside_ours_are_the_base_model_and_the_best_published_others(data: str) -> None:
    sar, base, *others = paper.MAPPED[data]
    assert sar == f"sar-{base}"
    column = paper.DATA_SETS.index(data)
    compared = [name for name in paper.TABLE2 if name.removeprefix("sar-") not in paper.TABLE1["base"]]
    assert others == sorted(compared, key=lambda name: -paper.TABLE2[name][column][0])[:2]
