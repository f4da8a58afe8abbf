"""DeepSets sees the nodes and nothing between them."""

from __future__ import annotations

import pytest
import torch

from expressive import PAIRS, gap
from literal import COMMON, EXAMPLES, batch_of, graph
from sargnn.systems.deepsets import DeepSets, DeepSetsConfig


def test_the_formula_by_hand() -> None:
    model = DeepSets(DeepSetsConfig(hidden=1), 1, 2)
    with torch.no_grad():
        model.nodes[0].weight.fill_(2)
        model.nodes[0].bias.fill_(-1)
    x = torch.tensor([[1.0], [0.2], [3.0]])
    assert model.encode(_batch(x)).graph.tolist() == [[1.0 + 0.0 + 5.0]]


def _batch(x: torch.Tensor):  # type: ignore[no-untyped-def]
    from sargnn.batching import PackedBatch

    return PackedBatch.from_edges(x, torch.empty(2, 0, dtype=torch.long))


@pytest.mark.parametrize("layout", COMMON)
def test_edges_do_not_matter(layout: str) -> None:
    model = DeepSets(DeepSetsConfig(hidden=8, layers=2), 3, 2).double()
    bare = [graph(g.nodes, []) for g in EXAMPLES]
    one, other = (model.encode(batch_of(graphs, layout)).graph for graphs in (EXAMPLES, bare))
    torch.testing.assert_close(one, other)


@pytest.mark.parametrize("pair", PAIRS)
def test_no_pair_is_told_apart(pair: str) -> None:
    assert gap(DeepSets(DeepSetsConfig(hidden=8), 1, 2), pair) < 1e-12
