"""Regular files only, no longer than they were; JSON and numbers read in one way."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from sargnn.errors import InputError
from sargnn.reading import RepeatedName, integer_of, number_of, open_regular, parse_json, read_bytes, read_text


def test_a_pipe_without_a_writer_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"pipe: got a pipe, expected a regular file$"):
        open_regular(tmp_path / "pipe")


def test_devices_sockets_and_links_to_them_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in ("/dev/zero", tmp_path / "link"):
        with pytest.raises(InputError, match="got a device, expected a regular file"):
            read_bytes(path)
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)  # the path of a socket may have a hundred letters only
        listening.bind("socket")
        with pytest.raises(InputError, match="got a socket"):
            read_bytes("socket")


def test_folders_and_nothing_are_errors_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "nothing")


def test_a_file_that_grows_ends_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"ab\n" * 10_000)
    with open_regular(path) as file, path.open("ab") as more:
        lines = 0
        for _ in file:
            more.write(b"more\n")
            more.flush()
            lines += 1
    assert lines == 10_000


def test_a_file_over_its_limit_is_refused_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "big"
    path.write_bytes(bytes(101))
    monkeypatch.setenv("SARGNN_LIMITS", "json=100")
    with pytest.raises(InputError, match=r"big: got 101 bytes, expected at most 100 \(SARGNN_LIMITS=json=101"):
        read_bytes(path, "json")
    assert read_bytes(path) == bytes(101)


def test_text_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes("\ufeffnö".encode())
    assert read_text(tmp_path / "text") == "nö"


def test_a_name_twice_in_one_object_is_refused_however_deep() -> None:
    assert parse_json('[{"a": 1}, {"a": {"a": 2}}]') == [{"a": 1}, {"a": {"a": 2}}]
    with pytest.raises(RepeatedName, match="the name 'b' twice in one object"):
        parse_json('[{"a": 1, "b": 2, "c": {}, "b": 3}]')


def test_numbers_are_those_that_people_write() -> None:
    assert [number_of(text) for text in ("1", " 2.5 ", "-1e-3", "+4")] == [1, 2.5, -0.001, 4]
    assert integer_of(" +7 ") == 7
    for text in ("1_0", "٣", "", "one", "0x10"):
        with pytest.raises(ValueError, match=r"."):
            number_of(text)
    for text in ("1.0", "1e3", "7_7"):
        with pytest.raises(ValueError, match=r"."):
            integer_of(text)
