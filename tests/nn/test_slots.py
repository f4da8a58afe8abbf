"""One memory slot per target: the literal model, in every layout, alone and in an ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from sargnn.batching.tensor_set import TensorSet
from sargnn.errors import InputError
from sargnn.nn.model import SARGNN, ModelConfig
from sargnn.training.model_folder import load_model
from sargnn.training.run import train
from tiny import FOLD, binary_shapes, labelled, measured_shapes, shapes, tiny

SLOTS: dict[str, Any] = {"model__readout": "salient", "model__slots": "target"}


def data() -> TensorSet:
    graphs = shapes(count=5)
    assert graphs.node_attributes is not None
    return TensorSet(graphs, graphs.node_attributes)


def model(**values: Any) -> SARGNN:
    config = ModelConfig(**{"layers": 2, "hidden": 8, "readout": "salient", "slots": "target", **values})
    return SARGNN(config, inputs=2, classes=3).eval()


def test_each_target_reads_the_nodes_for_itself() -> None:
    one, batch = model(), data().packed(np.arange(5))
    found = one.encode(batch)
    h, memory = batch.x, one.initial_memory(batch)
    for layer, read, find in zip(one.backbone, one.memory_layers, one.saliency_layers, strict=True):
        memory = read(h, memory, batch)
        h = layer(h, batch, find(memory, h, batch), one.fusion, None)
    sizes = torch.bincount(batch.graph).float().unsqueeze(1)
    outputs = one.head(found.graph)
    for target, slot in enumerate(one.slots):
        s = slot.saliency(slot.memory(h, memory, batch), h, batch)
        torch.testing.assert_close(found.saliency[target], s)
        pooled = torch.zeros(5, 8).index_add(0, batch.graph, s.unsqueeze(1) * h)
        own = one.head.heads[target](torch.cat([pooled, pooled * sizes.log()], dim=1))
        torch.testing.assert_close(outputs[:, target], own[:, 0])
    assert len(found.saliency) == 3
    assert not torch.allclose(found.saliency[0], found.saliency[1])


@pytest.mark.parametrize("layout", ["padded", "compressed"])
def test_every_layout_gives_the_same(layout: str) -> None:
    one, index = model(edge_channels=2, relative=True), np.array([3, 0, 4])
    packed, other = data().packed(index), getattr(data(), layout)(index)
    for a, b in zip(one.encode(packed).saliency, one.encode(other).saliency, strict=True):
        torch.testing.assert_close(packed.per_node(a), other.per_node(b))
    torch.testing.assert_close(one.head(one.encode(packed).graph), one.head(one.encode(other).graph))


def test_each_target_has_gates_of_its_own() -> None:
    one, batch = model(readout="gated", saliency="none"), data().packed(np.arange(5))
    found = one.encode(batch)
    features = [batch.x]
    for layer in one.backbone:
        features.append(layer(features[-1], batch))
    outputs = one.head(found.graph)
    for target, gate in enumerate(one.gates):
        vector, s = gate(features, batch)
        torch.testing.assert_close(found.saliency[target], s)
        torch.testing.assert_close(outputs[:, target], one.head.heads[target](vector)[:, 0])
    assert len(found.saliency) == 3
    assert not torch.allclose(found.saliency[0], found.saliency[1])


@pytest.mark.parametrize("readout", ["salient", "gated"])
def test_slots_are_trained_saved_and_explained(tmp_path: Any, readout: str) -> None:
    graphs = binary_shapes()
    run = train(graphs, tiny(**{**SLOTS, "model__readout": readout}, model__members=2), tmp_path / "run", fold=FOLD)
    found = load_model(tmp_path / "run").predict(graphs)
    assert np.array_equal(found.values, run.prediction.values)
    assert found.saliency.shape == (3, graphs.num_nodes)
    sums = np.stack([np.bincount(graphs.node_graph, row) for row in found.saliency])
    np.testing.assert_allclose(sums, 1, atol=1e-5)
    assert run.trained.model.saliency_per_output
    numbers = train(labelled(measured_shapes()), tiny(**SLOTS, data__graph_encodings="attributes"), fold=FOLD)
    assert numbers.prediction.saliency.shape[0] == 2


def test_without_slots_a_model_is_what_it_was() -> None:
    shared = SARGNN(ModelConfig(layers=2, hidden=8, readout="salient"), inputs=2, classes=3)
    assert not shared.saliency_per_output
    assert not [name for name in shared.state_dict() if "slot" in name]
    one = model()
    memory = {id(p) for p in one.memory_parameters()}
    assert {id(p) for slot in one.slots for p in slot.memory.parameters()} < memory


@pytest.mark.parametrize("values", [{"readout": "sum"}, {"readout": "salient", "saliency": "uniform"}])
def test_slots_need_a_saliency_of_their_own(values: Any) -> None:
    with pytest.raises(InputError, match=r"model\.slots: got target with .*, expected gated, or salient and learned"):
        ModelConfig(slots="target", **values)
