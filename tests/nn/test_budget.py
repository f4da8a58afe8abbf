"""A model that is too large is not built to the end."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from sargnn.errors import InputError
from sargnn.nn.budget import built_within, within_limits


def build(check: Callable[[int, int], str], make: Callable[[], object]) -> None:
    with built_within(check):
        make()


def test_building_stops_at_the_first_part_too_many() -> None:
    made: list[nn.Module] = []

    def layers() -> None:
        made.extend(nn.Linear(10, 1, bias=False) for _ in range(9))

    def check(numbers: int, tensors: int) -> str:
        return f"{numbers} numbers, {tensors} tensors" if tensors > 2 else ""

    with pytest.raises(InputError, match="30 numbers, 3 tensors"):
        build(check, layers)
    assert len(made) == 2


def test_buffers_count_too_and_the_next_model_is_free() -> None:
    with pytest.raises(InputError, match="too many"):
        build(lambda n, _: "too many" if n > 5 else "", lambda: nn.Module().register_buffer("x", torch.zeros(6)))
    nn.Linear(10, 10)


def test_what_no_memory_holds_is_one_line() -> None:
    with pytest.raises(InputError, match=r"^got a model that cannot be built \(.*\), expected a smaller one$"):
        build(within_limits, lambda: nn.Linear(1 << 40, 1 << 40))


def test_the_limits_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_LIMITS", "parameters=10,tensors=1")
    assert within_limits(10, 1) == ""
    assert "SARGNN_LIMITS=parameters=11" in within_limits(11, 1)
    assert "SARGNN_LIMITS=tensors=2" in within_limits(10, 2)
