"""Molecules that are no CSV file, as the table that such a file would be: lists of SMILES, RDKit molecules, data frames
of pandas, and ``.smi`` and SDF files. So all of them are read by the rules of :mod:`sargnn.data.io.molecules`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sargnn.data.io.kinds import is_rdkit
from sargnn.data.io.molecules import SMILES_NAMES, ReadMolecule, load_rdkit
from sargnn.data.io.table_files import ROWS, CsvTable
from sargnn.data.problems import Problems, refused

__all__ = ["MemoryTable", "frame_table", "list_table", "sdf_table", "smi_table"]


class MemoryTable(CsvTable):
    """Rows at hand; ``name`` is what messages call the table."""

    def __init__(self, name: Path, header: Sequence[str], rows: Sequence[Sequence[str]], first_line: int = 1) -> None:
        self.path, self.header = name, list(header)
        self.problems = Problems()
        self._rows, self._first_line = rows, first_line

    def again(self) -> CsvTable:
        return self

    def _read(self, after_header: bool = True) -> Iterator[tuple[list[int], list[list[str]]]]:
        for start in range(0, len(self._rows), ROWS):
            rows = [list(row) for row in self._rows[start : start + ROWS]]
            yield list(range(self._first_line + start, self._first_line + start + len(rows))), rows


def list_table(items: Sequence[Any]) -> MemoryTable:
    """SMILES or RDKit molecules, one per row.

    >>> list(list_table(["CO", "CC"]).rows())
    [(1, ['CO']), (2, ['CC'])]
    """
    return MemoryTable(Path("molecules"), SMILES_NAMES[:1], [[_cell(item)] for item in items])


def frame_table(frame: Any) -> MemoryTable:
    """The rows of a data frame; its index is not read, and what is missing is an empty cell."""
    known = frame.astype(object).where(frame.notna(), None)
    columns = [list(map(_cell, known.iloc[:, i].tolist())) for i in range(frame.shape[1])]
    return MemoryTable(Path("frame"), [str(name).strip() for name in frame.columns], list(zip(*columns, strict=True)))


def smi_table(path: Path) -> MemoryTable:
    """A file of lines ``SMILES name``; a first line that says so is a header."""
    lines = [line.split(maxsplit=1) for line in _text_of(path).splitlines()]
    header = bool(lines and lines[0] and lines[0][0].lower() in SMILES_NAMES)
    rows = [[*line, "", ""][:2] for line in lines[header:]]
    return MemoryTable(path, (SMILES_NAMES[0], "name"), rows, 1 + header)


def sdf_table(path: Path) -> MemoryTable:
    """The molecules of an SDF file with their fields as columns; one that RDKit cannot read has an empty cell."""
    chem = load_rdkit()
    if not path.exists():
        raise refused("cannot read (no such file)", path)
    rows, header = [], [SMILES_NAMES[0], "name"]
    with chem.rdBase.BlockLogs():
        for molecule in chem.SDMolSupplier(str(path)):
            fields = {} if molecule is None else molecule.GetPropsAsDict(autoConvertStrings=False)
            name = molecule.GetProp("_Name") if molecule is not None and molecule.HasProp("_Name") else ""
            rows.append({header[0]: _cell(molecule), "name": name, **{key: _cell(v) for key, v in fields.items()}})
            header += [key for key in fields if key not in header]
    return MemoryTable(path, header, [[row.get(key, "") for key in header] for row in rows])


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise refused(f"cannot read ({error.strerror})", path) from error
    except UnicodeDecodeError as error:
        raise refused("got bytes that are not UTF-8 text, expected UTF-8", path) from error


def _cell(value: Any) -> str:
    """A value as a CSV file would have it."""
    if is_rdkit(value):
        return ReadMolecule.of(value)
    return "" if value is None else str(value)
