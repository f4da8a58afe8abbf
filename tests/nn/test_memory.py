"""Graph Neural Memory by numbers worked by hand."""

from __future__ import annotations

from math import log, sqrt

import pytest
import torch
from torch import Tensor, nn

from literal import EXAMPLES, LAYOUTS, batch_of, both_ways, make_model
from sargnn.batching import PackedBatch
from sargnn.nn import GraphNeuralMemory, InitialMemory, ModelConfig
from sargnn.nn.memory import perceptron

PAIR = PackedBatch.from_edges(torch.tensor([[0, 4], [log(3), 8]]), torch.tensor([[0, 1], [1, 0]]))
"""Two nodes: the first feature is for keys, the second for values."""


def set_weight(layer: nn.Linear, rows: list[list[float]]) -> None:
    """Rows as the equations have them, features in x features out."""
    layer.weight.data = torch.tensor(rows, dtype=torch.float32).T


def reader(iterations: int = 1) -> GraphNeuralMemory:
    """d_H = 2, d_M = d = 1: q = M, K = first feature, V = second feature, F_MLP(v) = 3 relu(v - 5) + 0.5."""
    memory = GraphNeuralMemory(2, 1, 1, iterations)
    set_weight(memory.query, [[1]])
    set_weight(memory.key, [[1], [0]])
    set_weight(memory.value, [[0], [1]])
    first, _, last = memory.mlp
    for parameter, value in ((first.weight, 1), (first.bias, -5), (last.weight, 3), (last.bias, 0.5)):
        parameter.data.fill_(value)
    return memory


def read(memory: GraphNeuralMemory, m: list[list[float]], batch: PackedBatch = PAIR) -> Tensor:
    return memory(batch.x, torch.tensor(m, dtype=torch.float32), batch).detach()


def test_one_read() -> None:
    # q = 1; q Kᵀ = (0, ln 3); softmax = (1, 3) / 4; M' = 4 / 4 + 3 · 8 / 4 = 7
    assert reader().attend(PAIR.x, torch.tensor([[1.0]]), PAIR).item() == pytest.approx(7)
    # F_MLP(7) = 3 · (7 - 5) + 0.5 = 6.5; M¹ = M⁰ + 6.5 = 7.5
    assert read(reader(), [[1]]).item() == pytest.approx(7.5)
    # q = -1: softmax(0, -ln 3) = (3, 1) / 4; M' = 3 + 2 = 5; F_MLP(5) = 0.5; M¹ = -1 + 0.5
    assert read(reader(), [[-1]]).item() == pytest.approx(-0.5)


def test_two_iterations_query_with_what_was_read_and_add_the_residual_once() -> None:
    # first read as above: 6.5, without residual; now q = 6.5, softmax(0, 6.5 ln 3) = (1, 3^6.5) / (1 + 3^6.5)
    # M' = 4 + 4 · 3^6.5 / (1 + 3^6.5); M = 1 + 3 (M' - 5) + 0.5
    high = 3**6.5 / (1 + 3**6.5)
    assert read(reader(iterations=2), [[1]]).item() == pytest.approx(1 + 3 * (4 + 4 * high - 5) + 0.5, rel=1e-6)


def test_scores_are_divided_by_the_root_of_d() -> None:
    # d = 4, q = (1, 1, 1, 1), K_j = h_j (1, 1, 1, 1): q K_jᵀ / √4 = 2 h_j = (0, ln 3) for h = (0, ln 3 / 2)
    memory = GraphNeuralMemory(1, 1, 4)
    for layer in (memory.query, memory.key):
        set_weight(layer, [[1, 1, 1, 1]])
    set_weight(memory.value, [[1, 2, 3, 4]])
    x = torch.tensor([[0.0], [log(3) / 2]])
    batch = PackedBatch.from_edges(x, torch.empty(2, 0, dtype=torch.long))
    # M' = 3/4 · (ln 3 / 2) · (1, 2, 3, 4)
    expected = 0.375 * log(3) * torch.tensor([[1.0, 2, 3, 4]])
    torch.testing.assert_close(memory.attend(x, torch.ones(1, 1), batch), expected)


def test_each_head_attends_for_itself() -> None:
    # d = 2 in two heads of width 1, scores over √1: the first head has q = 1, K = h, the second q = -1, K = h
    memory = GraphNeuralMemory(2, 1, 2, heads=2)
    set_weight(memory.query, [[1, -1]])
    set_weight(memory.key, [[1, 1], [0, 0]])
    set_weight(memory.value, [[0, 0], [1, 10]])
    # head 1: (1, 3) / 4 -> 1 + 6 = 7; head 2: (3, 1) / 4 -> 10 (3 + 2) = 50
    torch.testing.assert_close(memory.attend(PAIR.x, torch.ones(1, 1), PAIR), torch.tensor([[7.0, 50.0]]))


def test_a_single_node_is_all_there_is_to_read() -> None:
    # softmax of one score is 1 whatever the query: M' = V
    lonely = PackedBatch.from_edges(torch.tensor([[2.5, 9.0]]), torch.empty(2, 0, dtype=torch.long))
    assert reader().attend(lonely.x, torch.tensor([[-7.0]]), lonely).item() == pytest.approx(9)


def test_graphs_are_read_apart() -> None:
    two_pairs = torch.tensor(both_ways((0, 1), (2, 3))).T
    both = PackedBatch.from_edges(PAIR.x.repeat(2, 1), two_pairs, torch.tensor([0, 0, 1, 1]))
    torch.testing.assert_close(read(reader(), [[1], [-1]], both), torch.tensor([[7.5], [-0.5]]))


def test_scores_too_large_to_exponentiate() -> None:
    huge = PackedBatch.from_edges(PAIR.x * 1e6, PAIR.edge_index)
    assert reader().attend(huge.x, torch.tensor([[50.0]]), huge).item() == pytest.approx(8e6)


def test_initial_memory_is_one_vector_for_all_graphs() -> None:
    torch.manual_seed(0)
    initial = InitialMemory(4000)
    rows = initial(batch_of(EXAMPLES, "packed"))
    assert rows.shape == (len(EXAMPLES), 4000)
    assert all(torch.equal(row, initial.vector) for row in rows)
    # drawn from N(0, 1): mean within 5/√4000, variance within 5 √(2/4000)
    assert abs(initial.vector.mean().item()) < 5 / sqrt(4000)
    assert abs(initial.vector.var().item() - 1) < 5 * sqrt(2 / 4000)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_absorbed_projections_are_keys_and_values(layout: str) -> None:
    """K and V, formed as the equation writes them, give the same memory."""
    memory = make_model(ModelConfig(hidden=8, memory=5, attention=6)).memory_layers[0]
    batch = batch_of(EXAMPLES, layout)
    m = torch.randn(len(EXAMPLES), 5, dtype=torch.float64)
    weights = batch.softmax_nodes(batch.compare(memory.query(m), memory.key(batch.x)) / sqrt(6))
    expected = batch.pool(weights, memory.value(batch.x))
    torch.testing.assert_close(memory.attend(batch.x, m, batch), expected, rtol=1e-12, atol=1e-12)


def test_perceptron_is_two_layers_with_relu() -> None:
    assert [type(layer) for layer in perceptron(2, 3, 4)] == [nn.Linear, nn.ReLU, nn.Linear]
    assert [type(layer) for layer in perceptron(2, 3, 4, dropout=0.5)] == [nn.Linear, nn.ReLU, nn.Dropout, nn.Linear]
