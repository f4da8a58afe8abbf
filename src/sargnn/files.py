"""Writing that never leaves half a file: to a temporary name beside the target, flushed to disk, then renamed."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sargnn.errors import InputError
from sargnn.processes import is_dead, own_name

__all__ = [
    "check_table", "check_writable", "is_leftover", "is_part", "write_csv", "write_file", "write_folder", "write_table",
]  # fmt: skip

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that no cell of a table should have; not tab and new line."""
FORMULA = re.compile(r"[=+\-@\t\n＝＋－＠]")
"""How a cell begins that spreadsheets compute."""
NUMBER = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?%?")

TABLES = (".csv", ".parquet", ".jsonl", ".ndjson")
"""How the name of a table may end; without an ending it is CSV."""

UNFINISHED = ".part"
"""How the name of a file still being written ends; one that stays behind is from a process that was killed."""


def write_file(path: Path, content: bytes | str) -> None:
    """Replace ``path`` by ``content`` at once: a reader sees the old file or the new one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_file(Path(folder) / "a.txt", "hello")
    ...     (Path(folder) / "a.txt").read_text()
    'hello'
    """
    # The name of a file need not be UTF-8; what cannot be encoded is spelled out, in JSON by an escape it reads back.
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _refuse_special(path)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=_part())
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(_cannot_write(path, error)) from error
        raise


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table with a header; Python's floats keep all their digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(map(_harmless, (header, *rows)))
    write_file(path, text.getvalue())


def _harmless(row: Iterable[object]) -> list[object]:
    """A row whose texts no spreadsheet takes for formulas, and no terminal for commands: before ``= + - @`` stands an
    apostrophe, unless all of it is a number, and control characters are spelled out.

    >>> _harmless(["=1+1", "-1", "a\x1b", -1])
    ["'=1+1", '-1', 'a\\\\x1b', -1]
    """
    return [_harmless_text(cell) if isinstance(cell, str) else cell for cell in row]


def _harmless_text(text: str) -> str:
    text = CONTROL.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def write_table(path: Path | None, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write a table as Parquet, JSON lines or CSV, by the ending of ``path``; as CSV to standard output without one.

    >>> write_table(None, ["graph", "class"], [[0, "ring"], [None, "path"]])
    graph,class
    0,ring
    ,path
    """
    ending = "" if path is None else path.suffix.lower()
    if path is None:
        csv.writer(sys.stdout, lineterminator="\n").writerows(map(_harmless, (header, *rows)))
    elif ending == ".parquet":
        write_file(path, _parquet(path, header, rows))
    elif ending in (".jsonl", ".ndjson"):
        lines = (json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=False) for row in rows)
        write_file(path, "".join(f"{line}\n" for line in lines))
    else:
        write_csv(path, header, rows)


def _parquet(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(f"{path}: writing Parquet needs pyarrow: pip install 'sargnn[parquet]'") from error
    columns = zip(*rows, strict=True) if rows else [()] * len(header)
    content = io.BytesIO()
    parquet.write_table(pa.table({name: list(column) for name, column in zip(header, columns, strict=True)}), content)
    return content.getvalue()


def _part() -> str:
    """How the name of a file ends that this process is still writing."""
    return f".{own_name()}{UNFINISHED}"


def is_part(path: Path) -> bool:
    """Whether ``path`` is what :func:`write_file` is writing, or left when its process was killed.

    >>> is_part(Path("run/.config.json.x1y2.part")), is_part(Path("run/config.json"))
    (True, False)
    """
    return path.name.startswith(".") and path.suffix == UNFINISHED


def is_leftover(path: Path) -> bool:
    """Whether it is such a part, and its process has ended.

    >>> is_leftover(Path("run/.config.json.x1y2.part")), is_leftover(Path(f"run/.config.json.x1y2{_part()}"))
    (True, False)
    """
    return is_part(path) and is_dead(path.stem.rpartition(".")[2])


@contextmanager
def write_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that becomes ``path`` when the block ends well and vanishes when it does not.

    A folder already at ``path`` is replaced, and comes back if the replacement fails.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
        os.chmod(temporary, 0o777 & ~_umask())
        yield temporary
        old = temporary.with_name(temporary.name + ".old")
        if path.exists():
            os.replace(path, old)
        try:
            os.replace(temporary, path)
        except BaseException:
            if old.exists() and not path.exists():
                os.replace(old, path)
            raise
        finally:
            shutil.rmtree(old, ignore_errors=True)
    except BaseException as error:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            raise InputError(_cannot_write(path, error)) from error
        raise


def check_writable(path: Path) -> None:
    """Refuse now what :func:`write_file` would refuse when the work that fills the file is done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        _refuse_special(path)
    except OSError as error:
        raise InputError(_cannot_write(path, error)) from error


def check_table(path: Path) -> None:
    """The same of :func:`write_table`: other programs go by the ending of a name, and would misread what it holds."""
    if path.suffix and path.suffix.lower() not in TABLES:
        raise InputError(f"{path}: got a name that ends in {path.suffix!r}, expected one of {', '.join(TABLES)}")
    check_writable(path)


def _refuse_special(path: Path) -> None:
    """A file takes the place of what was there, which must be no device: ``/dev/null`` would be gone for all."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(f"{path}: cannot write (it is no regular file)")


def _cannot_write(path: Path, error: OSError) -> str:
    hint = "; free some space and run again, what was saved before is intact" if error.errno == errno.ENOSPC else ""
    # What exists where a folder has to be made is a file.
    reason = os.strerror(errno.ENOTDIR) if error.errno == errno.EEXIST else error.strerror or error
    return f"{path}: cannot write ({reason}){hint}"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
