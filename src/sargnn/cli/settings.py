"""``sargnn settings``."""

from __future__ import annotations

import json
import shutil
import textwrap
from dataclasses import asdict
from typing import Annotated

import typer

from sargnn.cli.options import Json, Model


def settings(
    field: Annotated[
        str | None, typer.Argument(metavar="FIELD", help="Only this field, such as epochs, or section: data, training.")
    ] = None,
    model: Model = None,
    as_json: Json = False,
) -> None:
    """List what --set can set: name, default, values and meaning."""
    from sargnn.training.setting_fields import find_settings
    from sargnn.training.settings import DEFAULT_MODEL

    found = find_settings(model or DEFAULT_MODEL, field)
    if as_json:
        print(json.dumps([asdict(each) for each in found]))
        return
    width = min(shutil.get_terminal_size().columns, 120)
    for each in found:
        values = each.values.replace("`", "")
        print("\n".join(textwrap.wrap(f"{each.name}={each.default}  ({values})", width, subsequent_indent="    ")))
        if each.meaning:
            print(textwrap.fill(each.meaning.replace("`", ""), width, initial_indent="    ", subsequent_indent="    "))
