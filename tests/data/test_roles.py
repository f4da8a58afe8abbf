"""What columns are for."""

from __future__ import annotations

from typing import Any

import pytest

from sargnn.data.roles import USUAL, Roles
from sargnn.errors import InputError


def test_nothing_is_named_by_default() -> None:
    assert set(vars(USUAL).values()) == {None}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"task": "sorting"}, "task: got 'sorting', expected one of classification, multilabel, regression"),
        ({"labels": ("a", "b", "a")}, "labels: got 'a' twice, expected every column once"),
        (
            {"labels": ("a", "b"), "task": "classification"},
            "labels: got 2 columns, expected one for classification: a, b",
        ),
        ({"labels": ("s",), "smiles": "s"}, "labels: got 's', which is the column of the SMILES, expected another"),
    ],
)
def test_a_contradiction_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        Roles(**wrong)
    assert str(error.value) == message
