"""Beyond the paper: the recommended model on the paper's sets beside the best number that the paper prints for any
system, and what each part of it is worth.

There is nothing to choose: one setting for all sets. How it was found says docs/beyond-the-paper.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sargnn.experiments import paper
from sargnn.experiments.study import SetFacts, Study, cell, load_facts
from sargnn.systems import find_system
from sargnn.training.protocol import Cell
from sargnn.training.settings import Settings

__all__ = ["ALL", "PARTS", "PLUS", "best_printed", "beyond", "recipe"]

PLUS, BASE = "sargnn-plus", "sar-gin"
ALL = "memory, sum and maximum are read"
"""A row of its own on every set: what the salient readout costs or gains."""

PARTS: dict[str, paper.Values] = {
    ALL: {"model.readout": "all"},
    "one member": {"model.members": 1},
    "memory alone is read": {"model.readout": "memory"},
    "softmax in the fusion": {"model.normalize": "softmax"},
    "no edge channels": {"model.edge_channels": 0, "model.relative": False, "data.edge_encodings": ()},
    "no random-walk inputs": {"data.encodings": ("auto",)},
    "no label smoothing": {"training.label_smoothing": 0.0},
    "uniform saliency": {"model.saliency": "uniform"},
    "no saliency, no memory (GIN)": {"model.saliency": "none", "model.readout": "sum"},
}
"""The recommended model with one thing changed. The last is a GIN with all else alike, a committee too."""


def beyond(
    preset: paper.Preset, facts: Callable[[str], SetFacts] = load_facts, data: Sequence[str] = paper.DATA_SETS
) -> Study:
    """The recommended model and its other readout on every set, and its other parts on the sets of the ablations,
    trained once a fold."""
    cells = {(PLUS, name): _cell(facts(name), name, preset, {}) for name in data}
    cells |= {(ALL, name): _cell(facts(name), name, preset, PARTS[ALL]) for name in data}
    for row, values in PARTS.items():
        for name in (name for name in paper.ABLATION_SETS if name in data and row != ALL):
            cells[row, name] = replace(_cell(facts(name), name, preset, values), repeats=1)
    published = {(PLUS, name): best_printed(name)[1] for name in data}
    return Study("Beyond the paper: beside the best printed number", cells, published, baseline=PLUS)


def best_printed(data: str) -> tuple[str, tuple[float, float]]:
    """The system with the highest accuracy that the paper prints for a set, and that number.

    >>> best_printed("MUTAG")
    ('sar-sage', (87.4, 3.1))
    """
    column = paper.DATA_SETS.index(data)
    return max(((system, row[column]) for system, row in paper.TABLE2.items()), key=lambda pair: pair[1][0])


def _cell(facts: SetFacts, data: str, preset: paper.Preset, values: paper.Values) -> Cell:
    """A cell whose jobs name every value of the recipe, so that rows of another recipe are never taken for these."""
    settings = Settings.of(BASE, {**recipe(), **values})
    epochs = min(preset.epochs, settings.training.epochs)
    settings = replace(settings, training=replace(settings.training, epochs=epochs))
    return cell(facts, data, BASE, (settings,), preset)


def recipe() -> paper.Values:
    """What makes ``sar-gin`` the recommended model."""
    plus = find_system(PLUS)
    sections = {"model": plus.values, "data": plus.data, "training": plus.training}
    return {f"{section}.{key}": value for section, values in sections.items() for key, value in values.items()}
