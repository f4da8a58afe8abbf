"""Molecules as SMILES in a CSV file (extra: ``chem``).

Atoms are nodes and bonds are edges; hydrogens are counted at their atom. The inputs are those usual in the field:

=====  ====================================================================================================
atom   symbol (the category); charge, degree, hydrogens, ring, aromatic, chirality (clockwise 1, other way
       -1), and hybridization, one column for each kind
bond   single, double, triple, aromatic, ... (the category); conjugated, ring, stereo (E 1, Z -1)
=====  ====================================================================================================

A row that RDKit cannot read is left out and listed. So is one without a class where others have one, unless no classes
are wanted. Nodes are named by their symbols and graphs by their SMILES.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from sargnn.data.graphs import GraphSet
from sargnn.data.io.assembler import assemble_records
from sargnn.data.io.graph_fields import CLASS_NAMES, is_given
from sargnn.data.io.graph_records import Record
from sargnn.data.io.table_files import CsvTable
from sargnn.data.problems import Problems, refused, shown
from sargnn.errors import InputError

__all__ = ["load_rdkit", "read_molecule", "read_smiles"]

SMILES_NAMES = ("smiles", "smile", "mol", "structure")
"""Where the SMILES are looked for, in this order, in capitals or not, unless another name is given."""

HYBRIDIZATIONS = ("S", "SP", "SP2", "SP2D", "SP3", "SP3D", "SP3D2")
CHIRALITY = {"CHI_TETRAHEDRAL_CW": 1, "CHI_TETRAHEDRAL_CCW": -1}
STEREO = {"STEREOE": 1, "STEREOTRANS": 1, "STEREOZ": -1, "STEREOCIS": -1}


def read_smiles(
    path: Path,
    problems: Problems,
    *,
    smiles: str | None = None,
    labels: str | None = None,
    labelled: bool | None = True,
) -> GraphSet:
    """The molecules of a CSV file: the column ``smiles``, the class in the column ``labels``.

    Without their names, the columns are looked for by the usual ones; failing that, the class is the only other column
    whose values repeat, and a note says so.
    """
    table = CsvTable(path, problems)
    columns = ", ".join(map(shown, table.header))
    column = table.column(*([smiles] if smiles else SMILES_NAMES))
    if column is None:
        wanted = f"one called {shown(smiles or 'smiles')} that holds SMILES"
        raise refused(f"got columns {columns}, expected {wanted}", path, 1)
    label = table.column(*(CLASS_NAMES if labels is None else [labels]))
    if labels and label is None:
        raise refused(f"got columns {columns}, expected one called {shown(labels)}", path, 1)
    notes = []
    if labels is None and label is None and (label := _guessed_class(table, column)) is not None:
        notes.append(f"took {shown(table.header[label])} as the class")
    records = _records(table, column, label, problems, labelled)
    graphs = assemble_records(path.stem, records, problems, labels="label", labelled=bool(labelled), file=str(path))
    return replace(graphs, notes=(*notes, *graphs.notes), smiles=graphs.graph_names)


def load_rdkit() -> Any:
    """RDKit's ``Chem``, imported when it is first needed."""
    try:
        from rdkit import Chem
    except ImportError as error:
        raise InputError("reading SMILES needs RDKit: pip install 'sargnn[chem]'") from error
    return Chem


def _guessed_class(table: CsvTable, smiles: int) -> int | None:
    """The only column beside the SMILES whose values repeat: each comes twice or more, on average."""
    columns = [i for i, name in enumerate(table.header) if name and i != smiles]
    distinct: dict[int, set[str]] = {column: set() for column in columns}
    count = 0
    for _, row in _first_look(table):
        count += 1
        for column in columns:
            distinct[column].add(row[column])
    repeating = [column for column in columns if len(distinct[column]) <= count // 2]
    return repeating[0] if len(repeating) == 1 else None


def _first_look(table: CsvTable) -> Iterator[tuple[int, list[str]]]:
    """The rows, with their problems kept back: the second look tells them."""
    return CsvTable(table.path, Problems()).rows()


def _records(
    table: CsvTable, smiles: int, label: int | None, problems: Problems, labelled: bool | None
) -> Iterator[Record]:
    chem = load_rdkit()
    has_classes = label is not None and any(is_given(row[label]) for _, row in _first_look(table))
    for line, row in table.rows():
        where = {"file": str(table.path), "line": line, "field": table.header[smiles]}
        text = row[smiles].strip()
        molecule, reason = _parse(chem, text)
        if molecule is None:
            problems.leave_out(f"{shown(text, 80)} ({reason})", "a molecule in SMILES", **where)
        elif labelled is not False and has_classes and label is not None and not is_given(row[label]):
            problems.leave_out(f"no class in {shown(table.header[label])}", "one", **where)
        else:
            attributes = {"label": row[label]} if label is not None and is_given(row[label]) else {}
            yield replace(_record(molecule, text), attributes=attributes, file=str(table.path), line=line)


def read_molecule(text: str) -> Record:
    """One molecule in SMILES; refused where RDKit cannot read it.

    >>> read_molecule("CO").edge_rows[0]["label"]
    'single'
    """
    molecule, reason = _parse(load_rdkit(), text.strip())
    if molecule is None:
        raise InputError(f"got {shown(text, 80)} ({reason}), expected a molecule in SMILES")
    return _record(molecule, text.strip())


def _record(molecule: Any, name: str) -> Record:
    atoms, bonds = list(molecule.GetAtoms()), list(molecule.GetBonds())
    return Record(
        nodes=list(range(len(atoms))),
        node_rows=list(map(_atom, atoms)),
        sources=[bond.GetBeginAtomIdx() for bond in bonds],
        targets=[bond.GetEndAtomIdx() for bond in bonds],
        edge_rows=list(map(_bond, bonds)),
        name=name,
    )


def _parse(chem: Any, text: str) -> tuple[Any, str]:
    """The molecule, or None and why not."""
    with chem.rdBase.BlockLogs():
        molecule = chem.MolFromSmiles(text)
        if molecule is not None:
            return (molecule, "") if molecule.GetNumAtoms() else (None, "no atoms")
        raw = chem.MolFromSmiles(text, sanitize=False)
        found = chem.DetectChemistryProblems(raw) if raw is not None else []
    return None, found[0].Message() if found else "not SMILES"


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
