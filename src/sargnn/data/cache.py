"""Sets that are known by name: fetched once, parsed once, then opened from a cache folder.

The cache holds ``NAME.zip`` as it was fetched and ``parsed/NAME-CHECKSUM-READER``, the graphs that this
version of the reader found in exactly that zip. So nothing stale is ever opened, and no lock is needed: two
processes that fill the cache at the same time write the same thing, each in one rename.
"""

from __future__ import annotations

import hashlib
import os
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.files import write_file

__all__ = ["cached", "data_folder"]

OFFICIAL = "https://www.chrsmrrs.com/graphkerneldatasets"
"""Where PyTorch Geometric downloads the TU sets from."""

READER = "r2"
"""To be changed whenever the same zip would be read to another :class:`GraphSet`."""

PATIENCE = 60.0
"""Seconds without an answer after which a download fails."""


def data_folder() -> Path:
    """The cache: ``SARGNN_DATA``, or ``sargnn`` in the user's cache directory."""
    if folder := os.environ.get("SARGNN_DATA"):
        return Path(folder).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sargnn"


def cached(name: str, parse: Callable[[bytes, str], GraphSet]) -> GraphSet:
    """The set ``name`` from the cache, filled if need be; ``parse`` is given the zip and where it came from.

    A zip that ``parse`` refuses does not stay in the cache. A cache that cannot be written is done without,
    with a note in the set.
    """
    archive = data_folder() / f"{name}.zip"
    try:
        content, origin = archive.read_bytes(), str(archive)
    except OSError:
        origin = _address(name)
        content = _fetch(origin, name)
    parsed = data_folder() / "parsed" / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}-{READER}"
    with suppress(InputError):  # not there yet, or damaged
        return GraphSet.open(parsed)
    try:
        graphs = parse(content, origin)
    except InputError:
        with suppress(OSError):
            archive.unlink(missing_ok=True)
        raise
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


def _fetch(url: str, name: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as response:
            return response.read()  # in one go, because only then a connection that breaks off is an error
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()  # it is an answer too, with a socket of its own
        hint = f"set SARGNN_MIRROR to a folder or base URL that holds {name}.zip"
        raise InputError(f"{url}: cannot fetch ({error}); {hint}") from error
