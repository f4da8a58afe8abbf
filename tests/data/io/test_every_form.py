"""The same graphs, read through every form, are the same set and get the same predictions."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from sargnn.data.features.given_inputs import gaps_in
from sargnn.data.graphs import GraphSet
from sargnn.data.io.convert import FORMS, convert
from sargnn.data.sources import load
from sargnn.errors import InputError


def networkx_graphs(count: int = 24) -> list[nx.Graph]:
    """Rings and paths with a class, a number and a category for each node and each edge; every third is directed.

    All names are numbers, the only names that TU files and PyTorch tensors can hold; from 0, as in the latter.
    """
    graphs = []
    for g in range(count):
        size = 3 + g % 4
        graph = nx.cycle_graph(size) if g % 2 else nx.path_graph(size)
        if g % 3 == 2:
            edges, graph = graph.edges, nx.DiGraph()
            graph.add_nodes_from(range(size))
            graph.add_edges_from(edges)
        for node in graph:
            graph.nodes[node].update(charge=(node * 7 + g) / 10, label=str((node + g) % 4), mass=float(node))
        for i, (source, target) in enumerate(graph.edges):
            graph.edges[source, target].update(label=str(i % 3), length=0.1 * i - 0.2)
        graph.graph.update(label=str(g % 2), energy=g / 3)
        graphs.append(graph)
    return graphs


def as_graphml_folder(folder: Path, graphs: list[nx.Graph]) -> Path:
    for g, graph in enumerate(graphs):
        nx.write_graphml(graph, folder / f"{g}.graphml")
    return folder


def as_gexf_folder(folder: Path, graphs: list[nx.Graph]) -> Path:
    """GEXF has no attributes of graphs, and NetworkX writes a label as the name of a node."""
    for g, graph in enumerate(graphs):
        copy = graph.copy()
        for _, row in copy.nodes(data=True):
            row["symbol"] = row.pop("label")
        nx.write_gexf(copy, folder / f"{g}.gexf")
    rows = "".join(f"{g}.gexf,{graph.graph['label']}\n" for g, graph in enumerate(graphs))
    (folder / "labels.csv").write_text(f"file,label\n{rows}")
    return folder


def as_json_file(folder: Path, graphs: list[nx.Graph]) -> Path:
    (folder / "all.json").write_text(json.dumps([nx.node_link_data(graph, edges="links") for graph in graphs]))
    return folder / "all.json"


def as_json_folder(folder: Path, graphs: list[nx.Graph]) -> Path:
    for g, graph in enumerate(graphs):
        (folder / f"graph{g}.json").write_text(json.dumps(nx.node_link_data(graph, edges="edges")))
    return folder


def as_parquet_trio(folder: Path, graphs: list[nx.Graph]) -> Path:
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, the extra 'parquet'")
    import pyarrow as pa
    from pyarrow import parquet

    nodes = [{"graph": g, "node": v, **row} for g, graph in enumerate(graphs) for v, row in graph.nodes(data=True)]
    ends = [(g, graph, *edge) for g, graph in enumerate(graphs) for edge in graph.edges(data=True)]
    tables = {
        "graphs": [{"graph": g, "directed": graph.is_directed(), **graph.graph} for g, graph in enumerate(graphs)],
        "nodes": nodes,
        "edges": [{"graph": g, "source": s, "target": t, **row} for g, _, s, t, row in ends],
    }
    for name, rows in tables.items():
        parquet.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    return folder


def as_zip(folder: Path, graphs: list[nx.Graph]) -> Path:
    convert(load(graphs), folder / "set", "tu")
    with zipfile.ZipFile(folder / "set.zip", "w") as archive:
        for path in (folder / "set").iterdir():
            archive.write(path, f"set/{path.name}")
    return folder / "set.zip"


WRITERS: dict[str, Callable[[Path, list[nx.Graph]], Any]] = {
    "NetworkX": lambda folder, graphs: graphs,
    "PyTorch Geometric": lambda folder, graphs: load(graphs).to_pyg(),
    "GraphML folder": as_graphml_folder,
    "JSON file": as_json_file,
    "JSON folder": as_json_folder,
    "Parquet tables": as_parquet_trio,
    "TU zip": as_zip,
}


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    return load(networkx_graphs())


def test_the_set_itself(graphs: GraphSet) -> None:
    assert graphs.classes == ("0", "1")
    assert graphs.node_attribute_names == ("charge", "mass")
    assert graphs.edge_attribute_names == ("length",)
    assert graphs.graph_attribute_names == ("energy",)
    assert graphs.edge_label_names == ("0", "1", "2")
    assert graphs.node_labels is not None
    assert graphs.notes == ()


@pytest.mark.parametrize("form", WRITERS)
def test_one_fingerprint(form: str, graphs: GraphSet, tmp_path: Path) -> None:
    assert load(WRITERS[form](tmp_path, networkx_graphs())).fingerprint == graphs.fingerprint


@pytest.mark.parametrize("form", FORMS)
def test_one_fingerprint_after_conversion(form: str, graphs: GraphSet, tmp_path: Path) -> None:
    path = tmp_path / ("x.jsonl" if form == "jsonl" else "x")
    assert convert(graphs, path, form) == []
    again = load(path)
    assert again.fingerprint == graphs.fingerprint
    if form != "tu":
        assert again.node_attribute_names == graphs.node_attribute_names


def test_one_fingerprint_in_gexf_which_has_no_attributes_of_graphs(tmp_path: Path) -> None:
    originals = networkx_graphs()
    read = load(as_gexf_folder(tmp_path, originals))
    for graph in originals:
        del graph.graph["energy"]
    assert read.fingerprint == load(originals).fingerprint


def test_the_order_of_rows_does_not_matter(graphs: GraphSet, tmp_path: Path) -> None:
    """But for the order of graphs, which graphs.csv gives, and of nodes, which is theirs in nodes.csv."""
    convert(graphs, tmp_path / "x", "csv")
    path = tmp_path / "x" / "edges.csv"
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header, *np.random.default_rng(0).permutation(rows)]))
    path = tmp_path / "x" / "nodes.csv"
    header, *rows = path.read_text().splitlines()
    by_node = sorted(rows, key=lambda row: int(row.split(",")[1]))
    path.write_text("\n".join([header, *by_node]))
    assert load(tmp_path / "x").fingerprint == graphs.fingerprint


@pytest.mark.parametrize("form", FORMS)
def test_a_real_set_survives_every_form(
    form: str, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARGNN_MIRROR", str(mirror))
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path / "cache"))
    graphs = load("MUTAG")
    path = tmp_path / ("x.jsonl" if form == "jsonl" else "x")
    assert convert(graphs, path, form) == []
    assert load(path).fingerprint == graphs.fingerprint


def test_one_prediction(graphs: GraphSet, tmp_path: Path) -> None:
    from sargnn.training.run import train
    from sargnn.training.settings import Settings

    settings = Settings.of("sar-gcn", {"training.epochs": 2, "model.hidden": 8})
    trained = train(graphs, settings).trained
    expected = trained.predict(graphs)
    for form in ("csv", "jsonl", "graphml", "tu"):
        path = tmp_path / ("x.jsonl" if form == "jsonl" else form)
        convert(graphs, path, form)
        found = trained.predict(load(path))
        assert np.array_equal(found.probabilities, expected.probabilities)
        assert np.array_equal(found.saliency, expected.saliency)


def with_gaps(graphs: list[nx.Graph]) -> list[nx.Graph]:
    """The same without some numbers of nodes, edges and graphs: one node, one edge, one graph, and all of graph 4."""
    del graphs[0].nodes[1]["mass"]
    for _, row in graphs[4].nodes(data=True):
        del row["mass"]
    del graphs[1].edges[0, 1]["length"]
    del graphs[7].graph["energy"]
    return graphs


@pytest.mark.parametrize("form", [*WRITERS, *(f"converted to {form}" for form in FORMS)])
def test_gaps_survive_every_form(form: str, tmp_path: Path) -> None:
    graphs, to = load(with_gaps(networkx_graphs())), form.removeprefix("converted to ")
    assert graphs.notes == ()
    gaps = {"node attribute 'mass'": 4, "edge attribute 'length'": 2, "graph attribute 'energy'": 1}
    assert gaps_in(graphs) == gaps
    if to in WRITERS:
        again = load(WRITERS[to](tmp_path, with_gaps(networkx_graphs())))
    else:
        path = tmp_path / ("x.jsonl" if to == "jsonl" else "x")
        assert convert(graphs, path, to) == []
        again = load(path)
    assert again.fingerprint == graphs.fingerprint
    assert list(gaps_in(again).values()) == list(gaps.values())


def targeted(graphs: list[nx.Graph]) -> list[nx.Graph]:
    """The same with two targets and gaps in place of the class."""
    for g, graph in enumerate(graphs):
        del graph.graph["label"]
        del graph.graph["energy"]
        graph.graph["size"] = len(graph) + 0.5 if g % 5 else None
        graph.graph["odd"] = len(graph) % 2 if g % 7 else None
    return graphs


@pytest.mark.parametrize("form", FORMS)
def test_targets_survive_every_form(form: str, tmp_path: Path) -> None:
    graphs = load(targeted(networkx_graphs()), labels=["size", "odd"])
    assert graphs.target_names == ("odd", "size")
    assert len(graphs) == 23  # the first has neither
    path = tmp_path / ("x.jsonl" if form == "jsonl" else "x")
    notes = convert(graphs, path, form)
    again = load(path)
    assert again.fingerprint == graphs.fingerprint
    if form == "tu":
        assert notes == ["TU format has no place for the names of targets: odd, size"]
    else:
        assert notes == []
        assert again.target_names == graphs.target_names
        one = load(path, labels="odd", labelled=None)
        assert one.graph_attributes is None
        assert load(path, labels="size").target_names == ("size",)
    assert load(graphs.to_pyg()).targets.shape == (23, 2)


@pytest.mark.parametrize("form", ["NetworkX", "GraphML folder", "JSON file", "JSON folder", "Parquet tables"])
def test_other_names_are_right_by_name_or_refused(form: str, graphs: GraphSet, tmp_path: Path) -> None:
    """Renamed, reordered, missing and unseen: never silently worse."""
    from sargnn.training.run import train
    from sargnn.training.settings import Settings

    trained = train(graphs, Settings.of("sar-gcn", {"training.epochs": 1, "model.hidden": 8})).trained
    expected = trained.predict(graphs).values

    def changed(name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> GraphSet:
        others = networkx_graphs()
        for other in others:
            for _, row in other.nodes(data=True):
                new = change(dict(row))
                row.clear()
                row.update(new)
        (tmp_path / name).mkdir()
        return load(WRITERS[form](tmp_path / name, others))

    turned = changed("reordered", lambda row: dict(reversed(row.items())))
    np.testing.assert_array_equal(trained.predict(turned).values, expected)
    more = changed("more", lambda row: {"a": 1.0, **row})
    np.testing.assert_array_equal(trained.predict(more).values, expected)
    renamed = changed("renamed", lambda row: {{"mass": "zeta"}.get(key, key): value for key, value in row.items()})
    with pytest.raises(InputError, match="got node attributes 'charge', 'zeta', expected 'mass' among them"):
        trained.predict(renamed)
    missing = changed("missing", lambda row: {key: value for key, value in row.items() if key != "mass"})
    with pytest.raises(InputError, match="got node attributes 'charge', expected 'mass' among them"):
        trained.predict(missing)
    unseen = changed("unseen", lambda row: {**row, "label": "9" if row["label"] == "3" else row["label"]})
    with pytest.warns(UserWarning, match=r"graphs have labels unknown to the model: '9'"):
        assert np.isfinite(trained.predict(unseen).values).all()
