"""Measure: accuracy by cross-validation, the paper's tables and figures, explainers side by side, speed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sargnn.commands.inputs import Answer, check_choice, load_noted
from sargnn.console import note
from sargnn.data.sources import require_two_classes
from sargnn.errors import InputError
from sargnn.files import check_writable, write_file
from sargnn.training.hardware import find_device, hardware, versions
from sargnn.training.settings import Settings

if TYPE_CHECKING:
    from sargnn.studies.cross_validation import CrossValidation

__all__ = ["bench", "cv", "explain_compare", "reproduce"]


def cv(data: str, plan: CrossValidation, out: Path | None, workers: int | None, device: str) -> Answer:
    """The protocol on a user's own data: one model, or two compared."""
    from sargnn.studies.bundles import cores
    from sargnn.studies.cross_validation import cross_validate

    if workers is not None and workers < 1:
        raise InputError(f"--workers: got {workers}, expected at least 1")
    where = find_device(device)
    graphs = load_noted(data)
    require_two_classes(graphs)
    # A GPU trains all folds at once in one process; the cores of a CPU take one fold each.
    return cross_validate(graphs, data, plan, out, workers or (cores() if where.type == "cpu" else 1), where)


def reproduce(
    name: str,
    preset: str,
    out: Path,
    only_data: str | None,
    engine: str,
    workers: int | None,
    address: str | None,
    device: str,
    rows: Sequence[Path] = (),
) -> Answer:
    """Run a table or a figure of the paper, or all, into a store and write it down beside what was published.

    ``rows``: files of rows that a store which is still empty starts from, such as those this project keeps.
    """
    from sargnn.reproduction.page import write_page
    from sargnn.reproduction.paper import PRESETS
    from sargnn.reproduction.run import NAMES, SALIENCY_FIGURES, Reproduction
    from sargnn.studies.store import Store

    check_choice("NAME", name, (*NAMES, "all", "page"))
    check_choice("--preset", preset, PRESETS)
    if name == "page":
        if not rows:
            raise InputError("--rows: got none, expected the files of rows that the page is made of")
        return {"written": [str(file) for file in write_page(rows, out)]}
    if only_data is not None and name in ("all", *SALIENCY_FIGURES):
        raise InputError(f"--data: got {only_data} with {name}, expected a table or a figure of several sets")
    reproduction = Reproduction(preset, out, only_data, engine, workers, address, str(find_device(device)))
    with Store(out / f"{preset}.sqlite") as store:
        if not store.rows():
            for file in rows:
                store.import_rows(file)
        return reproduction.run_all(store) if name == "all" else reproduction.run(name, store)


def explain_compare(
    data: str, out: Path | None, settings: Settings, graphs: int, seeds: int, explainers: list[str], part: str,
    device: str, command: str,
) -> Answer:  # fmt: skip
    from sargnn.studies.explainer_comparison import as_table, compare_explainers

    rows = []
    where, given = find_device(device), load_noted(data)
    if out is not None:
        check_writable(out)
    for row in compare_explainers(
        given, settings, count=graphs, seeds=seeds, explainers=explainers, part=part, device=where
    ):
        note(f"{row['data']}: {row['explainer']} of {row['model']}, {row['seconds_per_graph']:.3g} s a graph")
        rows.append({**row, "command": command})
        if out is not None:  # the whole file each time: what was found stays, whatever dies
            write_file(out, "".join(json.dumps(each, allow_nan=False) + "\n" for each in rows))
    return {"rows": rows, "table": as_table(rows), "file": None if out is None else str(out)}


def bench(
    quick: bool, contenders: tuple[str, ...], batches: tuple[int, ...], hidden: tuple[int, ...],
    threads: tuple[int, ...], busy_limit: float, out: Path | None, device: str, command: str,
) -> Answer:  # fmt: skip
    import sargnn.bench as measuring

    plan = measuring.Plan(quick, contenders, batches, hidden, threads, device, busy_limit, growth=out is not None)
    if out is not None:
        check_writable(out)
    rows = measuring.run(plan)
    files = [] if out is None else measuring.save(rows, out, command, plan)
    answer = {"rows": [row for row in rows if row["kind"] != "growth"], "versions": versions()}
    answer |= {"hardware": hardware(find_device(device)), "files": [str(file) for file in files]}
    return {"answer": answer, "table": measuring.table(rows)}
