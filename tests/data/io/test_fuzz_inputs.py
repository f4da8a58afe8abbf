"""Whatever a file or an object holds, reading it gives a sound set or one line of InputError, and never a traceback."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sargnn.data.check import check, summary
from sargnn.data.graphs import GraphSet, pack
from sargnn.data.io.convert import convert
from sargnn.data.sources import load
from sargnn.errors import InputError

many = settings(
    max_examples=70, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)

NAMES = st.sampled_from(["label", "y", "part", "x", "mass", "symbol", "node_name", "graph_name", "true_saliency", "id"])
NUMBERS = st.one_of(st.integers(), st.floats(), st.booleans(), st.just(10**400))
VALUES = st.recursive(
    st.one_of(st.none(), NUMBERS, st.text(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner, max_size=2)),
    max_leaves=4,
)
ROWS = st.dictionaries(NAMES, VALUES, max_size=3)


def assert_sound_or_refused(source: Any) -> None:
    """Either everything that GraphSet promises, or one line."""
    message = ""
    try:
        graphs = load(source, labelled=False)
    except InputError as error:
        message = str(error)
    assert "\n" not in message
    assert len(message) < 2000
    if message:
        return
    report = check(graphs)
    assert [p for p in report.problems if p.field] == []
    assert graphs.sizes.min() >= 1
    source_node, target_node = graphs.edges.astype(np.int64)
    key = (graphs.node_ptr[graphs.edge_graph] + target_node) * (graphs.sizes.max() + 1) + source_node
    assert (np.diff(key) > 0).all()
    summary(graphs)


def small_set() -> GraphSet:
    """A path, a lonely node and a directed edge with a loop."""
    return pack(
        [(3, [(0, 1), (1, 0), (1, 2), (2, 1)]), (1, []), (2, [(0, 1), (1, 1)])],
        y=[0, 1, 0],
        classes=["0", "1"],
        node_labels=[0, 1, 0, 0, 1, 1],
        node_label_names=["0", "1"],
        node_attributes=np.arange(12).reshape(6, 2) / 8,
    )


# ------------------------------------------------------------------------------------------------- bytes, a few changed

FORMS = ("csv", "jsonl", "graphml", "tu", "graphset")
NOISE = st.sampled_from(
    [b"", b"\0", b"\xff", b",", b"\n", b'"', b"<", b">", b"&a;", b"{", b"}", b"[", b"nan", b"-1", b"1e999", b"null"]
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """Small files of every form."""
    graphs = small_set()
    contents = {}
    for form in FORMS:
        path = tmp_path_factory.mktemp("good") / ("x.jsonl" if form == "jsonl" else "x")
        convert(graphs, path, form)
        files = [path] if path.is_file() else sorted(path.iterdir())
        contents[form] = {file.name: file.read_bytes() for file in files}
    return contents


@many
@given(data=st.data(), form=st.sampled_from(FORMS))
def test_files_with_a_few_bytes_changed(good: dict[str, dict[str, bytes]], form: str, data: st.DataObject) -> None:
    files = dict(good[form])
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(sorted(files)))
        content = files[name]
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(start + 6, len(content))))
        files[name] = content[:start] + data.draw(NOISE) + content[end:]
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        report = check(Path(folder, "x.jsonl") if form == "jsonl" else folder)
        if report.graphs is not None:
            summary(report.graphs)


@many
@given(content=st.binary(max_size=60), name=st.sampled_from(["x.json", "x.jsonl", "x.graphml", "x.gexf", "x.zip"]))
def test_files_of_any_bytes(content: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, name).write_bytes(content)
        assert_sound_or_refused(Path(folder, name))
        if name != "x.zip":
            assert_sound_or_refused(folder)


# ---------------------------------------------------------------------------------------------------- well-formed, odd


@many
@given(
    node_rows=st.lists(ROWS, min_size=1, max_size=3),
    edges=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), ROWS), max_size=3),
    attributes=ROWS,
    directed=st.one_of(st.booleans(), st.none()),
    copies=st.integers(1, 2),
)
def test_json_of_any_values(
    node_rows: list[Any], edges: list[Any], attributes: Any, directed: bool | None, copies: int
) -> None:
    nodes = [{"id": i, **row} for i, row in enumerate(node_rows)]
    links = [{"source": s, "target": t, **row} for s, t, row in edges]
    item = {"directed": directed, "graph": attributes, "nodes": nodes, "links": links}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "x.json").write_text(json.dumps([item] * copies))
        assert_sound_or_refused(folder)


@many
@given(
    kind=st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]),
    nodes=st.lists(st.tuples(st.one_of(st.integers(0, 3), st.text(max_size=2)), ROWS), max_size=4),
    edges=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), ROWS), max_size=4),
    attributes=st.dictionaries(NAMES, st.one_of(VALUES, st.just(object()), st.just(np.ones(2))), max_size=3),
)
def test_networkx_graphs_of_any_values(kind: Any, nodes: list[Any], edges: list[Any], attributes: Any) -> None:
    graph = kind()
    for node, row in nodes:
        graph.add_node(node, **row)
    for source, target, row in edges:
        key = graph.add_edge(source, target)
        graph.edges[(source, target, key) if graph.is_multigraph() else (source, target)].update(row)
    graph.graph.update(attributes)
    assert_sound_or_refused([graph, graph])


CELLS = st.one_of(st.sampled_from(["", "a", "b", "1", "-2.5", "nan", "1e99", "true", '"', "x\ny"]), st.text(max_size=3))


@many
@given(data=st.data())
def test_tables_of_any_cells(data: st.DataObject) -> None:
    columns = {"graphs": ["graph"], "nodes": ["graph", "node"], "edges": ["graph", "source", "target"]}
    with tempfile.TemporaryDirectory() as folder:
        for name, first in columns.items():
            header = first + data.draw(st.lists(NAMES, max_size=2, unique=True))
            rows = data.draw(st.lists(st.lists(CELLS, min_size=1, max_size=len(header)), max_size=4))
            lines = [header, *([row[i] if i < len(row) else "a" for i in range(len(header))] for row in rows)]
            text = "\n".join(",".join(f'"{cell}"' if "\n" in cell else cell for cell in line) for line in lines)
            Path(folder, f"{name}.csv").write_text(text, encoding="utf-8")
        assert_sound_or_refused(folder)


@many
@given(
    rows=st.lists(st.tuples(st.text("CNO()=c1[]+-@.H#%", max_size=8), st.sampled_from(["0", "1", "", "x"])), max_size=5)
)
def test_molecules_of_any_text(rows: list[tuple[str, str]]) -> None:
    pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.csv")
        path.write_text("smiles,label\n" + "".join(f"{smiles},{label}\n" for smiles, label in rows))
        assert_sound_or_refused(path)


@many
@given(data=st.data())
def test_a_saved_set_with_any_arrays(data: st.DataObject) -> None:
    graphs = small_set()
    with tempfile.TemporaryDirectory() as folder:
        graphs.save(Path(folder, "set"))
        name = data.draw(st.sampled_from(["node_ptr", "edge_ptr", "edges", "y", "node_labels"]))
        array = np.array(getattr(graphs, name))
        flat = array.reshape(-1)
        flat[data.draw(st.integers(0, len(flat) - 1))] = data.draw(st.integers(-3, 200))
        np.save(Path(folder, "set", f"{name}.npy"), array)
        report = check(Path(folder, "set"))
        assert isinstance(report.graphs, GraphSet | None)
