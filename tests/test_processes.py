"""Who may write to a folder: real processes that hold it, end, and are killed."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sargnn.errors import InputError
from sargnn.processes import FolderLock, alone, host, is_dead, is_gone, own_name

HOLDER = """
import sys
from pathlib import Path
from sargnn.processes import FolderLock
lock = FolderLock.of(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="folders are locked on POSIX systems alone")


@pytest.fixture
def holder(tmp_path: Path) -> subprocess.Popen[str]:
    """Another process that holds ``tmp_path``."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, None])
def test_a_folder_is_refused_while_another_process_holds_it_and_free_however_that_ends(
    holder: subprocess.Popen[str], tmp_path: Path, end: signal.Signals | None
) -> None:
    with pytest.raises(InputError, match="a run that another process is writing"):
        FolderLock.of(tmp_path)
    with pytest.raises(InputError), alone(tmp_path):
        pytest.fail("the block ran")
    assert not is_gone(host(), holder.pid)
    if end is not None:
        holder.send_signal(end)
    holder.communicate()
    assert is_gone(host(), holder.pid)
    with alone(tmp_path):
        pass


def test_one_process_may_take_its_folder_again_and_frees_it_with_the_last(tmp_path: Path) -> None:
    first, second = FolderLock.of(tmp_path), FolderLock.of(tmp_path)
    assert first is second is not None
    del first
    assert _another_takes(tmp_path) == 2
    del second
    gc.collect()
    assert _another_takes(tmp_path) == 0


def _another_takes(folder: Path) -> int:
    code = (
        "import sys; from pathlib import Path; from sargnn.errors import InputError\n"
        "from sargnn.processes import FolderLock\n"
        "try: FolderLock.of(Path(sys.argv[1]))\n"
        "except InputError: sys.exit(2)"
    )
    return subprocess.run([sys.executable, "-c", code, str(folder)], check=False).returncode


def test_names_tell_dead_processes_from_living_and_from_those_elsewhere(holder: subprocess.Popen[str]) -> None:
    node, boot, processes, _ = own_name().split("-")
    assert not is_dead(own_name())
    assert not is_dead(f"{node}-{boot}-{processes}-{holder.pid}")
    holder.kill()
    holder.communicate()
    assert is_dead(f"{node}-{boot}-{processes}-{holder.pid}")
    assert is_dead(f"{node}-000000-{processes}-1")  # before the machine was started again
    assert not is_dead(f"000000-{boot}-{processes}-{holder.pid}")  # on another machine: nobody knows
    assert not is_gone("another machine", holder.pid)
    assert all(is_dead(name) for name in ("", "x", "a-b-c-", f"{node}-{boot}-{processes}--1"))
