"""The figures of saliency: what they mark, what DSS-GNN sees, and the files and numbers they give."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import GraphSet, pack
from sargnn.data.known import with_titles
from sargnn.data.synthetic import triangles
from sargnn.reproduction.paper import PRESETS, Preset
from sargnn.reproduction.saliency_figures import (
    _kept_whole,
    figure_dss_subgraphs,
    figure_saliency_mutag,
    figure_saliency_triangles,
    saliency_notes,
    subgraph,
    worst_nodes,
)
from sargnn.systems.dss_gnn import ego_networks

PRESET: Preset = replace(PRESETS["smoke"], epochs=1)
NAPHTHALENE = [(i, (i + 1) % 6) for i in range(6)] + [(0, 6), (6, 7), (7, 8), (8, 9), (9, 1)]


def molecules(count: int = 30) -> GraphSet:
    """Naphthalenes (class 1) and hexagons (class -1) with the names of MUTAG, all of carbon."""
    rings = [NAPHTHALENE if g % 2 else [(i, (i + 1) % 6) for i in range(6)] for g in range(count)]
    sizes = [10 if g % 2 else 6 for g in range(count)]
    graphs = pack(
        [(n, [*bonds, *((b, a) for a, b in bonds)]) for n, bonds in zip(sizes, rings, strict=True)],
        name="MUTAG", y=np.arange(count) % 2, classes=["-1", "1"],
        node_labels=[0] * sum(sizes), node_label_names=map(str, range(7)),
    )  # fmt: skip
    return with_titles(graphs)


def test_the_worst_nodes_are_those_far_from_their_true_place() -> None:
    truth = np.array([2.0, 1.0, 0.0, 0.0, 0.0])  # places 5, 4, 2, 2, 2
    assert worst_nodes(truth, truth) == []
    assert worst_nodes(np.array([0.0, 0.9, 0.1, 0.2, 0.3]), truth) == [0, 4]  # places 1, 5, 2, 3, 4
    assert worst_nodes(np.arange(8.0), np.arange(8.0)[::-1]) == [0, 7, 1]  # three at most
    assert worst_nodes(np.arange(4.0), np.ones(4)) == []  # nothing to be wrong about


def test_subgraphs_are_those_that_dss_gnn_sees() -> None:
    graphs = [molecules(2)[1], *triangles(train=10, validation=0, test=0, test_large=0)]
    for one in graphs:
        bag = ego_networks(TensorSet(one, np.zeros((one.num_nodes, 1), np.float32)).packed(np.arange(1)), hops=2)
        source, target = bag.copies.graph[bag.rows.source], bag.copies.graph[bag.rows.target]
        seen = Counter((a, b) for a, b in zip(source.tolist(), target.tolist(), strict=True) if a != b)
        own = [subgraph(one, root, hops=2).edges.T.tolist() for root in range(one.num_nodes)]
        assert seen == Counter(tuple(edge) for edges in own for edge in edges)


def test_what_is_kept_whole() -> None:
    bow = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]
    triangles_only = pack([(5, [*bow, *((b, a) for a, b in bow)])])
    assert _kept_whole(triangles_only, hops=1) == [True] * 6  # two triangles, three roots each
    naphthalene = molecules(2)[1]
    assert _kept_whole(naphthalene, hops=2) == [False] * 10  # three steps from its middle to its ends
    assert _kept_whole(naphthalene, hops=3).count(True) == 2  # from the two atoms of the shared bond alone


def test_saliency_on_triangles(tmp_path: Path) -> None:
    graphs = triangles(train=20, validation=10, test=10, test_large=0)
    found = figure_saliency_triangles(tmp_path, PRESET, graphs)
    assert set(found["accuracy"]) == set(found["node_auc"]) == {"sar-gcn", "chebygin", "sagpool"}
    assert all(0 <= value <= 1 for name in ("accuracy", "node_auc") for value in found[name].values())
    assert len(found["graphs"]) == 3
    assert set(found["graphs"]) <= set(range(30, 40))
    assert [Path(file).name for file in found["files"]] == [
        "figure-saliency-triangles.png",
        "figure-saliency-triangles.svg",
    ]
    text = " ".join(ElementTree.parse(found["files"][1]).getroot().itertext())
    assert all(name in text for name in ("SAR-GCN", "ChebyGIN-unsup", "SAGPool", "triangles"))


@pytest.mark.parametrize("seed", [0, 1])
def test_saliency_on_mutag_shows_mutagenic_test_molecules(seed: int, tmp_path: Path) -> None:
    graphs = molecules(60)
    found = figure_saliency_mutag(tmp_path, PRESET, graphs, seed=seed)
    assert all(g % 2 for g in found["graphs"])
    assert set(found["node_auc"]) == {"sar-sage", "chebygin", "sagpool"}
    assert Path(found["files"][0]).read_bytes().startswith(b"\x89PNG")


def test_subgraphs_of_dss(tmp_path: Path) -> None:
    sets = [molecules(6), triangles(train=10, validation=0, test=0, test_large=0)]
    found = figure_dss_subgraphs(tmp_path, PRESET, sets)
    assert found["whole"] == {"MUTAG": 0.0, "TRIANGLES": 1.0}
    assert "0% on MUTAG, 100% on TRIANGLES" in found["caption"]
    assert all(Path(file).exists() for file in found["files"])


def test_saliency_of_the_first_system_is_set_against_that_of_the_others() -> None:
    drawn = {
        "caption": "c", "accuracy": {"sar-gcn": 0.5, "chebygin": 0.25, "none": 0.1},
        "node_auc": {"sar-gcn": 0.9, "chebygin": 0.7, "none": None},
    }  # fmt: skip
    made = saliency_notes("figure-saliency-triangles", drawn)
    assert made.rows == (("sar-gcn", "50.0", "0.900"), ("chebygin", "25.0", "0.700"), ("none", "10.0", ""))
    assert [claim.measured for claim in made.claims] == ["node AUC, sar-gcn against chebygin: 0.9 against 0.7, +0.2"]


def test_dss_claims_are_about_most_subgraphs() -> None:
    made = saliency_notes("figure-dss", {"caption": "c", "whole": {"MUTAG": 0.6, "TRIANGLES": 0.9}})
    assert [claim.verdict for claim in made.claims] == ["reproduced", "contradicted"]
