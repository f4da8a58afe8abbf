"""load(): the seven published sets with their traps, paths, PyTorch Geometric, and what is refused."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jaxtyping
import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.datasets import TUDataset

from sargnn.data.graphs import PARTS, GraphSet, pack
from sargnn.data.sources import KNOWN, load, require_two_classes
from sargnn.errors import InputError

README_COUNTS = {
    "MUTAG": (188, 3371, 7442, 2),
    "ENZYMES": (600, 19580, 74564, 6),
    "PROTEINS": (1113, 43471, 162088, 2),
    "IMDB-BINARY": (1000, 19773, 193062, 2),
    "IMDB-MULTI": (1500, 19502, 197806, 3),
    "Letter-high": (2250, 10507, 20250, 15),
    "TRIANGLES": (45000, 938438, 2947024, 10),
}


@pytest.fixture(scope="module")
def known(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], GraphSet]:
    """load() by name, from the mirror, in a cache of its own: every set is parsed once and then opened."""
    folder = tmp_path_factory.mktemp("cache")

    def load_known(name: str) -> GraphSet:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SARGNN_MIRROR", str(mirror))
            patch.setenv("SARGNN_DATA", str(folder))
            return load(name)

    return load_known


@pytest.mark.parametrize("name", README_COUNTS)
def test_published_counts(known: Callable[[str], GraphSet], name: str) -> None:
    graphs = known(name)
    assert graphs.name == name
    assert (len(graphs), graphs.num_nodes, graphs.num_edges, len(graphs.classes)) == README_COUNTS[name]
    assert (graphs.sizes >= 1).all()
    assert len(np.unique(graphs.y)) == len(graphs.classes)
    require_two_classes(graphs)


def test_every_known_set_is_in_the_table_above() -> None:
    assert KNOWN.keys() == README_COUNTS.keys()


def test_mutag(known: Callable[[str], GraphSet]) -> None:
    graphs = known("MUTAG")
    assert graphs.classes == ("-1", "1")
    assert np.bincount(graphs.y).tolist() == [63, 125]
    assert len(graphs.node_label_names) == 7
    assert len(graphs.edge_label_names) == 4
    assert graphs.node_attributes is None
    assert graphs.part is None
    assert graphs.notes == ()


def test_enzymes_has_attributes_and_labels(known: Callable[[str], GraphSet]) -> None:
    graphs = known("ENZYMES")
    assert graphs.node_attributes.shape == (19580, 18)
    assert graphs.node_attributes[0, 1] == np.float32(15.887014)
    assert graphs.node_label_names == ("1", "2", "3")
    assert (graphs.degrees == 0).any()


def test_proteins(known: Callable[[str], GraphSet]) -> None:
    graphs = known("PROTEINS")
    assert graphs.sizes.max() == 620
    assert graphs.node_attributes.shape == (43471, 1)
    assert len(graphs.node_label_names) == 3


@pytest.mark.parametrize("name", ["IMDB-BINARY", "IMDB-MULTI"])
def test_imdb_lists_every_edge_twice(known: Callable[[str], GraphSet], name: str) -> None:
    graphs = known(name)
    assert graphs.notes == (f"merged {graphs.num_edges} repeated edges, each as it came first",)
    assert graphs.node_labels is None
    assert graphs.node_attributes is None
    complete = np.diff(graphs.edge_ptr) == graphs.sizes * (graphs.sizes - 1)
    assert name == "IMDB-BINARY" or 0.4 < complete.mean() < 0.6


def test_letter_high_keeps_tiny_and_edgeless_graphs(known: Callable[[str], GraphSet]) -> None:
    graphs = known("Letter-high")
    assert graphs.node_attributes.shape == (10507, 2)
    assert graphs.sizes.min() == 1
    edgeless = np.flatnonzero(np.diff(graphs.edge_ptr) == 0)
    assert len(edgeless) > 0
    assert (graphs.sizes[edgeless] > 1).any()


def test_the_truth_of_triangles_is_never_an_input(known: Callable[[str], GraphSet]) -> None:
    graphs = known("TRIANGLES")
    assert graphs.node_attributes is None
    assert graphs.node_labels is None
    assert graphs.true_saliency.shape == (938438,)
    assert graphs.true_saliency.dtype == np.float32
    totals = np.add.reduceat(graphs.true_saliency, graphs.node_ptr[:-1])
    assert graphs.classes == tuple(str(count) for count in range(1, 11))
    assert (totals / 3 == graphs.y + 1).all()


def test_the_truth_of_triangles_counts_triangles(known: Callable[[str], GraphSet]) -> None:
    graphs = known("TRIANGLES")
    for g in np.linspace(0, len(graphs) - 1, 60).astype(int):
        one = graphs[int(g)]
        graph = nx.Graph(one.edges.T.tolist())
        graph.add_nodes_from(range(one.num_nodes))
        triangles = nx.triangles(graph)
        assert [triangles[v] for v in range(one.num_nodes)] == one.true_saliency.tolist()


def test_the_official_division_of_triangles(known: Callable[[str], GraphSet]) -> None:
    graphs = known("TRIANGLES")
    starts = np.flatnonzero(np.diff(graphs.part, prepend=-1))
    assert starts.tolist() == [0, 30000, 35000, 40000]
    assert [PARTS[graphs.part[g]] for g in (29999, 30000, 39999, 44999)] == [
        "train",
        "validation",
        "test",
        "test-large",
    ]
    assert graphs.sizes[graphs.part < 3].max() == 25
    assert graphs.sizes[graphs.part == 3].min() == 26


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


# -- paths -------------------------------------------------------------------------------------------------------------


def write_tu(folder: Path, name: str, **texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    base = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "0\n1\n"}
    for kind, text in (base | texts).items():
        (folder / f"{name}_{kind}.txt").write_text(text)
    return folder


def test_the_truth_of_triangles_is_hidden_when_read_from_a_path(tmp_path: Path) -> None:
    folder = write_tu(tmp_path / "some where", "TRIANGLES", node_attributes="3\n0\n1\n")
    with zipfile.ZipFile(tmp_path / "copy.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    for source in (folder, str(folder), tmp_path / "copy.zip"):
        graphs = load(source)
        assert graphs.node_attributes is None
        assert graphs.true_saliency.tolist() == [3, 0, 1]
        assert graphs.part is None  # the division is that of all 45000 graphs


def test_triangles_with_more_than_the_truth_is_refused(tmp_path: Path) -> None:
    folder = write_tu(tmp_path, "TRIANGLES", node_attributes="3, 1\n0, 1\n1, 1\n")
    with pytest.raises(InputError, match=r"^TRIANGLES: got 2 node attributes, expected only the true saliency$"):
        load(folder)


def test_a_saved_set_is_opened(tmp_path: Path) -> None:
    graphs = load(write_tu(tmp_path / "tu", "X", node_attributes="1\n2\n3\n"))
    graphs.save(tmp_path / "saved")
    again = load(tmp_path / "saved")
    assert again.fingerprint == graphs.fingerprint
    assert isinstance(again.edges, np.memmap)


def test_a_graph_set_is_returned_as_it_is() -> None:
    graphs = pack([(1, [])], y=[0], classes=["dot"])
    assert load(graphs) is graphs


def test_a_known_name_wins_over_a_folder_of_that_name(
    known: Callable[[str], GraphSet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_tu(tmp_path / "MUTAG", "MUTAG")
    assert len(known("MUTAG")) == 188
    assert len(load("./MUTAG")) == 2


def test_classes_are_wanted_unless_said_otherwise(tmp_path: Path) -> None:
    folder = write_tu(tmp_path, "X")
    (folder / "X_graph_labels.txt").unlink()
    assert load(folder, labelled=False).y is None
    with pytest.raises(InputError) as error:
        load(folder)
    expected = "one for each graph: the file X_graph_labels.txt"
    assert str(error.value) == f"{folder}: got no classes, expected {expected}"


def test_two_classes_are_wanted_only_when_asked_for(tmp_path: Path) -> None:
    graphs = load(write_tu(tmp_path, "X", graph_labels="4\n4\n"))
    with pytest.raises(InputError, match=r"^X: got class '4' only, expected two or more classes$"):
        require_two_classes(graphs)
    with pytest.raises(InputError, match=r"^graphs: got no classes, expected two or more$"):
        require_two_classes(pack([(1, [])]))
    both = load(write_tu(tmp_path, "X", graph_labels="4\n5\n"))
    require_two_classes(both)
    with pytest.raises(InputError, match=r"^X: got class '5' only"):
        require_two_classes(both.subset([1]))


ALL_KNOWN = "MUTAG, ENZYMES, PROTEINS, IMDB-BINARY, IMDB-MULTI, Letter-high, TRIANGLES"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("data/nowhere", ALL_KNOWN),
        ("letter high", "Letter-high"),
        ("./MUTAG.zip", "MUTAG"),
        ("x" * 5000 + "/", ALL_KNOWN),
        ("nul\0byte", ALL_KNOWN),
    ],
)
def test_neither_a_path_nor_a_name(source: str, names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as error:
        load(source)
    assert str(error.value) == f"got {source!r}, expected a file or folder that exists or a name such as {names}"


# -- PyTorch Geometric -------------------------------------------------------------------------------------------------


def ring(size: int, **fields: Any) -> Data:
    nodes = torch.arange(size)
    pairs = torch.stack([nodes, nodes.roll(1)])
    return Data(edge_index=torch.cat([pairs, pairs.flip(0)], dim=1), num_nodes=size, **fields)


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


def test_one_graph_is_a_list_of_one() -> None:
    assert len(load(ring(3), labelled=False)) == 1


nan = float("nan")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", None, "b"], "labels: got None, expected a class for every graph, in graph 1"),
        (["a", "b", nan], "labels: got nan, expected a class for every graph, in graph 2"),
        (np.array([nan, 0, 1], np.float32), "labels: got nan, expected a class for every graph, in graph 0"),
        (torch.tensor([0, 1, nan]), "labels: got nan, expected a class for every graph, in graph 2"),
        ({0: "a", 1: "b", 2: "a"}, "labels: got a dict, expected a list with a class for every graph"),
        ({"a", "b", "c"}, "labels: got a set, expected a list with a class for every graph"),
    ],
)
def test_what_is_no_class_is_refused(labels: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a dict is not of the type that is asked for
    with pytest.raises(InputError, match=f"^{message}$"):
        load([ring(3)] * 3, labels=labels)


PYG_FAULTS: dict[str, tuple[list[Any], str]] = {
    "no graphs": ([], "graphs: got no graphs, expected at least one"),
    "not Data": (
        [("edge_index", [[0], [1]])],
        "graphs: got a tuple, expected a NetworkX graph or PyTorch Geometric Data, in graph 0",
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
        [ring(3, y=0), ring(3, y=0.5)],
        "graphs: y[0]: got 0.5 in column 1, expected an integer, in graph 1",
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
    "nan in x": (
        [ring(3, y=0, x=torch.ones(3, 2)), ring(2, y=0, x=torch.tensor([[1, 1], [1, nan]]))],
        "graphs: x[1]: got nan in column 2, expected a finite number, in graph 1",
    ),
}


@pytest.mark.parametrize(("items", "message"), PYG_FAULTS.values(), ids=PYG_FAULTS.keys())
def test_a_fault_in_pyg_data_is_named(items: list[Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        load(items)
    assert str(error.value) == message
