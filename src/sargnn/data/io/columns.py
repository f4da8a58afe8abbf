"""One column of values as they were written: numbers, or texts that stand for categories.

A column is numeric if most of its values are numbers, and then a text in it is a problem. Otherwise its values are
categories, named by their text, in their natural order. Every form of file follows these rules, so that the same graphs
are the same set however they came:

- numbers are ``float32``; true and false are 1 and 0;
- a number that is missing is a gap, which is NaN; so is what programs write for it, such as NA; a missing category is a
  problem;
- a category that is a number is written the shortest way: ``7``, ``7.0`` and ``007`` are one category, ``7``;
- categories are sorted with numbers by value, ``-1 < 7 < 10``, and before texts, ``C2 < C10``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from sargnn.data.problems import MOST, Problem, Problems, kind_of, shown

__all__ = ["Column", "GrowingArray", "Unreadable", "is_given", "natural_order", "text_of"]

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
PIECES = re.compile(r"[0-9]+|[^0-9]+")
BOOLEANS = {"true": 1.0, "false": 0.0}

NOTHING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "None", "n/a", "null",
)  # fmt: skip
"""What stands for a missing value, as in pandas: a file and the data frame that is read from it are the same set."""

CATEGORIES = 100_000
"""Distinct texts that a column may have; more are names of things, not categories."""

CHUNK = 1 << 20
"""Rows that are renumbered at once."""

Tell = Callable[[int, str, str], Problem]
"""From a row, what came and what was expected to a problem that knows its place."""


def text_of(value: Any) -> str:
    """The name of a category.

    >>> [text_of(value) for value in (7, 7.0, "007", 0.5, " C ", True)]
    ['7', '7', '7', '0.5', 'C', 'True']
    """
    if isinstance(value, str):
        value = value.strip()
        if INTEGER.fullmatch(value):
            value = int(value)
        elif NUMBER.fullmatch(value) and len(value) <= 30:
            value = float(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        value = int(value)
    return str(value)


def is_given(text: str) -> bool:
    """Whether a cell holds a value: an empty one does not, nor does what programs write for a missing one.

    >>> is_given("7"), is_given(" "), is_given("NaN"), is_given("NA")
    (True, False, False, False)
    """
    text = text.strip()
    return text not in NOTHING and text.lower() != "nan"


def natural_order(text: str) -> tuple[Any, ...]:
    """A key to sort by: numbers in a text count by value, and so do those between commas, with their sign.

    >>> sorted(["C10", "10", "C2", "-1", "7"], key=natural_order)
    ['-1', '7', '10', 'C2', 'C10']
    """
    return tuple(_pieces(part) for part in text.split(",")), text


def _pieces(text: str) -> tuple[tuple[int, float, str], ...]:
    if NUMBER.fullmatch(text):
        return ((0, float(text), ""),)
    pieces = PIECES.findall(text)
    return tuple((0, float(piece), "") if piece[0] in "0123456789" else (1, 0.0, piece) for piece in pieces)


class GrowingArray:
    """Rows of one type, added part by part: parts of unknown number need no second copy to become one.

    >>> numbers = GrowingArray(np.float32)
    >>> numbers.extend(np.array([1, 2]))
    >>> numbers.fill(2, -1)
    >>> numbers.take().tolist()
    [1.0, 2.0, -1.0, -1.0]
    """

    def __init__(self, dtype: Any, *width: int) -> None:
        self._array = np.empty((0, *width), dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def extend(self, part: np.ndarray) -> None:
        """Add the rows of ``part``."""
        self._grow(len(part))[:] = part

    def fill(self, count: int, value: int | float) -> None:
        """Add ``count`` rows of one value."""
        self._grow(count)[:] = value

    def copy(self) -> np.ndarray:
        """All rows so far."""
        return self._array[: self._length].copy()

    def take(self) -> np.ndarray:
        """All rows, in an array of their own; nothing is left."""
        array = self._array
        array.resize((self._length, *array.shape[1:]), refcheck=False)
        self._array, self._length = np.empty((0, *array.shape[1:]), array.dtype), 0
        return array

    def _grow(self, count: int) -> np.ndarray:
        """Room for ``count`` more rows."""
        start, self._length = self._length, self._length + count
        if self._length > len(self._array):
            room = max(self._length, len(self._array) * 5 // 4)
            self._array.resize((room, *self._array.shape[1:]), refcheck=False)  # in place where the system can
        return self._array[start : self._length]


class Unreadable(NamedTuple):
    """Stands for a value that is neither a number nor a text."""

    got: str
    expected: str = "a number or a text"


class Column:
    """The values of one column, added part by part and kept as arrays.

    >>> column = Column("symbol", "node")
    >>> column.add(["N", "C", "N"], tell=lambda row, got, expected: Problem(got))
    >>> column.is_numeric, column.categories()
    (False, (array([1, 0, 1]), ('C', 'N')))
    """

    def __init__(self, name: str, each: str, kind: str | None = None, *, cells: bool = False) -> None:
        self.name = name
        self.each = each
        """What has a value: ``"graph"``, ``"node"`` or ``"edge"``."""
        self.kind = kind
        """``"categories"`` or ``"numbers"`` if fixed, else what most of the values are."""
        self.cells = cells
        """Whether everything was written as text, as in a CSV file, so that the text ``"1"`` is a number."""
        self._rows = 0
        self._numbers = GrowingArray(np.float64)
        """NaN where there is none; as long as needed, and so are the codes, which are -1 there."""
        self._codes = GrowingArray(np.int32)
        self._codes_of: dict[str, int] = {}
        self._count = {"number": 0, "text": 0, "word": 0, "strange": 0}
        """Texts count as words too where they stand for a missing value among numbers."""
        self._suspects: list[Problem] = []
        self._gaps = Problems()
        """Values that are missing, which is a problem among categories only."""
        self.problems = Problems()

    def add(self, values: Sequence[Any], tell: Tell, rows: np.ndarray | None = None) -> None:
        """Look at all ``values`` and keep those of ``rows``, by default all."""
        values = _plain(values)
        numbers = None if self.kind == "categories" else self._as_numbers(values)
        codes = None
        if numbers is None:
            meaning = {value: self._meaning(value) for value in dict.fromkeys(values)}
            numbers, codes = self._look_up(values, meaning, tell)
        else:
            self._count["number"] += len(numbers) - self._take_gaps(np.isnan(numbers), tell)
        if numbers is not None:
            self._require_finite(numbers, tell)
        for array, part, nothing in ((self._numbers, numbers, np.nan), (self._codes, codes, -1)):
            if part is not None:
                self._fill_up(array, nothing)
                array.extend(part if rows is None else part[rows])
        self._rows += len(values) if rows is None else len(rows)

    def skip(self, rows: int, first: Problem) -> None:
        """Rows that came before this column did have no value; the first of them is a problem where that is one."""
        self._gaps.take([first], rows)
        self._rows += rows

    def _as_numbers(self, values: Sequence[Any]) -> np.ndarray | None:
        """float64 [R], if every value is a number."""
        kinds = set(map(type, values))
        try:
            if kinds <= {int, float, bool}:
                return np.array(values, dtype=np.float64)
            if self.cells and kinds == {str} and _is_plain("".join(values)):
                return np.fromiter(map(float, values), np.float64, len(values))
        except (ValueError, OverflowError):
            pass
        return None

    def _meaning(self, value: Any) -> float | str | Unreadable | None:
        """A number, the text of a category, what cannot be read, or None for a missing value."""
        if isinstance(value, Unreadable) or value is None:
            return value
        if isinstance(value, str):
            text = value.strip()
            if self.kind == "categories" or not self.cells:
                return text_of(text) or None
            if NUMBER.fullmatch(text):
                return float(text)
            return BOOLEANS.get(text.lower(), text_of(text) or None)
        if value != value:  # NaN is how pandas writes a missing value
            return None
        if self.kind == "categories":
            return text_of(value)
        try:
            return float(value)
        except OverflowError:
            return float("inf")

    def _look_up(
        self, values: Sequence[Any], meaning: dict[Any, Any], tell: Tell
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """float64 [R], NaN where there is no number, or None for none at all; int32 [R], -1 where there is no text."""
        number = {value: meant if isinstance(meant, float) else np.nan for value, meant in meaning.items()}
        code = {value: self._code(meant) if isinstance(meant, str) else -1 for value, meant in meaning.items()}
        codes = np.fromiter(map(code.__getitem__, values), np.int32, len(values))
        numbers = np.fromiter(map(number.__getitem__, values), np.float64, len(values))
        is_number, is_text = ~np.isnan(numbers), codes >= 0
        strange = {value for value, meant in meaning.items() if isinstance(meant, Unreadable)}
        words = {value for value, meant in meaning.items() if self._is_word(meant)}
        is_strange, is_word = _among(values, strange), _among(values, words)
        bad = np.flatnonzero(is_strange)
        self.problems.take([tell(row, *meaning[values[row]]) for row in bad[:MOST].tolist()], len(bad))
        self._take_gaps(~is_number & ~is_text & ~is_strange, tell)
        for row in np.flatnonzero(is_text & ~is_word)[: 20 - len(self._suspects)].tolist():
            expected = "a number" if self.kind == "numbers" else "a number, as most others are"
            self._suspects.append(tell(row, shown(values[row]), expected))
        self._count["number"] += int(is_number.sum())
        self._count["text"] += int(is_text.sum())
        self._count["word"] += int(is_word.sum())
        self._count["strange"] += len(bad)
        return numbers if is_number.any() else None, codes

    def _is_word(self, meant: Any) -> bool:
        """Whether a text stands for a missing value, if the others turn out to be numbers."""
        return self.kind is None and isinstance(meant, str) and not is_given(meant)

    def _take_gaps(self, is_gap: np.ndarray, tell: Tell) -> int:
        rows = np.flatnonzero(is_gap)
        self._gaps.take(
            [tell(row, "no value", f"one for every {self.each}") for row in rows[:MOST].tolist()], len(rows)
        )
        return len(rows)

    def _require_finite(self, numbers: np.ndarray, tell: Tell) -> None:
        with np.errstate(over="ignore"):
            bad = np.flatnonzero(np.isinf(numbers.astype(np.float32)))
        told = [(row, str(float(numbers[row]))) for row in bad[:MOST].tolist()]
        self.problems.take([tell(row, got, "a finite number") for row, got in told], len(bad))

    @property
    def is_numeric(self) -> bool:
        """Whether most values are numbers, all are but for gaps, or there are gaps only."""
        if self.kind:
            return self.kind == "numbers"
        number, text, word, strange = self._count.values()
        return number > text or (text == word and (number > 0 or (not text and not strange)))

    def check(self) -> Problems:
        """All that is wrong: values not readable, texts among numbers, too many texts to be categories; values missing
        among these, or in a column whose kind is fixed."""
        if not self.is_numeric or self.kind:
            self.problems.take(self._gaps.found, self._gaps.count)
        if self.is_numeric and (texts := self._count["text"] - self._count["word"]):
            self.problems.take(self._suspects, texts)
        elif len(self._codes_of) > CATEGORIES:
            message = f"got {len(self._codes_of)} different values in {shown(self.name)}, expected at most {CATEGORIES}"
            self.problems.take([replace(self._suspects[0], message=f"{message} categories")])
        return self.problems

    def numbers(self) -> np.ndarray:
        """float32 [R], NaN for gaps, for a numeric column."""
        self._fill_up(self._numbers, np.nan)
        numbers = self._numbers.take().astype(np.float32)
        numbers[np.isnan(numbers)] = np.nan  # of which there are many kinds: equal sets are equal bit by bit
        return numbers

    def categories(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """int64 [R], an index into the names; the names, in natural order."""
        self._fill_up(self._codes, -1)
        codes = self._codes.take()
        if len(self._numbers):
            self._name_numbers(self._numbers.take(), codes)
        chunks = [slice(start, start + CHUNK) for start in range(0, len(codes), CHUNK)]
        present = np.zeros(len(self._codes_of) + 1, bool)
        for chunk in chunks:
            present[codes[chunk]] = True
        texts = list(self._codes_of)
        names = sorted((text for text, is_there in zip(texts, present, strict=False) if is_there), key=natural_order)
        rank = np.full(len(texts) + 1, -1, np.int64)
        rank[[self._codes_of[name] for name in names]] = np.arange(len(names))
        found = np.empty(len(codes), np.int64)
        for chunk in chunks:
            found[chunk] = rank[codes[chunk]]
        return found, tuple(names)

    def _name_numbers(self, numbers: np.ndarray, codes: np.ndarray) -> None:
        """Give numbers among texts the codes of their names."""
        numbers = np.concatenate([numbers, np.full(len(codes) - len(numbers), np.nan)])
        rows = np.flatnonzero((codes < 0) & ~np.isnan(numbers))
        distinct, index = np.unique(numbers[rows], return_inverse=True)
        own = [self._code(text_of(number)) for number in distinct.tolist()]
        codes[rows] = np.array(own, np.int32)[index]

    def _code(self, text: str) -> int:
        return self._codes_of.setdefault(text, len(self._codes_of))

    def _fill_up(self, array: GrowingArray, value: int | float) -> None:
        """Rows that were added while this kind of value had not come yet."""
        array.fill(self._rows - len(array), value)


def _among(values: Sequence[Any], some: set[Any]) -> np.ndarray:
    """bool [R]: which values are among some, which are few or none."""
    return np.fromiter(map(some.__contains__, values), bool, len(values)) if some else np.zeros(len(values), bool)


def _is_plain(text: str) -> bool:
    """Whether Python reads the numbers in a text as people do: it takes 1_0 for 10, and digits of any script."""
    return "_" not in text and text.isascii()


def _plain(values: Sequence[Any]) -> Sequence[Any]:
    """The same as Python's own numbers and texts; whatever is neither becomes :class:`Unreadable`."""
    plain = set(map(type, values)) <= {str, int, float, bool, type(None)}
    return values if plain else list(map(_plain_value, values))


def _plain_value(value: Any) -> Any:
    if hasattr(value, "tolist"):  # a number of NumPy or PyTorch
        value = value.tolist()
    if isinstance(value, Decimal):
        value = float(value)
    if value is None or type(value) in (str, int, float, bool, Unreadable):
        return value
    return str(value) if isinstance(value, str) else Unreadable(kind_of(value))
