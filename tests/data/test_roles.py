"""What columns are for."""

from __future__ import annotations

from typing import Any

import pytest

from sargnn.data.roles import USUAL, Roles
from sargnn.errors import InputError


def test_nothing_is_named_by_default() -> None:
    assert Roles(*[None] * 7, frozenset()) == USUAL


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"task": "sorting"}, "task: got 'sorting', expected one of classification, multilabel, regression"),
        ({"labels": ("a", "b", "a")}, "labels: got 'a' twice, expected every column once"),
        (
            {"labels": ("a", "b"), "task": "classification"},
            "labels: got 2 columns, expected one for classification: a, b",
        ),
        ({"labels": ("s",), "smiles": "s"}, "labels: got 's', which is the column of the smiles, expected another"),
    ],
)
def test_a_contradiction_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        Roles(**wrong)
    assert str(error.value) == message


def test_what_a_model_knows_fills_what_is_not_said() -> None:
    known = Roles(("toxic",), "classification", "mol", id="key", split="set")
    said = Roles(labels=("safe", "key"), id="name").or_else(known)
    assert said == Roles(("safe", "key"), None, "mol", id="name", split="set", assumed=frozenset({"smiles", "split"}))
    again = Roles(labels=("toxic",)).or_else(known)  # the same column has the same task
    assert (again.task, again.assumed) == ("classification", {"task", "smiles", "id", "split"})
    assert USUAL.or_else(known).assumed == {"labels", "task", "smiles", "id", "split"}


def test_roles_are_saved_and_read_back() -> None:
    roles = Roles(("a", "b"), "multilabel", "mol", weight="w")
    assert roles.to_json() == {"labels": ["a", "b"], "task": "multilabel", "smiles": "mol", "weight": "w"}
    assert Roles.from_json(roles.to_json()) == roles
    assert Roles((), None).to_json() == USUAL.to_json() == {}


@pytest.mark.parametrize("wrong", [[], "a", {"labels": "a"}, {"labels": [1]}, {"size": "a"}, {"id": 3}, {"task": "x"}])
def test_other_content_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match=r"^(roles|task): got"):
        Roles.from_json(wrong)
