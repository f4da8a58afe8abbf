"""Write the accuracies in docs/systems.md from the rows that are kept: ``python docs/make_systems.py``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from sargnn.reproduction import paper
from sargnn.reproduction.beyond import beyond
from sargnn.reproduction.page import facts_in
from sargnn.reproduction.studies import STUDIES
from sargnn.studies.protocol import CellResult
from sargnn.studies.store import Store, read_rows
from sargnn.studies.study import finished_results
from sargnn.systems import SYSTEMS

PAGE = Path(__file__).with_name("systems.md")
ROWS = Path(__file__).parents[1] / "results"
BEGIN, END = "<!-- accuracies: python docs/make_systems.py -->\n", "<!-- end of accuracies -->\n"

PRESETS = {"quick": "", "lean": "†"}
"""Presets whose results are shown, the preferred first, and the mark of each."""

Number = tuple[float, float]
"""Mean and standard deviation, in per cent."""
Numbers = dict[tuple[str, str], Number]
"""By system and data set."""
Texts = dict[tuple[str, str], str]

ELSEWHERE: Numbers = {
    ("deepsets", "ENZYMES"): (65.2, 6.4), ("deepsets", "PROTEINS"): (75.8, 3.7),
    ("deepsets", "IMDB-BINARY"): (70.8, 5.0), ("deepsets", "IMDB-MULTI"): (49.1, 3.5),
}  # fmt: skip
"""The structure-free baseline is not in Table 2; these are of Errica et al. (2020), degree inputs on IMDB."""


def page(files: Iterable[Path]) -> str:
    """The text of docs/systems.md with the accuracies that the rows in ``files`` give."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return before + BEGIN + table(published(), measured(files)) + END + rest.partition(END)[2]


def published() -> Numbers:
    """What the paper's Table 2 says, and what is known of systems that are not in it."""
    cells = {
        (system, data): n for system, row in paper.TABLE2.items() for data, n in zip(paper.DATA_SETS, row, strict=True)
    }
    return cells | ELSEWHERE


def measured(files: Iterable[Path]) -> Texts:
    """Every cell of Table 2 whose rows are all in ``files``, which :meth:`Store.export` wrote, with the mark of its
    preset, and those of the recommended models."""
    files = list(files)
    texts: Texts = {}
    facts = facts_in(record.job for file in files for record in read_rows(file))
    with TemporaryDirectory() as folder, Store(Path(folder) / "rows.sqlite") as store:
        for file in files:
            store.import_rows(file)
        for preset, mark in PRESETS.items():
            results = finished_results(STUDIES["table2"](paper.PRESETS[preset], facts.__getitem__), store)
            texts = {where: _measured(result) + mark for where, result in results.items()} | texts
        recommended = finished_results(beyond(paper.PRESETS["quick"], facts.__getitem__), store)
    return texts | {where: _measured(result) for where, result in recommended.items() if where[0] in SYSTEMS}


def table(said: Numbers, found: Texts) -> str:
    """One row per system, published above measured.

    >>> print(table({("gcn", "MUTAG"): (71.6, 10.9)}, {("gcn", "MUTAG"): "**80.0±6.1**"}).splitlines()[8])
    | `gcn` | 71.6±10.9<br>**80.0±6.1** | - | - | - | - | - | - |
    """
    lines = [f"| `--model` | {' | '.join(paper.DATA_SETS)} |", "|---" * (len(paper.DATA_SETS) + 1) + "|"]
    for system in SYSTEMS:
        cells = []
        for data in paper.DATA_SETS:
            both = [_text(said.get((system, data))), found.get((system, data))]
            cells.append("<br>".join(filter(None, both)) or "-")
        lines.append(f"| `{system}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _text(number: Number | None) -> str:
    return f"{number[0]:.1f}±{number[1]:.1f}" if number else ""


def _measured(result: CellResult) -> str:
    """In bold; one training has no deviation."""
    mean = 100 * result.mean
    return f"**{_text((mean, 100 * result.std))}**" if len(result.folds) > 1 else f"**{mean:.1f}**"


def row_files() -> list[Path]:
    """The rows that are kept."""
    return sorted(ROWS.glob("*.jsonl.gz"))


if __name__ == "__main__":
    PAGE.write_text(page(row_files()), encoding="utf-8")
