"""What RDKit computes of molecules: descriptors, Morgan counts and fingerprints (extra: ``chem``)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sargnn.data.features.kept import kept
from sargnn.data.graphs import GraphSet
from sargnn.data.io.molecules import load_rdkit
from sargnn.data.problems import shown
from sargnn.errors import InputError

__all__ = ["descriptor_names", "descriptors", "fingerprints", "molecules_of", "morgan_counts", "smiles_of"]

KEPT_TOGETHER = 2**13
"""Molecules whose descriptors are one file of the data cache."""


def smiles_of(graphs: GraphSet, reader: str) -> tuple[str, ...]:
    """The SMILES of the graphs, refused where they have none; ``reader`` says what needs them."""
    if not graphs.smiles and len(graphs):
        raise InputError(f"{graphs.name}: got graphs without SMILES, expected molecules: {reader} computed from SMILES")
    return graphs.smiles


def molecules_of(smiles: Sequence[str]) -> Iterator[Any]:
    """RDKit's molecules, one by one; refuses a text that is none.

    >>> [molecule.GetNumAtoms() for molecule in molecules_of(["CCO", "c1ccccc1"])]
    [3, 6]
    """
    chem = load_rdkit()
    for index, text in enumerate(smiles):
        with chem.rdBase.BlockLogs():
            molecule = chem.MolFromSmiles(text)
        if molecule is None or not molecule.GetNumAtoms():
            raise InputError(f"got {shown(text)} as graph {index}, expected SMILES")
        yield molecule


def descriptor_names() -> tuple[str, ...]:
    """The descriptors that this version of RDKit knows: weight, polarity, counts of fragments, ..."""
    load_rdkit()
    from rdkit.Chem import Descriptors

    return tuple(name for name, _ in Descriptors.descList)


def descriptors(smiles: Sequence[str]) -> np.ndarray:
    """float64 [G, descriptors]: the value of each of :func:`descriptor_names`; NaN where a molecule has none.

    They take milliseconds per molecule and are kept in the data cache.

    >>> values = dict(zip(descriptor_names(), descriptors(["CCO"])[0].tolist(), strict=True))
    >>> round(values["MolWt"], 2), values["NumHDonors"]
    (46.07, 1.0)
    """
    names = descriptor_names()
    starts = range(0, len(smiles), KEPT_TOGETHER)
    parts = [_kept_descriptors(smiles[start : start + KEPT_TOGETHER], names) for start in starts]
    return np.concatenate([*parts, np.empty((0, len(names)))])


def _kept_descriptors(smiles: Sequence[str], names: tuple[str, ...]) -> np.ndarray:
    chem = load_rdkit()
    from rdkit.Chem.Descriptors import CalcMolDescriptors

    def compute() -> np.ndarray:
        values = np.empty((len(smiles), len(names)))
        for row, molecule in zip(values, molecules_of(smiles), strict=True):
            with chem.rdBase.BlockLogs():
                found = CalcMolDescriptors(molecule, missingVal=np.nan)
            row[:] = [found[name] for name in names]
        return np.where(np.isfinite(values), values, np.nan)

    digest = hashlib.sha256("\n".join((chem.rdBase.rdkitVersion, *smiles)).encode()).hexdigest()[:16]
    return kept("descriptors", digest, (len(smiles), len(names)), compute)


def morgan_counts(smiles: Sequence[str], radius: int, size: int) -> np.ndarray:
    """float32 [G, size]: how often each circular substructure of up to ``radius`` bonds occurs; substructures are
    hashed to ``size`` columns.

    >>> morgan_counts(["CCCC"], radius=0, size=64).max()  # two ends, two in the middle
    np.float32(2.0)
    """
    generator = _generator(radius, size)
    counts = np.zeros((len(smiles), size), np.float32)
    for row, molecule in zip(counts, molecules_of(smiles), strict=True):
        row[:] = generator.GetCountFingerprintAsNumPy(molecule)
    return counts


def fingerprints(smiles: Sequence[str], radius: int = 2, size: int = 2048) -> np.ndarray:
    """uint8 [G, size / 8]: which circular substructures occur, eight to a byte, the lowest first (ECFP4, by its usual
    name).

    >>> np.unpackbits(fingerprints(["C"])).sum()
    np.uint64(1)
    """
    generator = _generator(radius, size)
    bits = np.zeros((len(smiles), size // 8), np.uint8)
    for row, molecule in zip(bits, molecules_of(smiles), strict=True):
        row[:] = np.packbits(generator.GetFingerprintAsNumPy(molecule), bitorder="little")
    return bits


def _generator(radius: int, size: int) -> Any:
    load_rdkit()
    from rdkit.Chem import rdFingerprintGenerator

    return rdFingerprintGenerator.GetMorganGenerator(radius=radius, fpSize=size)
