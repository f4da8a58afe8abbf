"""A set as a notebook shows it: what it holds, and its first graphs drawn."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sargnn.data.graphs import GraphSet
from sargnn.data.summary import summary
from sargnn.viz.depiction import is_kekulizable, molecule_of
from sargnn.viz.files import to_svg
from sargnn.viz.graph import draw_panel
from sargnn.viz.layout import PANEL, positions_of
from sargnn.viz.style import house_style

__all__ = ["html_of"]

DRAWN = 4
LARGEST = 200
"""Most nodes of a graph that is drawn."""
WIDTH, HEIGHT = 220, 175


def html_of(graphs: GraphSet) -> str:
    """The page's worth of a set: its summary and up to four drawings, whole without network or scripts."""
    small = np.flatnonzero((graphs.sizes > 0) & (graphs.sizes <= LARGEST))[:DRAWN].tolist()
    drawn = "".join(f"<figure style='margin:0'>{_drawing(graphs, g)}{_caption(graphs, g)}</figure>" for g in small)
    style = "display:flex;flex-wrap:wrap;gap:16px;background:#ffffff;color:#26313d;padding:8px"
    return f"<pre>{escape(summary(graphs))}</pre><div style='{style}'>{drawn}</div>"


def _caption(graphs: GraphSet, graph: int) -> str:
    name = graphs.graph_names[graph] if graphs.graph_names else f"graph {graph}"
    label = "" if graphs.y is None else f": {(graphs.class_titles or graphs.classes)[int(graphs.y[graph])]}"
    style = f"max-width:{WIDTH}px;overflow-wrap:anywhere;font-size:12px"
    return f"<figcaption style='{style}'>{escape(name[:80] + label[:40])}</figcaption>"


def _drawing(graphs: GraphSet, graph: int) -> str:
    molecule = molecule_of(graphs, graph)
    return _graph(graphs[graph], graph) if molecule is None else _molecule(molecule)


def _molecule(molecule: Any) -> str:
    from rdkit.Chem.Draw import rdMolDraw2D

    drawer = rdMolDraw2D.MolDraw2DSVG(WIDTH, HEIGHT)
    options: Any = drawer.drawOptions()
    options.fixedBondLength = 28
    rdMolDraw2D.PrepareAndDrawMolecule(drawer, molecule, kekulize=is_kekulizable(molecule))
    drawer.FinishDrawing()
    text = str(drawer.GetDrawingText())
    return text[text.index("<svg") :]


@house_style()
def _graph(one: GraphSet, number: int) -> str:
    figure = Figure(figsize=(WIDTH / 72, WIDTH / 72 * PANEL[1] / PANEL[0]))
    draw_panel(figure.add_axes((0, 0, 1, 1)), one, positions_of(one), np.zeros(one.num_nodes))
    return to_svg(figure, prefix=f"g{number}")
