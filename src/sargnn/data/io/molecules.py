"""Molecules as SMILES in a CSV file (extra: ``chem``).

Atoms are nodes and bonds are edges; hydrogens are counted at their atom. The inputs are those usual in the field:

=====  ====================================================================================================
atom   symbol (the category); charge, cip (R 1, S -1), degree, hydrogens, ring, aromatic, and hybridization,
       one column for each kind
bond   single, double, triple, aromatic, ... (the category); conjugated, ring, stereo (E 1, Z -1)
=====  ====================================================================================================

None of them depends on how the SMILES were written, but for the order of the atoms. A row that RDKit cannot read is
left out and listed. So is one that does not fit the header, and one without a class where others have one, unless no
classes are wanted. Nodes are named by their symbols and graphs by their SMILES.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.io.assembler import assemble_records
from sargnn.data.io.columns import NUMBER, is_given
from sargnn.data.io.graph_fields import CLASS_NAMES, no_column
from sargnn.data.io.graph_records import Record
from sargnn.data.io.table_files import CsvTable
from sargnn.data.origin import Origin, SourceRows
from sargnn.data.problems import Problems, refused, shown
from sargnn.data.roles import USUAL, Roles
from sargnn.errors import InputError
from sargnn.limits import over

__all__ = ["SMILES_NAMES", "ReadMolecule", "load_rdkit", "read_molecule", "read_molecule_table", "read_smiles"]

SMILES_NAMES = ("smiles", "smile", "mol", "structure")
"""Where the SMILES are looked for, in this order, in capitals or not, unless another name is given."""

HYBRIDIZATIONS = ("S", "SP", "SP2", "SP2D", "SP3", "SP3D", "SP3D2")
HANDEDNESS = {"R": 1, "r": 1, "S": -1, "s": -1}
"""Of a stereocentre, by its CIP code. Whether neighbours turn clockwise would depend on their order in the text."""
CIP = "_CIPCode"
STEREO = {"STEREOE": 1, "STEREOTRANS": 1, "STEREOZ": -1, "STEREOCIS": -1}


def read_smiles(
    path: Path,
    problems: Problems,
    *,
    roles: Roles = USUAL,
    labelled: bool | None = True,
) -> GraphSet:
    """The molecules of a CSV file, with what is to be predicted in the columns that the ``roles`` name.

    Without their names, the columns are looked for by the usual ones; failing that, the class is the only other column
    whose values repeat, the targets are all other columns where they hold nothing but 0, 1 and gaps, or the only other
    column where it holds numbers. A note says so.
    """
    return read_molecule_table(CsvTable(path, problems), problems, roles=roles, labelled=labelled)


def read_molecule_table(
    table: CsvTable, problems: Problems, *, roles: Roles = USUAL, labelled: bool | None = True
) -> GraphSet:
    """The same of the rows of any table."""
    path = table.path
    found, notes = _found_roles(table, roles, labelled)
    reader = _Molecules(table, found, problems)
    records, of_graphs = reader.records(labelled), replace(found, smiles=None)
    graphs = assemble_records(path.stem, records, problems, roles=of_graphs, labelled=bool(labelled), file=str(path))
    notes = notes if graphs.classes else []
    if (counted := reader.had_hydrogens) > 0:
        notes.append(f"counted the hydrogens of {counted} molecules at their atoms, as SMILES do")
    return replace(graphs, notes=(*notes, *graphs.notes), smiles=tuple(reader.smiles), origin=reader.origin())


def _found_roles(table: CsvTable, roles: Roles, labelled: bool | None) -> tuple[Roles, list[str]]:
    """The roles with the columns that the table has, as it spells them; what was guessed, in words."""

    def place(role: str, name: str) -> int | None:
        if (column := table.column(name)) is None and role not in roles.assumed:
            raise refused("got {}, expected {}".format(*no_column(name, table.header)), table.path, 1, field=name)
        return column

    own = {role: place(role, name) for role, name in roles.names("smiles", "id", "split", "weight", "group")}
    smiles = own.get("smiles")
    smiles = table.column(*SMILES_NAMES) if smiles is None else smiles
    if smiles is None:
        columns = ", ".join(map(shown, table.header))
        raise refused(f"got columns {columns}, expected one called 'smiles' that holds SMILES", table.path, 1)
    labels = [column for role, name in roles.names("labels") if (column := place(role, name)) is not None]
    if smiles in labels:
        raise refused(
            f"got {shown(table.header[smiles])} as a label, expected another: it holds the SMILES", table.path, 1
        )
    notes: list[str] = []
    if roles.labels is None or ("labels" in roles.assumed and not labels and labelled):
        if (named := table.column(*CLASS_NAMES)) is not None:
            labels = [named]
        else:
            labels = _guessed_labels(table, {smiles, *own.values()})
            notes = [f"took {shown(table.header[label])} as the class" for label in labels]
    names = {role: table.header[column] for role, column in {**own, "smiles": smiles}.items() if column is not None}
    return Roles(tuple(table.header[label] for label in labels), roles.task, **names, assumed=roles.assumed), notes


def load_rdkit() -> Any:
    """RDKit's ``Chem``, imported when it is first needed."""
    try:
        from rdkit import Chem
    except ImportError as error:
        raise InputError("reading SMILES needs RDKit: pip install 'sargnn[chem]'") from error
    return Chem


def _guessed_labels(table: CsvTable, known: set[int | None]) -> list[int]:
    """The only column beside those ``known`` whose values repeat: each comes twice or more, on average. Failing that,
    all columns where they hold nothing but 0, 1 and gaps, or the only column where it holds numbers."""
    columns = [i for i, name in enumerate(table.header) if name and i not in known]
    distinct: dict[int, set[str]] = {column: set() for column in columns}
    count = 0
    for _, row in _first_look(table):
        count += 1
        for column in columns:
            distinct[column].add(row[column])
    repeating = [column for column in columns if len(distinct[column]) <= count // 2]
    if len(repeating) == 1:
        return repeating
    values = [{value.strip() for value in distinct[column] if is_given(value)} for column in columns]
    if len(columns) > 1 and all(some <= {"0", "1", "0.0", "1.0"} for some in values) and any(values):
        return columns
    return columns if len(columns) == 1 and values[0] and all(map(NUMBER.fullmatch, values[0])) else []


def _first_look(table: CsvTable) -> Iterator[tuple[int, list[str]]]:
    """The rows that fit the header, with their problems kept back: the second look tells them."""
    return table.again().rows()


def _fitted(row: list[str], width: int) -> list[str]:
    """A row with as many cells as the header: of too many, the last are one."""
    return row if len(row) == width else [*row[: width - 1], ",".join(row[width - 1 :]), *[""] * width][:width]


class _Molecules:
    """Reads the rows of a table, and remembers which of them are molecules."""

    def __init__(self, table: CsvTable, roles: Roles, problems: Problems) -> None:
        self.table, self.roles, self.problems = table, roles, problems
        self.smiles: list[str] = []
        """Of the molecules that could be read."""
        self.had_hydrogens = 0
        """In how many molecules hydrogens were atoms."""
        self._graph: list[int] = []
        self._cells: list[list[str]] = []
        self._reasons: dict[int, str] = {}

    def origin(self) -> Origin:
        """What came of each row."""
        names = [name or f"column {i}" for i, name in enumerate(self.table.header, 1)]
        columns = dict(zip(names, zip(*self._cells, strict=True), strict=False))
        rows = SourceRows(columns, np.array(self._graph), self._reasons)
        return Origin(self.roles, rows)

    def records(self, labelled: bool | None) -> Iterator[Record]:
        """The molecules; unless none is to be ``labelled``, those without a label are left out if others have one."""
        chem, table = load_rdkit(), self.table
        place = {name: i for i, name in enumerate(table.header)}
        labels = [place[name] for _, name in self.roles.names("labels")]
        wanted = [*self.roles.names("labels", "id", "split", "weight", "group")]
        smiles = place[self.roles.smiles or ""]
        partly = labelled is not False and any(is_given(row[i]) for _, row in _first_look(table) for i in labels)
        width = len(table.header)
        for line, row in table.all_rows():
            where = {"file": str(table.path), "line": line}
            self._cells.append(_fitted(row, width))
            self._graph.append(-1)
            if len(row) != width:
                self._leave_out(f"{len(row)} cells", f"{width} as in the header", **where)
                continue
            text = row[smiles].strip()
            molecule, reason = _parse(chem, text)
            where["field"] = table.header[smiles]
            if molecule is None:
                self._leave_out(f"{shown(text, 80)} ({reason})", "a molecule in SMILES", **where)
            elif partly and not any(is_given(row[label]) for label in labels):
                some = ", ".join(shown(table.header[label]) for label in labels[:3]) + (", ..." if labels[3:] else "")
                self._leave_out(f"no {'class' if len(labels) == 1 else 'value'} in {some}", "one", **where)
            else:
                self._graph[-1] = len(self.smiles)
                self.smiles.append(text)
                self.had_hydrogens += isinstance(text, ReadMolecule) and text.had_hydrogens
                attributes = {name: row[place[name]] for _, name in wanted}
                yield replace(_record(molecule, text), attributes=attributes, file=str(table.path), line=line)

    def _leave_out(self, got: str, expected: str, **where: Any) -> None:
        self._reasons[len(self._graph) - 1] = f"got {got}, expected {expected}"
        self.problems.leave_out(got, expected, **where)


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


class ReadMolecule(str):
    """The SMILES of a molecule that RDKit has read already, with its atoms in an order of their own."""

    molecule: Any
    """None where it is not valid."""
    reason: str
    """Why it is not."""
    had_hydrogens = False
    """Whether some of its hydrogens were atoms; they are counted at their neighbours, as they are in SMILES."""

    @classmethod
    def unreadable(cls, reason: str, text: str = "") -> ReadMolecule:
        made = cls(text)
        made.molecule, made.reason = None, reason
        return made

    @classmethod
    def of(cls, molecule: Any) -> ReadMolecule:
        chem = load_rdkit()
        with chem.rdBase.BlockLogs():
            read, reason = chem.Mol(molecule), ""
            if any(atom.HasQuery() for atom in read.GetAtoms()):
                reason = "a pattern that several molecules match"
            elif chem.SanitizeMol(read, catchErrors=True) != chem.SanitizeFlags.SANITIZE_NONE:
                reason = "not a valid molecule"
            else:
                read = chem.RemoveHs(read)
                chem.AssignStereochemistry(read, cleanIt=True, force=True)
            if reason:
                return cls.unreadable(reason, chem.MolToSmiles(molecule))
            text = cls(chem.MolToSmiles(read))
        text.molecule, text.reason = read, ""
        text.had_hydrogens = read.GetNumAtoms() < molecule.GetNumAtoms()
        return text

    def strip(self, chars: str | None = None) -> ReadMolecule:
        return self


def _parse(chem: Any, text: str) -> tuple[Any, str]:
    """The molecule, or None and why not."""
    if isinstance(text, ReadMolecule):
        molecule, reason = text.molecule, text.reason
    else:
        molecule, reason = _parse_text(chem, text)
    if molecule is not None and not molecule.GetNumAtoms():
        return None, "no atoms"
    if molecule is not None and any(int(atom.GetChiralTag()) for atom in molecule.GetAtoms()):
        from rdkit.Chem import rdCIPLabeler

        with suppress(RuntimeError):  # it gives up on molecules that would take minutes
            rdCIPLabeler.AssignCIPLabels(molecule)
    return molecule, reason


def _parse_text(chem: Any, text: str) -> tuple[Any, str]:
    if problem := over("smiles", len(text), "characters of SMILES"):
        return None, problem
    _, *more = text.split(maxsplit=1) or [""]
    if more and not more[0].startswith("|"):  # RDKit takes it for a name, and "I don't know" for iodine
        return None, "text after the SMILES"
    with chem.rdBase.BlockLogs(), suppress(RuntimeError):  # of an element that there is not, [#999]
        if (molecule := chem.MolFromSmiles(text)) is not None:
            return molecule, ""
        raw = chem.MolFromSmiles(text, sanitize=False)
        if raw is not None and (found := chem.DetectChemistryProblems(raw)):
            return None, found[0].Message()
    return None, "not SMILES"


def _atom(atom: Any) -> dict[str, Any]:
    symbol, hybridization = atom.GetSymbol(), str(atom.GetHybridization())
    return {
        "node_name": symbol,
        "label": symbol,
        "charge": atom.GetFormalCharge(),
        "cip": HANDEDNESS.get(atom.GetProp(CIP), 0) if atom.HasProp(CIP) else 0,
        "degree": atom.GetDegree(),
        "hydrogens": atom.GetTotalNumHs(),
        "ring": atom.IsInRing(),
        "aromatic": atom.GetIsAromatic(),
        **{f"hybridization_{kind}": hybridization == kind for kind in HYBRIDIZATIONS},
    }


def _bond(bond: Any) -> dict[str, Any]:
    return {
        "label": str(bond.GetBondType()).lower(),
        "conjugated": bond.GetIsConjugated(),
        "ring": bond.IsInRing(),
        "stereo": STEREO.get(str(bond.GetStereo()), 0),
    }
