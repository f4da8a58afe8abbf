"""ChebyGIN against hand-computed terms, a second implementation, and what attention must and must not do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.nn import ChebConv

from expressive import gap, randomised
from literal import COMMON, EXAMPLES, batch_of, both_ways, edge_arguments, node_rows
from sargnn.batching import PackedBatch
from sargnn.data.synthetic import triangles
from sargnn.errors import InputError
from sargnn.systems.base import real_nodes
from sargnn.systems.chebygin import ChebyGIN, ChebyGINConfig, above, attend, chebyshev_terms
from sargnn.training.loop import saliency_divergence
from sargnn.training.run import train
from sargnn.training.settings import Settings

every_layout = pytest.mark.parametrize("layout", COMMON)


def path(x: list[float]) -> PackedBatch:
    edges = both_ways(*((i, i + 1) for i in range(len(x) - 1)))
    return PackedBatch.from_edges(torch.tensor(x, dtype=torch.float64).unsqueeze(1), torch.tensor(edges).T)


def test_terms_of_a_path_of_three() -> None:
    batch = path([0, 1, 0])
    half = 0.5**0.5
    mean = chebyshev_terms(batch.x, torch.ones(3).double(), 3, "mean", batch)
    torch.testing.assert_close(mean.T, torch.tensor([[0, 1, 0], [-half, 0, -half], [0, 1, 0]]).double())
    scaled = chebyshev_terms(batch.x, torch.ones(3).double(), 3, "sum", batch)
    torch.testing.assert_close(scaled.T, torch.tensor([[0, 1, 0], [-half, 0, -half], [0, 2, 0]]).double())


def test_order_one_is_gcn() -> None:
    batch = batch_of(EXAMPLES, "packed")
    ones = real_nodes(batch)
    gcn = batch.aggregate(batch.renormalised, batch.x)
    if_symmetric = batch.graph != 4  # the directed example has other degrees at both ends
    torch.testing.assert_close(chebyshev_terms(batch.x, ones, 1, "mean", batch)[if_symmetric], gcn[if_symmetric])
    torch.testing.assert_close(
        chebyshev_terms(batch.x, ones, 1, "sum", batch)[if_symmetric],
        (batch.degrees.unsqueeze(-1) * gcn)[if_symmetric],
    )


@pytest.mark.parametrize("order", [2, 3, 7])
def test_terms_are_those_of_pytorch_geometric(order: int) -> None:
    graphs = [EXAMPLES[1], EXAMPLES[3], EXAMPLES[5]]
    x, edge_index, graph = edge_arguments(graphs)
    batch = PackedBatch.from_edges(x, edge_index, graph)
    conv = ChebConv(3, 5, order, bias=False).double()
    mine = chebyshev_terms(x, real_nodes(batch), order, "mean", batch)
    theirs = conv(x, edge_index, batch=graph, lambda_max=torch.tensor(2.0).double())
    torch.testing.assert_close(mine @ torch.cat([lin.weight for lin in conv.lins], dim=1).T, theirs)


def test_dropped_nodes_are_out_of_the_graph() -> None:
    """A path of five without its middle is two paths of two."""
    batch, kept = path([1, 2, 3, 4, 5]), torch.tensor([1, 1, 0, 1, 1]).double()
    x = batch.x * kept.unsqueeze(-1)
    terms = chebyshev_terms(x, kept, 3, "sum", batch)
    alone = path([1, 2])
    torch.testing.assert_close(terms[:2], chebyshev_terms(alone.x, torch.ones(2).double(), 3, "sum", alone))
    alone = path([4, 5])
    torch.testing.assert_close(terms[3:], chebyshev_terms(alone.x, torch.ones(2).double(), 3, "sum", alone))


@every_layout
def test_attention_is_a_distribution_and_thresholds_keep_something(layout: str) -> None:
    batch = batch_of(EXAMPLES, layout)
    kept = real_nodes(batch)
    torch.manual_seed(0)
    a = attend(torch.randn(kept.shape).double(), kept, batch)
    torch.testing.assert_close(batch.sum(a.unsqueeze(-1)), torch.ones(len(EXAMPLES), 1).double())
    assert torch.equal(above(a, 0.0, kept, batch), kept)
    most = batch.sum(above(a, 0.999, kept, batch).unsqueeze(-1)).flatten()
    assert most.tolist() == [1] * len(EXAMPLES)
    again = attend(torch.randn(kept.shape).double(), above(a, 0.2, kept, batch), batch)
    assert not again[above(a, 0.2, kept, batch) == 0].any()
    torch.testing.assert_close(batch.sum(again.unsqueeze(-1)), torch.ones(len(EXAMPLES), 1).double())


@pytest.mark.parametrize("attention", ["gnn", "linear", "none"])
@pytest.mark.parametrize("threshold", [0.0, 0.15])
def test_both_layouts_agree(attention: Any, threshold: float) -> None:
    config = ChebyGINConfig(hidden=8, order=3, attention=attention, threshold=threshold)
    model = randomised(ChebyGIN(config, 3, 2), 1)

    def outputs(layout: str) -> list[Tensor]:
        batch = batch_of(EXAMPLES, layout)
        out = model.encode(batch)
        return [out.graph, node_rows(batch, out.nodes), *map(batch.per_node, out.saliency)]

    for one, other in zip(*map(outputs, COMMON), strict=True):
        torch.testing.assert_close(one, other)


def test_divergence_is_zero_where_the_truth_is_met_and_teaches_the_attention_alone() -> None:
    graphs = triangles(train=10, validation=0, test=0, test_large=0)
    settings = Settings.of("chebygin", {"model.hidden": 8, "model.order": 2})
    from sargnn.batching.tensor_set import TensorSet
    from sargnn.data.features.encoder import Encoder

    batch = TensorSet(graphs, Encoder.fit(settings.data, graphs).encode(graphs)).packed(np.arange(10))
    assert batch.truth is not None
    assert saliency_divergence(batch, (batch.truth,), ()).item() == pytest.approx(0, abs=1e-6)
    model = ChebyGIN(settings.model, batch.x.shape[1], 10)
    divergence = saliency_divergence(batch, model.encode(batch).saliency, (0,))
    assert divergence > 0
    divergence.backward()
    taught = {name.split(".")[0] + name.split(".")[1] for name, p in model.named_parameters() if p.grad is not None}
    assert taught == {"layers0", "attention0"}  # and the features that it scores, but neither later layers nor the head


@pytest.mark.parametrize("pair", ["triangles", "molecules", "regular"])
@every_layout
def test_like_nodes_share_attention_so_the_pairs_look_the_same(pair: str, layout: str) -> None:
    for attention in ("gnn", "linear"):
        model = ChebyGIN(ChebyGINConfig(hidden=8, order=4, attention=attention, threshold=0.12), 1, 2)
        assert gap(model, pair, layout) < 1e-6


@pytest.mark.parametrize(
    "values", [{"order": 0}, {"layers": 0}, {"threshold": 1.0}, {"threshold": -0.1}, {"dropout": 1.0}, {"hidden": 0}]
)
def test_nonsense_is_refused_by_name(values: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"^model.{next(iter(values))}: got .*, expected "):
        ChebyGINConfig(**values)


def test_supervised_attention_finds_the_triangles() -> None:
    graphs = triangles(train=300, validation=50, test=50, test_large=0)
    values = {
        "model.order": 4, "model.hidden": 32, "model.threshold": 1e-3, "training.epochs": 12,
        "training.saliency_weight": 5.0, "training.learning_rate": 5e-3, "data.encodings": ["degree"],
    }  # fmt: skip
    run = train(graphs, Settings.of("chebygin", values))
    assert run.scores["test"]["saliency_auc"] > 0.9
