"""What is to be predicted, from the values of one column or several: classes, binary targets with gaps, or numbers.

One column of texts, or of few different whole numbers, holds classes. One of fractions or many different numbers holds
a measured number. Several columns hold binary targets if every value is 0 or 1, else measured numbers. A task that is
given decides instead. Targets stand in the natural order of their names, whatever the order of the columns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sargnn.data.io.columns import BOOLEANS, NUMBER, GrowingArray, is_given, natural_order, text_of
from sargnn.data.problems import MOST, Problem, Problems, kind_of, shown

__all__ = ["LARGEST", "PREFIX", "TargetColumn", "TargetColumns", "Tell", "alike"]

PREFIX = "target:"
"""How the name of a column begins that always holds a target, as ``sargnn data convert`` writes it."""

MOST_CLASSES = 30
"""More different whole numbers are measured; of few graphs fewer are, since a class needs graphs to learn from."""

LARGEST = 1e30
"""Of measured numbers: squares of larger ones leave the range of a model's arithmetic, and nobody measures them. They
stand for a missing value."""

FEW = 10
"""As many classes are never too many for a set."""

EXACT = 2.0**53
"""Whole numbers below this are exact as numbers; longer ones have their text as a name too."""

SPELT = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)*(?:,[0-9]+(?:[.,][0-9]+)*|\s*%)")
"""Numbers that are not written as Python does: with a decimal comma, in thousands, in per cent."""

LISTED = 5
"""Classes that a note names."""

PLAIN = str | bool | int | float | None

UNFIT = ("strange", "text", "infinite", "too large", "not binary", "fraction", "spelt")

NO_CLASS = ("no class", "one for every graph")

Tell = Callable[[str, int, str, str], Problem]
"""From a column, a row, what came and what was expected to a problem that knows its place."""


def alike(classes: Sequence[str]) -> str:
    """What to say of classes that are seldom meant to be several; nothing where there are none.

    >>> alike(["NO", "Yes", "no", "maybe"])
    "classes that differ only in capitals or blanks around them: 'NO', 'no'"
    """
    plain = [name.strip().casefold() for name in classes]
    several = {name for name, count in Counter(plain).items() if count > 1}
    same = sorted((key, name) for key, name in zip(plain, classes, strict=True) if key in several)
    some = ", ".join(shown(name) for _, name in same[:LISTED]) + (", ..." if len(same) > LISTED else "")
    return f"classes that differ only in capitals or blanks around them: {some}" if same else ""


class TargetColumn:
    """One column, added part by part.

    >>> column = TargetColumn("solubility")
    >>> column.add([-0.77, "-3.3", None], tell=lambda name, row, got, expected: Problem(got))
    >>> column.numbers.tolist(), column.is_measured
    ([-0.77, -3.3, nan], True)
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._numbers = GrowingArray(np.float64)
        """NaN where there is none."""
        self._codes = GrowingArray(np.int32)
        """Of the texts, also where they can be read as a number, as ``true``; else -1."""
        self._code_of: dict[str, int] = {}
        self.missing = Problems()
        self.unfit = {kind: Problems() for kind in UNFIT}
        """Values that some task cannot take, with their places."""

    def add(self, values: Sequence[Any], tell: Tell) -> None:
        """Look at more values; ``tell`` knows their places."""
        meant = [_meaning(value) for value in values]
        numbers = np.array([number for number, _ in meant], np.float64)
        codes = [-1 if text is None else self._code_of.setdefault(text, len(self._code_of)) for _, text in meant]
        is_number, is_text = ~np.isnan(numbers), np.array(codes, np.int64) >= 0
        self._numbers.extend(numbers)
        self._codes.extend(np.array(codes, np.int32))

        def take(kind: str, rows: np.ndarray, expected: str) -> None:
            found = np.flatnonzero(rows)
            told = [tell(self.name, row, _got(values[row]), expected) for row in found[:MOST].tolist()]
            self.unfit[kind].take(told, len(found))

        strange = np.array([not isinstance(value, PLAIN) for value in values], bool)
        gaps = np.flatnonzero(~is_number & ~is_text & ~strange)
        self.missing.take([tell(self.name, row, *NO_CLASS) for row in gaps[:MOST].tolist()], len(gaps))
        take("strange", strange, "a number or a text")
        take("text", is_text & ~is_number, "a number")
        take("infinite", np.isinf(numbers), "a finite number")
        large = np.isfinite(numbers) & (np.abs(numbers) > LARGEST)
        take("too large", large, f"a number between -{LARGEST:g} and {LARGEST:g}")
        take("not binary", is_number & (numbers != 0) & (numbers != 1), "0, 1 or nothing")
        take("fraction", is_number & (numbers != np.rint(numbers)), "a whole number or a text as the class")
        spelt = np.array([text is not None and SPELT.fullmatch(text) is not None for _, text in meant], bool)
        take("spelt", spelt, "a number such as 0.5, or classification as the task")

    @property
    def numbers(self) -> np.ndarray:
        """float64 [G]: NaN where there is none."""
        return self._numbers.copy()

    @property
    def has_values(self) -> bool:
        return self.missing.count < len(self._numbers)

    @property
    def is_measured(self) -> bool:
        """Whether these are numbers that mean more than a class: fractions, or many different ones."""
        present = self.numbers
        present = present[~np.isnan(present)]
        if len(present) <= self.unfit["text"].count:
            return False
        most = min(MOST_CLASSES, max(FEW, len(present) // 2))
        return self.unfit["fraction"].count > 0 or len(np.unique(present)) > most

    @property
    def could_be_else(self) -> bool:
        """Whether these classes could be meant as something else: whole numbers as measured, many texts as names."""
        names = self.classes()[1]
        return len(names) > (2 if not self.unfit["text"].count else MOST_CLASSES)

    @property
    def is_binary(self) -> bool:
        """Whether every value is 0 or 1."""
        return not self.unfit["text"].count and not self.unfit["not binary"].count

    @property
    def is_spelt(self) -> bool:
        """Whether all texts are numbers with commas or signs of per cent, which would be as many classes."""
        return 0 < self.unfit["spelt"].count == self.unfit["text"].count

    @property
    def doubt(self) -> str:
        """What is odd about the values as classes, in words."""
        if 0 < 2 * self.unfit["text"].count < len(self._numbers) - self.missing.count:
            names = self.classes()[1]
            texts = [name for name in names if not NUMBER.fullmatch(name) and name.lower() not in BOOLEANS]
            return f"texts among numbers, as classes of their own: {', '.join(map(shown, texts[:LISTED]))}"
        return ""

    def classes(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """int64 [G], -1 where there is none; the names of the classes."""
        numbers, codes = self.numbers, self._codes.copy()
        texts = np.array([*self._code_of, ""], dtype=object)[codes]
        rows = np.flatnonzero((codes < 0) & ~np.isnan(numbers))
        distinct, index = np.unique(numbers[rows], return_inverse=True)
        texts[rows] = np.array(list(map(text_of, distinct.tolist())), dtype=object)[index]
        names = sorted(set(texts.tolist()) - {""}, key=natural_order)
        position = {name: i for i, name in enumerate(names)}
        return np.array([position.get(text, -1) for text in texts.tolist()], np.int64), tuple(names)


class TargetColumns:
    """The columns of one set; each has a value, or a gap, for every graph."""

    def __init__(self, problems: Problems, task: str | None = None) -> None:
        self.problems = problems
        self.task = task
        self.notes: list[str] = []
        self._columns: dict[str, TargetColumn] = {}
        self._graphs = 0
        self._none = Problems()
        """Of every graph, that it has no target: for those that came before their column did."""

    def __bool__(self) -> bool:
        return bool(self._columns)

    def add(self, columns: Mapping[str, Sequence[Any]], count: int, tell: Tell, sought: str = "label") -> None:
        """The values of ``count`` more graphs; where no column is there, the one that was ``sought`` is missing."""
        columns = dict(_single_values(columns))
        for name in columns.keys() - self._columns.keys():
            self._columns[name] = TargetColumn(name)
            self._columns[name].add([None] * self._graphs, lambda _, row, *what: self._none.found[row])
        for name, column in self._columns.items():
            column.add(columns.get(name, [None] * count), tell)
        known = min(count, MOST - len(self._none.found))
        self._none.take([tell(sought, row, *NO_CLASS) for row in range(known)], count)
        self._graphs += count

    def finish(self, *, labelled: bool) -> dict[str, Any]:
        """The fields of a set. What does not fit is a problem if ``labelled``; else the targets are left out."""
        if not self._columns:
            self._missing(self._none, labelled)
            return {}
        columns = [self._columns[name] for name in sorted(self._columns, key=natural_order)]
        task = self.task or self._guess(columns)
        return self._class(columns[0], labelled) if task == "classification" else self._targets(columns, task, labelled)

    def _guess(self, columns: list[TargetColumn]) -> str:
        """The task of these columns; a note says what was taken for what, unless nothing else could be meant."""
        names = ", ".join(shown(_plain(column.name)) for column in columns[:3]) + (", ..." if len(columns) > 3 else "")
        if len(columns) == 1 and not columns[0].name.startswith(PREFIX) and not columns[0].is_measured:
            if columns[0].could_be_else:
                self.notes.append(f"took {names} as {len(columns[0].classes()[1])} classes (task classification)")
            return "classification"
        if all(column.is_binary for column in columns):
            what = f"{len(columns)} targets" if len(columns) > 1 else "a target"
            self.notes.append(f"took {names} as {what} of 0 and 1 (task multilabel)")
            return "multilabel"
        what = f"{len(columns)} measured numbers" if len(columns) > 1 else "a measured number"
        self.notes.append(f"took {names} as {what} (task regression)")
        return "regression"

    def _class(self, column: TargetColumn, labelled: bool) -> dict[str, Any]:
        spelt = ["spelt"] if self.task is None and column.is_spelt else []
        for kind in ("strange", "fraction", "infinite", *spelt):
            found = column.unfit[kind]
            (self.problems if labelled else column.missing).take(found.found, found.count)
        if labelled and not column.has_values:
            self.problems.take([self._empty(column)])
        if self._missing(column.missing, labelled):
            return {}
        y, classes = column.classes()
        if self.task is None and labelled and len(y) == len(classes) > FEW:
            what = f"{len(y)} different texts in {shown(_plain(column.name))}, one for each graph"
            self.problems.add(what, "classes that several graphs have", file=self._place, field=column.name)
        if self.task is None and labelled and (doubt := column.doubt):
            self.notes.append(f"{shown(_plain(column.name))} has {doubt}")
        return {"y": y, "classes": classes}

    def _missing(self, missing: Problems, labelled: bool) -> bool:
        """Whether some graphs have no class, which is a problem only where others have one."""
        if 0 < missing.count < self._graphs:
            if labelled:
                self.problems.take(missing.found, missing.count)
            else:
                self.notes.append(f"left the classes out: {missing.count} graphs have none")
        return missing.count > 0

    def _empty(self, column: TargetColumn) -> Problem:
        message = f"got no value in {shown(_plain(column.name))} for any graph, expected some"
        return Problem(message, self._place, field=column.name)

    @property
    def _place(self) -> str | None:
        """Where the graphs are from."""
        return (self._none.found[0].file or None) if self._none.found else None

    def _targets(self, columns: list[TargetColumn], task: str, labelled: bool) -> dict[str, Any]:
        wrong = Problems()
        kinds = ("strange", "text", "infinite", "not binary" if task == "multilabel" else "too large")
        for column in columns:
            for kind in kinds:
                wrong.take(column.unfit[kind].found, column.unfit[kind].count)
            if not column.has_values and labelled:
                wrong.take([self._empty(column)])
        if len(columns) > self._graphs and labelled:
            wrong.add(f"{len(columns)} targets for {self._graphs} graphs", "fewer", file=self._place)
        if wrong.count and not labelled:
            self.notes.append(f"left the targets out: {wrong.found[0]}")
        elif labelled:
            self.problems.take(wrong.found, wrong.count)
        if wrong.count or not any(column.has_values for column in columns):
            return {}
        names = tuple(_plain(column.name) for column in columns)
        return {"targets": np.stack([column.numbers for column in columns], axis=1), "target_names": names}


def _plain(name: str) -> str:
    return name.removeprefix(PREFIX)


def _single_values(columns: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Columns of single values: of lists of one, or of several, which become the columns ``y_0``, ``y_1``, ..."""
    for name, values in columns.items():
        plain = [value.tolist() if hasattr(value, "tolist") else value for value in values]
        while any(isinstance(value, list | tuple) and len(value) == 1 for value in plain):
            plain = [value[0] if isinstance(value, list | tuple) and len(value) == 1 else value for value in plain]
        longest = max((len(value) for value in plain if isinstance(value, list | tuple)), default=0)
        if not longest:
            yield name, plain
        for i in range(longest):
            lists = [value if isinstance(value, list | tuple) else [] for value in plain]
            yield f"{name}_{i}", [value[i] if i < len(value) else None for value in lists]


def _meaning(value: Any) -> tuple[float, str | None]:
    """A number, or NaN; a text that names a class, or None. A truth value is both."""
    if value is None or value != value:
        return np.nan, None
    if not isinstance(value, PLAIN):
        return np.nan, None
    text = text_of(value)
    if isinstance(value, bool) or text.lower() in BOOLEANS:
        return BOOLEANS[text.lower()], text.capitalize()
    if isinstance(value, str) and not is_given(text):
        return np.nan, None
    if isinstance(value, str) and not NUMBER.fullmatch(text) and text.lower().lstrip("+-") not in ("inf", "infinity"):
        return np.nan, text
    number = float(text)
    return number, text if abs(number) >= EXACT and number.is_integer() else None


def _got(value: Any) -> str:
    """What came, as messages call it."""
    if not isinstance(value, PLAIN):
        return kind_of(value)
    return shown(value) if np.isnan(_meaning(value)[0]) else text_of(value)
