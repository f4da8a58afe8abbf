"""Write the lock files: the versions of constraints.txt with the hashes of their files on Linux, Python 3.11 to 3.13.

    python .ci/make_lock.py --index https://pypi.org/simple --index https://download.pytorch.org/whl/cpu

``requirements.lock`` has every pin, for CI; ``requirements-image.lock`` has what the image needs, and
``requirements-build.lock`` what builds the wheel. A hash is what an index says, or, with ``--find-links``, that of a
file in a folder. A hash that the lock has for the same version stays: an index that cannot be reached takes none away.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
BUILD = {"torch": "+cpu"}
"""Which build of a version is locked, where there are several."""
PARTS = {"image": [".[serve,chem]"], "build": ["build", "hatchling"]}
"""Lock files of a part of the pins: what it is for, and what is installed for that."""
WHEEL = re.compile(
    r"-(py3|py2\.py3|cp31[123]|cp3\d+)-(none|abi3|cp31[123])-(any|[\w.]*manylinux\w*_(x86_64|aarch64)[\w.]*)\.whl$"
)
HEADER = """\
# {what}: the versions of constraints.txt with the hashes of their files. Made by .ci/make_lock.py; do not edit.
#
#   pip install --require-hashes --extra-index-url https://download.pytorch.org/whl/cpu -r {name}
#
# It is for Linux (x86_64, aarch64) and Python 3.11 to 3.13. Hashes are those that the index gives for wheels, and for a
# source distribution where there is no wheel. PyTorch is the build without CUDA, which PyTorch's own index has and PyPI
# has not: without that index pip says that there is no such version. It needs no package that is not listed here. For a
# GPU, install from constraints.txt.
"""


def plain(name: str) -> str:
    """The one spelling of a project's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, str]:
    """Project to version, as constraints.txt has them."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    found = {plain(name): version for name, _, version in (line.partition("==") for line in lines if line)}
    return {name: version + BUILD.get(name, "") for name, version in found.items()}


def fits(file: str, version: str) -> bool:
    """Whether a file is a wheel of this version for the supported Pythons on Linux."""
    parts = file.split("-")
    if len(parts) < 5 or parts[1] != version or not WHEEL.search(file):
        return False
    python, abi = parts[-3], parts[-2]
    return abi == "abi3" or python in ("py3", "py2.py3", "cp311", "cp312", "cp313")


def listed(index: str, name: str) -> list[tuple[str, str]]:
    """Files of a project and their hashes, as an index lists them; none where it does not know the project."""
    for page in (f"{index.rstrip('/')}/{name}/", f"{index.rstrip('/')}/{name}/index.html"):
        try:
            with urllib.request.urlopen(page, timeout=60) as answer:
                text = answer.read().decode()
        except (urllib.error.URLError, OSError):
            continue
        found = re.findall(r'href="[^"]*#sha256=([0-9a-f]{64})"[^>]*>\s*([^<\s]+)\s*<', text)
        return [(file.replace("%2B", "+"), digest) for digest, file in found]
    return []


def hashes(name: str, version: str, indexes: list[str], folders: list[Path]) -> set[str]:
    """The hashes of the files of one version."""
    files = [pair for index in indexes for pair in listed(index, name)]
    for path in (path for folder in folders for path in folder.glob("*.whl") if plain(path.name.split("-")[0]) == name):
        files.append((path.name, hashlib.sha256(path.read_bytes()).hexdigest()))
    wheels = {digest for file, digest in files if fits(file, version)}
    return wheels or {digest for file, digest in files if file.endswith(f"-{version}.tar.gz")}


def locked(path: Path) -> Iterator[tuple[str, str, set[str]]]:
    """Project, version and hashes of a lock file."""
    text = path.read_text() if path.exists() else ""
    for name, version, block in re.findall(r"^([\w.-]+)==(\S+)[^\n]*((?:\n    --hash=\S+.*)+)", text, re.MULTILINE):
        yield plain(name), version, set(re.findall(r"sha256:([0-9a-f]{64})", block))


def resolved(what: list[str]) -> set[str]:
    """The projects that an empty environment needs for ``what``."""
    ask = ["install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", "--constraint", "constraints.txt"]
    command = [sys.executable, "-m", "pip", *ask, *what]
    report = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    return {plain(entry["metadata"]["name"]) for entry in report["install"]} - {"sargnn"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--index", action="append", default=[], help="an index; repeat it for several")
    parser.add_argument("--find-links", action="append", type=Path, default=[], help="a folder of wheels")
    options = parser.parse_args()
    wanted = pins()
    with ThreadPoolExecutor(8) as pool:
        every = pool.map(lambda pin: hashes(*pin, options.index, options.find_links), wanted.items())
        found = dict(zip(wanted, every, strict=True))
    for name, version, known in locked(LOCK):
        if wanted.get(name) == version:
            found[name] |= known
    if missing := sorted(name for name, known in found.items() if not known):
        sys.exit(f"got no hash of {', '.join(missing)}, expected an --index that has them")
    parts = {ROOT / f"requirements-{name}.lock": (f"The {name}", resolved(what)) for name, what in PARTS.items()}
    for path, (what, names) in ({LOCK: ("All of CI", set(wanted))} | parts).items():
        entries = [
            " \\\n    ".join(
                [f"{name}=={wanted[name]}", *(f"--hash=sha256:{digest}" for digest in sorted(found[name]))]
            )
            for name in sorted(names)
        ]
        path.write_text(HEADER.format(what=what, name=path.name) + "\n".join(entries) + "\n")


if __name__ == "__main__":
    main()
