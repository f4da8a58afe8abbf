"""XML from anywhere: no document type, no entities, nothing fetched, and every element knows its line.

The parser is Expat, which never opens another file; a document type, and with it every entity that could be expanded
without end, is refused where it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from sargnn.data.problems import InputErrors, Problems, refused, shown
from sargnn.errors import InputError

__all__ = ["TYPES", "Declared", "Element", "XmlFile"]

CHUNK = 1 << 16
DEEPEST = 64
"""Elements inside elements; the formats that are read here need ten."""
FILE_LIMIT = 1 << 30
"""Bytes of one file."""
TEXT_LIMIT = 1 << 20
"""Characters in one element."""


def _boolean(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.lower()]


TYPES: dict[str, Callable[[str], Any]] = {
    "boolean": _boolean, "int": int, "integer": int, "long": int, "float": float, "double": float, "string": str,
}  # fmt: skip
"""The types that GraphML and GEXF give to attributes."""


@dataclass(slots=True)
class Element:
    """One element, without its namespace."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """The children called ``tag``."""
        return [child for child in self.children if child.tag == tag]


@dataclass(frozen=True)
class Declared:
    """What the values of an attribute mean, as the file says before it uses them."""

    name: str
    each: str
    """What has such values: ``node``, ``edge``, ``graph`` or ``all``."""
    kind: str
    """One of :data:`TYPES`."""
    default: str | None
    line: int


class XmlFile:
    """A file, and what is wrong in it."""

    def __init__(self, path: Path, problems: Problems) -> None:
        self.path = path
        self.problems = problems

    def children(self, root: str) -> Iterator[Element]:
        """The children of the outermost element, which must be called ``root``, each as soon as it is complete."""
        return _read(self.path, root)

    def required(self, element: Element, name: str) -> str:
        """An attribute that the element must have."""
        if name not in element.attributes:
            self.refuse(f"a <{element.tag}> without {name}", "one", element.line, name)
        return element.attributes.get(name, "")

    def defaults(self, declared: Iterable[Declared], each: str) -> dict[str, Any]:
        """The values of a node, an edge or a graph that says nothing itself."""
        known = [one for one in declared if one.default is not None and one.each in (each, "all")]
        return {one.name: self.value(one.default or "", one.kind, one.name, one.line) for one in known}

    def value(self, text: str, kind: str, name: str, line: int) -> Any:
        """What ``text`` says, by its type; None if it says nothing."""
        text = text.strip()
        try:
            return TYPES.get(kind, str)(text) if text else None
        except (ValueError, KeyError):
            self.refuse(f"{shown(text)} in {shown(name)}", f"the type {kind}", line, name)
            return 0

    def refuse(self, got: str, expected: str, line: int, field: str | None = None) -> None:
        self.problems.add(got, expected, file=str(self.path), line=line, field=field)


def _read(path: Path, root: str) -> Iterator[Element]:
    try:
        if (size := path.stat().st_size) > FILE_LIMIT:
            raise refused(f"got {size} bytes, expected at most {FILE_LIMIT}; split it into several files", path)
        builder = _Builder(path, root)
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                builder.parser.Parse(chunk, False)
                yield from builder.take()
        builder.parser.Parse(b"", True)
        yield from builder.take()
    except OSError as error:
        raise refused(f"cannot read ({error.strerror})", path) from error
    except expat.ExpatError as error:
        what = expat.errors.messages.get(error.code, "unknown error")
        raise refused(f"got XML with a mistake ({what}), expected {root}", path, error.lineno) from error
    except (LookupError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise refused(f"got XML in an encoding that cannot be read ({error}), expected UTF-8", path) from error


class _Builder:
    """Turns the events of the parser into elements."""

    def __init__(self, path: Path, root: str) -> None:
        self.path = path
        self.root = root
        self.open: list[Element] = []
        self.complete: list[Element] = []
        self.parser: Any = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text

    def take(self) -> list[Element]:
        complete, self.complete = self.complete, []
        return complete

    def refuse_doctype(self, *_: Any) -> None:
        raise self._refused("got a DOCTYPE, expected none: entities are not read")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if not self.open and tag != self.root:
            raise self._refused(f"got <{tag[:40]}>, expected <{self.root}>")
        if len(self.open) == DEEPEST:
            raise refused(
                f"got elements nested deeper than {DEEPEST}, expected <{self.root}>",
                self.path,
                self.parser.CurrentLineNumber,
            )
        if any(" " in key for key in attributes):
            attributes = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        self.open.append(Element(tag, attributes, self.parser.CurrentLineNumber))

    def end(self, name: str) -> None:
        element = self.open.pop()
        if len(self.open) > 1:
            self.open[-1].children.append(element)
        elif self.open:
            self.complete.append(element)

    def text(self, text: str) -> None:
        element = self.open[-1]
        element.text += text
        if len(element.text) > TEXT_LIMIT:
            raise refused(
                f"got more than {TEXT_LIMIT} characters in one element, expected less",
                self.path,
                self.parser.CurrentLineNumber,
            )

    def _refused(self, message: str) -> InputErrors:
        return refused(message, self.path, self.parser.CurrentLineNumber)
