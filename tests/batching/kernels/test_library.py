"""The C library is compiled once into the cache; on a machine where it cannot be, PyTorch does the same work."""

from __future__ import annotations

import logging
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from literal import kernels
from sargnn.batching.kernels import library
from sargnn.training.run import TrainingRun, train
from tiny import FOLD, shapes, timeless, tiny

COMPILER = os.environ.get("CC", "cc")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, and a process that has not looked for the library yet."""
    kernels(torch.float32)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    library.cache_clear()
    yield tmp_path / "cache" / "sargnn" / "kernels"
    library.cache_clear()


def script(path: Path, *lines: str) -> str:
    """A compiler made of these lines of shell, of which ``$REAL "$@"`` is the true one."""
    path.write_text("\n".join(["#!/bin/sh", f"REAL={COMPILER}", *lines, ""]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often the compiler was called."""
    log = tmp_path / "calls"
    monkeypatch.setenv("CC", script(tmp_path / "counting", f'echo call >> "{log}"', 'exec $REAL "$@"'))
    return lambda: len(log.read_text().splitlines()) if log.exists() else 0


def files(folder: Path) -> list[str]:
    return sorted(path.suffix for path in folder.iterdir())


# ------------------------------------------------------------------------------------------------------ found or made


def test_compiled_once_for_each_type_of_number(cache: Path, calls: Callable[[], int]) -> None:
    for dtype, made in ((torch.float32, 1), (torch.float64, 2), (torch.float32, 2), (torch.float64, 2)):
        assert library(dtype) is not None
        assert calls() == made
        library.cache_clear()  # as another process would begin
    assert files(cache) == [".sha256", ".sha256", ".so", ".so"]


def test_another_compiler_makes_another_library(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "other"):
        monkeypatch.setenv("CC", script(tmp_path / name, 'exec $REAL "$@"'))
        library.cache_clear()
        assert library(torch.float32) is not None
    assert files(cache) == [".sha256", ".sha256", ".so", ".so"]


@pytest.mark.skipif(os.name != "posix", reason="other systems have other rights")
def test_nothing_is_loaded_from_a_folder_that_others_can_write_to(cache: Path) -> None:
    assert library(torch.float32) is not None
    assert cache.stat().st_mode & 0o777 == 0o700
    library.cache_clear()
    cache.chmod(0o777)
    assert library(torch.float32) is None
    library.cache_clear()
    cache.chmod(0o700)
    cache.parent.chmod(0o777)
    assert library(torch.float32) is None


PARTS = {
    "cut in the middle": lambda so: so.write_bytes(so.read_bytes()[: so.stat().st_size // 2]),
    "cut at a page": lambda so: so.write_bytes(so.read_bytes()[:4096]),
    "padded": lambda so: so.write_bytes(so.read_bytes() + b"x"),
    "one bit": lambda so: so.write_bytes(so.read_bytes()[:-9] + b"!" + so.read_bytes()[-8:]),
    "that others can write to": lambda so: so.chmod(0o666),
    "without a seal": lambda so: so.with_suffix(".sha256").unlink(),
    "with the seal of another": lambda so: so.with_suffix(".sha256").write_text("7 abc\n"),
}


@pytest.mark.parametrize("part", PARTS)
def test_a_library_that_is_not_what_was_written_is_not_loaded(
    part: str, cache: Path, calls: Callable[[], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To load a part of a library, and to reach its end, is no exception but the end of the process."""
    assert library(torch.float32) is not None
    other = Path(shutil.copytree(cache, tmp_path / "other" / "sargnn" / "kernels"))  # this process has loaded the first
    (whole,) = other.glob("*.so")
    content = whole.read_bytes()
    PARTS[part](whole)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    library.cache_clear()
    assert library(torch.float32) is not None
    assert calls() == 2
    assert whole.read_bytes() == content
    assert files(other) == [".sha256", ".so"]


def test_a_link_to_a_library_is_not_followed(cache: Path, calls: Callable[[], int], tmp_path: Path) -> None:
    assert library(torch.float32) is not None
    (whole,) = cache.glob("*.so")
    whole.rename(tmp_path / "elsewhere.so")
    whole.symlink_to(tmp_path / "elsewhere.so")
    library.cache_clear()
    assert library(torch.float32) is not None
    assert calls() == 2
    assert not whole.is_symlink()


def test_a_damaged_library_is_made_again(
    cache: Path, calls: Callable[[], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert library(torch.float32) is not None
    [whole] = cache.glob("*.so")
    damaged = tmp_path / "other" / "sargnn" / "kernels" / whole.name  # elsewhere: this process has loaded the whole one
    damaged.parent.mkdir(parents=True, mode=0o700)
    damaged.write_bytes(b"not a library")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    library.cache_clear()
    assert library(torch.float32) is not None
    assert calls() == 2
    assert damaged.read_bytes() == whole.read_bytes()


def test_types_without_a_library(cache: Path) -> None:
    assert library(torch.float16) is None
    assert library(torch.int64) is None
    assert not cache.exists()


def test_kernels_can_be_switched_off(cache: Path, calls: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_KERNELS", "0")
    assert library(torch.float32) is None
    assert calls() == 0
    assert not cache.exists()


PROCESS = """
import sys
import torch
from sargnn.batching.kernels import Sums
from sargnn.batching.kernels import library
path = dict(node_ptr=torch.tensor([0, 2]), edge_ptr=torch.tensor([0, 1, 2]), source=torch.tensor([1, 0]))
h = torch.tensor([[1.0], [2.0]])
print(Sums(library(h.dtype), **path).aggregate(torch.tensor([10.0, 100.0]), h).tolist())
"""


def test_two_processes_that_compile_at_once_end_with_one_file(cache: Path, tmp_path: Path) -> None:
    """Each compiler waits until the other has begun."""
    begun = tmp_path / "begun"
    begun.mkdir()
    waiting = script(
        tmp_path / "waiting", f'touch "{begun}/$$"', "tries=0",
        f'while [ "$(ls "{begun}" | wc -l)" -lt 2 ] && [ $tries -lt 600 ]; do sleep 0.1; tries=$((tries + 1)); done',
        'exec $REAL "$@"',
    )  # fmt: skip
    environment = {**os.environ, "CC": waiting}
    command = [sys.executable, "-c", PROCESS]
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0] for process in both] == ["[[20.0], [100.0]]\n"] * 2
    assert len(list(begun.iterdir())) == 2
    assert files(cache) == [".sha256", ".so"]


# ------------------------------------------------------------------------------------------------------- done without


def no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", str(tmp_path / "nowhere" / "cc"))


def failing_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", script(tmp_path / "failing", "echo no such option >&2", "exit 1"))


def compiler_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", script(tmp_path / "nothing", "exit 0"))


def compiler_of_nonsense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = 'for word in "$@"; do test "$before" = -o && echo nonsense > "$word"; before=$word; done', "exit 0"
    monkeypatch.setenv("CC", script(tmp_path / "nonsense", *lines))


def no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))


def switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARGNN_KERNELS", "0")


FAULTS = [no_compiler, failing_compiler, compiler_of_nothing, compiler_of_nonsense, no_cache, switched_off]


def trained() -> TrainingRun:
    return train(shapes(truth=True), tiny(training__epochs=4, model__norm="batch"), fold=FOLD)


@pytest.fixture(scope="module")
def by_kernels() -> TrainingRun:
    kernels(torch.float32)
    return trained()


@pytest.mark.parametrize("fault", FAULTS)
def test_training_goes_on_without_kernels(
    fault: Callable[..., None],
    by_kernels: TrainingRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="sargnn")
    fault(tmp_path, monkeypatch)
    assert library(torch.float32) is None
    lines = [record.getMessage() for record in caplog.records]
    if fault is not switched_off:
        (line,) = lines
        assert line.startswith("no C kernels, PyTorch's operations are used: ")
    run = trained()
    assert scores(run) == scores(by_kernels)
    for mine, theirs in zip(timeless(run.state.history), timeless(by_kernels.state.history), strict=True):
        assert mine == pytest.approx(theirs, rel=1e-3)


def scores(run: TrainingRun) -> dict[str, Any]:
    return {part: found["accuracy"] for part, found in run.scores.items()}


def test_a_failed_compiler_leaves_nothing_behind(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing_compiler(tmp_path, monkeypatch)
    assert library(torch.float32) is None
    assert files(cache) == []


def test_a_fault_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "calls"
    monkeypatch.setenv("CC", script(tmp_path / "failing", f'echo call >> "{log}"', "exit 1"))
    assert library(torch.float32) is library(torch.float32) is None
    assert log.read_text().splitlines() == ["call"] * 2  # with OpenMP and without


def test_a_compiler_without_openmp_will_do(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = 'case "$*" in *-fopenmp*) exit 1;; esac'
    monkeypatch.setenv("CC", script(tmp_path / "plain", refuse, 'exec cc "$@"'))
    assert library(torch.float32) is not None
