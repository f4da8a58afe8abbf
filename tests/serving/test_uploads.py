"""Files that are dropped, and those that are not what they seem."""

from __future__ import annotations

import gzip
import io
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from sargnn.errors import InputError
from sargnn.serving.limits import Limits, Refused
from sargnn.serving.uploads import read_file

SMALL = Limits(max_graphs=5, max_bytes=1000)


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return buffer.getvalue()


TU = {"T_A.txt": b"1, 2\n2, 1\n", "T_graph_indicator.txt": b"1\n1\n2\n", "T_graph_labels.txt": b"1\n2\n"}


def test_files_of_every_form_are_read(tmp_path: Path) -> None:
    graphs, left_out = read_file("a.json", b'{"nodes": [{"id": 0}], "edges": []}', Limits())
    assert (len(graphs), graphs.name, left_out) == (1, "a", ())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in TU.items():
            archive.writestr(name, content)
    assert len(read_file("T.zip", buffer.getvalue(), Limits())[0]) == 2


def test_rows_that_cannot_be_read_are_told_and_left_out() -> None:
    pytest.importorskip("rdkit", reason="SMILES need RDKit")
    graphs, left_out = read_file("drugs.csv", b"smiles\nCCO\nnonsense(\nCC\n", Limits())
    assert len(graphs) == 2
    (line,) = left_out
    assert line.startswith("file line 3: got 'nonsense('")


@pytest.mark.parametrize("name", ["../../etc/passwd", "a.exe", "", "a", ".csv", "a.csv/..", "C:\\x.dll", "a\x00.sh"])
def test_a_name_is_only_an_ending(name: str) -> None:
    with pytest.raises(InputError, match="got a file that ends in"):
        read_file(name, b"x", Limits())


def test_a_name_with_a_path_goes_nowhere() -> None:
    graphs, _ = read_file("..\\..\\../etc/evil.json", b'{"nodes": [{"id": 0}], "edges": []}', Limits())
    assert graphs.name == "evil"


def test_a_zip_bomb_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(Refused, match="bytes when unpacked, expected at most 10000") as caught:
        read_file("bomb.zip", zipped(T_A_dot_txt=b"0" * 10_000_000), SMALL)
    assert caught.value.status == 413


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"PK" * 500, zipped(x=b"y")[:-30]], ids=range(4))
def test_a_broken_zip_is_refused_in_one_line(content: bytes) -> None:
    with pytest.raises(InputError, match="zip"):
        read_file("x.zip", content, Limits())


def test_a_zip_with_a_way_out_is_refused() -> None:
    with pytest.raises(InputError, match="expected paths inside the zip only"):
        read_file("x.zip", zipped(**{"..__..__etc__T_A_dot_txt": b"1, 2"}), Limits())


@pytest.mark.parametrize("name", ["many.csv", "many.jsonl"])
def test_too_many_lines_are_counted_and_not_read(name: str) -> None:
    with pytest.raises(Refused, match="got 200 lines in a file, expected at most 51") as caught:
        read_file(name, b"\n" * 200, SMALL)
    assert caught.value.status == 413


def test_too_many_graphs_in_one_list_are_refused() -> None:
    with pytest.raises(Refused, match="got 51 graphs in a file, expected at most 50"):
        read_file("a.json", b"[" + b",".join([b'{"nodes": [{"id": 0}], "edges": []}'] * 51) + b"]", SMALL)


def test_no_message_tells_where_the_file_was(tmp_path: Path) -> None:
    for name, content in (("a.json", b"{"), ("a.graphml", b"<graphml><a"), ("a.csv", b"x\n1\n"), ("a.gexf", b"")):
        with pytest.raises(InputError) as caught:
            read_file(name, content, Limits())
        assert "tmp" not in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1


def test_xml_cannot_read_other_files() -> None:
    text = b'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/passwd">]><graphml>&x;</graphml>'
    with pytest.raises(InputError) as caught:
        read_file("a.graphml", text, Limits())
    assert "root:" not in str(caught.value)


ONE = b'{"nodes": [{"id": 0}], "edges": []}\n'


def test_what_load_reads_packed_is_read_packed() -> None:
    for name, content in (("a.jsonl.gz", gzip.compress(ONE * 3)), ("a.zip", zipped(x_dot_jsonl=ONE * 3))):
        graphs, _ = read_file(name, content, Limits())
        assert (len(graphs), graphs.name) == (3, "a")


@pytest.mark.parametrize("inner", ["x.zip", "x.csv.gz", "deep/x.GZ"])
def test_an_archive_in_an_archive_is_refused(inner: str) -> None:
    content = zipped(**{inner.replace("/", "__"): zipped(T_A_dot_txt=b"0" * 100), "y": b""})
    with pytest.raises(InputError, match="expected no archive in an archive"):
        read_file("a.zip", content, Limits())
    with pytest.raises(InputError, match=r"got a file that ends in '\.zip'"):
        read_file("a.zip.gz", gzip.compress(content), Limits())


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz", "a.json.gz", "a.parquet.gz"])
def test_a_gzip_bomb_is_refused_before_it_is_whole(name: str) -> None:
    with pytest.raises(Refused, match="got 10001 bytes or more when unpacked, expected at most 10000") as caught:
        read_file(name, gzip.compress(b"x" * 10_000_000), SMALL)
    assert caught.value.status == 413


@pytest.mark.parametrize(
    "content",
    [b"", b"\x1f\x8b", gzip.compress(ONE)[:-9], gzip.compress(ONE)[:20] + b"x" * 20],
    ids=["empty", "magic alone", "cut off", "overwritten"],
)
def test_a_broken_gzip_is_refused_in_one_line(content: bytes) -> None:
    with pytest.raises(InputError) as caught:
        read_file("a.jsonl.gz", content, Limits())
    assert len(str(caught.value).splitlines()) == 1


def test_many_lines_hidden_in_a_zip_are_counted_too() -> None:
    with pytest.raises(Refused, match="got 100 lines in a file"):
        read_file("a.zip", zipped(x_dot_csv=b"C\n" * 100), SMALL)
    with pytest.raises(Refused, match="got 100 graphs in a file"):
        read_file("a.sdf", b"\n\n\n$$$$\n" * 100, SMALL)


def test_many_empty_files_in_a_zip_are_refused() -> None:
    with pytest.raises(Refused, match="got 60 files in a zip, expected at most 50"):
        read_file("a.zip", zipped(**{f"{i}.json": b"" for i in range(60)}), SMALL)


def parquet(**columns: Any) -> bytes:
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    from pyarrow import parquet as writer

    buffer = io.BytesIO()
    writer.write_table(pyarrow.table(columns), buffer, compression="zstd")
    return buffer.getvalue()


def test_a_parquet_file_that_repeats_itself_is_counted_before_it_is_read() -> None:
    """A few hundred bytes can hold a million values, or one long one a thousand times."""
    many = parquet(smiles=["C"] * 20_000)
    long = parquet(smiles=["C"] * 40, note=["x" * 1000] * 40)
    nested = parquet(smiles=["C"] * 10, x=[[1] * 1000] * 10)
    for content, message in ((many, "20000 values"), (long, "40040 bytes when unpacked"), (nested, "10010 values")):
        for name, sent in (("a.parquet", content), ("a.zip", zipped(in__x_dot_parquet=content))):
            with pytest.raises(Refused, match=f"got {message}"):
                read_file(name, sent, SMALL)


def test_a_parquet_file_of_molecules_is_read_and_a_broken_one_refused() -> None:
    pytest.importorskip("rdkit", reason="SMILES need RDKit")
    graphs, _ = read_file("a.parquet", parquet(smiles=["CCO", "CC"], mass=[46.0, 30.0], name=["x", None]), Limits())
    assert len(graphs) == 2
    for content in (b"", b"PAR1" * 9, parquet(smiles=["C"])[:-12]):
        with pytest.raises(InputError, match="Parquet"):
            read_file("a.parquet", content, Limits())


def test_no_bomb_takes_long() -> None:
    """What is packed tightest, at the size that is allowed."""
    lines = b'"C",\n' * 2_000_000
    bombs = [("a.zip", zipped(x_dot_csv=lines)), ("a.csv.gz", gzip.compress(lines, 1)), ("a.csv", lines)]
    started = time.process_time()
    for name, content in bombs:
        with pytest.raises(Refused):
            read_file(name, content, Limits())
    assert time.process_time() - started < 10
