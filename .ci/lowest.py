"""Print the lowest version that pyproject.toml allows of each dependency, as pins: what a CI job installs and tries.

python .ci/lowest.py chem serve > lowest.txt
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def lowest(requirements: list[str]) -> list[str]:
    """
    >>> lowest(["torch>=2.6", "uvloop>=0.20; sys_platform != 'win32'"])
    ['torch==2.6', "uvloop==0.20; sys_platform != 'win32'"]
    """
    pinned = [re.sub(r">=", "==", requirement, count=1) for requirement in requirements]
    if wrong := [requirement for requirement in pinned if "==" not in requirement]:
        sys.exit(f"got {', '.join(wrong)} without a lower bound, expected one such as numpy>=1.26")
    return pinned


if __name__ == "__main__":
    extras = [name for extra in sys.argv[1:] for name in PROJECT["optional-dependencies"][extra]]
    print("\n".join(lowest([*PROJECT["dependencies"], *extras])))
