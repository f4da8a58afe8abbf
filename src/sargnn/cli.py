"""The command line. Every command is a function of the library with its answer printed; nothing is built here.

What a command needs is imported when it runs: ``--help`` must not wait for PyTorch.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sargnn
from sargnn.allocator import keep_freed_memory
from sargnn.console import note, table
from sargnn.errors import Diverged, InputError

if TYPE_CHECKING:
    from sargnn.training.settings import Settings

__all__ = ["app", "main"]

UsageError: Any = typer.BadParameter.__bases__[0]  # click's, which newer releases of Typer carry inside

app = typer.Typer(
    name="sargnn",
    help="Graph classification that shows which nodes decided.",
    no_args_is_help=True,
    invoke_without_command=True,
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
    typer.Option(
        "--model",
        help="sargnn-plus, recommended and the default; sargnn-large; the paper's sar-gcn, sar-gin, sar-sage, sar-gat; "
        "their base models gcn, gin, sage, gat; as-published; or a compared system: chebygin, sagpool, deepsets, "
        "graph-unet, dgcnn, ecc, gsn, graphormer, ugformer, adsf, dss-gnn, slim, dgm, topological-forest; or "
        "a model of your own, package.module:Class.",
    ),
]
OwnModel = Annotated[
    str | None,
    typer.Option("--model", help="Allow the code of a run with a model of your own: package.module:Class."),
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
Labels = Annotated[str | None, typer.Option("--labels", help="The column or graph attribute that holds the class.")]
Smiles = Annotated[str | None, typer.Option("--smiles", help="The column of a CSV file that holds SMILES.")]
Split = Annotated[
    Path | None, typer.Option("--split", help="A split file in the published JSON form, or scaffold (of molecules).")
]
Part = Annotated[
    str, typer.Option("--part", help="Which graphs: all, or train, validation, test of the run's own split.")
]


@app.callback()
def common(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    if version:
        print(sargnn.__version__)
        raise typer.Exit


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
    from sargnn.commands import training

    answer(training.quickstart(out, seed or 0, device, _command()), as_json, "quickstart")


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
    split: Split = None,
    fold: Annotated[int, typer.Option("--fold", help="Which fold of the split file, from 0.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out where it stopped.")] = False,
    track: Annotated[list[str] | None, typer.Option("--track", help="Also log the run: tensorboard.")] = None,
    as_json: Json = False,
) -> None:
    """Train a model, score it on held-out graphs, save it, and write a report."""
    from sargnn.commands import training

    result = training.train(
        data, out, _settings(model, assignments, config, seed), device, split, fold, resume, _command(), track or []
    )
    answer(result, as_json, f"trained on {data}")


@app.command()
def evaluate(
    run: Run,
    data: Data,
    part: Part = "all",
    model: OwnModel = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Score a trained model on labelled graphs."""
    from sargnn.commands import trained_model

    answer(trained_model.evaluate(run, data, part, device, model), as_json, f"{run} on {data}")


@app.command()
def predict(
    run: Run,
    data: Data,
    out: Annotated[Path, typer.Option("--out", help="The CSV file to write: graph, class, probability of each class.")],
    part: Part = "all",
    coverage: Annotated[
        float | None,
        typer.Option("--coverage", help="Also give sets of classes that hold the true one with this probability: 0.9."),
    ] = None,
    calibrated: Annotated[
        bool, typer.Option("--calibrated", help="Probabilities at the temperature found on the validation graphs.")
    ] = False,
    model: OwnModel = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Predict the class of every graph."""
    from sargnn.commands import trained_model

    result = trained_model.predict(run, data, out, part, device, coverage, calibrated, model)
    answer(result, as_json, f"{run} on {data}")


@app.command()
def calibrate(
    run: Run,
    data: Data,
    part: Annotated[
        str, typer.Option("--part", help="Labelled graphs that the model was not trained on: validation, test, or all.")
    ] = "validation",
    coverage: Annotated[float, typer.Option("--coverage", help="Of the sets that are tried on the test part.")] = 0.9,
    model: OwnModel = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Find the temperature and the conformal scores of a model, and save them with it."""
    from sargnn.commands import trained_model

    answer(trained_model.calibrate(run, data, part, coverage, device, model), as_json, f"{run} on {data}")


@app.command()
def export(
    run: Run,
    to: Annotated[str, typer.Option("--to", help="onnx or torch-export.")],
    out: Annotated[Path, typer.Option("--out", help="The file to write.")],
    model: OwnModel = None,
    as_json: Json = False,
) -> None:
    """Write a model as one file that runs without this package, checked against the model."""
    from sargnn.commands import trained_model

    answer(trained_model.export(run, to, out, model), as_json, str(run))


@app.command()
def search(
    data: Data,
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder of the study; the same again goes on with it.")
    ] = None,
    model: Model = None,
    assignments: Set = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            "--space", metavar="KEY=A,B", help="What to search: key=a,b,c, key=low..high or key=low..high:log."
        ),
    ] = None,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Trials in all, earlier ones included.")] = 30,
    config: Config = None,
    seed: Seed = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Search for good settings on the validation graphs; the study is on disk and can be gone on with."""
    from sargnn.commands import training

    result = training.search(data, out, _settings(model, assignments, config, seed), device, space or [], trials)
    answer(result, as_json, f"search on {data}")


@app.command()
def explain(
    run: Run,
    data: Data,
    out: Annotated[Path, typer.Option("--out", help="The folder to write: saliency.csv, saliency.json, drawings.")],
    part: Part = "all",
    drawings: Annotated[int, typer.Option("--drawings", min=0, help="Draw at most that many graphs.")] = 200,
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
    from sargnn.commands import explaining

    result = explaining.explain(run, data, out, part, drawings, device, rule, form, graphs, model)
    answer(result, as_json, f"{run} on {data}")


@app.command("explain-compare")
def explain_compare(
    data: Data,
    out: Annotated[Path | None, typer.Option("--out", help="A file for the rows, one JSON object a line.")] = None,
    model: Model = None,
    assignments: Set = None,
    config: Config = None,
    seed: Seed = None,
    graphs: Annotated[int, typer.Option("--graphs", min=1, help="Explain at most that many graphs.")] = 100,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Train and explain that often, to see how stable.")] = 2,
    explainers: Annotated[
        list[str] | None, typer.Option("--explainer", help="Only this one and random; repeat it for more.")
    ] = None,
    part: Annotated[
        str, typer.Option("--part", help="Explain test graphs, or validation graphs to choose by.")
    ] = "test",
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Train a model and compare its saliency with other explainers: time, fidelity, truth, stability."""
    from sargnn.commands import experiments

    settings = _settings(model, assignments, config, seed)
    result = experiments.explain_compare(
        data, out, settings, graphs, seeds, explainers or [], part, device, _command()
    )  # fmt: skip
    if as_json:
        answer({key: value for key, value in result.items() if key != "table"}, as_json, data)
    else:
        print(result["table"])


@app.command()
def cv(
    data: Data,
    model: Annotated[
        list[str] | None, typer.Option("--model", help="A model, by default sargnn-plus; give two to compare.")
    ] = None,
    assignments: Set = None,
    grid: Annotated[
        list[str] | None, typer.Option("--grid", metavar="KEY=A,B", help="Values to select from on the inner hold-out.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", help="Outer folds.")] = 10,
    repeats: Annotated[int, typer.Option("--repeats", help="Trainings of the selected setting in each fold.")] = 3,
    split: Split = None,
    seed: Seed = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="A folder for the rows and a report; runs again continue there.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes that train side by side; on a CPU by default its cores.")
    ] = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Estimate accuracy honestly: nested cross-validation with selection on inner hold-outs."""
    from sargnn.commands import experiments
    from sargnn.studies.cross_validation import CrossValidation, in_words
    from sargnn.training.settings import DEFAULT_MODEL

    plan = CrossValidation(model or [DEFAULT_MODEL], assignments or [], grid or [], folds, repeats, split, seed or 0)
    found = experiments.cv(data, plan, out, workers, device)
    answer(found if as_json else in_words(found), as_json, f"cross-validation on {data}")


@app.command()
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="table1, table2, table3, ablations, beyond, figure-optimization, figure-tsne, figure-model-size, "
            "figure-complexity, figure-saliency-triangles, figure-saliency-mutag, figure-dss, all, or page.",
        ),
    ],
    preset: Annotated[str, typer.Option("--preset", help="smoke (minutes), lean, quick, or paper.")] = "quick",
    out: Annotated[
        Path, typer.Option("--out", help="The folder of the store and the pages; runs again continue there.")
    ] = Path("reproduction"),
    data: Annotated[str | None, typer.Option("--data", help="Only the cells of these sets, comma-separated.")] = None,
    engine: Annotated[
        str, typer.Option("--engine", help="local, processes, ray, or none to only write the pages again.")
    ] = "local",
    workers: Annotated[int | None, typer.Option("--workers", help="Worker processes.")] = None,
    address: Annotated[str | None, typer.Option("--address", help="Of a Ray cluster.")] = None,
    rows: Annotated[
        list[Path] | None,
        typer.Option("--rows", help="Start a new store from these rows (.jsonl or .jsonl.gz); repeat it for more."),
    ] = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Compute a table or a figure of the paper under the strict protocol, beside what was published.

    The name all goes through everything in turn. The name page writes the documentation's page of all tables and
    figures from the rows of --rows to the file --out, and its pictures to the folder images beside it.
    """
    from sargnn.commands import experiments

    answer(experiments.reproduce(name, preset, out, data, engine, workers, address, device, rows or ()), as_json, name)


@app.command()
def bench(
    quick: Annotated[bool, typer.Option("--quick", help="The main rows alone, in about a minute.")] = False,
    contender: Annotated[
        list[str] | None, typer.Option("--contender", help="Only this one, against pyg-gcn; repeat it for more.")
    ] = None,
    batch: Annotated[list[int] | None, typer.Option("--batch", help="Graphs in a batch; repeat it for more.")] = None,
    hidden: Annotated[
        list[int] | None, typer.Option("--hidden", help="Features of a node; repeat it for more.")
    ] = None,
    threads: Annotated[list[int] | None, typer.Option("--threads", help="Threads; repeat it for more.")] = None,
    busy_limit: Annotated[
        float, typer.Option("--busy-limit", help="Cores that others may use before a row is refused.")
    ] = 0.1,
    out: Annotated[
        Path | None, typer.Option("--out", help="A file for the rows, one JSON object a line; a drawing beside it.")
    ] = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Measure speed beside PyTorch Geometric and other formulations: ratios, each with its spread."""
    from sargnn.commands import experiments

    sizes = (tuple(batch or ()), tuple(hidden or ()), tuple(threads or ()))
    result = experiments.bench(quick, tuple(contender or ()), *sizes, busy_limit, out, device, _command())
    print(json.dumps(result["answer"], allow_nan=False) if as_json else result["table"])


@data_app.command("list")
def data_list(as_json: Json = False) -> None:
    """The known data sets."""
    from sargnn.commands import data_sets

    answer(data_sets.data_list(), as_json, "known data sets")


@data_app.command("info")
def data_info(data: Data, as_json: Json = False) -> None:
    """Counts of a data set, and its fingerprint."""
    from sargnn.commands import data_sets

    answer(data_sets.data_info(data), as_json, data)


@data_app.command("check")
def data_check(
    data: Data,
    labels: Labels = None,
    smiles: Smiles = None,
    out: Annotated[Path | None, typer.Option("--out", help="Also write a page with plots into this folder.")] = None,
    as_json: Json = False,
) -> None:
    """Read a data set, say what it is like, and list everything that is wrong with it."""
    from sargnn.commands import data_sets

    result = data_sets.data_check(data, labels, smiles, out)
    problems = result["problems"]
    if not as_json:
        for problem in problems:
            note(f"problem: {' '.join(problem['problem'].splitlines())}")
        result = {**result, "problems": result.get("problems_in_all", len(problems))}
    answer(result, as_json, data)
    if problems:
        raise typer.Exit(2)


@data_app.command("convert")
def data_convert(
    data: Data,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file or folder to write, which must be new.")],
    to: Annotated[
        str | None,
        typer.Option("--to", help="graphset, tu, csv, jsonl or graphml; default: graphset, or jsonl for FILE.jsonl."),
    ] = None,
    labels: Labels = None,
    smiles: Smiles = None,
    as_json: Json = False,
) -> None:
    """Write a data set in another form."""
    from sargnn.commands import data_sets

    answer(data_sets.data_convert(data, out, to, labels, smiles), as_json, f"{data} to {out}")


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
    from sargnn.commands import data_sets

    sizes = (train, validation, test, test_large)
    answer(data_sets.data_generate(kind, out, sizes, graphs, seed or 0), as_json, str(out))


def _settings(model: str | None, assignments: list[str] | None, config: Path | None, seed: int | None) -> Settings:
    from sargnn.training.settings import read_settings

    return read_settings(model, assignments or [], config, seed)


IN_A_LINE = 6
"""More items than these, such as the cells of a table, are shown each in a line of its own."""


def answer(result: dict[str, Any], as_json: bool, title: str) -> None:
    """Print a command's result: one JSON object, or names and values for people."""
    if as_json:
        print(json.dumps(result, allow_nan=False))
    else:
        table(title, {name.replace("_", " "): _readable(name, value) for name, value in result.items()})


def _readable(name: str, value: Any) -> str:
    if value is None:
        return "not measured: there are no such graphs" if name.endswith("accuracy") else "none"
    if isinstance(value, float):
        return f"{value:.1%}" if name in ("low", "high") or name.endswith(("accuracy", "interval")) else f"{value:.4g}"
    if isinstance(value, dict):
        items = [f"{key} {_readable(name, item)}" for key, item in value.items()]
        return ", ".join(items) if len(items) <= IN_A_LINE else "".join(f"\n    {item}" for item in items)
    if isinstance(value, list | tuple):
        return ", ".join(_readable(name, item) for item in value)
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
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # A name that the terminal cannot show must not cost the answer.
        sys.stdout.reconfigure(errors="backslashreplace")
    # More threads make steps this small slower, and far slower where other work has the cores. PyTorch reads this when
    # it is imported, which is later.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    keep_freed_memory()
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
        status = 130
    except Diverged as error:
        _complain(str(error))
        status = 1
    except BrokenPipeError:
        status = 1
    if status == 130:  # some releases of Typer raise at Ctrl-C, others return this
        note("interrupted; what was saved is intact: `train --resume`, the same cv --out, search or reproduce goes on")
    sys.exit(status or 0)
