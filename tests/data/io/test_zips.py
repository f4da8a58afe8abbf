"""What a zip holds is told before it is read, and counted while it is."""

from __future__ import annotations

import io
import warnings
import zipfile
from pathlib import PurePosixPath

import pytest

from sargnn.data.io.zips import Unpacking, members_of
from sargnn.errors import InputError


def zipped(*names: str) -> zipfile.ZipFile:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns of names that come twice
        for name in names:
            archive.writestr(name, b"12")
    return zipfile.ZipFile(content)


def test_members_by_their_paths_folders_left_out() -> None:
    assert list(members_of(zipped("a/", "a/b.txt", "c\\d.txt"), "x.zip")) == [
        PurePosixPath("a/b.txt"),
        PurePosixPath("c/d.txt"),
    ]


@pytest.mark.parametrize("name", ["../out", "a/../../out", "/etc/passwd", "C:\\out", "a\\..\\..\\out"])
def test_a_path_that_leads_outside_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"x\.zip: got member .* expected paths inside the zip only"):
        members_of(zipped("fine", name), "x.zip")


@pytest.mark.parametrize("names", [("a", "a"), ("a/b", "a\\b"), ("a/b", "a//b"), ("b", "./b")])
def test_a_member_that_comes_twice_is_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="twice, expected every file once"):
        members_of(zipped(*names), "x.zip")


def test_too_many_members_and_too_many_bytes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_LIMITS", "members=2,unpacked=5")
    members_of(zipped("a", "b"), "x.zip")
    with pytest.raises(InputError, match="got 3 files, expected at most 2"):
        members_of(zipped("a", "b", "c"), "x.zip")
    monkeypatch.setenv("SARGNN_LIMITS", "unpacked=5")
    with pytest.raises(InputError, match="got 6 bytes when unpacked, expected at most 5"):
        members_of(zipped("a", "b", "c"), "x.zip")


def test_what_comes_out_is_counted_whatever_was_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_LIMITS", "unpacked=3000000")
    with pytest.raises(InputError, match=r"x\.gz: got .* bytes or more when unpacked, expected at most 3000000"):
        for _ in Unpacking("x.gz", 10**9).blocks(lambda size: bytes(size)):
            pass


def test_a_large_file_may_be_so_many_times_its_archive() -> None:
    with pytest.raises(InputError, match="times as many bytes when unpacked, expected at most 200"):
        for _ in Unpacking("x.gz", 1000).blocks(lambda size: bytes(size)):
            pass
