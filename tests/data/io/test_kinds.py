"""Objects are known by their class, base classes counted, and by nothing else."""

from __future__ import annotations

import networkx as nx
import pytest
from torch_geometric.data import Data, InMemoryDataset

from sargnn.data.io.kinds import is_dataset, is_frame, is_networkx, is_rdkit


class Mine(nx.DiGraph):
    pass


class Graph:
    """Of nobody's package."""


def test_graphs_and_data_sets() -> None:
    assert is_networkx(nx.Graph())
    assert is_networkx(Mine())
    assert not is_networkx(Graph())
    assert not is_networkx(nx)
    assert is_dataset(InMemoryDataset())
    assert not is_dataset(Data())


def test_molecules() -> None:
    chem = pytest.importorskip("rdkit.Chem", reason="needs RDKit (extra: chem)")
    assert is_rdkit(chem.MolFromSmiles("C"))
    assert is_rdkit(chem.RWMol())
    assert not is_rdkit(chem.Atom("C"))


def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas (dev group)")
    assert is_frame(pandas.DataFrame())
    assert not is_frame(pandas.Series([1]))
