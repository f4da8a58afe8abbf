"""Small products are written out, large ones stay, and the numbers are the same."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from sargnn.training.vectorized import compiling


def chain(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
    """One product without and one with a summand."""
    return torch.addmm(bias, torch.relu(x @ w), w)


def operations(traced: torch.fx.GraphModule) -> Counter[str]:
    return Counter(node.target.__name__ for node in traced.graph.nodes if node.op == "call_function")


@pytest.mark.parametrize("rows", [3, 128])
def test_small_products_become_sums(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_small", lambda left, right: True)
    inputs = torch.randn(rows, 5), torch.randn(5, 5), torch.randn(5)
    traced = make_fx(chain, tracing_mode="fake")(*inputs)
    shapes = [node.meta["val"].shape for node in traced.graph.nodes if "val" in node.meta]
    compiling.write_out_small_products(traced.graph)
    traced.recompile()
    assert operations(traced) == {
        "unsqueeze.default": 4, "mul.Tensor": 2, "sum.dim_IntList": 2, "relu.default": 1, "add.Tensor": 1,
    }  # fmt: skip
    assert {node.meta["val"].shape for node in traced.graph.nodes if "val" in node.meta} >= set(shapes)
    torch.testing.assert_close(traced(*inputs), chain(*inputs))


@pytest.mark.parametrize(
    ("device", "left", "right", "small"),
    [
        ("cuda", (128, 64), (64, 10), True),
        ("cuda", (129, 64), (64, 10), False),
        ("cuda", (64, 3200), (3200, 64), False),
        ("cuda", (64, 64), (64, 129), False),
        ("cpu", (128, 64), (64, 10), False),
    ],
)
def test_only_small_matrices_on_a_gpu(device: str, left: tuple[int, int], right: tuple[int, int], small: bool) -> None:
    with torch._subclasses.FakeTensorMode():
        assert compiling._small(torch.empty(left, device=device), torch.empty(right, device=device)) == small


def test_scaled_sums_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_small", lambda left, right: True)
    inputs = torch.randn(3), torch.randn(2, 4), torch.randn(4, 3)
    traced = make_fx(lambda b, x, w: torch.addmm(b, x, w, beta=0.5), tracing_mode="fake")(*inputs)
    compiling.write_out_small_products(traced.graph)
    assert operations(traced) == {"addmm.default": 1}
