"""Results by job id in one SQLite file: a job is done once, whatever dies.

A :class:`Job` says all there is to compute; its id is a hash of its JSON. A *row* is that JSON with the results. Rows
are written one by one, each on disk before :meth:`Store.finish` returns. Several runs may share a store: each *claims*
a job before computing it and shows by a heartbeat that it lives; the claims of a dead run are taken over.

The file uses SQLite's write-ahead log, so it belongs on a local disk: runs on several machines share one through a
cluster (see :mod:`sargnn.studies.engine`), not through a network folder.
"""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import threading
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from sargnn.errors import InputError
from sargnn.files import write_file
from sargnn.processes import host, is_gone
from sargnn.reading import read_bytes, require_regular

__all__ = ["Job", "Record", "Row", "Store", "job_id", "read_rows", "to_json"]

Row = dict[str, Any]
"""A table of JSON values."""

FORMAT = "sargnn.store/1"
STALE_SECONDS = 60.0
"""A run without a heartbeat for this long is dead, and its claims are free."""
BUSY_SECONDS = 60.0
"""How long to wait for another run that is writing."""

_SCHEMA = (
    "CREATE TABLE sargnn_store (format TEXT NOT NULL)",
    "CREATE TABLE rows (id TEXT PRIMARY KEY, job TEXT NOT NULL, row TEXT NOT NULL, finished TEXT NOT NULL)",
    "CREATE TABLE claims (id TEXT PRIMARY KEY, owner TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL,"
    " heartbeat REAL NOT NULL)",
)


class Job(ABC):
    """What a store and an engine must know of a job; the kinds of jobs are frozen dataclasses."""

    @abstractmethod
    def to_json(self) -> Row:
        """All there is to compute. The id is a hash of it, so a new field renames every job."""

    @cached_property
    def id(self) -> str:
        return job_id(self.to_json())


AnyJob = TypeVar("AnyJob", bound=Job)


class Record(NamedTuple):
    """A row as :meth:`Store.export` writes it."""

    id: str
    job: Row
    row: Row
    """What the job does not say."""
    finished: str
    """The time, in ISO form."""


def job_id(job: Row) -> str:
    """Sixteen hex digits that name a job by its JSON, whatever the order and the number types of its values.

    >>> job_id({"fold": 1, "rate": 0.001})
    '2fed69719fb6e34f'
    >>> job_id({"rate": 1e-3, "fold": 1.0})
    '2fed69719fb6e34f'
    """
    return sha256(to_json(_plain(job)).encode()).hexdigest()[:16]


def to_json(value: Any) -> str:
    """The one text of a JSON value: keys sorted, no spaces; not-a-number and infinity are refused.

    >>> to_json({"b": [1.0, None], "a": "x"})
    '{"a":"x","b":[1.0,null]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


class Store(AbstractContextManager["Store"]):
    """The rows of finished jobs and the claims of running ones.

    >>> from dataclasses import asdict, dataclass
    >>> from tempfile import TemporaryDirectory
    >>> @dataclass(frozen=True)
    ... class FoldJob(Job):
    ...     fold: int
    ...     def to_json(self): return asdict(self)
    >>> with TemporaryDirectory() as folder, Store(Path(folder) / "results.sqlite") as store:
    ...     store.finish(FoldJob(0), {"accuracy": 0.75})
    ...     store.claim([FoldJob(0), FoldJob(1)]), store.row(FoldJob(0))
    ([FoldJob(fold=1)], {'fold': 0, 'accuracy': 0.75, 'id': '869c72eb694ee308'})
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._owner = uuid4().hex
        self._closing = threading.Event()
        self._heartbeat: threading.Thread | None = None
        self._db = _open(self.path)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up all claims and let go of the file."""
        self._closing.set()
        if self._heartbeat is not None:
            self._heartbeat.join()
        # What cannot be released now, say on a full disk, goes stale.
        with suppress(InputError), closing(self._db):
            self.release()

    def row(self, job: Job) -> Row | None:
        """The row of a job, if it is finished."""
        with _one_line(self.path):
            found = self._db.execute("SELECT id, job, row, finished FROM rows WHERE id = ?", (job.id,)).fetchone()
        return None if found is None else _merge(_record(*found))

    def rows(self, **match: Any) -> list[Row]:
        """All rows, or those whose fields have the values of ``match``, in the order of their ids."""
        return [_merge(record) for record in self._records(match)]

    def missing(self, jobs: Iterable[AnyJob]) -> list[AnyJob]:
        """Those of ``jobs`` that have no row yet."""
        with _one_line(self.path):
            return [job for job in jobs if not self._is_finished(job.id)]

    def claim(self, jobs: Iterable[AnyJob]) -> list[AnyJob]:
        """Those of ``jobs`` that are now this store's to compute: not finished, and not claimed by a living run."""
        claimed = []
        with self._transaction():
            for job in jobs:
                if self._is_finished(job.id) or self._is_claimed(job.id):
                    continue
                claim = (job.id, self._owner, host(), os.getpid(), time.time())
                self._db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?)", claim)
                claimed.append(job)
        if claimed and self._heartbeat is None:
            self._heartbeat = threading.Thread(target=self._beat, name="store heartbeat", daemon=True)
            self._heartbeat.start()
        return claimed

    def finish(self, job: Job, row: Row) -> None:
        """Write the row of ``job``: ``row`` needs only the results. If there is one already, the first stays."""
        with self._transaction():
            self._insert(Record(job.id, job.to_json(), row, datetime.now(UTC).isoformat(timespec="seconds")))
            self._db.execute("DELETE FROM claims WHERE id = ?", (job.id,))

    def release(self, jobs: Iterable[Job] | None = None) -> None:
        """Give up this store's claims of ``jobs``, or all, so that another run can have them."""
        with self._transaction():
            if jobs is None:
                self._db.execute("DELETE FROM claims WHERE owner = ?", (self._owner,))
            else:
                keys = [(self._owner, job.id) for job in jobs]
                self._db.executemany("DELETE FROM claims WHERE owner = ? AND id = ?", keys)

    def export(self, path: Path | str, **match: Any) -> None:
        """Write the rows, or those that match, as JSON lines: id, job, row (what the job does not say), finished.

        A name that ends in ``.gz`` is compressed; equal rows give equal bytes.
        """
        text = "".join(to_json(record._asdict()) + "\n" for record in self._records(match)).encode()
        write_file(Path(path), gzip.compress(text, mtime=0) if Path(path).suffix == ".gz" else text)

    def import_rows(self, path: Path | str) -> None:
        """Add the rows that :meth:`export` wrote, all or, if a line is bad, none; rows already here stay."""
        records = list(read_rows(Path(path)))
        with self._transaction():
            for record in records:
                self._insert(record)

    def _records(self, match: Row) -> Iterator[Record]:
        with _one_line(self.path):
            found = self._db.execute("SELECT id, job, row, finished FROM rows ORDER BY id").fetchall()
        for record in (_record(*values) for values in found):
            row = _merge(record)
            if all(name in row and row[name] == value for name, value in match.items()):
                yield record

    def _insert(self, record: Record) -> None:
        id, job, row, finished = record
        given = {**job, "id": id}
        for name in given.keys() & row.keys():
            if _plain(given[name]) != _plain(row[name]):
                raise ValueError(f"got {name} = {row[name]!r} in the row of job {id}, expected {given[name]!r}")
        result = {name: value for name, value in row.items() if name not in given}
        self._db.execute(
            "INSERT OR IGNORE INTO rows VALUES (?, ?, ?, ?)", (id, to_json(_plain(job)), to_json(result), finished)
        )

    def _is_finished(self, id: str) -> bool:
        return self._db.execute("SELECT 1 FROM rows WHERE id = ?", (id,)).fetchone() is not None

    def _is_claimed(self, id: str) -> bool:
        claims = self._db.execute("SELECT owner, host, pid, heartbeat FROM claims WHERE id = ?", (id,))
        return any(
            owner == self._owner or (time.time() - heartbeat < STALE_SECONDS and not is_gone(at, pid))
            for owner, at, pid, heartbeat in claims
        )

    def _beat(self) -> None:
        """Show that this run lives, until the store is closed."""
        with suppress(sqlite3.Error), closing(_connect(self.path)) as db:
            while not self._closing.wait(STALE_SECONDS / 6):
                # A beat that cannot be written (disk full, store busy) is followed by others.
                with suppress(sqlite3.OperationalError):
                    db.execute("UPDATE claims SET heartbeat = ? WHERE owner = ?", (time.time(), self._owner))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing; no other run writes meanwhile."""
        with _one_line(self.path), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            yield


def _plain(value: Any) -> Any:
    """``value`` with one spelling for equal things: tuples as lists, whole floats as integers."""
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and value - value == 0):
        return value
    raise InputError(f"got {value!r} in a job, expected text, finite numbers, true, false, null, and lists or tables")


def _record(id: str, job: str, row: str, finished: str) -> Record:
    return Record(id, json.loads(job), json.loads(row), finished)


def _merge(record: Record) -> Row:
    return {**record.job, **record.row, "id": record.id}


def read_rows(path: Path) -> Iterator[Record]:
    """What :meth:`Store.export` wrote."""
    try:
        content = read_bytes(path)
        lines = (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines()
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot read ({error})") from error
    for number, line in enumerate(lines, 1):
        try:
            record = Record(**json.loads(line))
            if not (isinstance(record.row, dict) and isinstance(record.finished, str)) or record.id != job_id(
                record.job
            ):
                raise ValueError
        except (ValueError, TypeError) as error:
            expected = "expected a row as Store.export writes it"
            raise InputError(f"{path} line {number}: got {line[:60]!r}, {expected}") from error
        yield record


def _open(path: Path) -> sqlite3.Connection:
    """The store at ``path``, made if there is none. Nothing is written to a file that is something else."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot make its folder ({error.strerror})") from error
    if path.exists() and not path.is_dir():  # a folder is told below
        require_regular(path)
    with _one_line(path), ExitStack() as stack:
        db = stack.enter_context(closing(_connect(path)))
        with db:
            db.execute("BEGIN IMMEDIATE")
            _check_or_make(db, path)
        db.execute("PRAGMA journal_mode = WAL")
        stack.pop_all()  # all is well: it stays open
    return db


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    db.execute("PRAGMA synchronous = FULL")  # a row is on disk before finish() returns: a power cut loses none
    return db


def _check_or_make(db: sqlite3.Connection, path: Path) -> None:
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    if not tables:
        for statement in _SCHEMA:
            db.execute(statement)
        db.execute("INSERT INTO sargnn_store VALUES (?)", (FORMAT,))
    elif "sargnn_store" not in tables:
        raise InputError(f"{path}: got an SQLite file of something else, expected a results store of sargnn")
    (found,) = db.execute("SELECT format FROM sargnn_store").fetchone() or (None,)
    if found != FORMAT:
        hint = "use the version of sargnn that made it, or another file"
        raise InputError(f"{path}: got a store of format {found!r}, expected {FORMAT!r}; {hint}")
    if db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise InputError(f"{path}: {_REASONS[sqlite3.SQLITE_CORRUPT]}")


_CANNOT_WRITE = "cannot open or write, expected a file in a folder that can be written"
_REASONS = {
    sqlite3.SQLITE_NOTADB: "got a file that is not SQLite, expected a results store of sargnn",
    sqlite3.SQLITE_CORRUPT: "got a damaged file, expected a results store; it is left as it is, use another file",
    sqlite3.SQLITE_FULL: "cannot write (the disk is full); free some space and run again, finished rows are intact",
    sqlite3.SQLITE_IOERR: "cannot read or write (the disk failed or is full); finished rows are intact",
    sqlite3.SQLITE_BUSY: f"cannot write, another process has held it for {BUSY_SECONDS:.0f} s",
    sqlite3.SQLITE_CANTOPEN: _CANNOT_WRITE,
    sqlite3.SQLITE_READONLY: _CANNOT_WRITE,
    sqlite3.SQLITE_PERM: _CANNOT_WRITE,
}


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    """What can go wrong with a file as an :class:`InputError`; mistakes of this program stay what they are."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", -1)
        reason = _REASONS.get(code & 0xFF) if code >= 0 else None  # the low byte is the kind, the rest its detail
        if reason is None:
            raise
        raise InputError(f"{path}: {reason}") from error
