"""Refuse a release whose tag, version, changelog and metadata do not agree.

python .ci/check_release.py v0.1.0
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def problems(tag: str, root: Path = ROOT) -> list[str]:
    """What stands in the way of releasing ``tag``."""
    version = re.search(r'^__version__ = "(.+)"$', (root / "src/sargnn/__init__.py").read_text(), re.MULTILINE)
    own = version[1] if version else "none"
    cited = re.search(r"^version: (.+)$", (root / "CITATION.cff").read_text(), re.MULTILINE)
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    found = [] if tag == f"v{own}" else [f"got tag {tag}, expected v{own} as in src/sargnn/__init__.py"]
    if not cited or cited[1] != own:
        found.append(f"got version {cited[1] if cited else 'none'} in CITATION.cff, expected {own}")
    if not re.search(
        rf"^## \[{re.escape(own)}\] - \d{{4}}-\d\d-\d\d$", (root / "CHANGELOG.md").read_text(), re.MULTILINE
    ):
        found.append(f"got no dated section [{own}] in CHANGELOG.md, expected one")
    if not {"Repository", "Issues"} <= project.get("urls", {}).keys():
        found.append("got no [project.urls] Repository and Issues in pyproject.toml, expected where the project is")
    return found


if __name__ == "__main__":
    if told := problems(sys.argv[1]):
        sys.exit("\n".join(told))
