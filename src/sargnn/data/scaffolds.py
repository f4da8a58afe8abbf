"""Splits by scaffold, a harder test of molecules than a random split (extra: ``chem``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from sargnn.data.descriptors import molecules_of
from sargnn.data.graphs import GraphSet
from sargnn.data.io.molecules import load_rdkit
from sargnn.data.splits import Fold
from sargnn.errors import InputError

__all__ = ["scaffold_groups", "scaffold_split", "scaffolds"]


def scaffold_split(molecules: GraphSet | Sequence[str], *, validation: float = 0.1, test: float = 0.1) -> Fold:
    """A harder split than a random one: molecules with the same Bemis-Murcko scaffold are in the same part.

    Scaffolds are taken from the most common to the rarest, of equally common ones the last in the file first. Each goes
    to the first of train, validation and test that has room for it (Wu et al. 2018, as in DeepChem), so that the test
    molecules are unlike the training molecules. ``molecules`` are SMILES, or a set read from SMILES.

    >>> fold = scaffold_split(["c1ccccc1C", "c1ccccc1O", "C1CCCCC1", "c1ccncc1"], validation=0.25, test=0.25)
    >>> fold.train.tolist(), fold.validation.tolist(), fold.test.tolist()
    ([0, 1], [3], [2])
    """
    if validation < 0 or test < 0 or validation + test >= 1:
        raise InputError(f"validation + test: got {validation} + {test}, expected fractions of less than 1 together")
    texts = _smiles(molecules) if isinstance(molecules, GraphSet) else molecules
    groups: dict[str, list[int]] = defaultdict(list)
    for index, scaffold in enumerate(scaffolds(texts)):
        groups[scaffold].append(index)
    parts: list[list[int]] = [[], [], []]
    ends = [round(fraction * len(texts)) for fraction in (1 - validation - test, 1 - test, 1)]
    for group in sorted(groups.values(), key=lambda group: (len(group), group[0]), reverse=True):
        part = next(i for i in range(3) if sum(map(len, parts[: i + 1])) + len(group) <= ends[i])
        parts[part] += group
    if not parts[0] or (test and not parts[2]):
        most = max(map(len, groups.values()))
        got = f"{len(groups)} scaffolds, one of them in {most} of {len(texts)} molecules"
        raise InputError(f"got {got}: too few to split by")
    return Fold(*(np.array(sorted(part), np.int64) for part in parts))


def scaffold_groups(molecules: GraphSet) -> np.ndarray:
    """int64 [G]: the number of each molecule's scaffold; those without rings share one.

    >>> from sargnn.data.graphs import pack
    >>> molecules = pack([(1, [])] * 3, smiles=["c1ccccc1C", "CCO", "c1ccccc1O"])
    >>> scaffold_groups(molecules).tolist()
    [0, 1, 0]
    """
    numbers: dict[str, int] = {}
    found = [numbers.setdefault(scaffold, len(numbers)) for scaffold in scaffolds(_smiles(molecules))]
    return np.array(found, np.int64)


def _smiles(molecules: GraphSet) -> Sequence[str]:
    texts = molecules.smiles or molecules.graph_names
    if len(texts) != len(molecules):
        raise InputError(f"{molecules.name}: got graphs that are not named by SMILES, expected a set read from SMILES")
    return texts


def scaffolds(smiles: Sequence[str]) -> Iterator[str]:
    """The Bemis-Murcko scaffold of each molecule: its rings and what links them, as SMILES; empty without rings.

    >>> list(scaffolds(["c1ccccc1CO", "CCO"]))
    ['c1ccccc1', '']
    """
    load_rdkit()
    from rdkit.Chem.Scaffolds import MurckoScaffold

    for molecule in molecules_of(smiles):
        yield MurckoScaffold.MurckoScaffoldSmiles(mol=molecule, includeChirality=False)
