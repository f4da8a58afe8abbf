"""Who writes: processes that have ended are known, and a folder has one writer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sargnn.errors import InputError
from sargnn.processes import FolderLock, alone, host, is_dead, is_gone, own_name

TAKE = """
import sys
from pathlib import Path
from sargnn.processes import FolderLock, own_name
lock = FolderLock.of(Path(sys.argv[1]))
print(own_name(), flush=True)
sys.stdin.read()
"""


def test_a_process_is_dead_when_it_has_ended(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", TAKE, tmp_path], stdin=-1, stdout=-1, text=True)
    assert other.stdout is not None
    name = other.stdout.readline().strip()
    assert not is_dead(name)
    assert not is_gone(host(), other.pid)
    other.communicate()
    assert is_dead(name)
    assert is_gone(host(), other.pid)


def test_of_other_machines_nothing_is_certain() -> None:
    assert not is_dead(own_name())
    assert not is_dead("another-" + own_name().partition("-")[2])
    assert not is_gone("another", 1)
    assert is_dead("x1y2")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no locks on folders")
def test_a_folder_has_one_writer_until_it_ends(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", TAKE, tmp_path], stdin=-1, stdout=-1, text=True)
    assert other.stdout is not None
    other.stdout.readline()
    with pytest.raises(InputError, match="got a run that another process is writing"):
        FolderLock.of(tmp_path)
    other.kill()
    other.communicate()
    with alone(tmp_path), alone(tmp_path):  # once more within a process
        pass
