"""How much of an input is read: every limit has a name, and each can be raised.

A file of a few kilobytes can ask for all the memory of a machine. What goes beyond a limit is refused in one line that
names it. Whoever trusts the input raises it: ``SARGNN_LIMITS=columns=50000,unpacked=8000000000``.
"""

from __future__ import annotations

import os

from sargnn.errors import InputError

__all__ = ["LIMITS", "limit_of", "over"]

LIMITS = {
    "file": 1 << 30,
    "json": 1 << 28,
    "line": 1 << 25,
    "unpacked": 1 << 30,
    "ratio": 200,
    "members": 100_000,
    "columns": 10_000,
    "classes": 1_000,
    "smiles": 5_000,
    "inputs": 10_000,
    "parameters": 250_000_000,
    "tensors": 10_000,
}
"""By name, what is counted:

============== ====================================================================================
``file``       bytes of a file that is read at once
``json``       bytes of a JSON file, or of one line of JSON lines
``line``       characters of a line of a table
``unpacked``   bytes of an archive when unpacked
``ratio``      how many times as large as its archive that is; also of a Parquet file
``members``    files in a zip
``columns``    columns of a table
``classes``    classes of a set to learn from
``smiles``     characters of one SMILES, lines of one record of an SDF file
``inputs``     columns of one block of a model's inputs
``parameters`` numbers of a model
``tensors``    tensors of a model
============== ====================================================================================
"""

VARIABLE = "SARGNN_LIMITS"


def limit_of(name: str) -> int:
    """The limit of that name, as the environment has it or else as it is.

    >>> limit_of("columns")
    10000
    """
    given = os.environ.get(VARIABLE)
    return {**LIMITS, **_read(given)}[name] if given else LIMITS[name]


def over(name: str, got: int | float, what: str) -> str:
    """What to say of so many ``what``, if they are more than the limit of that ``name``; else nothing.

    >>> over("columns", 10, "columns")
    ''
    >>> over("columns", 50_000, "columns")
    'got 50000 columns, expected at most 10000 (SARGNN_LIMITS=columns=50000 allows them)'
    """
    most = limit_of(name)
    if got <= most:
        return ""
    return f"got {got} {what}, expected at most {most} ({VARIABLE}={name}={got} allows them)"


def _read(text: str) -> dict[str, int]:
    found = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if name not in LIMITS or not (value.isascii() and value.isdecimal()) or len(value) > 18:
            expected = f"NAME=NUMBER,... with names {', '.join(LIMITS)}"
            raise InputError(f"{VARIABLE}: got {part.strip()[:80]!r}, expected {expected}")
        found[name] = int(value)
    return found
