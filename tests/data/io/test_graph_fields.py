"""Where the class of a graph stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graph_inputs import labelled
from sargnn.data.sources import load
from sargnn.errors import InputError


@pytest.mark.parametrize("key", ["label", "y", "class", "target"])
def test_where_the_class_stands(key: str) -> None:
    graph = nx.path_graph(2)
    graph.graph[key] = 3
    assert load([graph]).classes == ("3",)
    graph.graph["p_np"] = "yes"
    assert load([graph], labels="p_np").classes == ("yes",)
    assert load([graph], labels=["given"]).classes == ("given",)


@pytest.mark.parametrize("value", [1, 1.0, True, np.int64(1), np.array([1]), [1], "1"])
def test_one_class_in_many_ways(value: Any) -> None:
    name = "True" if value is True else "1"
    assert load([labelled(nx.path_graph(2), value)]).classes == (name,)


TABLE = "smiles,key,assay,set,w,batch\nCCO,m1,1,train,1,x\nCC,m2,0,VAL,0.5,y\nCCC,m3,1,testing,2,x\nC,m4,0,test,1,10\n"


def test_columns_with_a_role_have_fields_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    (tmp_path / "x.csv").write_text(TABLE.replace("testing", "test"))
    graphs = load(tmp_path / "x.csv", labels="assay", id="key", split="set", weight="w", group="batch")
    assert graphs.graph_names == ("m1", "m2", "m3", "m4")
    assert graphs.smiles == ("CCO", "CC", "CCC", "C")
    assert graphs.part is not None
    assert graphs.part.tolist() == [0, 1, 2, 2]
    assert graphs.weights.tolist() == [1, 0.5, 2, 1]
    assert graphs.groups.tolist() == [1, 2, 1, 0]
    assert graphs.graph_attributes is None
    assert graphs.origin is not None
    assert graphs.origin.roles.smiles == "smiles"


def test_the_same_of_tables_and_graph_files(tmp_path: Path) -> None:
    graphs = [nx.path_graph(n) for n in (2, 3)]
    for graph, key in zip(graphs, "ab", strict=True):
        graph.graph.update(label=key, key=key.upper(), set="train", w=2, batch="x", size=len(graph))
    roles = {"id": "key", "split": "set", "weight": "w", "group": "batch"}
    found = load(graphs, **roles)
    assert found.graph_attribute_names == ("size",)
    assert found.graph_names == ("A", "B")
    (tmp_path / "g.jsonl").write_text("\n".join(json.dumps(nx.node_link_data(g, edges="edges")) for g in graphs))
    assert load(tmp_path / "g.jsonl", **roles).fingerprint == found.fingerprint
    assert load(tmp_path / "g.jsonl", labelled=False, **roles).fingerprint == found.fingerprint


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"split": "set"}, "line 4: got 'testing' in 'set', expected one of train, validation, test, test-large"),
        ({"weight": "key"}, "line 2: got 'm1' in 'key', expected a number above 0, in graph 0 (the first of 4"),
        ({"weight": "assay"}, "line 3: got '0' in 'assay', expected a number above 0"),
        ({"group": "bach"}, "line 1: got no column 'bach', expected one of 'batch', "),
        ({"id": "Key "}, "line 1: got no column 'Key ', expected one of 'key', "),
    ],
)
def test_roles_that_do_not_fit(roles: dict[str, str], message: str, tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="reading SMILES needs RDKit, the extra 'chem'")
    (tmp_path / "x.csv").write_text(TABLE)
    labels = None if "assay" in roles.values() else "assay"
    with pytest.raises(InputError) as error:
        load(tmp_path / "x.csv", labels=labels or [0, 1, 0, 1], **roles)
    assert message in str(error.value)


def test_forms_without_columns_have_no_roles(tmp_path: Path) -> None:
    graphs = load([labelled(nx.path_graph(2), "a")])
    with pytest.raises(InputError, match="id: got 'key', expected none: a GraphSet has no columns"):
        load(graphs, id="key")
    with pytest.raises(InputError, match="weight: got 'w', expected none: a PyTorch Geometric list has no columns"):
        load(graphs.to_pyg(), weight="w")
