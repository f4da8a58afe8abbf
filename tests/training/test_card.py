"""What a card says of a model is what its run recorded; the server says the same and more."""

from __future__ import annotations

from pathlib import Path

from sargnn import serving
from sargnn.serving.cards import card_of as served_card
from sargnn.serving.loaded import LoadedRun
from sargnn.training.card import card_of
from sargnn.training.model_folder import load_model, read_training
from sargnn.training.run import train
from tiny import shapes, tiny


def test_a_card_is_what_the_run_recorded(tmp_path: Path) -> None:
    run = train(shapes(), tiny(), tmp_path)
    card = card_of(load_model(tmp_path), read_training(tmp_path))
    assert card["scores"] == run.scores
    assert card["outputs"] == ["ring", "path"]
    assert card["data"] == {"name": "shapes", "graphs": 24, "fingerprint": shapes().fingerprint}
    assert card["parameters"] == sum(p.numel() for p in run.trained.model.parameters())
    assert card["features"] == ["attribute 0", "attribute 1"]
    served = served_card(LoadedRun.load("shapes", tmp_path))
    assert served.items() >= card.items(), serving
