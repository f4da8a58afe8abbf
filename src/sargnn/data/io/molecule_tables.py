"""Molecules that are no CSV file, as the table that such a file would be: lists of SMILES, RDKit molecules, data frames
of pandas, and ``.smi``, SDF and Parquet files. So all of them are read by the rules of
:mod:`sargnn.data.io.molecules`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sargnn.data.io.kinds import is_rdkit
from sargnn.data.io.molecules import SMILES_NAMES, ReadMolecule, load_rdkit
from sargnn.data.io.table_files import ROWS, CsvTable, ParquetTable, refuse_wide, repeated
from sargnn.data.problems import Problems, refused, shown
from sargnn.limits import over
from sargnn.reading import not_utf8, read_text

__all__ = ["MemoryTable", "frame_table", "list_table", "parquet_table", "sdf_table", "smi_table"]

FIELD = re.compile(r">.*?<(.+?)>")
"""The line above the value of a data field."""


class MemoryTable(CsvTable):
    """Rows at hand; ``name`` is what messages call the table."""

    def __init__(self, name: Path, header: Sequence[str], rows: Sequence[Sequence[str]], first_line: int = 1) -> None:
        self.path, self.header = name, list(header)
        refuse_wide(self)
        if again := repeated(self.header):
            raise refused(f"got two columns {shown(again[0])}, expected every name once", name)
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
    """The rows of a data frame; its index is a column where it has a name, and what is missing is an empty cell."""
    if named := [name for name in frame.index.names if name is not None and name not in frame.columns]:
        frame = frame.reset_index(level=named)
    known = frame.astype(object).where(frame.notna(), None)
    columns = [list(map(_cell, known.iloc[:, i].tolist())) for i in range(frame.shape[1])]
    return MemoryTable(Path("frame"), [str(name).strip() for name in frame.columns], list(zip(*columns, strict=True)))


def smi_table(path: Path) -> MemoryTable:
    """A file of lines ``SMILES name``; a first line that says so is a header."""
    lines = [line.split(maxsplit=1) for line in _text_of(path).splitlines()]
    header = bool(lines and lines[0] and lines[0][0].lower() in SMILES_NAMES)
    rows = [[*line, "", ""][:2] for line in lines[header:]]
    return MemoryTable(path, (SMILES_NAMES[0], "name"), rows, 1 + header)


def parquet_table(path: Path) -> MemoryTable:
    """The rows of a Parquet file."""
    table = ParquetTable(path, Problems())
    rows = [list(map(_cell, row)) for chunk in table.chunks() for row in zip(*chunk.columns, strict=True)]
    return MemoryTable(path, table.header, rows)


def sdf_table(path: Path) -> MemoryTable:
    """The molecules of an SDF file with their fields as columns, also of those that RDKit cannot read. A field that is
    called as the molecule or its title is becomes ``field NAME``."""
    load_rdkit()
    rows, header = [], [SMILES_NAMES[0], "name"]
    known = set(header)
    for record in _records(_text_of(path)):
        title, fields = _fields(record)
        own = {f"field {key}" if key in header[:2] else key: value for key, value in fields.items()}
        rows.append({header[0]: _of_record(record), "name": title, **own})
        header += [key for key in own if key not in known]
        known |= own.keys()
        if problem := over("columns", len(header), "columns"):
            raise refused(problem, path)
    return MemoryTable(path, header, [[row.get(key, "") for key in header] for row in rows])


def _records(text: str) -> Iterator[str]:
    """The records between lines of ``$$$$``, so that a damaged one costs no other."""
    return (record for record in re.split(r"^\$\$\$\$.*\n?", text, flags=re.MULTILINE) if record.strip())


def _of_record(record: str) -> ReadMolecule:
    """The molecule; where RDKit cannot read it, what is wrong with it."""
    chem = load_rdkit()
    if problem := over("smiles", record.count("\n"), "lines in a record"):
        return ReadMolecule.unreadable(problem)
    with chem.rdBase.BlockLogs():
        read = chem.MolFromMolBlock(record) or chem.MolFromMolBlock(record, sanitize=False)
    return ReadMolecule.unreadable("no molecule") if read is None else ReadMolecule.of(read)


def _fields(record: str) -> tuple[str, dict[str, str]]:
    r"""The title and the data fields of a record of an SDF file, whatever its molecule is like.

    >>> _fields("ethanol\n\n...\nM  END\n> <id> (1)\nA-1\n\n> <note>\none\ntwo\n\n")
    ('ethanol', {'id': 'A-1', 'note': 'one\ntwo'})
    """
    lines = record.splitlines()
    fields: dict[str, str] = {}
    for number, line in enumerate(lines):
        if found := FIELD.match(line):
            end = next((i for i in range(number + 1, len(lines)) if not lines[i].strip()), len(lines))
            fields[found[1].strip()] = "\n".join(lines[number + 1 : end])
    return lines[0].strip() if lines else "", fields


def _text_of(path: Path) -> str:
    try:
        return read_text(path)
    except OSError as error:
        raise refused(f"cannot read ({error.strerror})", path) from error
    except UnicodeDecodeError as error:
        got, expected = not_utf8(error)
        raise refused(f"got {got}, expected {expected}", path) from error


def _cell(value: Any) -> str:
    """A value as a CSV file would have it."""
    if is_rdkit(value):
        return ReadMolecule.of(value)
    return "" if value is None else str(value)
