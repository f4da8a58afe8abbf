"""``python -m sargnn``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_shell_learns_to_complete_the_command_by_its_name(tmp_path: Path) -> None:
    """In a real bash, from ``python -m sargnn`` to what it offers for a word that was begun."""
    command = tmp_path / "sargnn"
    command.write_text(f"#!{sys.executable}\nfrom sargnn.cli import main\nmain()\n")
    command.chmod(0o755)
    words = "COMP_WORDS=(sargnn tra); COMP_CWORD=1; _sargnn_completion sargnn; echo ${COMPREPLY[@]}"
    shown = f'eval "$({sys.executable} -m sargnn --show-completion bash)"; complete -p sargnn; {words}'
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", shown], capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}
    )
    assert (done.stdout, done.stderr) == ("complete -o default -F _sargnn_completion sargnn\ntrain\n", "")


def test_the_package_is_a_command_too() -> None:
    done = subprocess.run([sys.executable, "-m", "sargnn", "train"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "error: Missing argument 'DATA'. (python -m sargnn train --help)"
