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
from dataclasses import replace
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import url2pathname

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.files import write_file
from sargnn.limits import limit_of, over
from sargnn.reading import read_bytes

__all__ = ["archive_path", "data_folder", "fetch", "find_archive", "keep", "parsed_folder"]

OFFICIAL = "https://www.chrsmrrs.com/graphkerneldatasets"
"""Where PyTorch Geometric downloads the TU sets from."""

READER = "r3"
"""Change it whenever the same zip would be read to another :class:`GraphSet`."""

PATIENCE = 60.0
"""Seconds without an answer after which a download fails."""


def data_folder() -> Path:
    """The cache: ``SARGNN_DATA``, or ``sargnn`` in the user's cache directory."""
    if folder := os.environ.get("SARGNN_DATA"):
        return Path(folder).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sargnn"


def archive_path(name: str) -> Path:
    """Where the zip of a set is kept."""
    return data_folder() / f"{name}.zip"


def find_archive(name: str) -> tuple[bytes, str]:
    """The zip of a set and where it came from: the cache, else the mirror or the official address."""
    with suppress(OSError):
        return archive_path(name).read_bytes(), str(archive_path(name))
    hint = f"set SARGNN_MIRROR to a folder or base URL that holds {name}.zip"
    return fetch(_address(name), "cannot fetch", hint), _address(name)


def parsed_folder(name: str, content: bytes) -> Path:
    """Where the graphs are kept that were read from the zip ``content``."""
    return data_folder() / "parsed" / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}-{READER}"


def keep(graphs: GraphSet, content: bytes, origin: str) -> GraphSet:
    """Put a set and the zip it was read from in the cache; if that cannot be written, the set gets a note."""
    archive, parsed = archive_path(graphs.name), parsed_folder(graphs.name, content)
    try:
        if origin != str(archive):
            write_file(archive, content)
        graphs.save(parsed)
    except InputError as error:
        if not parsed.exists():  # else another process was faster
            return replace(graphs, notes=(*graphs.notes, f"not cached: {error}"))
    return graphs


def _address(name: str) -> str:
    base = os.environ.get("SARGNN_MIRROR") or OFFICIAL
    if "://" not in base:
        base = Path(base).expanduser().resolve().as_uri()
    return f"{base.rstrip('/')}/{name}.zip"


def fetch(url: str, failure: str, hint: str) -> bytes:
    """What ``url`` holds; an error says ``failure``, why, and the ``hint``."""
    try:
        if (parts := urlsplit(url)).scheme == "file":
            return read_bytes(url2pathname(parts.path))
        with urllib.request.urlopen(url, timeout=PATIENCE) as response:
            return _body(response)
    except InputError as error:
        raise InputError(f"{url}: {failure} ({error}); {hint}") from error
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()  # it is an answer too, with a socket of its own
        raise InputError(f"{url}: {failure} ({error}); {hint}") from error


def _body(response: Any) -> bytes:
    """What a server sends, unless it is more than a file may have, or breaks off."""
    content = bytes(response.read(limit_of("file") + 1))
    if problem := over("file", len(content), "bytes or more"):
        raise InputError(problem)
    said = response.headers.get("Content-Length") or ""
    if said.isdecimal() and len(content) < int(said):
        raise IncompleteRead(content, int(said) - len(content))
    return content
