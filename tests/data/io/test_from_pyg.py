"""PyTorch Geometric data: by hand, there and back, and its faults."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.datasets import TUDataset

from graph_inputs import nan, ring, write_tu
from sargnn.data.graphs import GraphSet
from sargnn.data.sources import load
from sargnn.errors import InputError


@pytest.mark.parametrize("name", ["MUTAG", "ENZYMES", "Letter-high"])
def test_pytorch_geometric_reads_the_same(
    known: Callable[[str], GraphSet], mirror: Path, tmp_path: Path, name: str
) -> None:
    with zipfile.ZipFile(mirror / f"{name}.zip") as archive:
        archive.extractall(tmp_path)
    (tmp_path / name).rename(tmp_path / "raw")
    (tmp_path / name).mkdir()
    (tmp_path / "raw").rename(tmp_path / name / "raw")
    theirs = TUDataset(str(tmp_path), name, use_node_attr=True)
    ours = known(name)
    assert len(theirs) == len(ours)
    for one, data in zip(ours, theirs, strict=True):
        edges = data.edge_index.numpy()
        assert one.edges.tolist() == edges[:, np.lexsort(edges)].tolist()
        assert one.y[0] == int(data.y)
        width = 0
        if one.node_attributes is not None:
            width = one.node_attributes.shape[1]
            assert np.array_equal(one.node_attributes, data.x[:, :width].numpy())
        if one.node_labels is not None:
            assert one.node_labels.tolist() == data.x[:, width:].argmax(dim=1).tolist()


def test_pyg_data_worked_by_hand() -> None:
    edge_index = torch.tensor([[1, 0, 1, 1], [0, 1, 1, 0]])
    first = Data(
        edge_index=edge_index, num_nodes=3, y=torch.tensor(4), x=torch.eye(3), edge_attr=torch.tensor([1, 2, 3, 4])
    )
    nothing = torch.empty(2, 0, dtype=torch.long)
    second = Data(
        edge_index=nothing, num_nodes=1, y=torch.tensor([[-2.0]]), x=torch.ones(1, 3), edge_attr=torch.empty(0)
    )
    graphs = load([first, second])
    assert graphs.name == "graphs"
    assert graphs.node_ptr.tolist() == [0, 3, 4]
    assert graphs.edges.tolist() == [[1, 0, 1], [0, 1, 1]]
    assert graphs.edge_attributes.tolist() == [[1], [2], [3]]
    assert graphs.edge_attributes.dtype == np.float32
    assert graphs.node_attributes.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    assert graphs.classes == ("-2", "4")
    assert graphs.y.tolist() == [1, 0]
    assert graphs.notes == ("merged 1 repeated edges, each as it came first",)


def test_to_pyg_and_back_is_the_same_set(tmp_path: Path) -> None:
    graphs = load(
        write_tu(
            tmp_path,
            "X",
            A="1, 2\n2, 1\n2, 2\n",
            node_labels="0\n1\n2\n",
            node_attributes="1.5, 2\n3, 4\n5, 6\n",
            edge_labels="1\n0\n1\n",
            edge_attributes="0.1\n0.2\n0.3\n",
        )
    )
    graphs = GraphSet(**{**vars(graphs), "true_saliency": np.array([1, 0, 2], np.float32)})
    assert load(graphs.to_pyg()).fingerprint == graphs.fingerprint


def test_a_real_set_goes_through_pyg_unchanged(known: Callable[[str], GraphSet]) -> None:
    graphs = known("Letter-high")
    assert load(graphs.to_pyg()).fingerprint == graphs.fingerprint


class NamedList(list):
    """Stands for a PyTorch Geometric data set, which has a name."""

    name = "TRIANGLES"


def test_the_truth_of_triangles_is_hidden_in_a_pyg_data_set() -> None:
    truth = torch.tensor([[1.0], [1.0], [1.0]])
    graphs = load(NamedList([ring(3, x=truth, y=torch.tensor([1.0]))]))
    assert graphs.node_attributes is None
    assert graphs.true_saliency.tolist() == [1, 1, 1]


def test_attributes_of_no_width_are_none() -> None:
    """PyTorch Geometric gives x with no columns when it leaves all attributes out."""
    assert load([ring(3, x=torch.empty(3, 0), y=0)]).node_attributes is None


def test_pyg_without_classes() -> None:
    assert load([ring(3)], labelled=False).y is None
    with pytest.raises(InputError, match=r"^graphs: got no classes, expected one for each graph: y, "):
        load([ring(3)])


PYG_FAULTS: dict[str, tuple[list[Any], str]] = {
    "no graphs": ([], "graphs: got no graphs, expected at least one"),
    "not Data": (
        [{"edge_index": [[0], [1]]}],
        "graphs: got a dict, expected SMILES, an RDKit molecule, a NetworkX graph or PyTorch Geometric Data, "
        "in graph 0",
    ),
    "NetworkX in between": (
        [ring(3, y=0), nx.path_graph(2)],
        "graphs: got a Graph without edge_index, expected PyTorch Geometric Data, in graph 1",
    ),
    "no nodes": (
        [ring(3, y=0), Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=0, y=0)],
        "graphs: got no nodes, expected at least one, in graph 1",
    ),
    "edge_index on its side": (
        [Data(edge_index=torch.zeros(5, 2, dtype=torch.long), num_nodes=3, y=0)],
        "graphs: got edge_index of shape (5, 2), expected (2, E), in graph 0",
    ),
    "node out of range": (
        [ring(3, y=0), Data(edge_index=torch.tensor([[0, 1], [1, 3]]), num_nodes=3, y=0)],
        "graphs: got node 3 in edge_index[1, 1], expected 0..2, in graph 1",
    ),
    "node that is no number": (
        [Data(edge_index=torch.tensor([[0, nan], [1, 1]]), num_nodes=3, y=0)],
        "graphs: got node nan in edge_index[0, 1], expected 0..2, in graph 0",
    ),
    "y in some graphs": (
        [ring(3, y=0), ring(3)],
        "graphs: got no y, expected it in every graph or in none, in graph 1",
    ),
    "y of every node": ([ring(3, y=[0, 1, 0])], "graphs: got y of shape (3, 1), expected (1, 1), in graph 0"),
    "y that is no class": (
        [ring(3, y=0.5), ring(3, y=float("inf"))],
        "graphs: y[0]: got inf in 'y', expected a finite number, in graph 1",
    ),
    "y that is text": (
        [ring(3, y="toxic")],
        "graphs: got y that is not numbers (could not convert string to float: 'toxic'), in graph 0",
    ),
    "x cut short": (
        [ring(3, y=0, x=torch.ones(2, 4))],
        "graphs: got x of shape (2, 4), expected (3, 4), in graph 0",
    ),
    "x of another width": (
        [ring(3, y=0, x=torch.ones(3, 4)), ring(4, y=0, x=torch.ones(4, 5))],
        "graphs: got x of shape (4, 5), expected (4, 4), in graph 1",
    ),
    "inf in x": (
        [ring(3, y=0, x=torch.ones(3, 2)), ring(2, y=0, x=torch.tensor([[1, 1], [1, float("inf")]]))],
        "graphs: x[1]: got inf in column 2, expected a finite number, in graph 1",
    ),
    "nan in the true saliency": (
        [ring(2, y=0, true_saliency=torch.tensor([1, nan]))],
        "graphs: true_saliency[1]: got nan in column 1, expected a finite number, in graph 0",
    ),
}


@pytest.mark.parametrize(("items", "message"), PYG_FAULTS.values(), ids=PYG_FAULTS.keys())
def test_a_fault_in_pyg_data_is_named(items: list[Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        load(items)
    assert str(error.value) == message


def dataset_of_the_mirror(name: str, mirror: Path, root: Path, **options: Any) -> TUDataset:
    """A ``TUDataset`` whose download is the zip of the mirror."""
    raw = root / name / "raw"
    raw.mkdir(parents=True)
    with zipfile.ZipFile(mirror / f"{name}.zip") as packed:
        for member in packed.namelist():
            if member.endswith(".txt"):
                (raw / Path(member).name).write_bytes(packed.read(member))
    return TUDataset(str(root), name, **options)


@pytest.mark.parametrize("name", ["MUTAG", "ENZYMES", "IMDB-BINARY"])
def test_a_tu_data_set_and_its_name_are_the_same_set(
    name: str, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARGNN_MIRROR", str(mirror))
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path / "cache"))
    dataset = dataset_of_the_mirror(name, mirror, tmp_path)
    expected = load(name)
    assert load(dataset).fingerprint == expected.fingerprint
    order = [5, 2, 7]
    assert load(dataset[order]).fingerprint == expected.subset(order).fingerprint


def test_a_data_set_with_a_transform_is_read_from_its_tensors(mirror: Path, tmp_path: Path) -> None:
    def mark(data: Data) -> Data:
        data.x = torch.full((data.num_nodes, 1), 7.0)
        return data

    found = load(dataset_of_the_mirror("MUTAG", mirror, tmp_path, transform=mark))
    assert len(found) == 188
    assert found.node_attributes is not None
    assert set(found.node_attributes.ravel().tolist()) == {7.0}


def test_a_data_set_in_memory_is_the_list_of_its_graphs(tmp_path: Path) -> None:
    items = [
        Data(edge_index=torch.tensor([[0, 1], [1, 0]]), x=torch.ones(2, 1) * g, y=torch.tensor([g])) for g in (0, 1)
    ]

    class Own(InMemoryDataset):
        def __init__(self) -> None:
            super().__init__()
            self.data, self.slices = self.collate(items)

    assert load(Own()).fingerprint == load(items).fingerprint
    assert load([(item, f"class {g}") for g, item in enumerate(items)]).classes == ("class 0", "class 1")
