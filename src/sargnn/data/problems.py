"""Everything that is wrong with an input, told at once.

A reader adds what it finds to a :class:`Problems`, reads on, and calls :meth:`Problems.stop` at the end. This raises an
:class:`InputError` with the whole list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sargnn.errors import InputError

__all__ = ["InputErrors", "Problem", "Problems", "kind_of", "merged_note", "refused", "shown", "shown_some"]

MOST = 1000
"""Problems that are kept; more are counted."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, and where.

    >>> print(Problem("got 'x' in 'mass', expected a number", "nodes.csv", 7, graph=3, field="mass"))
    nodes.csv line 7: got 'x' in 'mass', expected a number, in graph 3
    """

    message: str
    """What came and what was expected."""
    file: str | None = None
    line: int | None = None
    """Counted from 1."""
    graph: int | None = None
    """Its position in the input, counted from 0."""
    field: str | None = None

    def __str__(self) -> str:
        line = "" if self.line is None else f" line {self.line}"
        where = "" if self.file is None else f"{self.file}{line}: "
        graph = "" if self.graph is None else f", in graph {self.graph}"
        return f"{where}{self.message}{graph}"

    def to_json(self) -> dict[str, Any]:
        """The fields, and the whole line as ``problem``."""
        return {**asdict(self), "problem": str(self)}


class InputErrors(InputError):
    """An :class:`InputError` that knows of several problems; the first is its message."""

    def __init__(self, problems: list[Problem], count: int) -> None:
        more = f" (the first of {count} problems; `sargnn data check` lists them)" if count > 1 else ""
        super().__init__(f"{problems[0]}{more}")
        self.problems = tuple(problems)
        self.count = count


def refused(message: str, file: Path | str, line: int | None = None, **where: Any) -> InputErrors:
    """The error for one problem of a file that cannot be read on.

    >>> refused("got <html>, expected <graphml>", "x.graphml", 3)
    InputErrors('x.graphml line 3: got <html>, expected <graphml>')
    """
    return InputErrors([Problem(message, str(file), line, **where)], 1)


class Problems:
    """The problems found so far.

    >>> problems = Problems()
    >>> problems.add("no nodes", "at least one", graph=0)
    >>> problems.add("no nodes", "at least one", graph=4)
    >>> problems.stop()
    Traceback (most recent call last):
    ...
    sargnn.data.problems.InputErrors: got no nodes, expected at least one, in graph 0 (the first of 2 problems; ...)
    """

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.count = 0
        self.left_out: list[Problem] = []
        """Why single graphs were left out: the others can be used."""

    def add(self, got: str, expected: str, **where: Any) -> None:
        """``where`` are the fields of :class:`Problem`: file, line, graph, field."""
        self.take([Problem(f"got {got}, expected {expected}", **where)])

    def take(self, found: list[Problem], count: int | None = None) -> None:
        """``found``, which may be the first of ``count``."""
        self.found += found[: max(MOST - len(self.found), 0)]
        self.count += len(found) if count is None else count

    def leave_out(self, got: str, expected: str, **where: Any) -> None:
        """A graph cannot be read and is not in the set."""
        self.left_out.append(Problem(f"got {got}, expected {expected}", **where))

    def belong_to(self, graph: int, since: int) -> None:
        """Those found after the first ``since`` are about ``graph``."""
        self.found[since:] = [replace(problem, graph=graph) for problem in self.found[since:]]

    @contextmanager
    def caught(self) -> Iterator[None]:
        """An error inside the block becomes a problem, and the code after it still runs."""
        try:
            yield
        except InputErrors as error:
            self.take(list(error.problems), error.count)
        except InputError as error:
            self.take([Problem(str(error))])

    def stop(self) -> None:
        """Raise what was found, if anything was."""
        if self.found:
            raise InputErrors(self.found, self.count)


def kind_of(value: Any) -> str:
    """What a value is, in words."""
    words = {bool: "true or false", int: "a number", float: "a number", str: "a text", type(None): "nothing"}
    return words.get(type(value), f"a {type(value).__name__}")


def merged_note(edges: int) -> str:
    """That an edge was listed twice is no problem, but its labels and attributes may have differed."""
    return f"merged {edges} repeated edges, each as it came first"


def shown_some(values: Sequence[Any], most: int = 5) -> str:
    """The first of several values, safe to print.

    >>> shown_some(["a", "b"]), shown_some([1, 2, 3], 2)
    ("'a', 'b'", '1, 2, ...')
    """
    return ", ".join(map(shown, values[:most])) + (", ..." if len(values) > most else "")


def shown(value: Any, most: int = 40) -> str:
    """A value that came from a file, safe to print: quoted, on one line, cut to ``most`` characters.

    >>> shown("a\\nb"), shown("x" * 60, 5), shown(1.5)
    ("'a\\\\nb'", "'xxxx…'", '1.5')
    """
    text = value if isinstance(value, str) else repr(value)
    text = text if len(text) <= most else text[: most - 1] + "…"
    return repr(text) if isinstance(value, str) else text
