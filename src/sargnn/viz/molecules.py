"""Molecules drawn as molecules (extra: ``chem``): RDKit's depiction, atoms coloured by saliency, a colour scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.textpath import TextPath

from sargnn.data.graphs import GraphSet
from sargnn.errors import InputError
from sargnn.viz.depiction import is_kekulizable, molecule_of
from sargnn.viz.graph import checked_saliency, colour_limits, shades_of
from sargnn.viz.style import INK, MUTED, PAPER, SALIENCY, printable

__all__ = ["caption_of", "draw_molecule", "is_molecule"]

WIDTH, HEIGHT = 680, 540
STRIP, LINE = 44, 24
"""Heights of the colour scale and of a line of text."""
BOND = 72
"""The longest that a bond is drawn."""
LARGEST = 24
"""Letters of an atom, at most."""
LETTERS = 16
CAPTION = 72
"""Size of a text, and most characters of a line."""
FONT = findfont("DejaVu Sans")
"""Matplotlib brings it."""
DARKEST = 0.7
"""Of the colour scale: beyond it black symbols cannot be read."""
STEPS = 64


def is_molecule(graphs: GraphSet, graph: int) -> bool:
    """Whether :func:`draw_molecule` can draw graph number ``graph``."""
    return molecule_of(graphs, graph) is not None


def draw_molecule(
    graphs: GraphSet,
    graph: int,
    saliency: np.ndarray,
    vector: bool = True,
    *,
    title: str = "",
    caption: str | None = None,
) -> bytes:
    """Molecule number ``graph`` with atoms coloured and sized by ``saliency`` [n]: the bytes of an SVG or PNG.

    Below it stand a colour scale, the ``title`` and the ``caption``, by default the SMILES or the name of the graph.
    """
    from rdkit.Chem.Draw import rdMolDraw2D

    saliency = checked_saliency(saliency, graphs[graph], graph, "saliency")
    if (molecule := molecule_of(graphs, graph)) is None:
        raise InputError(f"got {graphs.called(graph)}, expected a molecule that RDKit can draw, in {graphs.name}")
    lines = [text for text in (title, caption_of(graphs, graph) if caption is None else caption) if text]
    height = HEIGHT + STRIP + LINE * len(lines)
    drawer = (rdMolDraw2D.MolDraw2DSVG if vector else rdMolDraw2D.MolDraw2DCairo)(WIDTH, height, WIDTH, HEIGHT, False)
    options: Any = drawer.drawOptions()
    options.useBWAtomPalette()
    options.padding = 0.07
    options.fixedBondLength, options.maxFontSize = BOND, LARGEST
    options.atomLabelDeuteriumTritium = True
    shades = dict(enumerate(shades_of(saliency).tolist()))
    rdMolDraw2D.PrepareAndDrawMolecule(
        drawer, molecule, kekulize=is_kekulizable(molecule), highlightAtoms=list(shades), highlightBonds=[],
        highlightAtomColors={atom: tuple(SALIENCY(DARKEST * value)[:3]) for atom, value in shades.items()},
        highlightAtomRadii={atom: 0.2 + 0.25 * value for atom, value in shades.items()},
    )  # fmt: skip
    _draw_scale(drawer, HEIGHT, *colour_limits(saliency))
    for row, text in enumerate(lines):
        _write(drawer, printable(text, CAPTION), WIDTH / 2, HEIGHT + STRIP + LINE * (row + 0.4), MUTED if row else INK)
    drawer.FinishDrawing()
    drawn = drawer.GetDrawingText()
    return drawn.encode() if isinstance(drawn, str) else drawn


def caption_of(graphs: GraphSet, graph: int) -> str:
    """The SMILES of a graph, and its name where that is another."""
    names = [texts[graph] for texts in (graphs.graph_names, graphs.smiles) if texts]
    return "  ".join(dict.fromkeys(names))


def _draw_scale(drawer: Any, top: int, low: float, high: float) -> None:
    """The colours of the atoms, from the least value to the largest."""
    from rdkit.Geometry import Point2D

    left, right, middle = 0.42 * WIDTH, 0.72 * WIDTH, top + STRIP / 2
    step = (right - left) / STEPS
    drawer.SetFillPolys(True)
    drawer.SetLineWidth(0)
    for i in range(STEPS):
        drawer.SetColour(tuple(SALIENCY(DARKEST * i / (STEPS - 1))[:3]))
        corners = [(left + i * step, middle - 6), (left + (i + 1) * step + 0.5, middle + 6)]
        drawer.DrawRect(*(Point2D(*corner) for corner in corners), True)
    _write(drawer, f"saliency   {low:.2g}", left - 12, middle, MUTED, align=1.0)
    _write(drawer, f"{high:.2g}", right + 12, middle, MUTED, align=0.0)


def _write(drawer: Any, text: str, x: float, y: float, colour: str, align: float = 0.5) -> None:
    """A line whose left end (``align`` 0), middle (0.5) or right end (1) is at ``x``, no longer than the drawing.

    Its letters are drawn as areas: RDKit itself writes nothing but ASCII.
    """
    from rdkit.Geometry import Point2D

    known = get_font(FONT).get_char_index
    text = "".join(c if known(ord(c)) else "\N{REPLACEMENT CHARACTER}" for c in text)
    letters = TextPath((0, 0), text, size=LETTERS, prop=FontProperties(fname=FONT))
    areas = [(_area(outline), outline) for outline in map(np.asarray, letters.to_polygons())]
    width = letters.get_extents().x1 if areas else 0.0
    scale = min(1.0, (WIDTH - 2 * LETTERS) / max(width, 1.0))
    for area, outline in sorted(areas, key=lambda one: -abs(one[0])):  # what is inside a letter comes after it
        drawer.SetColour(to_rgb(colour if area < 0 else PAPER))
        places = (outline - (align * width, LETTERS / 3)) * (scale, -scale) + (x, y)
        drawer.DrawPolygon([Point2D(*place) for place in places.tolist()], True)


def _area(outline: np.ndarray) -> float:
    """Of a closed line [n, 2]: negative around ink, which goes clockwise, and positive around what ink encloses."""
    x, y = outline.T
    return float(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]) / 2)
