"""What is opened: regular files, as long as they were, and JSON and numbers that are read in one way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sargnn.errors import InputError
from sargnn.reading import RepeatedName, integer_of, number_of, open_regular, parse_json, read_bytes, read_text


@pytest.mark.skipif(os.name != "posix", reason="there are no such files")
@pytest.mark.parametrize("kind", ["a pipe", "a device"])
def test_what_is_no_regular_file_is_refused_without_waiting(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    os.mkfifo(path) if kind == "a pipe" else path.symlink_to("/dev/zero")
    with pytest.raises(InputError, match=f"x: got {kind}, expected a regular file"):
        open_regular(path)


def test_a_file_that_grows_ends_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one")
    with open_regular(path) as file:
        path.write_bytes(b"one and two")
        assert file.read() == b"one"
        assert file.read() == b""


def test_more_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_text("\ufeffabc", encoding="utf-8")
    assert read_text(path) == "abc"
    monkeypatch.setenv("SARGNN_LIMITS", "file=5")
    with pytest.raises(InputError, match="x: got 6 bytes, expected at most 5"):
        read_bytes(path)


def test_nothing_and_a_folder_are_errors_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_bytes(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_bytes(tmp_path / "x")


def test_a_name_that_comes_twice_is_named() -> None:
    assert parse_json('[{"a": 1}, {"a": 2, "b": {"a": 3}}]') == [{"a": 1}, {"a": 2, "b": {"a": 3}}]
    with pytest.raises(RepeatedName, match="the name 'b' twice in one object"):
        parse_json('{"a": {"c": 1, "b": 1, "b": 1}}')


@pytest.mark.parametrize("text", ["1_0", "١", "", "x"])
def test_numbers_are_those_of_people(text: str) -> None:
    for read in (number_of, integer_of):
        with pytest.raises(ValueError, match=r"no number|could not convert|invalid literal"):
            read(text)
    assert (number_of("-1e3"), integer_of("-12")) == (-1000.0, -12)
