"""Beyond the paper: the recommended model beside the paper's best number on each of its sets, the effect of each part,
and the strongest other systems with a search of their own.

The model has one setting for all sets; one row selects width and inputs in each fold. docs/beyond-the-paper.md says how
the setting was found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sargnn.reproduction import paper
from sargnn.reproduction.studies import SetFacts, cell, grid, load_facts
from sargnn.studies.protocol import Cell
from sargnn.studies.study import Study
from sargnn.systems import find_system
from sargnn.training.settings import Settings

__all__ = [
    "ALL", "LARGE", "ONE", "PARTS", "PLUS", "SALIENT", "SALIENT_SEARCHED", "SEARCHED", "WIDE", "best_printed", "beyond",
    "own_grid", "recipe", "searched_grid",
]  # fmt: skip

PLUS, SALIENT, LARGE, BASE = "sargnn-plus", "sargnn-salient", "sargnn-large", "sar-gin"
"""The recommended model; what was recommended before, whose parts were studied one by one; its large form."""
SALIENT_SEARCHED = f"{SALIENT}, searched"
"""The row of :func:`own_grid`."""
ALL = "memory, sum and maximum are read"
"""A row of its own on every set: what the salient readout costs or gains."""
ONE = "one member"
"""The row that other systems, which are not ensembles, are compared with."""
WIDE = "128 features, five members"
"""What the large form was at first."""

PARTS: dict[str, paper.Values] = {
    ALL: {"model.readout": "all"},
    ONE: {"model.members": 1},
    WIDE: {"model.hidden": 128, "model.members": 5},
    "memory alone is read": {"model.readout": "memory"},
    "softmax in the fusion": {"model.normalize": "softmax"},
    "no edge channels": {"model.edge_channels": 0, "model.relative": False, "data.edge_encodings": ()},
    "no random-walk inputs": {"data.encodings": ("auto",)},
    "no label smoothing": {"training.label_smoothing": 0.0},
    "uniform saliency": {"model.saliency": "uniform"},
    "no saliency, no memory (GIN)": {"model.saliency": "none", "model.readout": "sum"},
}
""":data:`SALIENT` with something changed. The last is a GIN with all else alike, an ensemble too."""


STRONG = ("gin", "gsn", "deepsets", "topological-forest", "dss-gnn", "graphormer")
SEARCHED = {f"{system}, searched": system for system in STRONG}
"""Rows of the systems of Table 2 that are among the strongest on some set."""


def beyond(
    preset: paper.Preset, facts: Callable[[str], SetFacts] = load_facts, data: Sequence[str] = paper.DATA_SETS
) -> Study:
    """On every set the recommended model, trained once per fold, and the one before with its other readout, its large
    form and its choice from a grid; on the sets of the ablations its other parts, most of them trained once per fold,
    and the other systems, searched."""
    everywhere = {
        PLUS: [recipe(PLUS)], SALIENT: [recipe()], ALL: [recipe() | PARTS[ALL]], LARGE: [recipe(LARGE)],
        SALIENT_SEARCHED: own_grid(),
    }  # fmt: skip
    cells = {(row, name): _cell(facts(name), name, preset, *own) for row, own in everywhere.items() for name in data}
    cells |= {(PLUS, name): replace(cells[PLUS, name], repeats=1) for name in data}
    for name in (name for name in paper.ABLATION_SETS if name in data):
        for row, values in PARTS.items():
            if row != ALL:
                own = _cell(facts(name), name, preset, recipe() | values)
                cells[row, name] = own if row == WIDE else replace(own, repeats=1)
        for row, system in SEARCHED.items():
            cells[row, name] = cell(facts(name), name, system, searched_grid(system, name, preset), preset)
    published = {(PLUS, name): best_printed(name)[1] for name in data}
    return Study("Beyond the paper: beside the best printed number", cells, published, baseline=PLUS)


def own_grid() -> list[paper.Values]:
    """What :data:`SALIENT` is selected from in each fold: two widths, each with its own inputs and with counts of
    substructures too.

    >>> [(values["model.hidden"], values["data.encodings"]) for values in own_grid()][::3]
    [(64, ('auto', 'random-walk')), (128, ('auto', 'random-walk', 'substructures'))]
    """
    own = recipe()
    inputs = own["data.encodings"], (*own["data.encodings"], "substructures")
    return [own | {"model.hidden": width, "data.encodings": some} for width in (64, 128) for some in inputs]


def searched_grid(system: str, data: str, preset: paper.Preset) -> tuple[Settings, ...]:
    """What another system is selected from in each fold: its shapes and learning rates of Table 2, each with its own
    inputs and with random-walk inputs too, all trained as the recommended model is.

    >>> len(searched_grid("gsn", "MUTAG", paper.PRESETS["quick"]))
    8
    """
    kind = system if system in paper.SHAPES else "base"
    own = find_system(system).data.get("encodings", ("auto",))
    inputs_alike = ("data.walk_steps", "data.max_degree")
    alike = {k: v for k, v in recipe().items() if k.startswith("training.") or k in inputs_alike}
    alike["training.epochs"] = min(preset.epochs, alike["training.epochs"])
    return tuple(
        settings
        for inputs in (own, (*own, "random-walk"))
        for settings in grid(system, kind, data, preset, **alike, **{"data.encodings": inputs})
    )


def best_printed(data: str) -> tuple[str, tuple[float, float]]:
    """The system with the highest accuracy that the paper prints for a set, and that number.

    >>> best_printed("MUTAG")
    ('sar-sage', (87.4, 3.1))
    """
    column = paper.DATA_SETS.index(data)
    return max(((system, row[column]) for system, row in paper.TABLE2.items()), key=lambda pair: pair[1][0])


def _cell(facts: SetFacts, data: str, preset: paper.Preset, *grid: paper.Values) -> Cell:
    """A cell whose jobs name every value of the recipe: rows of another recipe are never taken for these."""
    short = ({"training.epochs": min(preset.epochs, own["training.epochs"])} for own in grid)
    settings = tuple(Settings.of(BASE, own | fewer) for own, fewer in zip(grid, short, strict=True))
    return cell(facts, data, BASE, settings, preset)


def recipe(name: str = SALIENT) -> paper.Values:
    """What makes ``sar-gin`` one of the recommended models."""
    system = find_system(name)
    sections = {"model": system.values, "data": system.data, "training": system.training}
    return {f"{section}.{key}": value for section, values in sections.items() for key, value in values.items()}
