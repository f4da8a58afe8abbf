"""Sets that are known by name: fetched once, parsed once, then opened from a cache folder.

The cache holds ``NAME.zip`` as it was fetched and ``parsed/NAME-CHECKSUM-READER``, the graphs that this version of the
reader found in exactly that zip. So nothing stale is ever opened, and no lock is needed: two processes that fill the
cache at the same time write the same thing, each in one rename.
"""

from __future__ import annotations

import hashlib
import os
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.files import write_file

__all__ = ["Archive", "data_folder", "fetch"]

OFFICIAL = "https://www.chrsmrrs.com/graphkerneldatasets"
"""Where PyTorch Geometric downloads the TU sets from."""

READER = "r2"
"""Change it whenever the same zip would be read to another :class:`GraphSet`."""

PATIENCE = 60.0
"""Seconds without an answer after which a download fails."""


def data_folder() -> Path:
    """The cache: ``SARGNN_DATA``, or ``sargnn`` in the user's cache directory."""
    if folder := os.environ.get("SARGNN_DATA"):
        return Path(folder).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sargnn"


@dataclass(frozen=True)
class Archive:
    """The zip of a set known by name."""

    name: str
    content: bytes
    origin: str
    """Where it came from: the file in the cache, or an address."""

    @classmethod
    def find(cls, name: str) -> Archive:
        """From the cache, else fetched."""
        kept = data_folder() / f"{name}.zip"
        try:
            return cls(name, kept.read_bytes(), str(kept))
        except OSError:
            url = _address(name)
            hint = f"set SARGNN_MIRROR to a folder or base URL that holds {name}.zip"
            return cls(name, fetch(url, "cannot fetch", hint), url)

    @property
    def kept(self) -> Path:
        return data_folder() / f"{self.name}.zip"

    @property
    def parsed(self) -> Path:
        return data_folder() / "parsed" / f"{self.name}-{hashlib.sha256(self.content).hexdigest()[:16]}-{READER}"

    def open(self) -> GraphSet | None:
        """The graphs as parsed before, if they were and are intact."""
        with suppress(InputError):
            return GraphSet.open(self.parsed)
        return None

    def keep(self, graphs: GraphSet) -> GraphSet:
        """``graphs`` as parsed from the zip, with a note if the cache cannot be written."""
        try:
            if self.origin != str(self.kept):
                write_file(self.kept, self.content)
            graphs.save(self.parsed)
        except InputError as error:
            if not self.parsed.exists():  # else another process was faster
                return replace(graphs, notes=(*graphs.notes, f"not cached: {error}"))
        return graphs

    def discard(self) -> None:
        """Take a zip that cannot be read out of the cache."""
        with suppress(OSError):
            self.kept.unlink(missing_ok=True)


def _address(name: str) -> str:
    base = os.environ.get("SARGNN_MIRROR") or OFFICIAL
    if "://" not in base:
        base = Path(base).expanduser().resolve().as_uri()
    return f"{base.rstrip('/')}/{name}.zip"


def fetch(url: str, failure: str, hint: str) -> bytes:
    """What ``url`` holds; an error says ``failure``, why, and the ``hint``."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as response:
            return bytes(response.read())  # in one go, because only then a connection that breaks off is an error
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()  # it is an answer too, with a socket of its own
        raise InputError(f"{url}: {failure} ({error}); {hint}") from error
