"""One attack: a case of the corpus, run as a process of its own under limits of memory and time.

The processes are forked from one that has imported everything, so that a case costs what its command costs.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tiny import shapes

MEMORY = 4 << 30
"""Bytes of address space: PyTorch alone takes a good half of one."""
CPU = 40
"""Seconds of a processor, after which the system ends a process by a signal."""
WALL = 60.0
"""Seconds on a clock, which others may use too."""

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["sargnn.cli", "sargnn.training.open_run", "sargnn.studies.cross_validation", "sargnn.data.check"]
)


@dataclass(frozen=True)
class Case:
    """An input or a fault, the command that meets it, and what is expected."""

    make: Callable[[], object]
    """Makes the input in the current folder, which has copies of all that :func:`kit` makes."""
    command: str
    """Parted at spaces."""
    words: str
    """Part of the one line of the error, or of what is printed where the status is 0."""
    status: int = 2
    stdout: str | None = None
    """Where standard output goes, instead of to a file that is looked at."""
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    status: int | None
    """Negative: ended by a signal; None: still running at the end of the time."""
    out: str
    err: str
    seconds: float


def run(case_folder: Path, arguments: Sequence[str], stdout: str | None, variables: Mapping[str, str]) -> Result:
    """The command in a process of its own."""
    files = [case_folder.with_name(f"{case_folder.name}.{name}") for name in ("out", "err")]
    process = CONTEXT.Process(
        target=_child, args=(str(case_folder), list(arguments), stdout or str(files[0]), str(files[1]), dict(variables))
    )
    start = time.monotonic()
    process.start()
    process.join(WALL)
    status = process.exitcode
    if status is None:
        process.kill()
        process.join()
    out, err = (file.read_text(errors="surrogateescape") if file.exists() else "" for file in files)
    return Result(status, out, err, time.monotonic() - start)


def _child(folder: str, arguments: list[str], stdout: str, stderr: str, variables: dict[str, str]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(folder)
    os.environ.update(variables)
    for number, path in ((1, stdout), (2, stderr)):
        if path == "closed":
            os.close(number)
            continue
        if path == "pipe":
            reader, writer = os.pipe()
            os.close(reader)
        else:
            writer = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(writer, number)
    closed = stdout == "closed"
    sys.stdout = None if closed else open(1, "w", encoding="utf-8", closefd=False)  # type: ignore[assignment]  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = ["sargnn", *arguments]
    import sargnn.cli

    sargnn.cli.main()


def kit(folder: Path) -> None:
    """What the cases attack: a set, three trained runs and one that stopped half-way, molecules, splits."""
    import numpy as np

    from sargnn.training.run import TrainingRun, train
    from tiny import FOLD, binary_shapes, labelled, measured_shapes, tiny

    shapes().save(folder / "set")
    labelled(shapes()).save(folder / "full")
    train(shapes(), tiny(training__epochs=2), folder / "run", fold=FOLD)
    run = TrainingRun.start(shapes(), tiny(training__epochs=2), folder / "half", fold=None)
    next(iter(run))
    run.lock = None
    train(binary_shapes(gaps=False), tiny("gcn", training__epochs=1), folder / "targets", fold=FOLD)
    train(measured_shapes(gaps=False), tiny("gcn", training__epochs=1), folder / "numbers", fold=FOLD)
    binary_shapes(gaps=False).save(folder / "binary")
    measured_shapes(gaps=False).save(folder / "measured")
    rows = [f"{smiles},{number % 2}" for number, smiles in enumerate(["CO", "CC", "CN", "CCC", "CCO", "CCN"] * 4)]
    (folder / "molecules.csv").write_text("\n".join(["smiles,label", *rows, ""]))
    (folder / "absent").mkdir()
    assert np.load(folder / "set" / "y.npy").size == 24
