"""The cache: filled from a folder or a URL, by several processes at once, through every kind of damage."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import PIPE

import pytest

from sargnn.data import cache, sources
from sargnn.data.graphs import GraphSet
from sargnn.data.sources import load
from sargnn.errors import InputError

TEXTS = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "0\n1\n"}


def write_zip(path: Path, name: str = "TINY", **texts: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for kind, text in (TEXTS | texts).items():
            archive.writestr(f"{name}/{name}_{kind}.txt", text)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror that holds TINY.zip, and an empty cache beside it."""
    folder = tmp_path / "my mirror"
    folder.mkdir()
    write_zip(folder / "TINY.zip")
    monkeypatch.setenv("SARGNN_MIRROR", str(folder))
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    return folder


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by one whenever a zip is parsed."""
    places: list[str] = []
    read_zip = sources.read_zip
    monkeypatch.setattr(sources, "read_zip", lambda archive, place: places.append(place) or read_zip(archive, place))
    return places


def cached_files(tmp_path: Path) -> list[str]:
    found = [*(tmp_path / "cache").glob("*.zip"), *(tmp_path / "cache" / "parsed").glob("*")]
    return sorted(path.name.split("-")[0] for path in found)


@contextmanager
def serving(handler: type | partial) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


class BreaksOff(BaseHTTPRequestHandler):
    """Promises a thousand bytes and sends a few."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"PK\3\4")

    def log_message(self, *_: object) -> None:
        pass


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SARGNN_DATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache.data_folder() == Path.home() / ".cache" / "sargnn"
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache.data_folder() == Path("/x/sargnn")
    monkeypatch.setenv("SARGNN_DATA", "~/mine")
    assert cache.data_folder() == Path.home() / "mine"


def test_without_a_mirror_sets_come_from_where_pyg_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch_geometric.datasets import TUDataset

    monkeypatch.delenv("SARGNN_MIRROR", raising=False)
    assert cache._address("MUTAG") == f"{TUDataset.url}/MUTAG.zip"


def test_a_set_is_fetched_and_parsed_once(shelf: Path, tmp_path: Path, parses: list[str]) -> None:
    first = load("TINY")
    (shelf / "TINY.zip").unlink()
    second = load("TINY")
    assert parses == [(shelf / "TINY.zip").as_uri()]
    assert cached_files(tmp_path) == ["TINY", "TINY.zip"]
    assert second.fingerprint == first.fingerprint
    assert (second.name, second.notes) == (first.name, first.notes) == ("TINY", ())


def test_another_zip_in_the_cache_is_parsed_anew(shelf: Path, tmp_path: Path) -> None:
    assert load("TINY").classes == ("0", "1")
    write_zip(tmp_path / "cache" / "TINY.zip", graph_labels="4\n5\n")
    assert load("TINY").classes == ("4", "5")


def test_another_reader_parses_anew(shelf: Path, parses: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    load("TINY")
    monkeypatch.setattr(cache, "READER", "next")
    load("TINY")
    assert len(parses) == 2


def test_a_damaged_parsed_set_is_made_anew(shelf: Path, tmp_path: Path, parses: list[str]) -> None:
    whole = load("TINY").fingerprint
    (edges,) = tmp_path.glob("cache/parsed/TINY-*/edges.npy")
    edges.write_bytes(edges.read_bytes()[:-4])
    assert load("TINY").fingerprint == whole
    assert load("TINY").fingerprint == whole
    assert len(parses) == 2


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_mirror_may_be_a_folder_or_a_file_url(shelf: Path, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_MIRROR", (prefix and shelf.as_uri()) or os.path.relpath(shelf))
    assert len(load("TINY")) == 2


def test_a_mirror_may_be_on_the_network(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(partial(Quiet, directory=str(shelf))) as url:
        monkeypatch.setenv("SARGNN_MIRROR", url + "/")
        assert len(load("TINY")) == 2
        with pytest.raises(InputError) as error:
            load("ABSENT")
    hint = "set SARGNN_MIRROR to a folder or base URL that holds ABSENT.zip"
    assert str(error.value) == f"{url}/ABSENT.zip: cannot fetch (HTTP Error 404: File not found); {hint}"


def test_a_connection_that_breaks_off(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(BreaksOff) as url:
        monkeypatch.setenv("SARGNN_MIRROR", url)
        with pytest.raises(
            InputError, match=r"TINY.zip: cannot fetch \(IncompleteRead\(4 bytes read, 996 more expected"
        ):
            load("TINY")
    assert cached_files(tmp_path) == []


def test_nobody_answers(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Quiet) as url:
        pass
    monkeypatch.setenv("SARGNN_MIRROR", url)
    with pytest.raises(
        InputError, match=r"^http://127.0.0.1:\d+/TINY.zip: cannot fetch \(.*refused.*\); set SARGNN_MIRROR to"
    ):
        load("TINY")


def test_a_mirror_without_the_set(shelf: Path) -> None:
    with pytest.raises(InputError) as error:
        load("PROTIENS")
    line = str(error.value)
    assert line.startswith(f"{shelf.as_uri()}/PROTIENS.zip: cannot fetch (")
    assert line.endswith("; set SARGNN_MIRROR to a folder or base URL that holds PROTIENS.zip; did you mean PROTEINS?")
    assert "\n" not in line


@pytest.mark.parametrize("kept", [1.0, 0.5, 0.0])
def test_a_truncated_zip_does_not_stay(shelf: Path, tmp_path: Path, kept: float) -> None:
    whole = (shelf / "TINY.zip").read_bytes()
    (shelf / "TINY.zip").write_bytes(whole[: int(kept * (len(whole) - 1))])
    with pytest.raises(InputError) as error:
        load("TINY")
    assert str(error.value) == f"{shelf.as_uri()}/TINY.zip: not a readable zip (File is not a zip file)"
    assert cached_files(tmp_path) == []
    (shelf / "TINY.zip").write_bytes(whole)
    assert len(load("TINY")) == 2


def test_a_zip_damaged_in_the_cache_is_named_and_removed(shelf: Path, tmp_path: Path) -> None:
    load("TINY")
    archive = tmp_path / "cache" / "TINY.zip"
    archive.write_bytes(archive.read_bytes().replace(b"1, 2", b"1, 3"))
    with pytest.raises(InputError) as error:
        load("TINY")
    assert str(error.value) == f"{archive}: not a readable zip (Bad CRC-32 for file 'TINY/TINY_A.txt')"
    assert not archive.exists()
    assert len(load("TINY")) == 2


def test_a_zip_of_another_set_is_refused(shelf: Path, tmp_path: Path) -> None:
    (shelf / "TINY.zip").rename(shelf / "TRIANGLES.zip")
    with pytest.raises(InputError, match=r"TRIANGLES.zip: got the set TINY, expected TRIANGLES$"):
        load("TRIANGLES")
    assert cached_files(tmp_path) == []


def test_a_known_set_with_other_counts_is_refused(shelf: Path, tmp_path: Path) -> None:
    write_zip(shelf / "MUTAG.zip", "MUTAG")
    with pytest.raises(InputError) as error:
        load("MUTAG")
    assert str(error.value) == f"{shelf.as_uri()}/MUTAG.zip: got 2 graphs, expected 188, in MUTAG"
    assert cached_files(tmp_path) == []


def test_a_cache_that_cannot_be_written_is_done_without(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("SARGNN_DATA", str(blocked))
    graphs = load("TINY")
    assert len(graphs) == 2
    (note,) = graphs.notes
    assert note.startswith(f"not cached: {blocked}/TINY.zip: cannot write (")


def test_another_process_may_be_faster(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder appears between our look and our rename, which then fails."""
    save = GraphSet.save

    def lose(graphs: GraphSet, folder: Path) -> None:
        save(graphs, folder)
        raise InputError(f"{folder}: cannot write (Directory not empty)")

    monkeypatch.setattr(GraphSet, "save", lose)
    assert load("TINY").notes == ()


def test_processes_fill_the_cache_at_the_same_time(shelf: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from sargnn.data.sources import load; print('ready', flush=True); sys.stdin.read(); "
        "print(load('TINY').fingerprint)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    running = [
        subprocess.Popen([sys.executable, "-c", program], stdin=PIPE, stdout=PIPE, text=True, env=environment)
        for _ in range(4)
    ]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    for process in running:  # off they go together
        process.stdin.close()
    for process in running:
        assert process.stdout.read().strip() == load("TINY").fingerprint
        process.stdout.close()
        assert process.wait() == 0
    assert cached_files(tmp_path) == ["TINY", "TINY.zip"]
    assert not list((tmp_path / "cache").rglob(".*"))
