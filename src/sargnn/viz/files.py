"""Figures as files, and as SVG text for a page."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import warnings
from pathlib import Path
from xml.etree import ElementTree

from matplotlib.figure import Figure
from PIL import Image

from sargnn.errors import InputError
from sargnn.files import write_file
from sargnn.viz.style import house_style

__all__ = ["save", "to_svg"]


@house_style()
def to_svg(figure: Figure, *, prefix: str | None = None) -> str:
    """The figure as SVG text to put inside an HTML page: transparent, the same bytes for the same figure.

    Every id starts with ``prefix`` (by default a digest of the drawing), so that figures on one page do not share ids.
    """
    buffer = io.StringIO()
    with warnings.catch_warnings():
        # The reader's fonts draw the text, and may well have the glyphs that ours lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(buffer, format="svg", dpi=110, metadata={"Date": None}, transparent=True)
    text = buffer.getvalue()
    return _embeddable(text, prefix or f"f{hashlib.sha256(text.encode()).hexdigest()[:10]}")


@house_style()
def save(figure: Figure, path: Path | str) -> None:
    """Write the figure to a ``.png`` or ``.svg`` file, whole or not at all."""
    path = Path(path)
    if path.suffix.lower() not in (".png", ".svg"):
        raise InputError(f"{path}: got suffix {path.suffix!r}, expected .png or .svg")
    if path.suffix.lower() == ".svg":
        write_file(path, to_svg(figure))
        return
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=200, metadata={"Software": None})
    write_file(path, buffer.getvalue())


def _embeddable(svg: str, prefix: str) -> str:
    """SVG as matplotlib writes it, made fit for a page: no prolog, metadata or unused ids, no rules for the whole page,
    coordinates to a hundredth of a point, pixels in 64 colours."""
    for name, address in (("", "http://www.w3.org/2000/svg"), ("xlink", "http://www.w3.org/1999/xlink")):
        ElementTree.register_namespace(name, address)
    root = ElementTree.fromstring(svg)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    for element in list(root.iter()):
        for child in list(element):
            if child.tag.endswith(("}metadata", "}style")):
                element.remove(child)
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        for key, value in element.attrib.items():
            element.set(key, _attribute(key.rpartition("}")[2], value, prefix))
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")  # what the removed style sheet said
    return ElementTree.tostring(root, encoding="unicode")


def _attribute(key: str, value: str, prefix: str) -> str:
    if key == "id":
        return f"{prefix}-{value}"
    if key == "href":
        return f"#{prefix}-{value[1:]}" if value.startswith("#") else _fewer_colours(value)
    if key in ("d", "x", "y"):
        return re.sub(r"(\.\d\d)\d+", r"\1", value).strip()
    return value.replace("url(#", f"url(#{prefix}-")


def _fewer_colours(address: str) -> str:
    """A ``data:`` PNG with a palette of 64 colours, a third as long and to the eye the same."""
    head, _, content = address.partition(",")
    buffer = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(content))) as image:
        image.convert("RGBA").quantize(64, Image.Quantize.FASTOCTREE).save(buffer, "png", optimize=True)
    return f"{head},{base64.b64encode(buffer.getvalue()).decode()}"
