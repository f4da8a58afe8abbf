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
    from sargnn.training.explained import Explained
    from sargnn.training.open_run import OpenRun

FORMS = ("png", "svg", "html")
"""One drawing per graph, or one page of all."""
REMOVED = {"nodes": "a node", "edges": "an edge", "fragments": "a fragment"}
TOP = 10
"""Kinds of fragments that are told for each output; the table has all."""


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
            help="A target or class to find the effect of each part on; repeatable, or all. Default: every target.",
        ),
    ] = None,
    parts: Annotated[
        str | None,
        typer.Option("--parts", help="Whose effects to find: nodes (the default), edges, or fragments of molecules."),
    ] = None,
    signed: Annotated[
        bool,
        typer.Option(
            "--signed/--unsigned", help="Whether an effect says for or against, or only how much a part matters."
        ),
    ] = True,
    counterfactual: Annotated[
        bool,
        typer.Option("--counterfactual", help="Find the smallest removal of parts that changes each decision."),
    ] = False,
    form: Annotated[str, typer.Option("--format", help="Drawings as png, svg, or all in one page: html.")] = "png",
    graphs: Annotated[str | None, typer.Option("--graphs", help="Only these graphs, such as 0,5,7.")] = None,
    model: OwnModel = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Say which nodes decided: saliency of every node in every layer, and its effect on every target, as tables and as
    drawings."""
    from sargnn.explain.maps import RULES
    from sargnn.explain.parts import KINDS
    from sargnn.files import write_file
    from sargnn.pages.explanation_tables import write_flips, write_fragments, write_tables
    from sargnn.pages.explanations import draw, render_page
    from sargnn.training.explained import Wanted, explain_graphs
    from sargnn.training.open_run import open_run
    from sargnn.training.prediction_table import write_rows

    check_choice("--format", form, FORMS)
    check_choice("--rule", rule or "mean", RULES)
    check_choice("--parts", parts or "nodes", KINDS)
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
    outputs = _outputs(for_, opened, of_parts=parts is not None)
    wanted = Wanted(outputs, parts or "nodes", signed, counterfactual)
    found = explain_graphs(opened.trained, opened.graphs, opened.index, rule or "mean", wanted)
    explained, told = found.items, _told(found, opened)
    layers = len(explained[0].layers)
    if not (layers or outputs or counterfactual):
        name, advice = opened.trained.settings.name, "or the effects of nodes: --for all"
        raise InputError(f"{run}: model '{name}' has no saliency, expected one that has, such as sar-gcn, {advice}")
    write_tables(out, opened.graphs, explained, with_map=rule is not None)
    if parts == "fragments":
        write_fragments(out / "fragments.csv", found.fragments)
    if counterfactual:
        write_flips(out / "counterfactuals.csv", opened.graphs, explained)
    cells = [list(item.values.values()) for item in explained]
    write_rows(out / "predictions.csv", opened, list(explained[0].values), cells)
    drawn = explained[:drawings]
    if len(drawn) < len(explained):
        note(f"drawing the first {len(drawn)} of {len(explained)} graphs; --drawings {len(explained)} draws all")
    result: Answer = {**opened.counts, "layers": layers, "drawings": len(drawn), "folder": str(out)}
    if outputs:
        unit = "its own unit" if opened.trained.task.link == "identity" else "log-odds"
        result["effects_on"] = outputs
        result["effects_are"] = f"of removing {REMOVED[wanted.parts]}, in {unit}" + " without their sign" * (not signed)
        own = "each" if explained[0].outputs else f"all {len(opened.trained.task.names)}"
        result |= {"saliency_is": f"one map for {own} of the outputs"} if layers else {}
    if counterfactual:
        flips = [item.flip for item in explained if item.flip is not None]
        result |= {"changed_by_a_removal": len(flips), "of_these_hold": sum(flip.holds for flip in flips)}
    if told:
        result["fragments"] = (
            {name: found.fragments[name][:TOP] for name in outputs}
            if as_json
            else "".join(f"\n    {line}" for _, lines in told for line in lines)
        )
    if form == "html":
        result["page"] = str(out / "explanations.html")
        write_file(out / "explanations.html", render_page(opened.graphs, drawn, told))
    else:
        for item in show_steps(drawn, len(drawn), "drawing"):
            draw(opened.graphs, item, out / "drawings" / f"graph-{item.graph}.{form}")
    answer(result, as_json, f"{run} on {data}")


def _outputs(given: list[str] | None, opened: OpenRun, of_parts: bool) -> list[str]:
    """The outputs to find effects on, by name or by what people call the class. By default all where each is a question
    of its own, or where a kind of parts is asked for."""
    task, graphs = opened.trained.task, opened.graphs
    if given is None:
        return list(task.names) if of_parts or task.link != "softmax" else []
    if given == ["all"]:
        return list(task.names)
    titles = zip(graphs.class_titles, graphs.classes, strict=False)
    known = {title: name for title, name in titles if name in task.names} | {name: name for name in task.names}
    for name in given:
        check_choice("--for", name, (*known, "all"))
    return list(dict.fromkeys(known[name] for name in given))


def _told(found: Explained, opened: OpenRun) -> list[tuple[str, list[str]]]:
    """In words, the fragments that do most to each output: headings and sentences."""
    from sargnn.pages.explanations import fragment_sentence

    towards = "on" if opened.trained.task.link == "identity" else "towards"
    return [
        (output, [fragment_sentence(opened.graphs, output, row, towards) for row in rows[:TOP]])
        for output, rows in found.fragments.items()
    ]


def _numbers(text: str) -> list[int]:
    """
    >>> _numbers("0, 5,7")
    [0, 5, 7]
    """
    words = text.split(",")
    if not all(re.fullmatch(r"\s*[0-9]{1,15}\s*", word) for word in words):
        raise InputError(f"--graphs: got {text!r}, expected numbers of graphs such as 0,5,7")
    return [int(word) for word in words]
