"""What is written beside the saliency figures: how well the systems find the nodes, or what DSS-GNN keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from sargnn.reproduction import paper
from sargnn.reproduction.figure_notes import Claim, FigureNotes, judge

__all__ = ["saliency_notes"]

TITLES = {
    "figure-saliency-triangles": "Figure: saliency on TRIANGLES",
    "figure-saliency-mutag": "Figure: saliency on MUTAG",
    "figure-dss": "Figure: subgraphs of DSS-GNN",
}


def saliency_notes(name: str, drawn: dict[str, Any]) -> FigureNotes:
    """Of a figure that :mod:`~sargnn.reproduction.saliency_figures` has drawn, by its name.

    >>> drawn = {"caption": "", "accuracy": {"sar-gcn": 0.5, "sagpool": 0.25}, "node_auc": {"sar-gcn": 0.9}}
    >>> saliency_notes("figure-saliency-triangles", drawn).rows
    (('sar-gcn', '50.0', '0.900'), ('sagpool', '25.0', ''))
    """
    if "whole" in drawn:
        kept = tuple((data, f"{share:.0%}") for data, share in drawn["whole"].items())
        return FigureNotes(TITLES[name], drawn["caption"], tuple(_kept(drawn["whole"])), ("data", "left whole"), kept)
    known = {system: value for system, value in drawn["node_auc"].items() if value is not None}
    rows = tuple(
        (system, f"{100 * accuracy:.1f}", f"{known[system]:.3f}" if system in known else "")
        for system, accuracy in drawn["accuracy"].items()
    )
    claims = tuple(_found(paper.CLAIMS[name], known))
    return FigureNotes(TITLES[name], drawn["caption"], claims, ("system", "test accuracy, %", "node AUC"), rows)


def _found(text: str, node_auc: dict[str, float]) -> list[Claim]:
    """The first system, SAR, against each of the others."""
    first, *others = node_auc.items()
    return [
        judge(text, f"node AUC, {first[0]} against {other}", np.array([first[1]]), np.array([value]), unit="")
        for other, value in others
    ]


def _kept(whole: dict[str, float]) -> list[Claim]:
    """Molecules come first, triangles second."""
    molecules, triangles = whole.values()
    return [
        _most(paper.CLAIMS["triangles kept"], triangles, triangles > 0.5),
        _most(paper.CLAIMS["rings broken"], molecules, molecules < 0.5),
    ]


def _most(text: str, share: float, holds: bool) -> Claim:
    return Claim(text, f"{share:.0%} are left whole", None, "reproduced" if holds else "contradicted")
