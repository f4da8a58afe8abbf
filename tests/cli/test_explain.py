"""``sargnn explain``, which agrees with ``predict``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from command import FAST, PAPER, Command, WrongCalls, refuse_one_call, rows_of
from sargnn import load_model
from sargnn.data.graphs import GraphSet
from sargnn.explain.parts import find_parts
from tiny import binary_shapes, measured_shapes

WRONG_CALLS: WrongCalls = {
    "negative drawings": (["explain", "RUN", "DATA", "--out", "new", "--drawings", "-1"], "--drawings"),
    "unknown rule": (["explain", "RUN", "DATA", "--out", "new", "--rule", "median"], "--rule: got 'median'"),
    "unknown form of drawings": (
        ["explain", "RUN", "DATA", "--out", "new", "--format", "pdf"],
        "expected one of png, svg",
    ),
    "unknown parts": (["explain", "RUN", "DATA", "--out", "new", "--parts", "atoms"], "--parts: got 'atoms', expected"),
    "unknown class": (["explain", "RUN", "DATA", "--out", "new", "--for", "mutagen"], "--for: got 'mutagen', expected"),
    "no number": (
        ["explain", "RUN", "DATA", "--out", "new", "--graphs", "1,x"],
        "--graphs: got '1,x', expected numbers",
    ),
    "no such graph": (
        ["explain", "RUN", "DATA", "--out", "new", "--graphs", "110"],
        "--graphs: got 110, expected 0..109",
    ),
    "graph of another part": (
        ["explain", "RUN", "DATA", "--out", "new", "--part", "test", "--graphs", "0"],
        "--graphs: got 0, which is not in --part",
    ),
}


def test_every_row_has_its_prediction_beside_the_maps(sargnn: Command, run: Path, data: Path) -> None:
    sargnn("predict", run, data, "--out", "predicted.csv")
    sargnn("explain", run, data, "--out", "why", "--drawings", 0)
    assert rows_of(Path("why/predictions.csv")) == rows_of(Path("predicted.csv"))


def test_explain_agrees_with_predict_and_its_two_forms_with_each_other(
    sargnn: Command, run: Path, data: Path, made: GraphSet
) -> None:
    assert made.true_saliency is not None
    sargnn("predict", run, data, "--out", "predicted.csv")
    answer = sargnn("explain", run, data, "--out", "why", "--drawings", 3, "--json").answer
    assert answer == {"graphs": 110, "layers": 2, "drawings": 3, "folder": "why"}
    assert {path.name for path in Path("why").iterdir()} == {
        "predictions.csv",
        "saliency.csv",
        "saliency.json",
        "drawings",
    }
    assert sorted(path.name for path in Path("why/drawings").iterdir()) == [f"graph-{g}.png" for g in range(3)]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in Path("why/drawings").iterdir())

    rows = rows_of(Path("why/saliency.csv"))
    header = ["graph", "node", "layer", "saliency", "predicted", "probability", "true_saliency"]
    assert list(rows[0]) == header
    assert len(rows) == 2 * made.num_nodes
    by_graph = json.loads(Path("why/saliency.json").read_text())
    assert [item["graph"] for item in by_graph] == list(range(110))
    predicted = rows_of(Path("predicted.csv"))
    flat = iter(rows)
    for item, row in zip(by_graph, predicted, strict=True):
        assert item["predicted"] == row["class"]
        assert item["probability"] == max(float(v) for k, v in row.items() if k.startswith("probability_"))
        for layer, saliency in enumerate(item["saliency"]):
            assert sum(saliency) == pytest.approx(1, abs=1e-5)
            for node, value in enumerate(saliency):
                line = next(flat)
                assert (int(line["graph"]), int(line["node"]), int(line["layer"])) == (item["graph"], node, layer)
                assert float(line["saliency"]) == value
                assert line["predicted"] == item["predicted"]
                assert float(line["probability"]) == item["probability"]
                assert float(line["true_saliency"]) == item["true_saliency"][node]
    assert next(flat, None) is None
    assert [t for item in by_graph for t in item["true_saliency"]] == made.true_saliency.tolist()


def test_a_graph_named_twice_is_explained_once(sargnn: Command, run: Path, data: Path) -> None:
    answer = sargnn("explain", run, data, "--out", "why", "--graphs", "7,3,7", "--drawings", 0, "--json").answer
    assert answer["graphs"] == 2
    assert [item["graph"] for item in json.loads(Path("why/saliency.json").read_text())] == [7, 3]


def test_effects_of_nodes_on_every_target(sargnn: Command) -> None:
    graphs = binary_shapes(count=40)
    graphs.save("targets")
    sargnn("train", "targets", "--out", "run", *PAPER)
    answer = sargnn("explain", "run", "targets", "--out", "why", "--drawings", 2, "--json").answer
    assert answer["effects_on"] == ["path", "large", "large-path"]
    assert answer["effects_are"] == "of removing a node, in log-odds"
    assert answer["saliency_is"] == "one map for all 3 of the outputs"
    assert len(list(Path("why/drawings").iterdir())) == 2
    rows = rows_of(Path("why/effects.csv"))
    assert list(rows[0]) == ["graph", "node", "effect_path", "effect_large", "effect_large-path"]
    expected = load_model("run").effects(graphs)
    found = np.array([[float(row[f"effect_{name}"]) for name in answer["effects_on"]] for row in rows])
    np.testing.assert_allclose(found, expected)
    objects = json.loads(Path("why/saliency.json").read_text())
    assert [e for item in objects for e in item["effects"]["large"]] == pytest.approx(expected[:, 1].tolist())

    sargnn("explain", "run", "targets", "--out", "one", "--for", "large", "--graphs", 3, "--format", "html")
    assert list(rows_of(Path("one/effects.csv"))[0]) == ["graph", "node", "effect_large"]
    assert "effect on large" in Path("one/explanations.html").read_text()
    slots = ["--set", "model.readout=salient", "--set", "model.slots=target"]
    sargnn("train", "targets", "--out", "slots", *PAPER, *slots)
    answer = sargnn("explain", "slots", "targets", "--out", "each", "--drawings", 1, "--json").answer
    assert answer["saliency_is"] == "one map for each of the outputs"
    assert {row["layer"] for row in rows_of(Path("each/saliency.csv"))} == {"path", "large", "large-path"}
    sargnn("explain", "slots", "targets", "--out", "page", "--format", "html")
    assert "saliency for large" in Path("page/explanations.html").read_text()

    refused = sargnn("explain", "run", "targets", "--out", "x", "--for", "larg").error
    assert refused == "--for: got 'larg', expected one of path, large, large-path, all"
    assert not Path("x").exists()


def test_effects_of_classes_and_numbers_and_of_models_without_saliency(sargnn: Command, run: Path, data: Path) -> None:
    answer = sargnn(
        "explain", run, data, "--out", "why", "--for", "all", "--graphs", "0,1", "--drawings", 0, "--json"
    ).answer
    assert answer["effects_are"] == "of removing a node, in log-odds"
    measured_shapes(count=40).save("numbers")
    sargnn("train", "numbers", "--out", "gin", "--model", "gin", *FAST)
    answer = sargnn("explain", "gin", "numbers", "--out", "how", "--drawings", 1, "--json").answer
    assert answer["effects_are"] == "of removing a node, in its own unit"
    assert "saliency_is" not in answer
    assert len(rows_of(Path("how/effects.csv"))) == measured_shapes(count=40).num_nodes


def test_effects_of_edges_and_fragments_and_what_would_change_the_class(
    sargnn: Command, run: Path, data: Path, made: GraphSet
) -> None:
    name, chosen, trained = made.classes[1], made.subset([4, 9]), load_model(run)
    only = ["--for", name, "--graphs", "4,9"]
    answer = sargnn(
        "explain", run, data, "--out", "edges", *only, "--parts", "edges", "--signed", "--counterfactual", "--json"
    ).answer
    assert answer["effects_are"] == "of removing an edge, in log-odds"
    rows = rows_of(Path("edges/effects.csv"))
    parts = find_parts(chosen, "edges")
    expected = trained.effects(chosen, parts)[:, 1]
    assert [[4, 9].index(int(row["graph"])) for row in rows] == parts.graph.tolist()
    assert [int(row[end]) for row in rows for end in ("source", "target")] == parts.nodes.tolist()
    np.testing.assert_allclose([float(row[f"effect_{name}"]) for row in rows], expected, atol=1e-5)
    flips = rows_of(Path("edges/counterfactuals.csv"))
    assert [int(row["graph"]) for row in flips] == [4, 9]
    assert sum(bool(row["removed"]) for row in flips) == answer["changed_by_a_removal"]
    for row in flips:
        assert not row["removed"] or (row["left_predicted"] != row["predicted"]) == (row["holds"] == "yes")

    sargnn("explain", run, data, "--out", "page", *only, "--parts", "fragments", "--unsigned", "--format", "html")
    found = {row["fragment"]: row for row in rows_of(Path("page/fragments.csv"))}
    own = np.abs(trained.effects(chosen, find_parts(chosen, "fragments"))[:, 1])
    assert set(found) == set(find_parts(chosen, "fragments").names)
    assert sum(int(row["count"]) for row in found.values()) == len(own)
    assert min(float(row["mean_effect"]) for row in found.values()) >= 0
    page = Path("page/explanations.html").read_text()
    assert f"towards {name} in" in page
    assert "effect of fragments on" in page


def test_the_functional_groups_of_molecules(sargnn: Command) -> None:
    pytest.importorskip("rdkit", reason="needs RDKit (extra: chem)")
    smiles = [f"{'C' * n}{end}" for n in range(2, 12) for end in ("[N+](=O)[O-]", "O")]
    rows = [f"{text},{'toxic' if 'N' in text else 'safe'}" for text in smiles]
    Path("drugs.csv").write_text("smiles,class\n" + "\n".join(rows) + "\n")
    sargnn("train", "drugs.csv", "--out", "model", *FAST)
    shown = sargnn("explain", "model", "drugs.csv", "--for", "toxic", "--parts", "fragments", "--out", "why").out
    assert "towards toxic in 10 molecules" in shown
    found = {row["fragment"]: row for row in rows_of(Path("why/fragments.csv"))}
    assert {"nitro", "alcohol", "alkyl of 2 carbons"} <= set(found)
    assert {found["nitro"]["graphs"], found["nitro"]["count"]} == {"10"}
    assert len(list(Path("why/drawings").iterdir())) == 20


def test_a_model_without_saliency_explains_nothing(sargnn: Command, data: Path) -> None:
    sargnn("train", data, "--out", "run", "--model", "gin", *FAST)
    expected = (
        "run: model 'gin' has no saliency, expected one that has, such as sar-gcn, or the effects of nodes: --for all"
    )
    assert sargnn("explain", "run", data, "--out", "why").error == expected
    assert not Path("why").exists()


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_line(name: str, sargnn: Command, run: Path, data: Path) -> None:
    refuse_one_call(sargnn, WRONG_CALLS[name], {"RUN": run, "DATA": data})
