"""What is packed by gzip or zip is read as if it were not; damaged and hostile archives are refused."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
import zipfile
from pathlib import Path

import pytest

from sargnn.data.io.archives import is_archive
from sargnn.data.problems import Problems
from sargnn.data.sources import load, read
from sargnn.errors import InputError

GRAPHS = [
    {"nodes": [{"id": 0}, {"id": 1}], "links": [{"source": 0, "target": 1}], "graph": {"label": str(i % 2)}}
    for i in range(4)
]
LINES = "".join(json.dumps(graph) + "\n" for graph in GRAPHS)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "graphs.jsonl"
    path.write_text(LINES)
    return path


def packed_gzip(plain: Path) -> Path:
    path = plain.with_name("graphs.jsonl.gz")
    with gzip.open(path, "wt") as file:
        file.write(plain.read_text())
    return path


def packed_zip(plain: Path, *names: str, text: str | None = None) -> Path:
    path = plain.with_name("graphs.zip")
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, plain.read_text() if text is None else text)
    return path


def test_packed_files_are_the_same_set(plain: Path) -> None:
    expected = load(plain)
    for path in (
        packed_gzip(plain),
        packed_zip(plain, "graphs.jsonl"),
        packed_zip(plain, "deep/in/graphs.jsonl", ".hidden"),
    ):
        found = load(path)
        assert (found.fingerprint, found.name) == (expected.fingerprint, expected.name)


def test_a_folder_of_tables_in_a_zip(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "graphs.csv").write_text("graph,label\na,0\nb,1\n")
    (folder / "nodes.csv").write_text("graph,node\na,0\na,1\nb,0\n")
    (folder / "edges.csv").write_text("graph,source,target\na,0,1\n")
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, "tables")
    assert load(tmp_path / "packed.zip").fingerprint == load(folder).fingerprint


def test_a_zip_of_a_tu_set_stays_one(mirror: Path) -> None:
    assert not is_archive(mirror / "MUTAG.zip")


def test_messages_name_the_archive_and_nothing_stays_behind(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain.write_text(LINES + '{"nodes": 3}\n')
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    for path in (packed_gzip(plain), packed_zip(plain, "a/graphs.jsonl")):
        with pytest.raises(InputError) as caught:
            load(path)
        assert str(caught.value).startswith(f"{path}/")
        assert str(room) not in str(caught.value)
    assert list(room.iterdir()) == []


def test_what_was_left_out_is_named_by_the_archive(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs RDKit (extra: chem)")
    with gzip.open(tmp_path / "m.csv.gz", "wt") as file:
        file.write("smiles,label\nCC,0\nno,1\nCO,1\n")
    problems = Problems()
    assert len(read(tmp_path / "m.csv.gz", problems)) == 2
    (left_out,) = problems.left_out
    assert (left_out.file, left_out.line) == (f"{tmp_path / 'm.csv.gz'}/m.csv", 3)


def test_damaged_archives_are_refused_in_one_line(plain: Path) -> None:
    whole = packed_gzip(plain).read_bytes()
    for content in (whole[: len(whole) // 2], b"no gzip", whole[:-8] + bytes(8)):
        plain.with_name("graphs.jsonl.gz").write_bytes(content)
        with pytest.raises(InputError, match=r"graphs\.jsonl\.gz: not a readable gzip"):
            load(plain.with_name("graphs.jsonl.gz"))


@pytest.mark.parametrize("name", ["../out.jsonl", "/out.jsonl", "a/../../out.jsonl", "C:\\out.jsonl"])
def test_paths_that_lead_outside_are_refused(name: str, plain: Path) -> None:
    with pytest.raises(InputError, match="expected paths inside the zip only"):
        load(packed_zip(plain, name))
    assert not list(plain.parent.parent.glob("out.jsonl"))


def test_bombs_are_refused(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_LIMITS", "unpacked=100")
    size = plain.stat().st_size
    told = rf"expected at most 100 \(SARGNN_LIMITS=unpacked={size} allows them\)"
    with pytest.raises(InputError, match=f"got {size} bytes or more when unpacked, {told}"):
        load(packed_gzip(plain))
    with pytest.raises(InputError, match=f"got {size} bytes when unpacked, {told}"):
        load(packed_zip(plain, "graphs.jsonl"))


def test_an_empty_zip_is_refused(plain: Path) -> None:
    with pytest.raises(InputError, match=r"graphs\.zip"):
        load(packed_zip(plain))
