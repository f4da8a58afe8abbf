"""Writing whole or not at all: under a full disk, a limit, a read-only folder, an exception, a kill."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from disks import files_of_at_most, full_disk, read_only
from sargnn.errors import InputError
from sargnn.files import check_table, check_writable, is_leftover, write_csv, write_file, write_folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_text_and_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    write_file(tmp_path / "a", "grüße\n")
    write_file(tmp_path / "b", b"\0\r\n")
    assert (tmp_path / "a").read_bytes() == "grüße\n".encode()
    assert (tmp_path / "b").read_bytes() == b"\0\r\n"
    assert names(tmp_path) == ["a", "b"]


def test_text_that_is_not_unicode_is_spelled_out(tmp_path: Path) -> None:
    latin = os.fsdecode("grö".encode("latin-1"))
    write_file(tmp_path / "a", f'"{latin}"')
    assert (tmp_path / "a").read_text(encoding="utf-8") == r'"gr\udcf6"'
    assert json.loads((tmp_path / "a").read_bytes()) == latin


def test_a_table_keeps_every_digit(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", ["name", "value"], [['a "b", c', 0.1 + 0.2], ["d", 3]])
    assert (tmp_path / "t.csv").read_text() == 'name,value\n"a ""b"", c",0.30000000000000004\nd,3\n'


def test_what_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    check_writable(tmp_path / "new" / "a.csv")
    assert names(tmp_path / "new") == []
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for path, reason in (("file/a.csv", "Not a directory"), ("folder", "Is a directory")):
        for refuse in (check_writable, lambda path: write_file(path, "x")):
            with pytest.raises(InputError) as error:
                refuse(tmp_path / path)
            assert str(error.value) == f"{tmp_path / path}: cannot write ({reason})"


@pytest.mark.parametrize("name", ["p.csv", "p.CSV", "p.parquet", "p.jsonl", "p.ndjson", "p"])
def test_a_table_is_written_by_its_ending(name: str, tmp_path: Path) -> None:
    check_table(tmp_path / name)


@pytest.mark.parametrize("name", ["p.xlsx", "p.json", "p.csv.gz"])
def test_a_table_of_another_form_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected one of \.csv, \.parquet, \.jsonl, \.ndjson$"):
        check_table(tmp_path / name)


def test_folders_on_the_way_are_made_and_old_files_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x" / "y" / "file"
    write_file(path, "old")
    write_file(path, "new")
    assert path.read_text() == "new"
    assert names(path.parent) == ["file"]


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "file", "x")
        with write_folder(tmp_path / "folder"):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o750


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_file(path, "old")
    with files_of_at_most(1000), pytest.raises(InputError, match=r"file: cannot write \(File too large\)"):
        write_file(path, b"x" * 2000)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_full_disk_is_named_and_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk", pages=4) as disk:
        write_file(disk / "file", "old")
        message = r"file: cannot write \(No space left on device\); free some space and run again, what was saved"
        with pytest.raises(InputError, match=message):
            write_file(disk / "file", b"x" * 100_000)
        assert (disk / "file").read_text() == "old"
        with pytest.raises(InputError, match=message.replace("file", "folder")), write_folder(disk / "folder") as new:
            (new / "much").write_bytes(b"x" * 100_000)
        assert names(disk) == ["file"]


def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    with read_only(tmp_path / "disk") as disk:
        with pytest.raises(InputError, match=r"file: cannot write \((Read-only file system|Permission denied)\)"):
            write_file(disk / "file", "x")
        with pytest.raises(InputError, match="cannot write"), write_folder(disk / "folder"):
            pass


def test_a_folder_in_the_way_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file" / "inside").mkdir(parents=True)
    with pytest.raises(InputError, match=r"file: cannot write"):
        write_file(tmp_path / "file", "x")
    (tmp_path / "plain").write_text("x")
    with pytest.raises(InputError, match=r"below: cannot write"):
        write_file(tmp_path / "plain" / "below", "x")
    assert names(tmp_path) == ["file", "plain"]


def test_an_interrupt_while_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(tmp_path / "file", "old")

    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "old"
    assert names(tmp_path) == ["file"]


KILLED = """
import os, signal, sys
from pathlib import Path
from sargnn.files import write_file
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
write_file(Path(sys.argv[1]), "new")
"""


def test_a_kill_while_writing_leaves_the_old_file_and_a_leftover_that_is_known_as_such(tmp_path: Path) -> None:
    write_file(tmp_path / "file", "old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "file")], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "file").read_text() == "old"
    (leftover,) = (path for path in tmp_path.iterdir() if path.name != "file")
    assert is_leftover(leftover)
    assert not is_leftover(tmp_path / "file")


def test_a_folder_appears_whole(tmp_path: Path) -> None:
    with write_folder(tmp_path / "folder") as new:
        (new / "a").write_text("1")
        assert not (tmp_path / "folder").exists()
    assert names(tmp_path) == ["folder"]
    with write_folder(tmp_path / "folder") as new:
        (new / "b").write_text("2")
    assert names(tmp_path / "folder") == ["b"]
    assert names(tmp_path) == ["folder"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_folder_that_fails_leaves_the_old_one(tmp_path: Path, error: type[BaseException]) -> None:
    with write_folder(tmp_path / "folder") as new:
        (new / "a").write_text("1")
    with pytest.raises(error), write_folder(tmp_path / "folder") as new:  # noqa: PT012 (the block is what fails)
        (new / "b").write_text("2")
        raise error
    assert names(tmp_path) == ["folder"]
    assert names(tmp_path / "folder") == ["a"]


def test_a_folder_that_cannot_take_its_place_gives_the_old_one_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with write_folder(tmp_path / "folder") as new:
        (new / "a").write_text("1")
    real = os.replace

    def second_move_fails(source: Path, target: Path) -> None:
        if Path(target) == tmp_path / "folder" and not str(source).endswith(".old"):
            raise OSError(5, "Input/output error")
        real(source, target)

    monkeypatch.setattr(os, "replace", second_move_fails)
    with pytest.raises(InputError, match="Input/output error"), write_folder(tmp_path / "folder") as new:
        (new / "b").write_text("2")
    assert names(tmp_path) == ["folder"]
    assert names(tmp_path / "folder") == ["a"]
