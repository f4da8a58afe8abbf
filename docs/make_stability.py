"""Write the lists of docs/stability.md: python docs/make_stability.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer.main

import sargnn
from sargnn import cli

PAGE = Path(__file__).parent / "stability.md"


def commands(group: Any, before: str = "") -> list[str]:
    """The names of all commands."""
    found = []
    for name, command in group.commands.items():
        found += commands(command, f"{before}{name} ") if hasattr(command, "commands") else [before + name]
    return found


def page() -> str:
    """The page with its lists as they are in the code."""
    lists = {"names": sargnn.__all__, "commands": sorted(commands(typer.main.get_command(cli.app)))}
    text = PAGE.read_text(encoding="utf-8")
    for what, names in lists.items():
        line = ", ".join(f"`{name}`" for name in names)
        between = rf"(<!-- {what} -->\n).*?(<!-- end of {what} -->)"
        text = re.sub(between, lambda found, line=line: f"{found[1]}{line}\n{found[2]}", text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
