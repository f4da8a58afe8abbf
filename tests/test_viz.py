"""Drawings of every kind of graph, and the files they become."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from sargnn import viz
from sargnn.data.graphs import GraphSet, pack
from sargnn.errors import InputError

Edges = list[tuple[int, int]]


def both_ways(edges: Edges) -> Edges:
    return edges + [(b, a) for a, b in edges]


def one_graph(nodes: int, edges: Edges, **fields: object) -> GraphSet:
    return pack([(nodes, both_ways(edges))], name="awkward", **fields)


def ring(nodes: int, start: int = 0) -> Edges:
    return [(start + i, start + (i + 1) % nodes) for i in range(nodes)]


def node_points(figure: Figure, panel: int = 0) -> np.ndarray:
    """Centres of the drawn nodes, in points, in no particular order."""
    drawn = [c for c in figure.axes[panel].collections if isinstance(c, PathCollection)]
    return np.concatenate([np.asarray(c.get_offsets()) for c in drawn])


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
def test_awkward_graphs_are_drawn_small_and_soon(name: str) -> None:
    nodes, edges = AWKWARD[name]
    begin = time.perf_counter()
    figure = viz.draw_graph(one_graph(nodes, edges), 0, rng.random(nodes))
    svg = viz.to_svg(figure)
    assert time.perf_counter() - begin < 10
    points = node_points(figure)
    width, height = 72 * viz.PANEL[0], 72 * viz.PANEL[1]
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


def test_parts_stand_side_by_side() -> None:
    points = viz._positions(one_graph(11, ring(5) + ring(4, 5)))
    boxes = [(points[part].min(axis=0), points[part].max(axis=0)) for part in (slice(0, 5), slice(5, 9), [9], [10])]
    for i, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:i]:
            assert ((high < other_low) | (other_high < low)).any()


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
    assert viz._limits(np.array(saliency, dtype=float)) == pytest.approx(limits)


def test_equal_steps_of_saliency_look_equal() -> None:
    """CIELAB lightness of the colour map, worked from sRGB, falls by equal steps."""
    rgb = viz.SALIENCY(np.linspace(0, 1, 33))[:, :3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lightness = 116 * np.cbrt(linear @ [0.2126, 0.7152, 0.0722]) - 16
    steps = -np.diff(lightness)
    assert lightness[0] > 94
    assert lightness[-1] < 22
    assert np.abs(steps - steps.mean()).max() < 0.25 * steps.mean()


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
    assert texts(viz.LABELLED + 1) == []


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


def test_the_style_of_the_caller_is_left_alone() -> None:
    before = dict(mpl.rcParams)
    viz.to_svg(viz.draw_graph(one_graph(3, ring(3)), 0, np.ones(3)))
    assert dict(mpl.rcParams) == before


# Charts


def history(epochs: int) -> list[dict[str, float]]:
    return [
        {"epoch": e, "train_loss": 1 / e, "validation_loss": 1.2 / e, "validation_accuracy": 1 - 0.5 / e}
        for e in range(1, epochs + 1)
    ]


def test_learning_curves_mark_the_kept_epoch() -> None:
    figure = viz.learning_curves(history(9), best_epoch=7)
    marks = [line.get_xydata().tolist() for line in figure.axes[1].lines if line.get_marker() == "o"]
    assert marks == [[[7.0, pytest.approx(1 - 0.5 / 7)]]]
    assert "kept: epoch 7" in viz.to_svg(figure)


def test_learning_curves_of_little_and_of_broken_history() -> None:
    broken = [*history(3), {"epoch": 4, "train_loss": float("inf"), "validation_loss": None}]
    for rows in (history(1), history(2), broken):
        viz.to_svg(viz.learning_curves(rows))
    with pytest.raises(InputError, match="without epochs"):
        viz.learning_curves([])


@pytest.mark.parametrize("count", [2, 7, 20])
def test_confusion_matrix(count: int) -> None:
    matrix = np.eye(count, dtype=int) * 9
    matrix[0, 1] = 1
    matrix[1] = 0  # a class that the part does not have
    figure = viz.confusion_matrix(matrix, [f"class number {c}" for c in range(count)])
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["9", "90%", "1", "10%"] + ["9", "100%"] * (count - 2)
    svg = viz.to_svg(figure)
    assert all(f"class number {c}" in svg for c in range(count))
    with pytest.raises(InputError, match=r"got a matrix of shape"):
        viz.confusion_matrix(matrix, ["one"])


def test_text_in_cells_can_be_read() -> None:
    """WCAG contrast of at least 3 for large text between every shade and the text put on it."""

    def luminance(colour: object) -> float:
        rgb = np.array(to_rgb(colour))
        return float(np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])

    for share in np.linspace(0, 1, 21):
        low, high = sorted([luminance(viz.SALIENCY(share)), luminance(viz._readable_on(share))])
        assert (high + 0.05) / (low + 0.05) > 3


def test_sizes_count_an_undirected_edge_once() -> None:
    graphs = pack([(3, both_ways([(0, 1), (1, 2)])), (2, [(0, 1), (0, 0)]), (1, [])], y=[0, 1, 1], classes=["a", "b"])
    nodes, edges, classes = viz.size_histogram(graphs).axes
    assert [bar.get_height() for bar in nodes.patches] == [1, 1, 1]
    assert [bar.get_height() for bar in edges.patches] == [1, 0, 2]
    assert [bar.get_width() for bar in classes.patches] == [1, 2]


def test_sizes_of_odd_sets() -> None:
    wide = pack([(3, [])] * 30 + [(900, both_ways(ring(900)))], y=np.arange(31), classes=[f"c{i}" for i in range(31)])
    figure = viz.size_histogram(wide)
    assert figure.axes[0].get_xscale() == "log"
    assert sum(bar.get_height() for bar in figure.axes[0].patches) == 31
    assert sum(bar.get_height() for bar in figure.axes[1].patches) == 31
    assert figure.axes[2].get_title(loc="left").endswith("(16 smaller not shown)")
    assert len(viz.size_histogram(pack([(1, [])])).axes) == 2
    with pytest.raises(InputError, match="got no graphs"):
        viz.size_histogram(pack([]))


# Files


def ids(svg: str) -> list[str]:
    return re.findall(r'\bid="([^"]*)"', svg)


def test_svg_can_live_in_one_page_with_others() -> None:
    graphs = one_graph(30, ring(30))
    figures = [viz.draw_graph(graphs, 0, np.arange(30) / n) for n in (1, 2)]
    figures += [viz.learning_curves(history(9), best_epoch=3), viz.size_histogram(graphs)]
    svgs = [viz.to_svg(figure) for figure in figures]
    svgs.append(viz.to_svg(figures[0], prefix="again"))
    every = [name for svg in svgs for name in ids(svg)]
    assert len(every) == len(set(every)) > 0
    for svg in svgs:
        assert svg.startswith("<svg ")
        assert "<style" not in svg
        assert "<metadata" not in svg
        used = re.findall(r'(?:href="#|url\(#)([^")]*)', svg)
        assert set(used) <= set(ids(svg))


def test_names_in_svg_are_text_and_nothing_else() -> None:
    evil = ['<script>alert("1")</script>', "$x_1$ & id=\"p\" 'q'", "\x00\x1b", "分子"]
    svg = viz.to_svg(viz.confusion_matrix(np.ones((4, 4), dtype=int), evil))
    root = ElementTree.fromstring(svg)
    assert not [e for e in root.iter() if e.tag.endswith("script")]
    texts = {e.text for e in root.iter() if e.tag.endswith("}text")}
    assert {"$x_1$ & id=\"p\" 'q'", "��", "分子"} <= texts


def test_save_writes_valid_files_and_the_same_twice(tmp_path: Path) -> None:
    graphs = one_graph(8, ring(8))
    for suffix in ("png", "svg"):
        for name in ("a", "b"):
            viz.save(viz.draw_graph(graphs, 0, np.arange(8.0)), tmp_path / "new" / f"{name}.{suffix}")
        first, second = ((tmp_path / "new" / f"{name}.{suffix}").read_bytes() for name in ("a", "b"))
        assert first == second
    image = mpl.image.imread(tmp_path / "new" / "a.png")
    assert image.shape == (int(200 * (viz.PANEL[1] + viz.STRIP)), int(200 * viz.PANEL[0]), 4)
    assert ElementTree.parse(tmp_path / "new" / "a.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    with pytest.raises(InputError, match=r"a\.pdf: got suffix '\.pdf', expected \.png or \.svg"):
        viz.save(Figure(), tmp_path / "a.pdf")


def test_part_of_a_set_is_drawn_as_itself() -> None:
    graphs = pack([(2, [(0, 1)]), (3, both_ways(ring(3)))], name="two")
    assert node_points(viz.draw_graph(graphs, 1, np.ones(3))).shape == (3, 2)
    assert viz.to_svg(viz.draw_graph(graphs, 1, np.ones(3))) == viz.to_svg(
        viz.draw_graph(replace(graphs[1], name="other"), 0, np.ones(3))
    )
