"""The options that commands share, and what they stand for."""

from __future__ import annotations

import inspect
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sargnn.console import note
from sargnn.data.roles import TASKS, Roles
from sargnn.errors import InputError
from sargnn.training.model_address import local_folder

if TYPE_CHECKING:
    from sargnn.data.graphs import GraphSet

__all__ = [
    "Config", "Data", "Device", "Json", "Metric", "Missing", "Model", "NewRun", "OwnModel", "Part", "Run", "Seed",
    "Set", "Split", "check_choice", "command_line", "load_noted", "new_folder", "run_folder", "takes_roles",
]  # fmt: skip


def run_folder(address: str) -> Path:
    """:func:`local_folder` of what was typed; Typer would put words of its own before a ``ValueError``.

    >>> run_folder("runs/mine").as_posix()
    'runs/mine'
    """
    try:
        return local_folder(address)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error


Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A known name (see `sargnn data list`), any TU name, or a path.")
]
Run = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        parser=run_folder,
        help="A model folder written by `sargnn train`, demo:NAME, or hf://OWNER/NAME@REVISION.",
    ),
]
NewRun = Annotated[Path | None, typer.Option("--out", help="The folder of the run; default: a new one under runs/.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="sargnn-plus, recommended and the default; sargnn-salient, the default before; sargnn-large; the paper's "
        "sar-gcn, sar-gin, sar-sage, sar-gat; their base models gcn, gin, sage, gat; as-published; or a compared "
        "system: chebygin, sagpool, deepsets, graph-unet, dgcnn, ecc, gsn, graphormer, ugformer, adsf, dss-gnn, slim, "
        "dgm, gsat, topological-forest, fingerprint-forest (of molecules); or "
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
Metric = Annotated[
    str | None,
    typer.Option(
        "--metric", help="What selects the epoch and stops: loss, last, or a metric such as auroc, f1, rmse, mae."
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        help="Gaps in attributes: refuse, mean (of the training graphs), or flag, the default: the mean, and a column "
        "that says where.",
    ),
]
Config = Annotated[Path | None, typer.Option("--config", help="A TOML or JSON file of settings.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Of weights, split and order of graphs.")]
Device = Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:N or auto.")]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object on standard output, everything else on standard error.")
]
ROLES = {
    "labels": Annotated[
        list[str] | None,
        typer.Option("--labels", help="The column or graph attribute to predict; repeat it for several targets."),
    ],
    "task": Annotated[
        str | None,
        typer.Option("--task", help=f"{', '.join(TASKS)}; default: seen from the labels."),
    ],
    "smiles": Annotated[str | None, typer.Option("--smiles", help="The column of a CSV file that holds SMILES.")],
    "id_column": Annotated[str | None, typer.Option("--id", help="The column that says what to call each graph.")],
    "split_column": Annotated[
        str | None, typer.Option("--split-column", help="The column that says train, validation or test.")
    ],
    "weight_column": Annotated[
        str | None, typer.Option("--weight-column", help="The column that says how much a graph counts in the loss.")
    ],
    "group_column": Annotated[
        str | None, typer.Option("--group-column", help="The column whose equal values stay in one part of a split.")
    ],
}
"""The options that say what columns are for: by the fields of :class:`Roles`, some of which are options otherwise."""
Split = Annotated[
    Path | None, typer.Option("--split", help="A split file in the published JSON form, or scaffold (of molecules).")
]
Part = Annotated[
    str, typer.Option("--part", help="Which graphs: all, or train, validation, test of the run's own split.")
]


def takes_roles(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say what columns are for. It gets them as one argument, ``roles``.

    >>> @takes_roles
    ... def show(data: Data, roles: Roles) -> None:
    ...     print(data, roles.labels, roles.id)
    >>> show(data="x.csv", **dict.fromkeys(ROLES) | {"labels": ["a", "b"], "id_column": "key"})
    x.csv ('a', 'b') key
    """

    @wraps(command)
    def wrapped(**given: Any) -> None:
        named = {name.removesuffix("_column"): given.pop(name) for name in ROLES}
        command(**given, roles=Roles(**{**named, "labels": tuple(named["labels"]) if named["labels"] else None}))

    own = inspect.signature(command, eval_str=True).parameters.values()
    kind, options = inspect.Parameter.KEYWORD_ONLY, []
    for parameter in own:
        if parameter.name == "roles":
            options += [inspect.Parameter(name, kind, default=None, annotation=of) for name, of in ROLES.items()]
        else:
            options.append(parameter.replace(kind=kind))
    wrapped.__dict__["__signature__"] = inspect.Signature(options)
    wrapped.__annotations__ = {option.name: option.annotation for option in options}
    return wrapped


def check_choice(name: str, value: str, known: Iterable[str]) -> None:
    """Refuse a ``value`` of the option ``name`` that is not one of the known words.

    >>> check_choice("--format", "png", ("png", "svg"))
    """
    if value not in known:
        raise InputError(f"{name}: got {value!r}, expected one of {', '.join(known)}")


def command_line() -> str:
    """What the user typed, for the report."""
    return shlex.join(["sargnn", *sys.argv[1:]])


def load_noted(data: str, roles: Roles, labelled: bool | None = True) -> GraphSet:
    """The graphs of ``data``; the notes of reading them go to standard error."""
    from sargnn.data.problems import Problems
    from sargnn.data.sources import read

    graphs = read(data, Problems(), roles, labelled=labelled)
    for text in graphs.notes:
        note(f"{graphs.name}: {text}")
    return graphs


def new_folder(name: str) -> Path:
    """``runs/NAME``, or the first of ``runs/NAME-2``, ``-3``, ... that does not exist."""
    name = re.sub(r"[^\w.-]+", "-", name)  # the name of a data set comes from a file and may be anything
    numbered = (Path("runs") / (name if n == 1 else f"{name}-{n}") for n in range(1, 1_000_000))
    return next(path for path in numbered if not path.exists())
