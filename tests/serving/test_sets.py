"""Sets to browse; files that are dropped, and those that are not what they seem."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from sargnn.errors import InputError
from sargnn.serving.limits import Limits, Refused
from sargnn.serving.sets import MOST_FILES, Sets, read_file
from tiny import shapes

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
    with pytest.raises(Refused, match="got 200 lines, expected at most 50 graphs") as caught:
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


def test_a_dropped_file_is_known_to_nobody_else_and_forgotten_in_time() -> None:
    sets = Sets()
    sets.add(shapes(), name="data")
    names = [sets.add(shapes()).name for _ in range(MOST_FILES + 2)]
    assert [one.name for one in sets.public()] == ["data"]
    assert len(set(names)) == len(names)
    assert min(map(len, names)) >= 20
    assert "data" in sets
    assert [name in sets for name in names] == [False, False, *[True] * MOST_FILES]
    with pytest.raises(Refused, match="not here"):
        sets.find(names[0])
