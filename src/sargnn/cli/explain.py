"""``sargnn explain``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from sargnn.cli.answers import Answer, answer
from sargnn.cli.options import Data, Device, Json, OwnModel, Part, Run, check_choice, takes_roles
from sargnn.console import note, show_steps
from sargnn.data.roles import Roles
from sargnn.errors import InputError

FORMS = ("png", "svg", "html")
"""One drawing per graph, or one page of all."""


@takes_roles
def explain(
    run: Run,
    data: Data,
    roles: Roles,
    out: Annotated[Path, typer.Option("--out", help="The folder to write: saliency.csv, saliency.json, drawings.")],
    part: Part = "all",
    drawings: Annotated[int, typer.Option("--drawings", min=0, help="The most graphs to draw.")] = 200,
    rule: Annotated[
        str | None,
        typer.Option("--rule", help="How layers become one map: first, last, mean (drawn by default) or rollout."),
    ] = None,
    form: Annotated[str, typer.Option("--format", help="Drawings as png, svg, or all in one page: html.")] = "png",
    graphs: Annotated[str | None, typer.Option("--graphs", help="Only these graphs, such as 0,5,7.")] = None,
    model: OwnModel = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Say which nodes decided: saliency of every node in every layer, as a table and as drawings."""
    from sargnn.explain.maps import RULES
    from sargnn.files import write_file
    from sargnn.pages.explanations import draw, render_page, write_tables
    from sargnn.training.open_run import explain_graphs, open_run

    check_choice("--format", form, FORMS)
    check_choice("--rule", rule or "mean", RULES)
    only = None if graphs is None else _numbers(graphs)
    opened = open_run(run, data, part, roles=roles, device=device, model=model, only=only)
    explained = explain_graphs(opened.trained, opened.graphs, opened.index, rule or "mean")
    if not (layers := len(explained[0].layers)):
        name = opened.trained.settings.name
        raise InputError(f"{run}: model '{name}' has no saliency, expected one that has, such as sar-gcn")
    write_tables(out, opened.graphs, explained, with_map=rule is not None)
    drawn = explained[:drawings]
    if len(drawn) < len(explained):
        note(f"drawing the first {len(drawn)} of {len(explained)} graphs; --drawings {len(explained)} draws all")
    result: Answer = {**opened.counts, "layers": layers, "drawings": len(drawn), "folder": str(out)}
    if form == "html":
        result["page"] = str(out / "explanations.html")
        write_file(out / "explanations.html", render_page(opened.graphs, drawn))
    else:
        for item in show_steps(drawn, len(drawn), "drawing"):
            draw(opened.graphs, item, out / "drawings" / f"graph-{item.graph}.{form}")
    answer(result, as_json, f"{run} on {data}")


def _numbers(text: str) -> list[int]:
    """
    >>> _numbers("0, 5,7")
    [0, 5, 7]
    """
    words = text.split(",")
    if not all(re.fullmatch(r"\s*[0-9]{1,15}\s*", word) for word in words):
        raise InputError(f"--graphs: got {text!r}, expected numbers of graphs such as 0,5,7")
    return [int(word) for word in words]
