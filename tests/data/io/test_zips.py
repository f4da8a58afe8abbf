"""Zips: what leads outside, comes twice or unpacks to too much is refused."""

from __future__ import annotations

import io
import warnings
import zipfile

import pytest

from sargnn.data.io.zips import Unpacking, members_of
from sargnn.errors import InputError


def opened(*names: str) -> zipfile.ZipFile:
    content = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(content, "w") as made:
        warnings.simplefilter("ignore")  # of names that come twice
        for name in names:
            made.writestr(name, "four")
    return zipfile.ZipFile(content)


def test_files_are_known_by_their_paths() -> None:
    found = members_of(opened("a/", "a/x.txt", "b.txt"), "x.zip")
    assert [path.as_posix() for path in found] == ["a/x.txt", "b.txt"]


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "C:\\x", "..\\x"])
def test_paths_that_lead_outside_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"got member .*, expected paths inside the zip only"):
        members_of(opened(name), "x.zip")


@pytest.mark.parametrize("names", [("x", "x"), ("a/x", "./a/x"), ("a/x", "a\\x")])
def test_a_file_that_comes_twice_is_refused(names: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="twice, expected every file once"):
        members_of(opened(*names), "x.zip")


@pytest.mark.parametrize(("limit", "message"), [("members=1", "2 files"), ("unpacked=7", "8 bytes when unpacked")])
def test_limits_are_told_before_anything_is_read(limit: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_LIMITS", limit)
    with pytest.raises(InputError, match=message):
        members_of(opened("a", "b"), "x.zip")


def test_what_comes_out_is_counted_whatever_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="times as many bytes when unpacked"):
        list(Unpacking("x.gz", 1000).blocks(io.BytesIO(bytes(70 << 20)).read))
    monkeypatch.setenv("SARGNN_LIMITS", "unpacked=10")
    with pytest.raises(InputError, match="got 11 bytes or more when unpacked"):
        list(Unpacking("x.gz", 1000).blocks(io.BytesIO(bytes(11)).read))
