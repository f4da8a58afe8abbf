"""What is known of a trained model, as plain data: the server answers with it, the hub shows it as a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sargnn.training.trained_model import TrainedModel

__all__ = ["card_of"]


def card_of(trained: TrainedModel, record: Mapping[str, Any]) -> dict[str, Any]:
    """The card of a model; ``record`` is the content of its ``training.json``.

    >>> from sargnn import Settings, motifs, train
    >>> run = train(motifs(20), Settings.of("gcn", {"training.epochs": 1, "model.hidden": 8}))
    >>> card = card_of(run.trained, run.record("finished"))
    >>> card["task"], card["outputs"], card["data"]["graphs"]
    ('classification', ['cycle', 'house'], 20)
    """
    task, data = trained.task, record["data"]
    return {
        "system": trained.settings.name,
        "task": task.kind,
        "outputs": list(task.names),
        "columns": task.columns(),
        "features": [*trained.encoder.feature_names, *trained.encoder.edge_feature_names],
        "parameters": sum(parameter.numel() for parameter in trained.model.parameters()),
        "data": {"name": data.get("name"), "graphs": data["graphs"], "fingerprint": data["fingerprint"]},
        "scores": record.get("scores", {}),
        "metrics": {metric.key: metric.name for metric in task.metrics},
        "settings": trained.settings.to_json(),
        "changes": trained.settings.changes(),
        "history": record.get("history", []),
        "train_seconds": record.get("train_seconds"),
        "hardware": record.get("hardware"),
        "versions": record.get("versions", {}),
        "notes": record.get("notes", []),
    }
