"""``sargnn explain``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sargnn.cli.answers import Answer, answer
from sargnn.cli.options import Data, Device, Json, OwnModel, Part, Run, check_choice, takes_roles
from sargnn.console import note, show_steps
from sargnn.data.roles import Roles
from sargnn.errors import InputError

if TYPE_CHECKING:
    from sargnn.tasks import Task

FORMS = ("png", "svg", "html")
"""One drawing per graph, or one page of all."""


@takes_roles
def explain(
    run: Run,
    data: Data,
    roles: Roles,
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder to write: saliency.csv, saliency.json, drawings.")
    ] = None,
    site: Annotated[
        Path | None, typer.Option("--site", help="Write a page to browse, as files that open without a server.")
    ] = None,
    part: Part = "all",
    drawings: Annotated[int, typer.Option("--drawings", min=0, help="The most graphs to draw.")] = 200,
    rule: Annotated[
        str | None,
        typer.Option("--rule", help="How layers become one map: first, last, mean (drawn by default) or rollout."),
    ] = None,
    for_: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            help="A target or class to find the effect of each node on; repeatable, or all. Default: every target.",
        ),
    ] = None,
    form: Annotated[str, typer.Option("--format", help="Drawings as png, svg, or all in one page: html.")] = "png",
    graphs: Annotated[str | None, typer.Option("--graphs", help="Only these graphs, such as 0,5,7.")] = None,
    model: OwnModel = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Say which nodes decided: saliency of every node in every layer, and its effect on every target, as tables and as
    drawings."""
    from sargnn.explain.maps import RULES
    from sargnn.files import write_file
    from sargnn.pages.explanations import draw, render_page, write_tables
    from sargnn.training.open_run import explain_graphs, open_run
    from sargnn.training.prediction_table import write_rows

    check_choice("--format", form, FORMS)
    check_choice("--rule", rule or "mean", RULES)
    only = None if graphs is None else _numbers(graphs)
    opened = open_run(run, data, part, roles=roles, device=device, model=model, only=only)
    if site is not None:
        from sargnn.serving.loaded import LoadedRun
        from sargnn.serving.site import write_site

        loaded = LoadedRun.load(run.resolve().name, run, model)
        drawn_graphs = write_site(site, loaded, opened.chosen, rule=rule or "mean", drawings=drawings)
        answer(
            {**opened.counts, "drawings": drawn_graphs, "page": str(site / "index.html")}, as_json, f"{run} on {data}"
        )
        return
    if out is None:
        raise InputError("--out: got no folder, expected one for tables and drawings, or --site DIR for a page")
    outputs = _outputs(for_, opened.trained.task)
    explained = explain_graphs(opened.trained, opened.graphs, opened.index, rule or "mean", outputs)
    layers = len(explained[0].layers)
    if not (layers or outputs):
        name, advice = opened.trained.settings.name, "or the effects of nodes: --for all"
        raise InputError(f"{run}: model '{name}' has no saliency, expected one that has, such as sar-gcn, {advice}")
    write_tables(out, opened.graphs, explained, with_map=rule is not None)
    cells = [list(item.values.values()) for item in explained]
    write_rows(out / "predictions.csv", opened, list(explained[0].values), cells)
    drawn = explained[:drawings]
    if len(drawn) < len(explained):
        note(f"drawing the first {len(drawn)} of {len(explained)} graphs; --drawings {len(explained)} draws all")
    result: Answer = {**opened.counts, "layers": layers, "drawings": len(drawn), "folder": str(out)}
    if outputs:
        unit = "its own unit" if opened.trained.task.link == "identity" else "log-odds"
        result["effects_on"], result["effects_are"] = outputs, f"of removing a node, in {unit}"
        own = "each" if explained[0].outputs else f"all {len(opened.trained.task.names)}"
        result |= {"saliency_is": f"one map for {own} of the outputs"} if layers else {}
    if form == "html":
        result["page"] = str(out / "explanations.html")
        write_file(out / "explanations.html", render_page(opened.graphs, drawn))
    else:
        for item in show_steps(drawn, len(drawn), "drawing"):
            draw(opened.graphs, item, out / "drawings" / f"graph-{item.graph}.{form}")
    answer(result, as_json, f"{run} on {data}")


def _outputs(given: list[str] | None, task: Task) -> list[str]:
    """The outputs to find effects on: by default all where each is a question of its own."""
    if given is None:
        return [] if task.link == "softmax" else list(task.names)
    if given == ["all"]:
        return list(task.names)
    for name in given:
        check_choice("--for", name, (*task.names, "all"))
    return list(dict.fromkeys(given))


def _numbers(text: str) -> list[int]:
    """
    >>> _numbers("0, 5,7")
    [0, 5, 7]
    """
    words = text.split(",")
    if not all(re.fullmatch(r"\s*[0-9]{1,15}\s*", word) for word in words):
        raise InputError(f"--graphs: got {text!r}, expected numbers of graphs such as 0,5,7")
    return [int(word) for word in words]
