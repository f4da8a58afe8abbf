"""Every kernel against loops over graphs, nodes and edges, its gradient against numerical derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from literal import kernels
from sargnn.batching.kernels import Sums, drop

SIZES = [3, 0, 1, 6, 2, 0]
EDGES = [
    (1, 0), (0, 1), (2, 1), (2, 2),
    (3, 3),
    (4, 4), (5, 4), (4, 5), (6, 5), (7, 5), (8, 5), (5, 8), (9, 8),
    (11, 10),
]  # fmt: skip
"""(source, target), target after target: graphs without nodes, a graph of one node, directed edges, loops, nodes that
hear nobody (6, 7, 9, 11), a node that nobody hears (10)."""
NODES, GRAPHS = sum(SIZES), len(SIZES)
OWNER = np.repeat(np.arange(GRAPHS), SIZES)

WIDTHS = [1, 15, 16, 17, 63, 64, 65, 130]
"""On both sides of one vector and of four, in both kinds of numbers."""
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}
every_width = pytest.mark.parametrize("d", WIDTHS)
every_type = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


def sums_of(dtype: torch.dtype = torch.float64) -> Sums:
    starts = torch.from_numpy(np.cumsum([0, *SIZES]))
    heard = np.bincount([target for _, target in EDGES], minlength=NODES)
    source = torch.tensor([source for source, _ in EDGES])
    return Sums(kernels(dtype), starts, torch.from_numpy(np.cumsum([0, *heard])), source)


def values(name: str, d: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    """Random arguments of that kernel; those that are divided by are positive."""
    rng = np.random.default_rng([d, len(name)])
    g, h = rng.normal(size=(GRAPHS, d)) / sqrt(d), rng.normal(size=(NODES, d))
    w, t = rng.normal(size=len(EDGES)), rng.uniform(0.5, 2, NODES)
    arguments = {
        "attend": (g, h), "read": (g, h), "pool": (rng.normal(size=NODES), h), "aggregate": (w, h),
        "heads": (rng.normal(size=(3, len(EDGES))), rng.normal(size=(3, NODES, d))),
        "aggregate_kinds": (rng.normal(size=(len(EDGES), 3)), h), "compare": (rng.normal(size=(NODES, d)), h),
        "weighted_mean": (abs(w), t, h),
    }  # fmt: skip
    return tuple(torch.from_numpy(argument).to(dtype) for argument in arguments[name])


# ------------------------------------------------------------------------------------------------------ literal loops


def attend(g: np.ndarray, h: np.ndarray) -> np.ndarray:
    a = np.zeros(NODES)
    for b in range(GRAPHS):
        nodes = np.flatnonzero(b == OWNER)
        exponentials = [np.exp(sum(g[b] * h[j])) for j in nodes]
        for j, exponential in zip(nodes, exponentials, strict=True):
            a[j] = exponential / sum(exponentials)
    return a


def pool(w: np.ndarray, h: np.ndarray) -> np.ndarray:
    out = np.zeros((GRAPHS, h.shape[1]))
    for j in range(NODES):
        out[OWNER[j]] += w[j] * h[j]
    return out


def read(g: np.ndarray, h: np.ndarray) -> np.ndarray:
    return pool(attend(g, h), h)


def aggregate(w: np.ndarray, h: np.ndarray) -> np.ndarray:
    out = np.zeros_like(h)
    for e, (source, target) in enumerate(EDGES):
        out[target] += w[e] * h[source]
    return out


def heads(w: np.ndarray, h: np.ndarray) -> np.ndarray:
    return np.stack([aggregate(*own) for own in zip(w, h, strict=True)])


def aggregate_kinds(w: np.ndarray, h: np.ndarray) -> np.ndarray:
    return np.stack([aggregate(kind, h) for kind in w.T], axis=1)


def compare(g: np.ndarray, h: np.ndarray) -> np.ndarray:
    return np.array([sum(g[target] * h[source]) for source, target in EDGES])


def weighted_mean(w: np.ndarray, t: np.ndarray, z: np.ndarray) -> np.ndarray:
    """0 at a node that hears nobody."""
    above, below = np.zeros_like(z), np.zeros(NODES)
    for e, (source, target) in enumerate(EDGES):
        above[target] += w[e] * t[source] * z[source]
        below[target] += w[e] * t[source]
    return above / np.where(below == 0, 1, below)[:, None]


LITERAL: dict[str, Callable[..., np.ndarray]] = {
    "attend": attend, "read": read, "pool": pool, "aggregate": aggregate, "heads": heads,
    "aggregate_kinds": aggregate_kinds, "compare": compare, "weighted_mean": weighted_mean,
}  # fmt: skip
DIFFERENTIABLE = {name: (1, 2) if name == "weighted_mean" else (0, 1) for name in LITERAL}
"""The places of the arguments that have a gradient."""
every_kernel = pytest.mark.parametrize("name", LITERAL)


def kernel(name: str, dtype: torch.dtype = torch.float64) -> Callable[..., Tensor]:
    return getattr(sums_of(dtype), {"heads": "aggregate"}.get(name, name))


def gradients(name: str, arguments: tuple[Tensor, ...], wanted: tuple[int, ...], seed: int = 0) -> list[Tensor]:
    """Of a random weighted sum of the results, by the wanted arguments alone."""
    copies = [a.detach().clone().requires_grad_(place in wanted) for place, a in enumerate(arguments)]
    out = kernel(name, arguments[0].dtype)(*copies)
    rates = torch.randn(out.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return list(torch.autograd.grad((out * rates.to(out.dtype)).sum(), [copies[place] for place in wanted]))


# ------------------------------------------------------------------------------------------------ values and gradients


@every_type
@every_width
@every_kernel
def test_a_kernel_is_its_loop(name: str, d: int, dtype: torch.dtype) -> None:
    arguments = values(name, d, dtype)
    got = kernel(name, dtype)(*arguments)
    assert got.dtype == dtype
    expected = LITERAL[name](*(a.double().numpy() for a in arguments))
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(
        got.double().numpy(), expected, rtol=tolerance, atol=tolerance * max(1, abs(expected).max())
    )


@every_width
@every_kernel
def test_gradients_are_numerical_derivatives(name: str, d: int) -> None:
    """Along random directions; entry by entry below."""
    arguments = [a.requires_grad_(place in DIFFERENTIABLE[name]) for place, a in enumerate(values(name, d))]
    assert torch.autograd.gradcheck(kernel(name), arguments, fast_mode=True)


@every_kernel
def test_gradients_entry_by_entry(name: str) -> None:
    arguments = [a.requires_grad_(place in DIFFERENTIABLE[name]) for place, a in enumerate(values(name, 9))]
    assert torch.autograd.gradcheck(kernel(name), arguments)


@every_width
@every_kernel
def test_float32_has_the_gradients_of_float64(name: str, d: int) -> None:
    exact = values(name, d)
    rough = tuple(a.float() for a in exact)
    wanted = DIFFERENTIABLE[name]
    for got, expected in zip(gradients(name, rough, wanted), gradients(name, exact, wanted), strict=True):
        torch.testing.assert_close(got.double(), expected, rtol=1e-4, atol=1e-5 * max(1, expected.abs().max().item()))


@every_kernel
@pytest.mark.parametrize("which", [0, 1])
def test_one_gradient_alone_is_the_same(name: str, which: int) -> None:
    arguments, wanted = values(name, 17), DIFFERENTIABLE[name]
    both = gradients(name, arguments, wanted)
    (alone,) = gradients(name, arguments, (wanted[which],))
    assert torch.equal(alone, both[which])


def test_graphs_without_nodes_pool_to_zero() -> None:
    for name in ("read", "pool"):
        out = kernel(name)(*values(name, 17))
        assert not out[[1, 5]].any()
        assert out[[0, 2, 3, 4]].all()


def test_no_graphs_at_all() -> None:
    none = torch.zeros(1, dtype=torch.long)
    sums = Sums(kernels(torch.float64), none, none, torch.empty(0, dtype=torch.long))
    g, v = torch.empty(0, 3, dtype=torch.float64), torch.empty(0, dtype=torch.float64)
    assert sums.attend(g, g).shape == (0,)
    assert sums.read(g, g).shape == sums.pool(v, g).shape == sums.aggregate(v, g).shape == (0, 3)
    assert sums.weighted_mean(v, v, g).shape == drop(g, 0.5, sums.library).shape == (0, 3)


# ---------------------------------------------------------------------------------------------- whatever tensors come


def strided(a: Tensor) -> Tensor:
    """The same numbers, two places apart, and for matrices column after column."""
    wide = torch.full((*a.shape[:-1], 2 * a.shape[-1]), 1e9, dtype=a.dtype)
    wide[..., ::2] = a
    return wide[..., ::2] if a.dim() == 1 else a.mT.contiguous().mT


@every_kernel
def test_tensors_need_not_be_contiguous(name: str) -> None:
    arguments = values(name, 17)
    apart = [strided(a) for a in arguments]
    assert not any(a.is_contiguous() for a in apart)
    assert torch.equal(kernel(name)(*apart), kernel(name)(*arguments))


@every_kernel
def test_gradients_need_not_be_contiguous(name: str) -> None:
    """That of a sum is one number, expanded; that of a transposed result lies column after column."""
    arguments = [a.requires_grad_(place in DIFFERENTIABLE[name]) for place, a in enumerate(values(name, 17))]
    wanted = [arguments[place] for place in DIFFERENTIABLE[name]]
    out = kernel(name)(*arguments)
    expanded = torch.autograd.grad(out.sum(), wanted, retain_graph=True)
    plain = torch.autograd.grad(out, wanted, torch.ones_like(out), retain_graph=True)
    for one, other in zip(expanded, plain, strict=True):
        assert torch.equal(one, other)
    rates = torch.rand_like(out)
    for one, other in zip(
        torch.autograd.grad(out, wanted, strided(rates), retain_graph=True),
        torch.autograd.grad(out, wanted, rates),
        strict=True,
    ):
        assert torch.equal(one, other)


@pytest.mark.parametrize("kind", ["attend", "read"])
@pytest.mark.parametrize("scale", [-1e4, 1e4])
@every_type
def test_extreme_scores_are_a_finite_softmax(dtype: torch.dtype, scale: float, kind: str) -> None:
    g, h = values("attend", 17, dtype)
    g = scale * g
    shares = sums_of(dtype).attend(g, h).double()
    highest = [(g[b] @ h[b == OWNER].T).argmax().item() for b in (0, 3, 4)]
    for (first, last), best in zip(((0, 3), (4, 10), (10, 12)), highest, strict=True):
        assert shares[first:last].sum().item() == pytest.approx(1)
        assert shares[first:last].argmax().item() == best
    assert all(gradient.isfinite().all() for gradient in gradients(kind, (g, h), (0, 1)))


@every_type
@every_kernel
def test_no_number_in_is_no_number_out(name: str, dtype: torch.dtype) -> None:
    """In its own graph, and in no other."""
    arguments = values(name, 65, dtype)
    arguments[-1][..., 5, 64] = torch.nan  # node 5 of graph 3, which nodes 4 and 8 hear
    out = kernel(name, dtype)(*arguments)
    lost = {
        "attend": range(4, 10),
        "read": [3],
        "pool": [3],
        "aggregate": [4, 8],
        "heads": [4, 8],
        "aggregate_kinds": [4, 8],
        "compare": [6, 11],
        "weighted_mean": [4, 8],
    }
    by_row = out.isnan().any(0) if name == "heads" else out.isnan()
    by_row = by_row.flatten(1).any(1) if by_row.dim() > 1 else by_row
    assert by_row.nonzero().flatten().tolist() == list(lost[name])


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@every_type
@every_kernel
def test_threads_change_no_bit(name: str, dtype: torch.dtype, threads: Callable[[int], None]) -> None:
    arguments, results = values(name, 65, dtype), []
    for count in (1, 2):
        threads(count)
        results.append([kernel(name, dtype)(*arguments), *gradients(name, arguments, DIFFERENTIABLE[name])])
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)


# ------------------------------------------------------------------------------------------------------------- dropout

MILLION = 1_000_000


def dropped(h: Tensor, p: float, seed: int) -> Tensor:
    torch.manual_seed(seed)
    return drop(h, p, kernels(h.dtype))


@every_type
def test_the_seed_of_torch_decides_what_is_dropped(dtype: torch.dtype) -> None:
    h = torch.ones(50, 7, dtype=dtype)
    one, again, other = (dropped(h, 0.5, seed) for seed in (3, 3, 4))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert not torch.equal(drop(h, 0.5, kernels(dtype)), other)  # the next draw is another


@every_type
@pytest.mark.parametrize("p", [0.01, 0.1, 0.3, 0.5, 0.9, 0.999])
def test_the_share_that_is_dropped(p: float, dtype: torch.dtype) -> None:
    out = dropped(torch.ones(1000, 1000, dtype=dtype), p, 0)
    assert (out == 0).double().mean().item() == pytest.approx(p, abs=0.01)
    kept = out[out != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - p)))
    assert out.double().mean().item() == pytest.approx(1, abs=5 * sqrt(p / (1 - p) / MILLION))


@pytest.mark.parametrize("p", [0.3, 0.5])
def test_places_and_draws_are_independent(p: float) -> None:
    """Two places, or one place in two draws, are dropped together as often as chance would have it."""
    zero, one = ((dropped(torch.ones(MILLION), p, seed) == 0) for seed in (0, 1))
    together = {"two draws": (zero & one).double().mean().item()}
    for lag in (1, 2, 8, 16, 64, 65, 1024, 65536):
        together[f"{lag} apart"] = (zero[lag:] & zero[:-lag]).double().mean().item()
    assert together == pytest.approx(dict.fromkeys(together, p * p), abs=0.004)


def test_each_of_many_draws_drops_its_share() -> None:
    """A batch of a few numbers, drawn again and again."""
    torch.manual_seed(0)
    sums, ones = sums_of(), torch.ones(4, 4, dtype=torch.float64)
    zeros = torch.stack([drop(ones, 0.3, sums.library) == 0 for _ in range(3000)]).double().mean(0)
    assert (zeros - 0.3).abs().max() < 5 * sqrt(0.3 * 0.7 / 3000)


@every_type
def test_the_gradient_is_dropped_at_the_same_places(dtype: torch.dtype) -> None:
    h = torch.randn(40, 33, dtype=dtype).requires_grad_()
    out = dropped(h, 0.4, 1)
    (gradient,) = torch.autograd.grad(out, h, torch.full_like(h, 3.0), retain_graph=True)
    torch.testing.assert_close(gradient * h, 3 * out)
    assert torch.equal(gradient == 0, out == 0)
    (expanded,) = torch.autograd.grad(out.sum(), h)
    torch.testing.assert_close(3 * expanded, gradient)


def test_dropout_of_tensors_that_are_not_contiguous() -> None:
    h = torch.randn(6, 40, dtype=torch.float64)
    assert torch.equal(dropped(strided(h), 0.5, 2), dropped(h, 0.5, 2))
    assert torch.equal(dropped(h.view(3, 2, 40), 0.5, 2).view_as(h), dropped(h, 0.5, 2))


@every_type
@pytest.mark.parametrize("p", [1 - 1e-6, 1 - 2**-33, np.nextafter(1, 0)])
def test_nearly_everything_dropped_is_finite(p: float, dtype: torch.dtype) -> None:
    out = dropped(torch.ones(MILLION, dtype=dtype), float(p), 0)
    assert out.isfinite().all()
    assert (out == 0).double().mean() > 1 - 2e-5


def test_nothing_dropped_is_the_same() -> None:
    h = torch.randn(30, 5)
    assert torch.equal(dropped(h, 0.0, 0), h)


def test_what_is_no_number_is_not_hidden_by_dropout() -> None:
    out = dropped(torch.full((100,), torch.nan), 0.5, 0)
    assert out.isnan().all()


def test_masks_do_not_depend_on_the_type_of_number() -> None:
    one, other = (dropped(torch.ones(1000, dtype=dtype), 0.5, 0) for dtype in TOLERANCE)
    assert torch.equal(one == 0, other == 0)


def test_arguments_are_left_alone() -> None:
    for name in LITERAL:
        arguments = values(name, 17)
        before: list[Any] = [a.clone() for a in arguments]
        gradients(name, arguments, DIFFERENTIABLE[name])
        kernel(name)(*arguments)
        assert all(torch.equal(a, b) for a, b in zip(arguments, before, strict=True))
