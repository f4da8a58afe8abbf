"""The command line, one file per command: parse, call the library, print.

What a command needs is imported when it runs: ``--help`` must not wait for PyTorch.
"""

from __future__ import annotations

import io
import os
import platform
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version as version_of
from typing import Annotated, Any

import typer

import sargnn
from sargnn.allocator import keep_freed_memory
from sargnn.cli import data
from sargnn.console import note
from sargnn.errors import Diverged, InputError
from sargnn.startup import load_compiler_late

__all__ = ["app", "main"]

TRACEBACK = "SARGNN_TRACEBACK"
"""Set it to see where an unexpected error came from."""
NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "Cannot allocate memory", "std::bad_alloc")
"""What libraries say that have errors of their own for it."""

UsageError: Any = typer.BadParameter.__bases__[0]  # click's, which newer releases of Typer carry inside

app = typer.Typer(
    name="sargnn",
    help="Graph classification that shows which nodes decided.",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name in (
    "quickstart", "train", "evaluate", "predict", "calibrate", "export", "push", "search", "explain", "explain_compare",
    "cv", "serve", "reproduce", "bench", "settings",
):  # fmt: skip
    app.command()(vars(import_module(f"sargnn.cli.{name}"))[name])
app.add_typer(data.app, name="data")


@app.callback()
def common(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    if version:
        print(versions_line())
        raise typer.Exit


def versions_line() -> str:
    """The version of this package and of what its results depend on, found without importing any of it."""
    others = {name: version_of(name) for name in ("torch", "torch_geometric", "numpy", "scikit-learn")}
    known = {"Python": platform.python_version(), **others}
    return f"sargnn {sargnn.__version__} ({', '.join(f'{name} {number}' for name, number in known.items())})"


def main() -> None:
    """Run the command line. Exit status: 0 done, 2 the input or the call is wrong, 130 interrupted, 1 anything else."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started the command: `>&-`
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (for as long as the command runs)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # A name that the terminal cannot show must not cost the answer.
        sys.stdout.reconfigure(errors="backslashreplace")
    # More threads make steps this small slower, especially on a busy machine. PyTorch reads this when it is imported,
    # which is later.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Commands say so themselves, once and with the place (training/open_run.py).
    warnings.filterwarnings("ignore", "[0-9]+ graphs have gaps in ")
    keep_freed_memory()
    load_compiler_late()
    status = _run()
    if status == 130:  # some releases of Typer raise at Ctrl-C, others return this
        note("Interrupted. Rerun with --resume, or repeat the same command.")
    sys.exit(status or 0)


def _run() -> int:
    """The command that was typed; what goes wrong is one line, and a status."""
    try:
        # A shell completes the command by its name, however this process was started.
        completing = any(word.startswith(("--show-completion", "--install-completion")) for word in sys.argv)
        status = app(standalone_mode=False, prog_name="sargnn" if completing else None)
        sys.stdout.flush()
    except (InputError, Diverged) as error:
        _complain(str(error))
        status = 2 if isinstance(error, InputError) else 1
    except UsageError as error:
        _complain(error.format_message(), _help_for(error))
        status = 2
    except (typer.Abort, KeyboardInterrupt):
        status = 130
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        _complain(_unexpected(error))
        status = 1
    return _closed(status or 0)


def _unexpected(error: Exception) -> str:
    """What to say of an error that is no one's input; nothing where the reader has gone."""
    words = " ".join(str(error).split())[:300]
    if isinstance(error, BrokenPipeError):
        return ""
    if isinstance(error, MemoryError) or any(sign in words for sign in NO_MEMORY):
        return f"out of memory ({words or 'no more is to be had'}); use smaller graphs, batches or models"
    if isinstance(error, OSError):
        where = f"{error.filename}: cannot read or write" if error.filename else "standard output: cannot write"
        return f"{where} ({error.strerror or words})"
    return f"unexpected {type(error).__name__}: {words}; {TRACEBACK}=1 shows where; please report it"


def _closed(status: int) -> int:
    """The status after all is written; what can no longer be written must not be tried again when Python ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):  # there is no file below where tests or notebooks run a command
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if status == 0 and not isinstance(error, BrokenPipeError):
            _complain(f"standard output: cannot write ({error})")
        status = status or 1
    return status


def _help_for(error: Any) -> str:
    """Where to look; for an unknown option that is a setting of a command that takes settings, how to set it."""
    option = getattr(error, "option_name", None)
    if error.ctx and option and any("--set" in parameter.opts for parameter in error.ctx.command.params):
        from sargnn.training.settings import DEFAULT_MODEL, Settings

        known = [name for name in Settings.of(DEFAULT_MODEL).flat() if name != "model"]
        field = option.lstrip("-").replace("-", "_")
        if setting := next((name for name in known if field in (name, name.partition(".")[2])), None):
            return f"; it is a setting: --set {setting}={_typed_value(option)}"
    return f" ({error.ctx.command_path} --help)" if error.ctx else ""


def _typed_value(option: str) -> str:
    """What was typed as the value of an unknown option."""
    words = [*sys.argv, ""]
    place = next((i for i, word in enumerate(words) if word.partition("=")[0] == option), len(words) - 2)
    _, equals, value = words[place].partition("=")
    value = value if equals else words[place + 1]
    return value if value and not value.startswith("--") else "VALUE"


def _complain(problem: str, where: str = "") -> None:
    """One line, whatever was typed or read; a call without arguments has been answered with the help already."""
    if problem:
        note(f"error: {' '.join(problem.splitlines())}{where}")
