"""The meaning of numbers, read from a TU set's readme: for people, and never a part of the set's identity."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sargnn.data.io.label_readme import titles_of
from sargnn.data.sources import load

HEADING = "{} labels were converted to integer values using this map:\n\n"
README = "".join(
    [
        "Node labels:\t\t[chem]\n\n",
        HEADING.format("Node"), "Component 0:\n\t0\tC\n\t1\tO\n\n\n",
        HEADING.format("Edge"), "Component 0:\n\t0\t1\n\t1\t2\n\n\n",
        HEADING.format("Class"), "\t0\tmutagen\n\t1\tnot a mutagen\n",
    ]
)  # fmt: skip
FILES = {
    "A": "1, 2\n2, 1", "graph_indicator": "1\n1\n2", "graph_labels": "0\n1",
    "node_labels": "0\n1\n1", "edge_labels": "1\n1",
}  # fmt: skip


def write(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for kind, text in files.items():
        (folder / f"TINY_{kind}.txt").write_text(text)
    return folder


def test_numbers_get_their_titles_and_the_fingerprint_stays(tmp_path: Path) -> None:
    plain = load(write(tmp_path / "plain", **FILES))
    titled = load(write(tmp_path / "titled", **FILES, label_readme=README))
    assert titled.classes == ("0", "1")
    assert titled.class_titles == ("mutagen", "not a mutagen")
    assert titled.node_label_titles == ("C", "O")
    assert titled.edge_label_titles == ("2",)
    assert titled.fingerprint == plain.fingerprint
    assert plain.class_titles == plain.node_label_titles == plain.edge_label_titles == ()


def test_titles_are_kept_with_a_saved_set(tmp_path: Path) -> None:
    titled = load(write(tmp_path / "titled", **FILES, label_readme=README))
    titled.save(tmp_path / "kept")
    assert load(tmp_path / "kept").subset([1]).class_titles == titled.class_titles


def test_other_classes_have_no_titles_left(tmp_path: Path) -> None:
    titled = load(write(tmp_path / "titled", **FILES, label_readme=README))
    assert load(titled, labels=["a", "b"]).class_titles == ()


def test_a_readme_that_lacks_a_number_says_nothing_of_that_kind() -> None:
    names = {"classes": ("0", "1", "2"), "node_label_names": ("1",)}
    assert titles_of(README.encode(), names) == {"node_label_titles": ("O",)}


def test_several_columns_are_one_title() -> None:
    text = HEADING.format("Node") + "Component 0:\n\t0\tC\n\t1\tN\n\nComponent 1:\n\t0\tin a ring\n\t7\tin a chain\n"
    found = titles_of(text.encode(), {"node_label_names": ("1,0", "0,7")})
    assert found == {"node_label_titles": ("N,in a ring", "C,in a chain")}


@pytest.mark.parametrize("text", [b"", b"\xff\xfe\x00", b"Class labels were converted", b"0\tC\n1\tO\n"])
def test_a_readme_without_maps_says_nothing(text: bytes) -> None:
    assert titles_of(text, {"classes": ("0", "1")}) == {}


def test_published_sets_have_titles(mirror: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SARGNN_MIRROR", str(mirror))
    monkeypatch.setenv("SARGNN_DATA", str(tmp_path))
    mutag = load("MUTAG")
    assert (mutag.fingerprint, mutag.classes) == ("2446ed5312de5512", ("-1", "1"))  # as before there were titles
    assert mutag.class_titles == ("nonmutagen", "mutagen")
    assert mutag.node_label_titles == ("C", "N", "O", "F", "I", "Cl", "Br")
    untitled = replace(mutag, class_titles=(), node_label_titles=(), edge_label_titles=())
    untitled.save(tmp_path / "by-an-earlier-version")
    assert load(tmp_path / "by-an-earlier-version").node_label_titles == mutag.node_label_titles
    other = load("Mutagenicity")
    assert other.fingerprint == "6f8cb3eaa01c05f5"
    assert other.class_titles == ("mutagen", "nonmutagen")
    assert other.node_label_titles[:4] == ("C", "O", "Cl", "H")
