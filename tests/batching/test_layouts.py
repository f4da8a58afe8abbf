"""One decision on layout: what the model takes, what was asked for, where the kernels run, how large the graphs are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from literal import COMMON, kernels
from sargnn.batching import CompressedBatch, PackedBatch, PaddedBatch
from sargnn.batching.layouts import choose_layout, has_stacked_layout
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import pack

EVERY = ("compressed", "packed", "padded")
"""The layouts of a model that knows a batch by its primitives alone."""
TYPES = {"compressed": CompressedBatch, "packed": PackedBatch, "padded": PaddedBatch}
SMALL, UNEVEN = np.array([4, 25]), np.array([30, 30, 620])


def bare_set(sizes: list[int], **options: Any) -> TensorSet:
    """Graphs of these sizes without edges."""
    return TensorSet(pack([(n, []) for n in sizes]), np.ones((sum(sizes), 1), np.float32), **options)


@pytest.mark.parametrize(
    ("sizes", "layout"),
    [([4, 25], "padded"), ([30, 30, 620], "packed"), ([128], "padded"), ([129], "packed"), ([1, 1, 1, 60], "packed")],
)
def test_layout_is_chosen_by_sizes(sizes: list[int], layout: str) -> None:
    assert choose_layout(COMMON, np.array(sizes)) == layout
    data = bare_set(sizes)
    assert type(data.batch(np.arange(len(sizes)), COMMON)) is TYPES[layout]
    assert len(data) == len(sizes)


def test_layout_is_chosen_by_the_graphs_of_the_batch() -> None:
    data = bare_set([30, 30, 620])
    assert isinstance(data.batch(np.array([0, 1]), COMMON), PaddedBatch)
    assert isinstance(data.batch(np.array([0, 2]), COMMON), PackedBatch)


@pytest.mark.parametrize("layout", COMMON)
@pytest.mark.parametrize("layouts", [COMMON, EVERY])
@pytest.mark.parametrize("how", [{}, {"traced": True}])
def test_a_layout_that_is_asked_for_is_the_layout(layout: Any, layouts: Any, how: dict[str, bool]) -> None:
    data = bare_set([25, 4, 20, 9], layout=layout)
    assert type(data.batch(np.arange(4), layouts, **how)) is TYPES[layout]


@pytest.mark.parametrize("only", COMMON)
@pytest.mark.parametrize("asked", ["auto", *COMMON])
@pytest.mark.parametrize("sizes", [SMALL, UNEVEN])
def test_a_model_that_takes_one_layout_gets_it(only: Any, asked: Any, sizes: np.ndarray) -> None:
    assert choose_layout([only], sizes, asked) == only


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize(
    ("sizes", "layout"), [([25, 4, 20, 9], "padded"), ([9, 9, 9, 9], "padded"), ([1, 1, 60], "packed")]
)
def test_without_kernels_every_model_has_the_same_layout(sizes: list[int], layout: str) -> None:
    for layouts in (COMMON, EVERY):
        assert type(bare_set(sizes).batch(np.arange(len(sizes)), layouts)) is TYPES[layout]


@pytest.mark.parametrize("sizes", [[25, 4, 20, 9], [9, 9, 9, 9], [1, 1, 60], [120, 20]])
def test_the_kernels_take_graphs_of_any_sizes(sizes: list[int]) -> None:
    kernels(torch.float32)
    data, index = bare_set(sizes), np.arange(len(sizes))
    assert type(data.batch(index, EVERY)) is CompressedBatch


def test_numbers_that_the_kernels_do_not_know_go_without() -> None:
    data = TensorSet(pack([(3, [])]), np.ones((3, 1), np.float16))
    assert not isinstance(data.batch(np.array([0]), EVERY), CompressedBatch)


@pytest.mark.parametrize("traced", [False, True])
def test_a_gpu_goes_without_the_kernels(traced: bool) -> None:
    assert choose_layout(EVERY, SMALL, device="cuda", traced=traced) == "padded"
    assert choose_layout(EVERY, UNEVEN, device="cuda", traced=traced) == "packed"


@pytest.mark.parametrize("layouts", [COMMON, EVERY])
@pytest.mark.parametrize("sizes", [SMALL, UNEVEN])
def test_a_step_compiled_for_one_thread_of_a_cpu_is_packed(
    layouts: Any, sizes: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler does not see into the kernels, and has no use for padding; sums that threads share are slow."""
    assert choose_layout(layouts, sizes, traced=True) == "packed"
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert choose_layout(layouts, sizes, traced=True) == ("padded" if sizes is SMALL else "packed")


def test_models_train_at_once_unless_padding_is_all_they_take_and_a_graph_is_large() -> None:
    assert has_stacked_layout(("packed", "padded"), UNEVEN)
    assert has_stacked_layout(("padded",), np.array([128]))
    assert not has_stacked_layout(("padded",), UNEVEN)
    assert not has_stacked_layout((), SMALL)
