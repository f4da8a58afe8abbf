"""load(): the seven published sets with their traps, paths, PyTorch Geometric, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch

from graph_inputs import nan, ring, write_tu
from sargnn.data.graphs import GraphSet, pack
from sargnn.data.sources import load, require_two_classes
from sargnn.errors import InputError

# -- paths -------------------------------------------------------------------------------------------------------------


def test_a_saved_set_is_opened(tmp_path: Path) -> None:
    graphs = load(write_tu(tmp_path / "tu", "X", node_attributes="1\n2\n3\n"))
    graphs.save(tmp_path / "saved")
    again = load(tmp_path / "saved")
    assert again.fingerprint == graphs.fingerprint
    assert isinstance(again.edges, np.memmap)


def test_a_graph_set_is_returned_as_it_is() -> None:
    graphs = pack([(1, [])], y=[0], classes=["dot"])
    assert load(graphs) is graphs


def test_a_known_name_wins_over_a_folder_of_that_name(
    known: Callable[[str], GraphSet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_tu(tmp_path / "MUTAG", "MUTAG")
    assert len(known("MUTAG")) == 188
    assert len(load("./MUTAG")) == 2


def test_classes_are_wanted_unless_said_otherwise(tmp_path: Path) -> None:
    folder = write_tu(tmp_path, "X")
    (folder / "X_graph_labels.txt").unlink()
    assert load(folder, labelled=False).y is None
    with pytest.raises(InputError) as error:
        load(folder)
    expected = "one for each graph: the file X_graph_labels.txt"
    assert str(error.value) == f"{folder}: got no classes, expected {expected}"


@pytest.mark.parametrize("labels", [["Yes", "yes", "NO", "no"], ["no", "NO", "Yes", "yes"]])
@pytest.mark.parametrize("task", [None, "classification"])
def test_classes_that_differ_only_in_capitals_are_told(labels: list[str], task: str | None) -> None:
    graphs = load([ring(3)] * 4, labels=labels, task=task)
    told = "classes that differ only in capitals or blanks around them: 'NO', 'no', 'Yes', 'yes'"
    assert (len(graphs.classes), graphs.notes) == (4, (told,))
    assert load(graphs).notes == graphs.notes  # once


def test_classes_of_a_saved_set_that_differ_only_in_blanks_are_told(tmp_path: Path) -> None:
    pack([(1, [])] * 3, y=[0, 1, 2], classes=["a", "a ", "b"]).save(tmp_path / "set")
    assert load(tmp_path / "set").notes == ("classes that differ only in capitals or blanks around them: 'a', 'a '",)
    assert load(tmp_path / "set", labelled=False).notes == ()  # nothing is learned from them


def test_more_classes_than_can_be_learned_are_refused(tmp_path: Path) -> None:
    pack([(1, [])], y=[0], classes=list(map(str, range(1001)))).save(tmp_path / "set")
    told = r"set: got 1001 classes, expected at most 1000 \(SARGNN_LIMITS=classes=1001 allows them\)"
    with pytest.raises(InputError, match=told):
        load(tmp_path / "set")
    assert len(load(tmp_path / "set", labelled=False)) == 1


def test_two_classes_are_wanted_only_when_asked_for(tmp_path: Path) -> None:
    graphs = load(write_tu(tmp_path, "X", graph_labels="4\n4\n"))
    with pytest.raises(InputError, match=r"^X: got class '4' only, expected two or more classes$"):
        require_two_classes(graphs)
    with pytest.raises(InputError, match=r"^graphs: got no classes, expected two or more$"):
        require_two_classes(pack([(1, [])]))
    both = load(write_tu(tmp_path, "X", graph_labels="4\n5\n"))
    require_two_classes(both)
    with pytest.raises(InputError, match=r"^X: got class '5' only"):
        require_two_classes(both.subset([1]))


ALL_KNOWN = "MUTAG, ENZYMES, PROTEINS, IMDB-BINARY, IMDB-MULTI, Letter-high, TRIANGLES"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("data/nowhere", ALL_KNOWN),
        ("letter high", "Letter-high"),
        ("./MUTAG.zip", "MUTAG"),
        ("x" * 5000 + "/", ALL_KNOWN),
        ("nul\0byte", ALL_KNOWN),
    ],
)
def test_neither_a_path_nor_a_name(source: str, names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as error:
        load(source)
    assert str(error.value) == f"got {source!r}, expected a file or folder that exists or a name such as {names}"


# -- PyTorch Geometric -------------------------------------------------------------------------------------------------


def test_one_graph_is_a_list_of_one() -> None:
    assert len(load(ring(3), labelled=False)) == 1


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", None, "b"], "labels: got no class, expected one for every graph, in graph 1"),
        (["a", "b", nan], "labels: got no class, expected one for every graph, in graph 2"),
        (np.array([nan, 0, 1], np.float32), "labels: got no class, expected one for every graph, in graph 0"),
        (torch.tensor([0, 1, nan]), "labels: got no class, expected one for every graph, in graph 2"),
        ({0: "a", 1: "b", 2: "a"}, "labels: got a dict, expected a list with a class for every graph"),
        ({"a", "b", "c"}, "labels: got a set, expected a list with a class for every graph"),
    ],
)
def test_what_is_no_class_is_refused(labels: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a dict is not of the type that is asked for
    with pytest.raises(InputError, match=f"^{message}$"):
        load([ring(3)] * 3, labels=labels)
