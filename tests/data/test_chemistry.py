"""Chemistry read off graphs: made-up molecules, and MUTAG against RDKit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from sargnn.data.chemistry import (
    amine_atoms,
    fused_rings,
    known_causes,
    mutagenic_groups,
    nitro_atoms,
)
from sargnn.data.graphs import GraphSet, pack
from sargnn.data.sources import load
from sargnn.errors import InputError


@pytest.fixture(scope="module")
def mutag(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> GraphSet:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SARGNN_MIRROR", str(mirror))
        patch.setenv("SARGNN_DATA", str(tmp_path_factory.mktemp("cache")))
        return load("MUTAG")


def molecule(symbols: str, *bonds: tuple[int, int]) -> GraphSet:
    names = sorted(set(symbols))
    labels = [names.index(symbol) for symbol in symbols]
    edges = [pair for a, b in bonds for pair in ((a, b), (b, a))]
    return pack([(len(symbols), edges)], node_labels=labels, node_label_names=names)


@pytest.mark.parametrize(
    ("symbols", "bonds", "expected"),
    [
        ("CNOO", [(0, 1), (1, 2), (1, 3)], {1, 2, 3}),  # -NO2
        ("CNOC", [(0, 1), (1, 2), (1, 3)], set()),  # one oxygen alone
        ("CNOOC", [(0, 1), (1, 2), (1, 3), (3, 4)], set()),  # an oxygen that goes on
        ("NOO", [(0, 1), (0, 2)], set()),  # nothing that carries it
        ("CCOO", [(0, 1), (1, 2), (1, 3)], set()),  # a carboxyl group
    ],
)
def test_nitro_groups(symbols: str, bonds: list[tuple[int, int]], expected: set[int]) -> None:
    assert nitro_atoms(nx.Graph(bonds), np.array(list(symbols))) == expected
    found = known_causes(molecule(symbols, *bonds))["nitro groups"]
    assert set(np.flatnonzero(found).tolist()) == expected


def test_fused_rings_share_a_bond() -> None:
    hexagons = nx.Graph([(i, (i + 1) % 6) for i in range(6)] + [(0, 6), (6, 7), (7, 8), (8, 9), (9, 1)])
    found = fused_rings(hexagons)  # naphthalene
    assert sorted(map(sorted, found)) == [[0, 1, 2, 3, 4, 5], [0, 1, 6, 7, 8, 9]]
    assert all(hexagons.has_edge(a, b) for ring in found for a, b in zip(ring, [*ring[1:], ring[0]], strict=True))
    apart = nx.disjoint_union(nx.cycle_graph(6), nx.cycle_graph(6))
    assert not fused_rings(apart)
    apart.add_edge(0, 6)
    assert not fused_rings(apart)  # biphenyl: a bond between rings is of neither
    spiro = nx.Graph([(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 0)])
    assert not fused_rings(spiro)  # a shared atom is not a shared bond


def test_every_molecule_of_mutag_has_a_nitro_group_and_the_mutagenic_ones_have_fused_rings(mutag: GraphSet) -> None:
    """Nitro groups, which all have, cannot tell the classes apart: a fact to know before reading any map of MUTAG."""
    causes = known_causes(mutag)
    has = {name: np.bincount(mutag.node_graph, atoms) > 0 for name, atoms in causes.items()}
    assert has["nitro groups"].all()
    mutagenic = mutag.y == mutag.classes.index("1")
    assert has["fused rings"][mutagenic].mean() == pytest.approx(108 / 125)
    assert has["fused rings"][~mutagenic].mean() == pytest.approx(26 / 63)


def test_mutag_agrees_with_the_substructure_search_of_rdkit(mutag: GraphSet) -> None:
    chem = pytest.importorskip("rdkit.Chem", reason="needs RDKit (extra: chem)")
    from sargnn.viz.depiction import molecule_of

    nitro = chem.MolFromSmarts("[#6,#7]~[#7X3](~[#8X1])~[#8X1]")
    found = known_causes(mutag)["nitro groups"]
    molecules = {g: molecule for g in range(0, len(mutag), 10) if (molecule := molecule_of(mutag, g)) is not None}
    assert len(molecules) > 15
    for g, molecule in molecules.items():
        atoms = {a for match in molecule.GetSubstructMatches(nitro) for a in match[1:]}
        assert set(np.flatnonzero(found[mutag.node_ptr[g] : mutag.node_ptr[g + 1]]).tolist()) == atoms


@pytest.mark.parametrize(
    ("symbols", "bonds", "expected"),
    [
        ("CNHH", [(0, 1), (1, 2), (1, 3)], {1, 2, 3}),  # -NH2
        ("CNHC", [(0, 1), (1, 2), (1, 3)], set()),  # a secondary amine
        ("HNHH", [(0, 1), (1, 2), (1, 3)], set()),  # ammonia
        ("CNHHH", [(0, 1), (1, 2), (1, 3), (1, 4)], set()),  # -NH3+
        ("CNOO", [(0, 1), (1, 2), (1, 3)], set()),
    ],
)
def test_amine_groups(symbols: str, bonds: list[tuple[int, int]], expected: set[int]) -> None:
    assert amine_atoms(nx.Graph(bonds), np.array(list(symbols))) == expected


def test_groups_speak_for_mutagens_alone() -> None:
    """Two molecules with -NO2 and -NH2 each: the mutagen's are marked."""
    names, bonds = ("C", "N", "O", "H"), [(0, 1), (1, 2), (1, 3), (0, 4), (4, 5), (4, 6)]
    edges = [pair for a, b in bonds for pair in ((a, b), (b, a))]
    labels = [0, 1, 2, 2, 1, 3, 3]
    graphs = pack([(7, edges)] * 2, node_labels=labels * 2, node_label_names=names, y=[1, 0], classes=("0", "1"))
    titled = replace(graphs, class_titles=("mutagen", "nonmutagen"))
    assert mutagenic_groups(titled).tolist() == [0] * 7 + [0, 1, 1, 1, 1, 1, 1]
    with pytest.raises(InputError, match=r"^graphs: got no atoms or no class mutagen, expected those of Mutagenicity$"):
        mutagenic_groups(graphs)
