"""The page with what it shows, as files that open without a server: ``sargnn explain RUN DATA --site DIR``.

A page that is opened as a file may load scripts, but no modules and no data. So the modules of the page become one
plain script, in the order in which they need each other, and data are scripts too: the list of graphs is loaded at
once, the graphs themselves some at a time, when they are looked at.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.data.graphs import GraphSet
from sargnn.data.graphs import chunks as chunks_of
from sargnn.errors import InputError
from sargnn.files import write_file, write_folder
from sargnn.serving.answers import answer_of, drawing_of, saliency_of
from sargnn.serving.browsed import BrowsedSet, map_of
from sargnn.serving.cards import card_of
from sargnn.serving.graph_inputs import GraphInput
from sargnn.serving.loaded import LoadedRun
from sargnn.serving.outcomes import Outcome, Wanted, outcomes_of

__all__ = ["bundle", "write_site"]

STATIC = Path(__file__).parent / "static"
AT_ONCE = 64
"""Graphs in one file of data."""
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w]+\.js)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) )", re.MULTILINE)


def write_site(folder: Path, run: LoadedRun, graphs: GraphSet, *, rule: str = "mean", drawings: int = 200) -> int:
    """Write the page of what a run says of ``graphs``, of which the first ``drawings`` are drawn; the number drawn.

    >>> run = LoadedRun.load("mutag", Path("runs/mutag"))  # doctest: +SKIP
    >>> write_site(Path("site"), run, sargnn.load("MUTAG"))  # doctest: +SKIP
    188
    """
    if folder.exists() and not (folder / "index.html").exists():
        raise InputError(f"--site: got {folder}, which is there and no page, expected a new folder")
    browsed, drawn = BrowsedSet("data", graphs), 0
    with write_folder(folder) as temporary:
        (temporary / "data").mkdir()
        vectors = []
        for number, index in enumerate(chunks_of(np.arange(len(graphs)), AT_ONCE)):
            inputs = [GraphInput.in_set(graphs, g) for g in index.tolist()]
            outcomes = outcomes_of(run.trained, run.trust, Wanted(rule, trust=run.trust is not None), inputs)
            browsed.take(run, int(index[0]), outcomes)
            readable = [int(g) for g, one in zip(index, outcomes, strict=True) if isinstance(one, Outcome)]
            vectors += [run.trained.vectors(graphs.subset(readable))] if readable else []
            said = [_said(run, one, drawn + i < drawings) for i, one in enumerate(outcomes)]
            drawn += len(said)
            _write_data(temporary / "data" / f"graphs-{number}.js", f"SARGNN.graphs[{number}]", said)
        about = {
            "card": {**card_of(run), "report": False, "history": []},
            "set": browsed.card(),
            "rows": browsed.rows(run, 0, len(graphs)),
            "map": _map(browsed, run, vectors),
            "graphs": {},
            "atOnce": AT_ONCE,
        }
        _write_data(temporary / "data" / "about.js", "globalThis.SARGNN", about)
        write_file(temporary / "page.js", bundle(STATIC))
        for name in ("page.css", "icon.svg"):
            shutil.copyfile(STATIC / name, temporary / name)
        write_file(temporary / "index.html", (STATIC / "site.html").read_text())
    return min(drawn, drawings)


def bundle(folder: Path, first: str = "site.js") -> str:
    """The modules that ``first`` needs and itself as one script: imports are left out, exports become plain."""
    done: list[str] = []

    def order(name: str) -> Iterator[str]:
        if name in done:
            return
        done.append(name)
        text = (folder / name).read_text()
        for found in IMPORT.finditer(text):
            yield from order(found[2])
        plain = re.sub(
            r"^export (?=(?:async )?(?:function|const|class) )", "", IMPORT.sub("", text), flags=re.MULTILINE
        )
        yield f"// {name}\n{plain}"

    return "(() => {\n" + '"use strict";\n' + "\n".join(order(first)) + "})();\n"


def _said(run: LoadedRun, outcome: Outcome | InputError, drawn: bool) -> dict[str, Any]:
    if isinstance(outcome, InputError):
        return {"error": str(outcome)}
    coverage = None if run.calibration is None else 0.9
    said = answer_of(run, outcome, coverage=coverage) | saliency_of(run, outcome)
    try:
        drawing = drawing_of(outcome.graph) if drawn else {"error": "not drawn; --drawings draws more graphs"}
    except InputError as error:
        drawing = {"error": str(error)}
    return said | {"drawing": drawing}


def _map(browsed: BrowsedSet, run: LoadedRun, vectors: list[np.ndarray]) -> dict[str, Any]:
    said = browsed.said.get(run.name, {})
    places = map_of(np.concatenate(vectors).astype(float), "pca") if vectors else np.zeros((0, 2))
    x, y = places.T.round(4).tolist()
    return {"graph": [g for g in sorted(said) if "error" not in said[g]], "x": x, "y": y}


def _write_data(path: Path, name: str, content: Any) -> None:
    write_file(path, f"{name} = {json.dumps(content, allow_nan=False, separators=(',', ':'))};\n")
