"""What is known of a run."""

from __future__ import annotations

from pathlib import Path

from sargnn.serving.cards import card_of, line_of
from sargnn.serving.loaded import LoadedRun


def test_a_card_is_a_line_and_more(run: Path, other_run: Path) -> None:
    one, plain = LoadedRun.load("one", run), LoadedRun.load("plain", other_run)
    assert card_of(one).items() >= line_of(one).items()
    assert (line_of(one)["saliency"], line_of(plain)["saliency"]) == (True, False)
    assert card_of(plain)["settings"]["name"] == "gcn"
    assert card_of(one)["columns"] == ["class", "probability_ring", "probability_path"]
