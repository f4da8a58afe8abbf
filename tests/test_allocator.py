"""The allocator of the C library is told to keep freed memory, where it is glibc's."""

from __future__ import annotations

import ctypes
import platform
from types import SimpleNamespace

import pytest

from sargnn.allocator import LARGEST_REUSED, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, MOST_KEPT, keep_freed_memory


@pytest.mark.parametrize(
    ("libc", "expected"),
    [("glibc", {M_MMAP_THRESHOLD: LARGEST_REUSED, M_TRIM_THRESHOLD: MOST_KEPT}), ("musl", {}), ("", {})],
)
def test_only_glibc_is_told(libc: str, expected: dict[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[int, int] = {}
    monkeypatch.setattr(platform, "libc_ver", lambda: (libc, "2.31"))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(mallopt=options.__setitem__))
    keep_freed_memory()
    assert options == expected
