"""Molecules as SMILES in a CSV file (extra: ``chem``), and their division by scaffold.

Atoms are nodes and bonds are edges; hydrogens are counted at their atom. The inputs are those usual in the field:

=====  ====================================================================================================
atom   symbol (the category); charge, degree, hydrogens, ring, aromatic, chirality (clockwise 1, other way
       -1), and hybridization, one column for each kind
bond   single, double, triple, aromatic, ... (the category); conjugated, ring, stereo (E 1, Z -1)
=====  ====================================================================================================

A row that RDKit cannot read, or without a class where others have one, is left out and listed. Nodes are named by their
symbols and graphs by their SMILES.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.data.assembler import assemble_records
from sargnn.data.csv_files import CsvTable
from sargnn.data.graph_fields import CLASS_NAMES
from sargnn.data.graphs import GraphSet
from sargnn.data.problems import Problems, refused, shown
from sargnn.data.records import Record
from sargnn.data.splits import Fold
from sargnn.errors import InputError

__all__ = ["read_smiles", "scaffold_split"]

SMILES_NAMES = ("smiles", "smile", "mol", "structure")
"""Where the SMILES are looked for, in this order, in capitals or not, unless another name is given."""

HYBRIDIZATIONS = ("S", "SP", "SP2", "SP2D", "SP3", "SP3D", "SP3D2")
CHIRALITY = {"CHI_TETRAHEDRAL_CW": 1, "CHI_TETRAHEDRAL_CCW": -1}
STEREO = {"STEREOE": 1, "STEREOTRANS": 1, "STEREOZ": -1, "STEREOCIS": -1}


def read_smiles(
    path: Path, problems: Problems, *, smiles: str | None = None, labels: str | None = None, labelled: bool = True
) -> GraphSet:
    """The molecules of a CSV file: the column ``smiles``, the class in the column ``labels``.

    Without their names, the columns are looked for by the usual ones, and a single other column is the class if its
    values repeat.
    """
    table = CsvTable(path, problems)
    column = table.column(*([smiles] if smiles else SMILES_NAMES))
    if column is None:
        got, wanted = ", ".join(map(shown, table.header)), shown(smiles or "smiles")
        raise refused(f"got columns {got}, expected one called {wanted} that holds SMILES", path, 1)
    records = _records(table, column, _class_column(table, column, labels), problems)
    return assemble_records(path.stem, records, problems, labels="label", labelled=labelled, file=str(path))


def scaffold_split(molecules: GraphSet | Sequence[str], *, validation: float = 0.1, test: float = 0.1) -> Fold:
    """A harder division than a random one: molecules with the same Bemis-Murcko scaffold are in the same part.

    Scaffolds are taken from the most common to the rarest, and each goes to the first of training, validation and test
    part that has room for it: the test is on molecules unlike those trained on. ``molecules`` are SMILES, or a set read
    from SMILES.

    >>> fold = scaffold_split(["c1ccccc1C", "c1ccccc1O", "C1CCCCC1", "c1ccncc1"], validation=0.25, test=0.25)
    >>> fold.train.tolist(), fold.validation.tolist(), fold.test.tolist()
    ([0, 1], [2], [3])
    """
    if validation < 0 or test < 0 or validation + test >= 1:
        raise InputError(f"validation + test: got {validation} + {test}, expected shares of less than 1 together")
    texts = molecules.graph_names if isinstance(molecules, GraphSet) else molecules
    if isinstance(molecules, GraphSet) and len(texts) != len(molecules):
        raise InputError(f"{molecules.name}: got graphs that are not named by SMILES, expected a set read from SMILES")
    groups: dict[str, list[int]] = defaultdict(list)
    for index, scaffold in enumerate(_scaffolds(texts)):
        groups[scaffold].append(index)
    parts: list[list[int]] = [[], [], []]
    room = [round((1 - validation - test) * len(texts)), round(validation * len(texts)), len(texts)]
    for group in sorted(groups.values(), key=lambda group: (-len(group), group[0])):
        part = next(i for i in range(3) if len(parts[i]) + len(group) <= room[i])
        parts[part] += group
    return Fold(*(np.array(sorted(part), np.int64) for part in parts))


def _scaffolds(texts: Sequence[str]) -> Iterator[str]:
    chem = _rdkit()
    from rdkit.Chem.Scaffolds import MurckoScaffold

    for index, text in enumerate(texts):
        with chem.rdBase.BlockLogs():
            molecule = chem.MolFromSmiles(text)
        if molecule is None:
            raise InputError(f"got {shown(text)} as graph {index}, expected SMILES")
        yield MurckoScaffold.MurckoScaffoldSmiles(mol=molecule, includeChirality=False)


def _rdkit() -> Any:
    try:
        from rdkit import Chem
    except ImportError as error:
        raise InputError("reading SMILES needs RDKit: pip install 'sargnn[chem]'") from error
    return Chem


def _class_column(table: CsvTable, smiles: int, labels: str | None) -> int | None:
    if labels == "":
        return None
    column = table.column(*([labels] if labels else CLASS_NAMES))
    others = [i for i, name in enumerate(table.header) if name and i != smiles]
    if column is None and labels:
        got = ", ".join(map(shown, table.header))
        raise refused(f"got columns {got}, expected one called {shown(labels)}", table.path, 1)
    if column is None and len(others) == 1:
        values = [row[others[0]] for _, row in CsvTable(table.path, Problems()).rows()]
        column = others[0] if len(set(values)) <= max(2, len(values) // 2) else None
    return column


def _records(table: CsvTable, smiles: int, label: int | None, problems: Problems) -> Iterator[Record]:
    chem = _rdkit()
    first_look = CsvTable(table.path, Problems())  # so that no problem is told twice
    has_classes = label is not None and any(row[label].strip() for _, row in first_look.rows())
    for line, row in table.rows():
        where = {"file": str(table.path), "line": line, "field": table.header[smiles]}
        text = row[smiles].strip()
        molecule, reason = _parse(chem, text)
        if molecule is None:
            problems.leave_out(f"{shown(text, 80)} ({reason})", "a molecule in SMILES", **where)
        elif has_classes and label is not None and not row[label].strip():
            problems.leave_out(f"no class in {shown(table.header[label])}", "one", **where)
        else:
            record = _record(molecule)
            record.name, record.file, record.line = text, str(table.path), line
            record.attributes = {"label": row[label]} if has_classes and label is not None else {}
            yield record


def _parse(chem: Any, text: str) -> tuple[Any, str]:
    """The molecule, or None and why not."""
    with chem.rdBase.BlockLogs():
        molecule = chem.MolFromSmiles(text)
        if molecule is not None:
            return (molecule, "") if molecule.GetNumAtoms() else (None, "no atoms")
        raw = chem.MolFromSmiles(text, sanitize=False)
        found = chem.DetectChemistryProblems(raw) if raw is not None else []
    return None, found[0].Message() if found else "not SMILES"


def _record(molecule: Any) -> Record:
    atoms, bonds = list(molecule.GetAtoms()), list(molecule.GetBonds())
    return Record(
        nodes=list(range(len(atoms))),
        node_rows=[_atom(atom) for atom in atoms],
        sources=[bond.GetBeginAtomIdx() for bond in bonds],
        targets=[bond.GetEndAtomIdx() for bond in bonds],
        edge_rows=[_bond(bond) for bond in bonds],
    )


def _atom(atom: Any) -> dict[str, Any]:
    symbol, hybridization = atom.GetSymbol(), str(atom.GetHybridization())
    return {
        "node_name": symbol,
        "label": symbol,
        "charge": atom.GetFormalCharge(),
        "degree": atom.GetDegree(),
        "hydrogens": atom.GetTotalNumHs(),
        "ring": atom.IsInRing(),
        "aromatic": atom.GetIsAromatic(),
        "chirality": CHIRALITY.get(str(atom.GetChiralTag()), 0),
        **{f"hybridization_{kind}": hybridization == kind for kind in HYBRIDIZATIONS},
    }


def _bond(bond: Any) -> dict[str, Any]:
    return {
        "label": str(bond.GetBondType()).lower(),
        "conjugated": bond.GetIsConjugated(),
        "ring": bond.IsInRing(),
        "stereo": STEREO.get(str(bond.GetStereo()), 0),
    }
