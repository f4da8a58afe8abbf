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

from sargnn.data.io.graph_records import Record
from sargnn.data.problems import InputErrors, Problems, refused, shown
from sargnn.errors import InputError
from sargnn.limits import over
from sargnn.reading import integer_of, number_of, open_regular

__all__ = ["TYPES", "Declared", "Element", "XmlFile"]

CHUNK = 1 << 16
DEEPEST = 64
"""Elements inside elements; the formats that are read here need ten."""
TEXT_LIMIT = 1 << 20
"""Characters in one element."""


TYPES: dict[str, Callable[[str], Any]] = {
    "boolean": lambda text: {"true": True, "1": True, "false": False, "0": False}[text.lower()],
    **dict.fromkeys(("int", "integer", "long"), integer_of),
    **dict.fromkeys(("float", "double"), number_of),
    "string": str,
}
"""The types that GraphML and GEXF give to attributes."""


@dataclass(slots=True)
class Element:
    """One element, without its namespace."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, *path: str) -> list[Element]:
        """The elements at the end of ``path``, such as ``"nodes", "node"``."""
        found = [self]
        for tag in path:
            found = [child for element in found for child in element.children if child.tag == tag]
        return found


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
        try:
            builder, chunk = _Builder(self.path, root), b"first"
            with open_regular(self.path) as file:
                if problem := over("file", self.path.stat().st_size, "bytes"):
                    raise refused(f"{problem}; split it into several files", self.path)
                while chunk:
                    chunk = file.read(CHUNK)
                    builder.parser.Parse(chunk, not chunk)
                    yield from builder.complete
                    builder.complete.clear()
        except OSError as error:
            raise refused(f"cannot read ({error.strerror})", self.path) from error
        except expat.ExpatError as error:
            what = expat.errors.messages.get(error.code, "unknown error")
            raise refused(f"got XML with a mistake ({what}), expected {root}", self.path, error.lineno) from error
        except InputError:
            raise
        except (LookupError, ValueError) as error:
            got = f"XML in an encoding that cannot be read ({error})"
            raise refused(f"got {got}, expected UTF-8", self.path) from error

    def record(
        self, graph: Element, nodes: list[Element], edges: list[Element], row: Callable[[Element], dict[str, Any]]
    ) -> Record:
        """The graph of these elements; ``row`` gives the values of a node or an edge."""
        return Record(
            nodes=[self.required(node, "id") for node in nodes],
            node_rows=[row(node) for node in nodes],
            sources=[self.required(edge, "source") for edge in edges],
            targets=[self.required(edge, "target") for edge in edges],
            edge_rows=[row(edge) for edge in edges],
            file=str(self.path),
            line=graph.line,
            node_lines=[node.line for node in nodes],
            edge_lines=[edge.line for edge in edges],
        )

    def required(self, element: Element, name: str) -> str:
        """An attribute that the element must have."""
        if name not in element.attributes:
            self.refuse(f"a <{element.tag}> without {name}", "one", element.line, name)
        return element.attributes.get(name, "")

    def defaults(self, declared: Iterable[Declared], each: str) -> dict[str, Any]:
        """The values of a node, an edge or a graph that has none of its own."""
        known = [one for one in declared if one.default is not None and one.each in (each, "all")]
        return {one.name: self.value(one.default or "", one, one.line) for one in known}

    def value(self, text: str, declared: Declared, line: int) -> Any:
        """``text`` as its declared type; None if it is empty."""
        text = text.strip()
        try:
            return TYPES.get(declared.kind, str)(text) if text else None
        except (ValueError, KeyError):
            got = f"{shown(text)} in {shown(declared.name)}"
            self.refuse(got, f"the type {declared.kind}", line, declared.name)
            return 0

    def refuse(self, got: str, expected: str, line: int, field: str | None = None) -> None:
        self.problems.add(got, expected, file=str(self.path), line=line, field=field)


class _Builder:
    """Turns the events of the parser into elements."""

    def __init__(self, path: Path, root: str) -> None:
        self.path = path
        self.root = root
        self.open: list[Element] = []
        self.complete: list[Element] = []
        """Children of the outermost element."""
        self.parser: Any = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text

    def doctype(self, *_: Any) -> None:
        raise self._refused("a DOCTYPE", "none: entities are not read")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if not self.open and tag != self.root:
            raise self._refused(f"<{tag[:40]}>", f"<{self.root}>")
        if len(self.open) == DEEPEST:
            raise self._refused(f"elements nested deeper than {DEEPEST}", f"<{self.root}>")
        own = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        self.open.append(Element(tag, own, self.parser.CurrentLineNumber))

    def end(self, name: str) -> None:
        element = self.open.pop()
        if self.open:
            (self.open[-1].children if len(self.open) > 1 else self.complete).append(element)

    def text(self, text: str) -> None:
        self.open[-1].text += text
        if len(self.open[-1].text) > TEXT_LIMIT:
            raise self._refused(f"more than {TEXT_LIMIT} characters in one element", "less")

    def _refused(self, got: str, expected: str) -> InputErrors:
        return refused(f"got {got}, expected {expected}", self.path, self.parser.CurrentLineNumber)
