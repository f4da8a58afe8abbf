"""A model beyond its budget is given up while it is built."""

from __future__ import annotations

import pytest
from torch import nn

from sargnn.errors import InputError
from sargnn.nn.budget import built_within, within_limits


def test_building_stops_at_the_tensor_that_is_too_much() -> None:
    """Linear(10, 10) has 110 numbers in two tensors; the third map goes over 250."""
    built = []

    def build() -> None:
        with built_within(lambda numbers, tensors: f"{numbers} in {tensors}" if numbers > 250 else ""):
            built.extend(nn.Linear(10, 10) for _ in range(9))

    with pytest.raises(InputError, match=r"^320 in 5$"):
        build()
    assert len(built) == 2


def test_buffers_count_and_nothing_counts_afterwards() -> None:
    with pytest.raises(InputError), built_within(lambda numbers, tensors: "over" if tensors > 2 else ""):
        nn.BatchNorm1d(3)  # weight, bias, mean, variance, batches
    nn.BatchNorm1d(3)


def test_what_no_machine_holds_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="expected a smaller one") as caught, built_within(lambda *_: ""):
        nn.Linear(2**40, 2**40)
    assert "\n" not in str(caught.value)


def test_the_usual_budget_has_two_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_LIMITS", "parameters=100,tensors=3")
    assert within_limits(100, 3) == ""
    assert "numbers in a model, expected at most 100" in within_limits(101, 3)
    assert "tensors in a model, expected at most 3" in within_limits(100, 4)
