"""``python -m sargnn``."""

from __future__ import annotations

import subprocess
import sys


def test_the_package_is_a_command_too() -> None:
    done = subprocess.run([sys.executable, "-m", "sargnn", "train"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "error: Missing argument 'DATA'. (python -m sargnn train --help)"
