"""Progress for people: a bar on a terminal, plain lines elsewhere, always on standard error."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

Row = dict[str, Any]

__all__ = ["note", "show_epochs", "show_steps", "show_study", "table", "visible"]

NAME = 400
LONGEST = 4000
"""Characters of a line; a name in a file can have millions."""
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""What steers a terminal, turns the direction of writing around, or is no text at all; not tab and new line."""

BAR = 10
"""Characters of the bar: a line of losses beside it fits a terminal of 80."""
LINE_EVERY = 2.0
"""Seconds between plain lines."""


def visible(text: str, most: int = LONGEST) -> str:
    """A text as a terminal may show it: what would steer it is spelled out, and a very long text is cut.

    >>> visible("\x1b[31mred"), visible("x" * 9, 4)
    ('\\\\x1b[31mred', 'xxx…')
    """
    text = HIDDEN.sub(_spelled_out, text[: most + 1])
    return text if len(text) <= most else text[: most - 1] + "…"


def _spelled_out(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape", "surrogatepass").decode("ascii")


def note(text: str) -> None:
    """One line on standard error; where that is full, there is no one to tell."""
    with suppress(OSError):
        Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False).print(visible(text))


def show_epochs(rows: Iterable[Row], epochs: int, done: int = 0) -> Iterator[Row]:
    """Pass the rows of training on, showing losses, accuracy and the time left."""
    return _show(rows, epochs, done, "epoch", _describe)


def show_steps(items: Iterable[Any], total: int, name: str) -> Iterator[Any]:
    """Pass ``items`` on, showing how many of ``total`` there have been."""
    return _show(items, total, 0, name, lambda _: "")


def show_study(whole: int = 0) -> Callable[[str, int, int, float | None], None]:
    """A function that shows the progress of a study: what it does, jobs done, jobs in all, seconds left.

    ``whole``: the trainings of several studies that run in turn, to show the progress of all.
    """
    last, pace = 0.0, _Pace(whole)

    def show(what: str, done: int, total: int, left: float | None) -> None:
        nonlocal last
        if what != "measuring":  # which is no training
            pace.update(what, done)
        if total and (time.monotonic() - last >= LINE_EVERY or done == total):
            last = time.monotonic()
            note(f"{what}: {done} of {total} jobs done{_minutes(left)}" + (f"; {pace}" if whole else ""))

    return show


class _Pace:
    """The progress over several studies; the time left is at the pace so far."""

    def __init__(self, whole: int) -> None:
        self.whole, self.start, self.stage = whole, time.monotonic(), ""
        self.earlier = self.now = self.found = 0  # jobs of the stages that ended, of this one, and done before the run

    def update(self, stage: str, done: int) -> None:
        if stage != self.stage:
            self.earlier, self.found, self.stage = self.earlier + self.now, self.found + done, stage
        self.now = done

    def __str__(self) -> str:
        done = self.earlier + self.now
        computed, ahead = done - self.found, max(self.whole - done, 0)
        left = (time.monotonic() - self.start) / computed * ahead if computed else None
        return f"in all {min(done, self.whole)} of {self.whole}{_minutes(left)}"


def _minutes(left: float | None) -> str:
    return f", about {left / 60:.1f} minutes left" if left else ""


def _describe(row: Row) -> str:
    losses = f"loss {row['train_loss']:.4f}  validation {row['validation_loss']:.4f}"
    if "validation_accuracy" in row:
        return f"{losses}  accuracy {row['validation_accuracy']:.1%}"
    scores = {name.removeprefix("validation_"): value for name, value in row.items() if name.startswith("validation_")}
    return "  ".join([losses, *(f"{name} {value:.4g}" for name, value in scores.items() if name != "loss")])


def _show(items: Iterable[Any], total: int, done: int, name: str, describe: Callable[[Any], str]) -> Iterator[Any]:
    """Pass the items on: with a bar on a terminal, with a plain line now and then elsewhere."""
    console = Console(stderr=True)
    if console.is_terminal:
        fixed, rest = Column(no_wrap=True), Column(no_wrap=True, overflow="ellipsis", ratio=1)
        columns = (
            TextColumn("{task.fields[name]}", table_column=fixed), MofNCompleteColumn(table_column=fixed),
            BarColumn(BAR, table_column=fixed), TimeRemainingColumn(table_column=fixed),
            TextColumn("{task.description}", table_column=rest),  # what does not fit is cut here, and never the time
        )  # fmt: skip
        with Progress(*columns, console=console, expand=True) as progress:
            task = progress.add_task("", total=total, completed=done, name=name)
            for item in items:
                progress.update(task, advance=1, description=describe(item))
                yield item
        return
    start = last = time.monotonic()
    text = ""
    for number, item in enumerate(items, 1):
        now = time.monotonic()
        left = (now - start) / number * (total - done - number)
        text = f"{name} {done + number}/{total}  {describe(item)}  at most {left:.0f} s left".replace("    ", "  ")
        if now - last >= LINE_EVERY or number == 1:
            note(text)
            last, text = now, ""
        yield item
    if text:
        note(text)


def table(title: str, rows: dict[str, Any]) -> None:
    """Names and values on standard output."""
    console = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
    console.print(visible(title), style="bold")
    rows = {visible(name, most=NAME): value for name, value in rows.items()}
    width = max(map(len, rows), default=0)
    for name, value in rows.items():
        lines = "\n".join(visible(line) for line in str(value).split("\n"))
        console.print(f"  {name.ljust(width)}  {lines}")
