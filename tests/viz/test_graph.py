"""Drawings of every kind of graph."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from drawn import both_ways, node_points, one_graph, ring
from sargnn import viz
from sargnn.data.graphs import pack
from sargnn.errors import InputError
from sargnn.viz.graph import LABELLED, colour_limits
from sargnn.viz.layout import PANEL

rng = np.random.default_rng(0)
AWKWARD = {
    "one node": (1, []),
    "one node with a loop": (1, [(0, 0)]),
    "two nodes": (2, [(0, 1)]),
    "no edges": (13, []),
    "self-loops": (4, [(0, 1), (1, 2), (2, 3), (0, 0), (2, 2)]),
    "in parts": (14, ring(5) + ring(4, 5) + [(9, 10)]),
    "a clique": (12, [(a, b) for a in range(12) for b in range(a)]),
    "a star": (70, [(0, i) for i in range(1, 70)]),
    "many": (2000, ring(2000) + [tuple(pair) for pair in rng.integers(0, 2000, (1000, 2)).tolist()]),
    "many dots": (2000, []),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs_are_drawn_small(name: str) -> None:
    nodes, edges = AWKWARD[name]
    figure = viz.draw_graph(one_graph(nodes, edges), 0, rng.random(nodes))
    svg = viz.to_svg(figure)
    points = node_points(figure)
    width, height = 72 * PANEL[0], 72 * PANEL[1]
    assert points.shape == (nodes, 2)
    assert (points > 0).all()
    assert (points < [width, height]).all()
    assert len(svg.encode()) < 60_000
    ElementTree.fromstring(svg)


@pytest.mark.parametrize("name", [name for name in AWKWARD if name != "many"])
def test_nodes_do_not_lie_on_one_another(name: str) -> None:
    nodes, edges = AWKWARD[name]
    points = node_points(viz.draw_graph(one_graph(nodes, edges), 0, np.ones(nodes)))
    apart = np.linalg.norm(points[:, None] - points, axis=-1)[~np.eye(nodes, dtype=bool)]
    assert apart.min(initial=np.inf) > 1


@settings(max_examples=25, deadline=None)
@given(nodes=st.integers(1, 12), data=st.data())
def test_any_small_graph_is_drawn(nodes: int, data: st.DataObject) -> None:
    node = st.integers(0, nodes - 1)
    edges = data.draw(st.lists(st.tuples(node, node), max_size=20))
    saliency = np.array(data.draw(st.lists(st.floats(-1e6, 1e6), min_size=nodes, max_size=nodes)))
    figure = viz.draw_graph(pack([(nodes, edges)]), 0, saliency)
    assert np.isfinite(node_points(figure)).all()
    assert viz.to_svg(figure) == viz.to_svg(viz.draw_graph(pack([(nodes, edges)]), 0, saliency))


def test_darker_and_larger_means_more_salient() -> None:
    saliency = np.array([0.05, 0.15, 0.8])
    drawn = viz.draw_graph(one_graph(3, [(0, 1), (1, 2)]), 0, saliency).axes[0].collections
    sizes = [float(c.get_sizes()[0]) for c in drawn]
    lightness = [float(np.mean(c.get_facecolor()[0][:3])) for c in drawn]
    assert sizes == sorted(sizes)
    assert lightness == sorted(lightness, reverse=True)
    assert sizes[0] < sizes[-1]


@pytest.mark.parametrize(
    ("saliency", "limits"),
    [
        ([0.1, 0.1, 0.8], (0, 0.8)),
        ([0.3, 0.3, 0.3], (0, 0.6)),  # no node stands out: all at the middle of the scale
        ([0, 0, 0], (0, 1)),
        ([-1, 0, 3], (-1, 3)),
    ],
)
def test_colour_scale(saliency: list[float], limits: tuple[float, float]) -> None:
    assert colour_limits(np.array(saliency, dtype=float)) == pytest.approx(limits)


def test_truth_beside_with_the_same_layout() -> None:
    graphs = one_graph(6, ring(6))
    truth = np.array([0.0, 1, 1, 0, 0, 0])
    figure = viz.draw_graph(graphs, 0, np.full(6, 1 / 6), true_saliency=truth, title="graph 0")
    assert len(figure.axes) == 2
    left, right = (np.sort(node_points(figure, panel), axis=0) for panel in (0, 1))
    assert np.allclose(left, right)
    svg = viz.to_svg(figure)
    assert "true saliency" in svg
    assert "graph 0" in svg


def test_two_attributes_are_coordinates() -> None:
    corners = np.array([[0, 0], [2, 0], [2, 1]], dtype=np.float32)
    graphs = one_graph(3, [(0, 1), (1, 2)], node_attributes=corners)
    points = node_points(viz.draw_graph(graphs, 0, np.array([0.1, 0.4, 1.0])))  # drawn from least to most salient
    drawn = points - points[0]
    assert np.allclose(drawn / drawn[1, 0] * 2, corners)
    with_three = one_graph(3, [(0, 1), (1, 2)], node_attributes=np.ones((3, 3)))
    assert len(np.unique(node_points(viz.draw_graph(with_three, 0, np.ones(3))), axis=0)) == 3


def test_label_names_are_drawn_in_few_nodes_only() -> None:
    def texts(nodes: int) -> list[str]:
        graphs = one_graph(nodes, ring(nodes), node_labels=np.arange(nodes) % 2, node_label_names=("C", "$N$"))
        return [text.get_text() for text in viz.draw_graph(graphs, 0, np.ones(nodes)).axes[0].texts]

    assert texts(4) == ["C", "$N$", "C", "$N$"]
    assert texts(LABELLED + 1) == []


def test_a_frame_of_ones_own() -> None:
    figure = Figure()
    ax = figure.subfigures(1, 2)[0].subplots()
    assert viz.draw_graph(one_graph(3, ring(3)), 0, np.ones(3), ax=ax, title="mine") is figure
    assert ax.get_title(loc="left") == "mine"
    with pytest.raises(InputError, match="both ax and true_saliency"):
        viz.draw_graph(one_graph(3, ring(3)), 0, np.ones(3), true_saliency=np.ones(3), ax=ax)


@pytest.mark.parametrize(
    ("saliency", "message"),
    [
        (np.ones(2), r"got saliency of shape \(2,\), expected \(3,\), in graph 0 of awkward"),
        (np.array([0, np.nan, 1]), "got saliency nan at node 1, expected a finite number, in graph 0 of awkward"),
    ],
)
def test_wrong_saliency_is_named(saliency: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        viz.draw_graph(one_graph(3, ring(3)), 0, saliency)


def test_a_graph_without_nodes_is_refused() -> None:
    with pytest.raises(InputError, match="got no nodes"):
        viz.draw_graph(pack([(0, [])]), 0, np.ones(0))


def test_part_of_a_set_is_drawn_as_itself() -> None:
    graphs = pack([(2, [(0, 1)]), (3, both_ways(ring(3)))], name="two")
    assert node_points(viz.draw_graph(graphs, 1, np.ones(3))).shape == (3, 2)
    assert viz.to_svg(viz.draw_graph(graphs, 1, np.ones(3))) == viz.to_svg(
        viz.draw_graph(replace(graphs[1], name="other"), 0, np.ones(3))
    )
