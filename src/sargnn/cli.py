"""The command line. Every command is a function of the library with its answer printed; nothing is built here."""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sargnn.console import note, table
from sargnn.errors import Diverged, InputError

__all__ = ["app", "main"]

UsageError: Any = typer.BadParameter.__bases__[0]  # click's, which newer releases of Typer carry inside

app = typer.Typer(
    name="sargnn",
    help="Graph classification that shows which nodes decided.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(help="Look at data sets, check them, make them.", no_args_is_help=True)
app.add_typer(data_app, name="data")

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A known name (see `sargnn data list`), any TU name, or a path.")
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A model folder written by `sargnn train`.")]
Model = Annotated[
    str | None,
    typer.Option("--model", help="sar-gcn, sar-gin, sar-sage, sar-gat, gcn, gin, sage, gat or as-published."),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any config field: training.epochs=50, model.fusion=scaling."),
]
Config = Annotated[Path | None, typer.Option("--config", help="A TOML or JSON file of settings.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Of weights, split and order of graphs.")]
Device = Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:N or auto.")]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object on standard output, everything else on standard error.")
]
Part = Annotated[
    str, typer.Option("--part", help="Which graphs: all, or train, validation, test of the run's own split.")
]


@app.command()
def quickstart(
    out: Annotated[
        Path | None, typer.Option("--out", help="Where to put the run; default: a new folder under runs/.")
    ] = None,
    seed: Seed = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Generate triangle graphs, train SAR-GNN on them, and write a report that shows which nodes decided."""
    answer(_commands().quickstart(out, seed or 0, device, _command()), as_json, "quickstart")


@app.command()
def train(
    data: Data,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where to put the run; default: a new folder under runs/.")
    ] = None,
    model: Model = None,
    assignments: Set = None,
    config: Config = None,
    seed: Seed = None,
    device: Device = "cpu",
    split: Annotated[Path | None, typer.Option("--split", help="A split file in the published JSON form.")] = None,
    fold: Annotated[int, typer.Option("--fold", help="Which fold of the split file, from 0.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out where it stopped.")] = False,
    as_json: Json = False,
) -> None:
    """Train a model, score it on held-out graphs, save it, and write a report."""
    result = _commands().train(
        data, out, model, assignments or [], config, seed, device, split, fold, resume, _command()
    )  # fmt: skip
    answer(result, as_json, f"trained on {data}")


@app.command()
def evaluate(run: Run, data: Data, part: Part = "all", device: Device = "cpu", as_json: Json = False) -> None:
    """Score a trained model on labelled graphs."""
    answer(_commands().evaluate(run, data, part, device), as_json, f"{run} on {data}")


@app.command()
def predict(
    run: Run,
    data: Data,
    out: Annotated[Path, typer.Option("--out", help="The CSV file to write: graph, class, probability of each class.")],
    part: Part = "all",
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Predict the class of every graph."""
    answer(_commands().predict(run, data, out, part, device), as_json, f"{run} on {data}")


@app.command()
def explain(
    run: Run,
    data: Data,
    out: Annotated[Path, typer.Option("--out", help="The folder to write: saliency.csv, saliency.json, drawings.")],
    part: Part = "all",
    drawings: Annotated[int, typer.Option("--drawings", min=0, help="Draw at most that many graphs.")] = 200,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Say which nodes decided: saliency of every node in every layer, as a table and as drawings."""
    answer(_commands().explain(run, data, out, part, drawings, device), as_json, f"{run} on {data}")


@data_app.command("list")
def data_list(as_json: Json = False) -> None:
    """The known data sets."""
    answer(_commands().data_list(), as_json, "known data sets")


@data_app.command("info")
def data_info(data: Data, as_json: Json = False) -> None:
    """Counts of a data set, and its fingerprint."""
    answer(_commands().data_info(data), as_json, data)


@data_app.command("check")
def data_check(data: Data, as_json: Json = False) -> None:
    """Read a data set and say what is wrong with it, or that nothing is."""
    answer(_commands().data_check(data), as_json, data)


@data_app.command("generate")
def data_generate(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="triangles or motifs.")],
    out: Annotated[Path, typer.Option("--out", help="The folder to write; use it as DATA.")],
    train: Annotated[int, typer.Option("--train", help="Training graphs (triangles).")] = 30000,
    validation: Annotated[int, typer.Option("--validation", help="Validation graphs (triangles).")] = 5000,
    test: Annotated[int, typer.Option("--test", help="Test graphs (triangles).")] = 5000,
    test_large: Annotated[int, typer.Option("--test-large", help="Test graphs of 26-100 nodes (triangles).")] = 5000,
    graphs: Annotated[int, typer.Option("--graphs", help="Graphs in all (motifs).")] = 1000,
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Make a data set whose true saliency is known."""
    sizes = (train, validation, test, test_large)
    answer(_commands().data_generate(kind, out, sizes, graphs, seed or 0), as_json, str(out))


def _commands() -> Any:
    """The module behind the commands, imported when one runs: `--help` must not wait for PyTorch."""
    return importlib.import_module("sargnn.commands")


def answer(result: dict[str, Any], as_json: bool, title: str) -> None:
    """Print a command's result: one JSON object, or names and values for people."""
    if as_json:
        print(json.dumps(result, allow_nan=False))
    else:
        table(title, {name.replace("_", " "): _readable(name, value) for name, value in result.items()})


def _readable(name: str, value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.1%}" if name.endswith("accuracy") else f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_readable(name, item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def _command() -> str:
    """What was typed, for the report."""
    return shlex.join(["sargnn", *sys.argv[1:]])


def _complain(problem: str, where: str = "") -> None:
    """One line, whatever was typed or read; a call without arguments has been answered with the help already."""
    if problem:
        note(f"error: {' '.join(problem.splitlines())}{where}")


def main() -> None:
    """Run the command line. Exit status: 0 done, 2 the input or the call is wrong, 130 interrupted, 1 anything else."""
    try:
        status = app(standalone_mode=False)
    except InputError as error:
        _complain(str(error))
        status = 2
    except UsageError as error:
        where = f" ({error.ctx.command_path} --help)" if error.ctx else ""
        _complain(error.format_message(), where)
        status = 2
    except (typer.Abort, KeyboardInterrupt):
        note("interrupted; what was saved is intact, and `train --resume` goes on from there")
        status = 130
    except Diverged as error:
        _complain(str(error))
        status = 1
    except BrokenPipeError:
        status = 1
    sys.exit(status or 0)
