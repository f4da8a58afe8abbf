"""Batches: index arithmetic and the primitives of all layouts against loops over graphs, nodes and neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from literal import (
    COMMON,
    EXAMPLES,
    LAYOUTS,
    Graph,
    batch_of,
    both_ways,
    edge_arguments,
    every_batch_of,
    graph,
    kernels,
    tensor_set,
    wild_graphs,
)
from sargnn.batching import Batch, PackedBatch, PaddedBatch, padded
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import GraphSet, pack
from sargnn.errors import InputError

any_graphs = settings(max_examples=25, deadline=None, derandomize=True, database=None)
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


def rows(batch: Batch, values: Tensor) -> list[np.ndarray]:
    """Node values ``[..., nodes, d]`` of a batch as one array a graph."""
    if isinstance(batch, PaddedBatch):
        return [values[..., b, : int(batch.mask[b].sum()), :].numpy() for b in range(batch.num_graphs)]
    return [values[..., batch.graph == b, :].numpy() for b in range(batch.num_graphs)]


def matrices(batch: Batch, values: Tensor, sizes: list[int]) -> list[np.ndarray]:
    """Edge values of a batch as one N x N matrix (target, source) a graph."""
    if isinstance(batch, PaddedBatch):
        dense = (values * batch.closed).numpy()
        return [dense[b, :n, :n] for b, n in enumerate(sizes)]
    whole = np.zeros((len(batch.x), len(batch.x)))
    whole[batch.target.numpy(), batch.source.numpy()] = values.numpy()
    starts = np.cumsum([0, *sizes])
    return [whole[a : a + n, a : a + n] for a, n in zip(starts, sizes, strict=False)]


def softmax(v: np.ndarray) -> np.ndarray:
    return np.exp(v) / np.exp(v).sum()


# --------------------------------------------------------------------------------------------------- index arithmetic


def slow_packed(graphs: list[Graph], index: list[int]) -> tuple[np.ndarray, set[tuple[int, int]], list[int]]:
    """Node inputs, edges of closed neighbourhoods and the graph of every node, put together graph after graph."""
    x, edges, owner = [], set(), []
    for place, g in enumerate(index):
        start = len(owner)
        x.append(graphs[g].x)
        edges |= {(start + u, start + v) for u, v in graphs[g].edges}
        edges |= {(start + v, start + v) for v in range(graphs[g].nodes)}
        owner += [place] * graphs[g].nodes
    return np.concatenate(x), edges, owner


@st.composite
def choices(draw: st.DrawFn) -> tuple[list[Graph], list[int]]:
    """Some graphs and an order of some of them, repeats allowed."""
    graphs = draw(st.lists(wild_graphs(), min_size=1, max_size=5))
    return graphs, draw(st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=6))


@any_graphs
@given(choice=choices())
def test_packed_is_the_slow_construction(choice: tuple[list[Graph], list[int]]) -> None:
    graphs, index = choice
    batch = tensor_set(graphs).packed(np.array(index))
    x, edges, owner = slow_packed(graphs, index)
    np.testing.assert_array_equal(batch.x.numpy(), x)
    assert batch.graph.tolist() == owner
    pairs = list(zip(batch.source.tolist(), batch.target.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == edges
    assert pairs[len(pairs) - len(x) :] == [(v, v) for v in range(len(x))]
    assert batch.num_graphs == len(index)


@any_graphs
@given(choice=choices())
def test_compressed_is_the_slow_construction_target_after_target(choice: tuple[list[Graph], list[int]]) -> None:
    graphs, index = choice
    kernels(torch.float64)
    batch = tensor_set(graphs).compressed(np.array(index))
    x, edges, owner = slow_packed(graphs, index)
    np.testing.assert_array_equal(batch.x.numpy(), x)
    assert batch.graph.tolist() == owner
    pairs = list(zip(batch.source.tolist(), batch.target.tolist(), strict=True))
    assert sorted(pairs) == sorted(edges)
    assert batch.target.tolist() == sorted(batch.target.tolist())
    assert batch.num_graphs == len(index)


@any_graphs
@given(choice=choices(), spare=st.integers(0, 3))
def test_padded_is_the_slow_construction(choice: tuple[list[Graph], list[int]], spare: int) -> None:
    graphs, index = choice
    largest = max(graphs[g].nodes for g in index)
    batch = tensor_set(graphs).padded(np.array(index), largest + spare)
    assert batch.mask.shape == (len(index), largest + spare)
    for b, g in enumerate(graphs[i] for i in index):
        n = g.nodes
        np.testing.assert_array_equal(batch.x[b, :n].numpy(), g.x)
        assert not batch.x[b, n:].any()
        assert batch.mask[b].tolist() == [True] * n + [False] * (largest + spare - n)
        expected = np.eye(largest + spare)
        expected[:n, :n] = g.closed
        np.testing.assert_array_equal(batch.closed[b].numpy(), expected)


def test_padded_is_as_large_as_the_largest_chosen() -> None:
    graphs = tensor_set(EXAMPLES)
    assert graphs.padded(np.array([0, 5])).mask.shape == (2, 3)
    assert graphs.padded(np.array([2])).mask.shape == (1, 1)


@every_layout
def test_what_is_known_follows_the_order(layout: str) -> None:
    graphs = pack(
        [(2, both_ways((0, 1))), (1, []), (3, [])], y=[2, 0, 1], classes="abc", true_saliency=[1, 3, 5, 0, 0, 0]
    )
    if layout == "compressed":
        kernels(torch.float32)
    batch = getattr(TensorSet(graphs, np.ones((6, 1), np.float32)), layout)(np.array([2, 0]))
    assert batch.y.tolist() == [1, 2]
    # graph 2 has no true saliency at all, graph 0 has 1 : 3
    expected = [[0, 0, 0], [0.25, 0.75, 0]] if layout == "padded" else [0, 0, 0, 0.25, 0.75]
    assert batch.truth.tolist() == expected
    assert batch.truth.dtype == torch.float32


@every_layout
def test_nothing_known_is_nothing_given(layout: str) -> None:
    batch = batch_of(EXAMPLES, layout)
    assert batch.y is None
    assert batch.truth is None


@pytest.fixture
def every_warning() -> Iterator[None]:
    """PyTorch gives some warnings once a process; here every time."""
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


@pytest.mark.usefixtures("every_warning")
def test_set_of_a_memory_mapped_folder(tmp_path: Path) -> None:
    """Tensors over read-only maps: PyTorch warns that writing to them is undefined."""
    graphs = pack([(2, both_ways((0, 1)))], y=[0], classes=["a"], node_attributes=np.ones((2, 3)))
    graphs.save(tmp_path / "set")
    opened = GraphSet.open(tmp_path / "set")
    assert opened.node_attributes is not None
    assert TensorSet(opened, opened.node_attributes).packed(np.array([0])).x.tolist() == [[1.0] * 3] * 2


# --------------------------------------------------------------------------------------------------------- from_edges


@any_graphs
@given(graphs=st.lists(wild_graphs(), min_size=1, max_size=4))
def test_from_edges_merges_what_is_repeated(graphs: list[Graph]) -> None:
    x, edges, owner = slow_packed(graphs, list(range(len(graphs))))
    batch = PackedBatch.from_edges(*edge_arguments(graphs))
    pairs = list(zip(*batch.edge_index.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == edges
    assert pairs[len(pairs) - len(x) :] == [(v, v) for v in range(len(x))]
    assert batch.graph.tolist() == owner
    assert batch.num_graphs == len(graphs)


def test_from_edges_keeps_the_order_of_clean_edges() -> None:
    """Explainers put their mask on the edges in the order in which they were given."""
    edge_index = torch.tensor([[3, 0, 2, 1], [1, 2, 0, 3]])
    assert torch.equal(PackedBatch.from_edges(torch.ones(4, 1), edge_index).edge_index[:, :4], edge_index)


def test_from_edges_without_batch_is_one_graph() -> None:
    batch = PackedBatch.from_edges(torch.ones(3, 1), torch.empty(2, 0, dtype=torch.long))
    assert batch.num_graphs == 1
    assert batch.graph.tolist() == [0, 0, 0]


def test_gradients_reach_the_inputs_of_from_edges() -> None:
    x = torch.ones(2, 1, requires_grad=True)
    PackedBatch.from_edges(x, torch.tensor([[0], [1]])).x.sum().backward()
    assert x.grad is not None


# --------------------------------------------------------------------------------------------------------- primitives


def node_values(batch: Batch, *leading: int, d: int | None = None) -> Tensor:
    """Random node tensor; values of real nodes do not depend on the layout."""
    generator = torch.Generator().manual_seed(3)
    n = int(batch.mask.sum()) if isinstance(batch, PaddedBatch) else len(batch.x)
    flat = torch.randn(*leading, n, *([d] if d else []), generator=generator, dtype=torch.float64)
    if not isinstance(batch, PaddedBatch):
        return flat
    out = torch.full((*leading, *batch.mask.shape, *([d] if d else [])), 1e3, dtype=torch.float64)
    out[(slice(None),) * len(leading) + (batch.mask,)] = flat
    return out


@every_layout
@any_graphs
@given(graphs=st.lists(wild_graphs(), min_size=1, max_size=4))
def test_node_primitives_are_loops_over_graphs(layout: str, graphs: list[Graph]) -> None:
    batch = batch_of(graphs, layout)
    scores, h, g = node_values(batch), node_values(batch, d=2), torch.randn(len(graphs), 2, dtype=torch.float64)
    vectors = g.numpy()
    soft = batch.softmax_nodes(scores)
    columns = [rows(batch, v.unsqueeze(-1)) for v in (scores, soft, batch.compare(g, h), batch.uniform)]
    features, alike = [rows(batch, v) for v in (h, batch.spread(g))], rows(batch, batch.resemblance(g, h).unsqueeze(-1))
    for b, graph_ in enumerate(graphs):
        score, softened, compared, uniform = (column[b][:, 0] for column in columns)
        feature, spread = (f[b] for f in features)
        np.testing.assert_allclose(softened, softmax(score), rtol=1e-12)
        np.testing.assert_allclose(compared, [vectors[b] @ row for row in feature], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(uniform, np.full(graph_.nodes, 1 / graph_.nodes))
        np.testing.assert_array_equal(spread, np.tile(vectors[b], (graph_.nodes, 1)))
        np.testing.assert_allclose(batch.sum(h)[b].numpy(), sum(feature), rtol=1e-12, atol=1e-12)
        pooled = sum(s * row for s, row in zip(softened, feature, strict=True))
        np.testing.assert_allclose(batch.pool(soft, h)[b].numpy(), pooled, rtol=1e-12, atol=1e-12)
        shares = softmax(compared)
        np.testing.assert_allclose(alike[b][:, 0], shares, rtol=1e-12)
        np.testing.assert_allclose(batch.read(g, h)[b].numpy(), shares @ feature, rtol=1e-12, atol=1e-12)


@every_layout
@any_graphs
@given(graphs=st.lists(wild_graphs(), min_size=1, max_size=4))
def test_edge_primitives_are_loops_over_neighbours(layout: str, graphs: list[Graph]) -> None:
    batch, sizes = batch_of(graphs, layout), [g.nodes for g in graphs]
    v, h = node_values(batch), node_values(batch, d=2)
    scores = batch.ones * (batch.at_target(v) + 2 * batch.at_source(v))
    by_graph = {
        name: matrices(batch, values, sizes)
        for name, values in {
            "scores": scores, "softmax": batch.softmax_neighbours(scores), "ones": batch.ones,
            "loops": batch.ones * batch.loops, "gcn": batch.renormalised, "gcn exp": batch.renormalised_exp,
        }.items()
    }  # fmt: skip
    values, features = rows(batch, v.unsqueeze(-1)), rows(batch, h)
    summed, degrees = rows(batch, batch.aggregate(scores, h)), rows(batch, batch.degrees.unsqueeze(-1))
    means = rows(batch, batch.weighted_mean(batch.renormalised, v.abs(), h))
    sums = rows(batch, batch.neighbour_sum(scores, v).unsqueeze(-1))
    for b, g in enumerate(graphs):
        got = {name: per_graph[b] for name, per_graph in by_graph.items()}
        np.testing.assert_array_equal(got["ones"], g.closed)
        np.testing.assert_array_equal(got["loops"], np.eye(g.nodes))
        for i in range(g.nodes):
            hears = np.flatnonzero(g.closed[i])
            score = values[b][i, 0] + 2 * values[b][hears, 0]
            weights = [1 / np.sqrt(g.closed[i].sum() * g.closed[j].sum()) for j in hears]
            np.testing.assert_allclose(got["scores"][i, hears], score, rtol=1e-12)
            np.testing.assert_allclose(got["softmax"][i, hears], softmax(score), rtol=1e-12)
            np.testing.assert_allclose(got["gcn"][i, hears], weights, rtol=1e-12)
            np.testing.assert_allclose(got["gcn exp"][i, hears], np.exp(weights), rtol=1e-12)
            np.testing.assert_allclose(summed[b][i], score @ features[b][hears], rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(sums[b][i], score @ values[b][hears], rtol=1e-12, atol=1e-12)
            shares = weights * abs(values[b][hears, 0])
            np.testing.assert_allclose(means[b][i], shares @ features[b][hears] / shares.sum(), rtol=1e-11, atol=1e-12)
            assert degrees[b][i, 0] == len(hears)


@every_layout
@pytest.mark.parametrize("heads", [1, 3])
def test_heads_are_a_leading_dimension(layout: str, heads: int) -> None:
    """Every primitive on a stack of heads is the stack of the primitive on each."""
    batch = batch_of(EXAMPLES, layout)
    v, h = node_values(batch, heads), node_values(batch, heads, d=2)
    g = torch.randn(heads, len(EXAMPLES), 2, dtype=torch.float64)
    edge = batch.ones * batch.at_source(v)
    shared = node_values(batch, d=2)
    calls: list[tuple[Callable[..., Tensor], tuple[Tensor, ...]]] = [
        (batch.softmax_nodes, (v,)), (batch.pool, (v, h)), (batch.sum, (h,)), (batch.spread, (g,)),
        (batch.at_source, (v,)), (batch.at_target, (v,)), (batch.softmax_neighbours, (edge,)),
        (batch.aggregate, (edge, h)), (batch.per_node, (v,)),
        (lambda q: batch.compare(q, shared), (g,)), (lambda w: batch.pool(w, shared), (v,)),
    ]  # fmt: skip
    for primitive, arguments in calls:
        one_by_one = torch.stack([primitive(*(a[head] for a in arguments)) for head in range(heads)])
        torch.testing.assert_close(primitive(*arguments), one_by_one, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_largest_value_is_that_of_a_loop_over_the_nodes(layout: str) -> None:
    """Also where all values are negative, and 0 for a graph without nodes."""
    graphs = [*EXAMPLES, Graph(0, (), np.empty((0, 3)))]
    batch = batch_of(graphs, layout)
    h = node_values(batch, d=2) - 5
    rows = torch.stack([batch.per_node(column) for column in h.unbind(-1)], dim=-1)
    values = rows.split([graph.nodes for graph in graphs])
    expected = torch.stack([own.max(0).values if len(own) else torch.zeros(2, dtype=h.dtype) for own in values])
    torch.testing.assert_close(batch.max(h), expected)


def test_padding_has_no_share() -> None:
    """Whatever a padding row holds (here a thousand), no softmax gives it weight, so nothing of it is pooled; a graph
    without nodes pools to zero."""
    graphs = [*EXAMPLES, Graph(0, (), np.empty((0, 3)))]
    packed, padded = (batch_of(graphs, layout) for layout in COMMON)
    pooled, expected = (
        batch.pool(batch.softmax_nodes(node_values(batch)), node_values(batch, d=2)) for batch in (padded, packed)
    )
    torch.testing.assert_close(pooled, expected)
    assert pooled[-1].tolist() == [0, 0]
    assert not padded.softmax_nodes(node_values(padded))[~padded.mask].any()


def test_attention_by_sums_is_attention_by_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a compiler for a GPU gets it; a graph without nodes is among them."""
    mask = torch.tensor([[True, True, False], [False, False, False], [True, True, True]])
    batch = PaddedBatch(torch.randn(3, 3, 4), torch.eye(3).expand(3, 3, 3), mask)
    g = torch.randn(3, 4)
    results = []
    for fuses in (False, True):
        monkeypatch.setattr(padded, "_fuses", lambda h, fuses=fuses: fuses)
        s = batch.resemblance(g, batch.x)
        results.append((s, batch.read(g, batch.x), batch.pool(s, batch.x)))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


def test_a_graph_without_nodes_shares_nothing_out() -> None:
    graphs = [graph(2, []), Graph(0, (), np.empty((0, 3)))]
    assert batch_of(graphs, "padded").uniform.tolist() == [[0.5, 0.5], [0, 0]]
    for batch in every_batch_of(graphs):
        assert batch.per_node(batch.uniform).tolist() == [0.5, 0.5]
        assert batch.sum(node_values(batch, d=2))[1].tolist() == [0, 0]


@every_layout
def test_moments_are_those_of_all_nodes(layout: str) -> None:
    batch = batch_of(EXAMPLES, layout)
    mean, variance, count = batch.moments(node_values(batch, d=4))
    flat = node_values(batch_of(EXAMPLES, "packed"), d=4).numpy()
    np.testing.assert_allclose(mean.numpy(), flat.mean(axis=0))
    np.testing.assert_allclose(variance.numpy(), flat.var(axis=0))
    assert count.item() == len(flat)


def test_per_node_lists_graph_after_graph() -> None:
    first, *others = (batch.per_node(node_values(batch)) for batch in every_batch_of(EXAMPLES))
    assert all(torch.equal(other, first) for other in others)


@every_layout
@pytest.mark.parametrize("shift", [-1e4, 1e4])
def test_softmaxes_survive_any_size_of_score(layout: str, shift: float) -> None:
    batch = batch_of([graph(3, both_ways((0, 1)))], layout, np.float32)
    scores = torch.full(batch.x.shape[:-1], shift).requires_grad_()
    soft = batch.softmax_nodes(scores)
    assert batch.per_node(soft).tolist() == pytest.approx([1 / 3] * 3)
    near = batch.softmax_neighbours(batch.ones * batch.at_source(scores))
    torch.testing.assert_close(batch.aggregate(near, torch.ones_like(batch.x)), torch.ones_like(batch.x))
    (soft.square().sum() + near.square().sum()).backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


@every_layout
def test_gradients_of_the_primitives(layout: str) -> None:
    batch = batch_of(EXAMPLES[2:5], layout)
    v, h = (node_values(batch, **kind).clamp(max=2).requires_grad_() for kind in ({}, {"d": 2}))
    edge = (batch.ones * batch.at_source(v) + batch.at_target(v).sin()).detach().requires_grad_()
    g = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    check = torch.autograd.gradcheck
    assert check(batch.softmax_nodes, v)
    assert check(batch.pool, (v, h))
    assert check(batch.sum, h)
    assert check(batch.resemblance, (g, h))
    assert check(batch.read, (g, h))
    assert check(lambda t, z: batch.weighted_mean(batch.renormalised_exp, t.exp(), z), (v, h))
    assert check(batch.softmax_neighbours, edge)
    assert check(batch.aggregate, (edge, h))


@every_layout
def test_dtype_of_the_inputs_is_kept(layout: str) -> None:
    for dtype, expected in ((np.float32, torch.float32), (np.float64, torch.float64)):
        batch = batch_of(EXAMPLES, layout, dtype)
        made = [batch.x, batch.ones, batch.loops, batch.uniform, batch.degrees, batch.renormalised]
        assert {value.dtype for value in made} == {expected}


@any_graphs
@given(choice=choices())
def test_stored_weights_are_those_of_the_structure(choice: tuple[list[Graph], list[int]]) -> None:
    """The set keeps the local weights of the compressed layout; made from the batch alone they are the same."""
    graphs, index = choice
    kernels(torch.float64)
    batch = tensor_set(graphs).compressed(np.array(index))
    alone = replace(batch, rows=None)
    assert torch.equal(batch.renormalised, alone.renormalised)
    assert torch.equal(batch.renormalised_exp, alone.renormalised_exp)


# ------------------------------------------------------------------------------------------ inputs of edges and graphs


def with_inputs(graphs: list[Graph]) -> list[Graph]:
    """Each edge, self-loops too, and each graph with two numbers that say which it is."""
    filled = []
    for number, g in enumerate(graphs):
        i, j = np.indices((g.nodes, g.nodes))
        e = np.stack([1000 * (number + 1) + 10 * i + j, i - j + 0.5], axis=-1)
        filled.append(replace(g, e=e.astype(float), u=np.array([number, -number], float)))
    return filled


@every_layout
@any_graphs
@given(choice=choices())
def test_edge_inputs_follow_their_edges_in_every_layout(layout: str, choice: tuple[list[Graph], list[int]]) -> None:
    graphs, index = with_inputs(choice[0]), choice[1]
    data = tensor_set(graphs)
    if layout == "compressed":
        kernels(torch.float64)
    batch = getattr(data, layout)(np.array(index))
    expected = [np.moveaxis(g.e * (g.closed - np.eye(g.nodes))[..., None], -1, 0) for g in (graphs[i] for i in index)]
    for feature in range(2):
        got = dense_edges(batch, batch.edges[feature])
        np.testing.assert_array_equal(got, block_diagonal([e[feature] for e in expected]))
    np.testing.assert_array_equal(batch.graph_x.numpy(), np.stack([graphs[i].u for i in index]))


def dense_edges(batch: Batch, values: Tensor) -> np.ndarray:
    """An edge tensor as one matrix over all nodes, graph after graph."""
    if isinstance(batch, PaddedBatch):
        blocks = [row[mask][:, mask].numpy() for row, mask in zip(values, batch.mask, strict=True)]
        assert values.count_nonzero() == sum(np.count_nonzero(block) for block in blocks)
        return block_diagonal(blocks)
    out = np.zeros((len(batch.x), len(batch.x)))
    out[batch.target.numpy(), batch.source.numpy()] = values.numpy()
    return out


def block_diagonal(blocks: list[np.ndarray]) -> np.ndarray:
    ends = np.cumsum([len(block) for block in blocks])
    out = np.zeros((ends[-1], ends[-1]))
    for end, block in zip(ends, blocks, strict=True):
        out[end - len(block) : end, end - len(block) : end] = block
    return out


def test_from_edges_gives_merged_edges_the_inputs_of_the_first() -> None:
    edge_index = torch.tensor([[0, 2, 0, 1, 0, 1], [1, 1, 1, 1, 1, 0]])  # 0 -> 1 three times, a loop at 1
    edge_attr = torch.tensor([[1.0], [2], [3], [4], [5], [6]])
    batch = PackedBatch.from_edges(torch.ones(3, 1), edge_index, edge_attr=edge_attr, graph_attr=torch.ones(1, 2))
    assert batch.edges is not None
    found = zip(batch.source.tolist(), batch.target.tolist(), batch.edges[0].tolist(), strict=True)
    assert sorted(found) == [(0, 0, 0), (0, 1, 1), (1, 0, 6), (1, 1, 0), (2, 1, 2), (2, 2, 0)]
    assert batch.graph_x is not None
    assert batch.graph_x.tolist() == [[1, 1]]


@pytest.mark.parametrize("edge", [(0, 3), (-1, 1), (2, 2**31 - 1)])
def test_edges_that_leave_their_graph_never_reach_the_kernels(edge: tuple[int, int], tmp_path: Path) -> None:
    """A folder may hold anything: what was saved is damaged on disk, and opened as it is."""
    kernels(torch.float32)
    pack([(2, [(0, 1)]), (3, [(0, 1), (1, 0)])]).save(tmp_path / "set")
    edges = np.load(tmp_path / "set" / "edges.npy")
    edges[:, 1] = edge
    np.save(tmp_path / "set" / "edges.npy", edges)
    data = TensorSet(GraphSet.open(tmp_path / "set"), np.ones((5, 1), np.float32))
    with pytest.raises(InputError, match=r"in graph 1, expected nodes 0\.\.2"):
        data.compressed(np.arange(2))


@pytest.mark.parametrize("pointers", [[0, 50, 5], [1, 2, 5], [0, -3, 5]])
def test_pointers_that_go_back_never_reach_the_kernels(pointers: list[int], tmp_path: Path) -> None:
    kernels(torch.float32)
    pack([(2, []), (3, [])]).save(tmp_path / "set")
    np.save(tmp_path / "set" / "node_ptr.npy", np.array(pointers))
    data = TensorSet(GraphSet.open(tmp_path / "set"), np.ones((5, 1), np.float32))
    with pytest.raises(InputError, match="pointers do not divide 5 nodes"):
        data.compressed(np.arange(1))
