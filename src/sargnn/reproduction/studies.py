"""The paper's tables as studies: which cells each has, over which grids, and what was published for them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

from sargnn.data.protocol_splits import protocol_folds
from sargnn.data.sources import load
from sargnn.errors import InputError
from sargnn.nn.model import VARIANTS
from sargnn.reproduction import paper
from sargnn.studies.protocol import Cell
from sargnn.studies.study import Study
from sargnn.systems import find_system
from sargnn.training.settings import Settings

__all__ = ["STUDIES", "SetFacts", "cell", "grid", "grid_of", "load_facts", "only", "plan_study"]


def plan_study(
    make: Callable[..., Study], preset: paper.Preset, data: str | None = None, systems: str | None = None
) -> Study:
    """The study that ``make`` makes, or its part on some data sets or of some systems: the other sets are not read."""

    def facts(name: str) -> SetFacts:
        return load_facts(name) if data is None or name in data.split(",") else SetFacts("not read", 1)

    return only(make(preset, facts), data, systems)


def only(study: Study, data: str | None = None, systems: str | None = None) -> Study:
    """The part of a study on some data sets, and of some systems or rows, by their names joined with commas."""
    if data is not None:
        study = _part(study, "--data", data, {where: {cell.data} for where, cell in study.cells.items()})
    if systems is not None:
        of_cells = {where: {where[0], cell.system} for where, cell in study.cells.items()}
        study = _part(study, "--systems", systems, of_cells)
    return study


def _part(study: Study, option: str, asked: str, names: dict[tuple[str, str], set[str]]) -> Study:
    """The cells that bear one of the names ``asked`` for."""
    known, wanted = set().union(*names.values()), asked.split(",")
    for name in wanted:
        if name not in known:
            raise InputError(f"{option}: got '{name}', expected some of {', '.join(sorted(known))}")
    return replace(study, cells={where: cell for where, cell in study.cells.items() if names[where] & set(wanted)})


def grid(system: str, kind: str, data: str, preset: paper.Preset, **fixed: Any) -> tuple[Settings, ...]:
    """The settings a system is selected from: shapes x learning rates, the same number for every system. One that fits
    itself directly has no learning rate: all its settings are shapes."""
    if find_system(system).model.fits_directly:
        preset = replace(preset, shapes=preset.shapes * len(preset.rates), rates=preset.rates[:1])
    return grid_of(system, shapes_of(system, kind, preset), data, preset, **fixed)


def shapes_of(system: str, kind: str, preset: paper.Preset) -> list[paper.Values]:
    """The shapes of a grid, as many as the preset says. Of the wide ones those of the two fusions take turns where the
    fusion is open, and so do the two readings of GraphSAGE."""
    wide = {**paper.WIDE_SHAPES, "sar": _in_turns(("weighted", "sar-w"), ("scaling", "sar-s"))} if preset.wide else {}
    shapes = wide.get(kind, paper.SHAPES[kind])[: preset.shapes]
    if preset.wide and system.endswith("sage"):
        return [{**shape, "model.own_weight": number % 2 == 0} for number, shape in enumerate(shapes)]
    return list(shapes)


def _in_turns(*fusions: tuple[str, str]) -> tuple[paper.Values, ...]:
    """Shape after shape of kinds that differ in their fusion, each kind in its turn."""
    pairs = zip(
        itertools.cycle(fusions), zip(*(paper.WIDE_SHAPES[kind] for _, kind in fusions), strict=True), strict=False
    )
    return tuple({"model.fusion": name, **both[fusions.index((name, kind))]} for (name, kind), both in pairs)


def grid_of(
    system: str, shapes: Sequence[paper.Values], data: str, preset: paper.Preset, **fixed: Any
) -> tuple[Settings, ...]:
    """Each of the given shapes at each learning rate of the preset, with the settings that all systems have."""
    own = {f"model.{field.name}" for field in fields(find_system(system).config)}
    known = {key: value for key, value in paper.ALWAYS.items() if not key.startswith("model.") or key in own}
    values = {**known, "training.epochs": preset.epochs, "training.patience": preset.patience, **preset.training}
    if data in paper.BATCH_SIZES:
        values["training.batch_size"] = paper.BATCH_SIZES[data]
    return tuple(
        Settings.of(
            system, {**values, **shape, "training.learning_rate": rate, "training.weight_decay": decay, **fixed}
        )
        for shape, (rate, decay) in itertools.product(shapes, preset.rates)
    )


@dataclass(frozen=True)
class SetFacts:
    """What a study must know of a data set to name its jobs."""

    fingerprint: str
    folds: int
    """One where the set has an official split."""


Facts = Callable[[str], SetFacts]


@cache
def load_facts(data: str) -> SetFacts:
    """Of the set as it is read now."""
    graphs = load(data)
    return SetFacts(graphs.fingerprint, len(protocol_folds(graphs)))


def cell(facts: SetFacts, data: str, system: str, settings: tuple[Settings, ...], preset: paper.Preset) -> Cell:
    """A cell on a known set: its folds and repeats are those of the preset, or of the set's official split."""
    repeats = preset.seeds if facts.folds == 1 else preset.repeats
    folds = min(facts.folds, preset.folds)
    return Cell(data, facts.fingerprint, system, settings, folds, repeats, selection_epochs=preset.selection_epochs)


def table1(preset: paper.Preset, facts: Facts = load_facts, data: Sequence[str] = ("MUTAG", "Letter-high")) -> Study:
    """Ablation: six variants of four backbones on MUTAG and Letter-high."""
    cells, published = {}, {}
    for variant, backbones in paper.TABLE1.items():
        kind = "base" if VARIANTS[variant]["saliency"] == "none" else f"sar-{variant[-1]}"
        fixed = {f"model.{key}": value for key, value in VARIANTS[variant].items()}
        for (backbone, numbers), name in itertools.product(backbones.items(), data):
            settings = grid(f"sar-{backbone}", kind, name, preset, **fixed)
            cells[variant, f"{backbone} {name}"] = cell(facts(name), name, f"sar-{backbone}", settings, preset)
            published[variant, f"{backbone} {name}"] = numbers[name]
    return Study("Table 1: ablation", cells, published)


def table2(
    preset: paper.Preset, facts: Facts = load_facts, systems: Sequence[str] = paper.SYSTEMS,
    data: Sequence[str] = paper.DATA_SETS,
) -> Study:  # fmt: skip
    """Comparison on seven data sets: every system, for the SAR models the fusion chosen on validation graphs too."""
    cells, published = {}, {}
    for system, name in itertools.product(systems, data):
        family = "sar" if system.startswith("sar-") else "base"
        kind = system if system in paper.SHAPES else family
        cells[system, name] = cell(facts(name), name, system, grid(system, kind, name, preset), preset)
        if system in paper.TABLE2:
            published[system, name] = paper.TABLE2[system][paper.DATA_SETS.index(name)]
    return Study("Table 2: comparison", cells, published)


def table3(preset: paper.Preset, facts: Facts = load_facts) -> Study:
    """Supervised saliency on TRIANGLES, beside unsupervised."""
    cells, published = {}, {}
    columns: dict[str, paper.Values] = {"unsupervised": {}, "supervised": {"training.saliency_weight": 1.0}}
    for system, numbers in paper.TABLE3.items():
        for (column, own), number in zip(columns.items(), numbers, strict=True):
            if system.startswith("sar-"):
                settings = grid(system, "sar", "TRIANGLES", preset, **own)
                cells[system, column] = cell(facts("TRIANGLES"), "TRIANGLES", system, settings, preset)
                published[system, column] = number
    return Study("Table 3: supervised saliency on TRIANGLES", cells, published)


def ablations(preset: paper.Preset, facts: Facts = load_facts, data: Sequence[str] = paper.ABLATION_SETS) -> Study:
    """What the paper lacks: which part of SAR-GCN helps, one change at a time."""
    cells, published = {}, {}
    for (row, values), name in itertools.product(paper.ABLATIONS.items(), data):
        shapes = paper.SHAPES["base" if values.get("model.saliency") == "none" else "sar"][: preset.shapes]
        system = "sar-gcn"
        if row in paper.OF_THE_AUTHORS_CODE:
            system, shapes = "as-published", tuple({**paper.EQUATIONS, **shape} for shape in shapes)
        settings = grid_of(system, shapes, name, preset, **values)
        cells[row, name] = cell(facts(name), name, system, settings, preset)
        if row in paper.ABLATIONS_OF_TABLE2:
            published[row, name] = paper.TABLE2["sar-gcn"][paper.DATA_SETS.index(name)]
    return Study("Ablations the paper lacks", cells, published, baseline=next(iter(paper.ABLATIONS)))


STUDIES: dict[str, Callable[..., Study]] = {
    "table1": table1, "table2": table2, "table3": table3, "ablations": ablations,
}  # fmt: skip
