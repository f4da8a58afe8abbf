"""``sargnn data``: look at data sets, check them, convert them, make them."""

from __future__ import annotations

import importlib
import inspect
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sargnn.cli.answers import Answer, answer
from sargnn.cli.options import Data, Json, Missing, Seed, command_line, load_noted, takes_roles
from sargnn.console import note
from sargnn.data.roles import Roles
from sargnn.errors import InputError

if TYPE_CHECKING:
    from sargnn.data.graphs import GraphSet
    from sargnn.data.problems import Problem

KINDS = {
    **dict.fromkeys(("triangles", "colors", "motifs"), "sargnn.data.synthetic"),
    **dict.fromkeys(("ba-2motifs", "spurious-motif", "mutagenicity"), "sargnn.data.known_truth"),
}
"""Sets that can be generated, and the module of the function of that name."""
MOST = 10_000_000
"""Graphs of one part that are generated: more take hours, and all memory."""

SHOWN = 5
"""Graphs left out that are listed, and reasons."""

app = typer.Typer(help="Look at data sets, check them, make them.", no_args_is_help=True)


@app.command("list")
def known(as_json: Json = False) -> None:
    """The known data sets."""
    from sargnn.data.sources import KNOWN

    result = {
        name: f"{k.graphs} graphs, {k.nodes} nodes, {k.edges} directed edges, {k.classes} classes"
        for name, k in KNOWN.items()
    }
    answer(result, as_json, "known data sets")


@app.command()
@takes_roles
def info(
    data: Data,
    roles: Roles,
    twins: Annotated[
        bool,
        typer.Option("--twins", help="Instead: how many graphs are isomorphic, and the accuracy that this allows."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Counts of a data set, and its fingerprint."""
    import numpy as np

    from sargnn.data.check import target_summary
    from sargnn.data.features.given_inputs import gaps_in

    graphs = load_noted(data, roles, labelled=None)
    if twins:
        answer(_twins(graphs, as_json), as_json, data)
        return
    y, sizes = graphs.y, graphs.sizes
    result = {
        "name": graphs.name, "graphs": len(graphs), "nodes": graphs.num_nodes, "edges": graphs.num_edges,
        "classes": len(graphs.classes), "class_names": list(graphs.classes),
        "graphs_per_class": None if y is None else np.bincount(y, minlength=len(graphs.classes)).tolist(),
        **({} if graphs.targets is None else {"targets": target_summary(graphs)}),
        "nodes_per_graph": {"least": int(sizes.min()), "mean": float(sizes.mean()), "most": int(sizes.max())},
        "node_labels": len(graphs.node_label_names),
        "node_attributes": 0 if graphs.node_attributes is None else graphs.node_attributes.shape[1],
        "edge_labels": len(graphs.edge_label_names),
        "edge_attributes": 0 if graphs.edge_attributes is None else graphs.edge_attributes.shape[1],
        **({"gaps": gaps} if (gaps := gaps_in(graphs)) else {}),
        "true_saliency": graphs.true_saliency is not None,
        "fingerprint": graphs.fingerprint,
    }  # fmt: skip
    answer(result, as_json, data)


def _twins(graphs: GraphSet, as_json: bool) -> Answer:
    """A row for programs, sentences for people."""
    from sargnn import __version__
    from sargnn.data.protocol_splits import protocol_folds
    from sargnn.data.twins import twins_by_content

    splits = graphs.part is not None or (graphs.y is not None and len(graphs) >= 10)
    found = twins_by_content(graphs, protocol_folds(graphs) if splits else [])
    result: Answer = {"data": graphs.name, "fingerprint": graphs.fingerprint, "graphs": len(graphs)}
    if as_json:
        return {**result, "twins": [asdict(one) for one in found], "command": command_line(), "version": __version__}
    return result | {" and ".join(["structure", *one.respected]): str(one) for one in found}


@app.command()
@takes_roles
def check(
    data: Data,
    roles: Roles,
    missing: Missing = None,
    out: Annotated[Path | None, typer.Option("--out", help="Also write a page with plots into this folder.")] = None,
    as_json: Json = False,
) -> None:
    """Read a data set, say what it is like, and list everything that is wrong with it."""
    from sargnn.data.check import check, summary

    report = check(data, roles, missing or "flag")
    result: Answer = {"problems": [problem.to_json() for problem in report.problems]}
    if report.left_out:
        listed = [problem.to_json() for problem in report.left_out]
        result["left_out"] = listed if as_json else _reasons(report.left_out)
    if report.count > len(report.problems):
        result["problems_in_all"] = report.count
    result |= {} if report.graphs is None else summary(report.graphs)
    if out is not None:
        from sargnn.pages.data_check import write_check_page

        result["page"] = str(write_check_page(out, data, report, result))
    if not as_json:
        for problem in result["problems"]:
            note(f"problem: {' '.join(problem['problem'].splitlines())}")
        for problem in report.left_out[:SHOWN]:
            note(f"left out: {' '.join(str(problem).splitlines())}")
        result["problems"] = report.count
    answer(result, as_json, data)
    if report.problems:
        raise typer.Exit(2)


def _reasons(left_out: Sequence[Problem]) -> dict[str, int]:
    """How many graphs were left out for want of what."""
    return dict(Counter(problem.message.rpartition(", expected ")[2] for problem in left_out).most_common(SHOWN))


@app.command()
@takes_roles
def convert(
    data: Data,
    roles: Roles,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file or folder to write, which must be new.")],
    to: Annotated[
        str | None,
        typer.Option("--to", help="graphset, tu, csv, jsonl or graphml; default: graphset, or jsonl for FILE.jsonl."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a data set in another form."""
    from sargnn.data.io.convert import convert
    from sargnn.data.problems import Problems
    from sargnn.data.sources import read

    graphs = read(data, Problems(), roles, labelled=None)
    form = to or ("jsonl" if out.suffix.lower() == ".jsonl" else "graphset")
    notes = [*graphs.notes, *convert(graphs, out, form)]
    result = {"written": str(out), "form": form, "graphs": len(graphs), "fingerprint": graphs.fingerprint}
    answer({**result, "notes": notes}, as_json, f"{data} to {out}")


@app.command()
def generate(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=", ".join(KINDS) + ".")],
    out: Annotated[Path, typer.Option("--out", help="The folder to write; use it as DATA.")],
    train: Annotated[int | None, typer.Option("--train", help="Training graphs.")] = None,
    validation: Annotated[int | None, typer.Option("--validation", help="Validation graphs.")] = None,
    test: Annotated[int | None, typer.Option("--test", help="Test graphs.")] = None,
    test_large: Annotated[
        int | None, typer.Option("--test-large", help="Test graphs of more nodes (triangles, colors).")
    ] = None,
    graphs: Annotated[int | None, typer.Option("--graphs", help="Graphs in all (motifs, ba-2motifs).")] = None,
    bias: Annotated[
        float | None,
        typer.Option("--bias", help="Chance that base and shape agree in training, .9 by default (spurious-motif)."),
    ] = None,
    explained_only: Annotated[
        bool, typer.Option("--explained-only", help="Leave out mutagens whose cause is not known (mutagenicity).")
    ] = False,
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Make a data set whose true saliency is known. Sizes that are not given are those of its publication."""
    if kind not in KINDS:
        raise InputError(f"got kind '{kind}', expected one of {', '.join(KINDS)}")
    sizes = {"train": train, "validation": validation, "test": test, "test_large": test_large, "graphs": graphs}
    asked = {**sizes, "bias": bias, "explained_only": explained_only or None}
    given = {name: value for name, value in asked.items() if value is not None}
    make = getattr(importlib.import_module(KINDS[kind]), kind.replace("-", "_"))
    taken = inspect.signature(make).parameters
    for name in given:
        if name not in taken:
            raise InputError(f"--{name.replace('_', '-')}: got {given[name]}, expected none for {kind}")
        if name in sizes and given[name] > MOST:
            raise InputError(f"--{name.replace('_', '-')}: got {given[name]}, expected at most {MOST}")
    if out.exists() and any(out.iterdir() if out.is_dir() else [out]):
        raise InputError(f"--out: {out} is not empty, expected a new folder")
    made = make(**given, seed=seed or 0)
    made.save(out)
    counts = {"graphs": len(made), "nodes": made.num_nodes, "edges": made.num_edges}
    answer({"folder": str(out), **counts, "fingerprint": made.fingerprint}, as_json, out)
