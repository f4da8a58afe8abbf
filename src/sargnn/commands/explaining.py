"""Say which nodes decided: saliency as tables, as drawings and as a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.commands.inputs import Answer, check_choice
from sargnn.commands.trained_model import open_run, readable
from sargnn.console import note, show_steps
from sargnn.data.graphs import GraphSet, ranges
from sargnn.errors import InputError
from sargnn.explain.maps import RULES, node_saliency
from sargnn.files import write_csv, write_file
from sargnn.tasks import Verdict
from sargnn.training.trained_model import Prediction, TrainedModel

__all__ = ["explain"]

FORMS = ("png", "svg", "html")
"""What ``explain`` draws: a file for each graph, or one page of all."""


def explain(
    run: Path, data: str, out: Path, part: str, drawings: int, device: str,
    rule: str | None = None, form: str = "png", chosen: str | None = None,
) -> Answer:  # fmt: skip
    shown = rule or "mean"
    check_choice("--format", form, FORMS)
    check_choice("--rule", shown, RULES)
    trained, graphs, index = open_run(run, data, part, device)
    index = index if chosen is None else _chosen(chosen, graphs, index)
    index, left_out = readable(trained, graphs, index)
    prediction, nodes = _explained(trained, graphs, index, shown)
    if not len(prediction.saliency):
        raise InputError(
            f"{run}: model '{trained.settings.name}' has no saliency, expected one that has, such as sar-gcn"
        )
    named = None if rule is None else (rule, nodes)
    write_csv(out / "saliency.csv", _saliency_header(graphs), _saliency_rows(graphs, prediction, index, named))
    write_file(out / "saliency.json", json.dumps(_saliency_json(graphs, prediction, index, named)))
    drawn = index[:drawings].tolist()
    if len(drawn) < len(index):
        note(f"drawing the first {len(drawn)} of {len(index)} graphs; --drawings {len(index)} draws all")
    answer: Answer = {"graphs": len(index), "layers": len(prediction.saliency), "drawings": len(drawn)}
    answer |= {"folder": str(out), **left_out}
    if form == "html":
        page = out / "explanations.html"
        write_file(page, _page(graphs, prediction, drawn, shown, nodes))
        return answer | {"page": str(page)}
    for g in show_steps(drawn, len(drawn), "drawing"):
        _draw(graphs, prediction, g, nodes, out / "drawings" / f"graph-{g}.{form}")
    return answer


def _chosen(text: str, graphs: GraphSet, index: np.ndarray) -> np.ndarray:
    """The graphs named in ``--graphs 0,5,7``, in that order, each once."""
    found: dict[int, None] = {}
    for word in text.split(","):
        if not re.fullmatch(r"\s*[0-9]{1,15}\s*", word):
            raise InputError(f"--graphs: got {text!r}, expected numbers of graphs such as 0,5,7")
        if int(word) >= len(graphs):
            raise InputError(f"--graphs: got {int(word)}, expected 0..{len(graphs) - 1}, in {graphs.name}")
        if int(word) not in index:
            raise InputError(f"--graphs: got {int(word)}, which is not in --part, in {graphs.name}")
        found[int(word)] = None
    return np.array(list(found))


def _explained(trained: TrainedModel, graphs: GraphSet, index: np.ndarray, rule: str) -> tuple[Prediction, np.ndarray]:
    """What is predicted, and the map by that rule, in the rows that the graphs have in the whole set; only those at
    ``index`` are computed, and the others are zeros."""
    nodes = ranges(graphs.node_ptr, index)
    data = trained.tensors(graphs.subset(index), next(trained.model.parameters()).device)
    found = trained.predict_tensors(data)
    values = np.zeros((len(graphs), *found.values.shape[1:]))
    saliency, mapped = np.zeros((len(found.saliency), graphs.num_nodes)), np.zeros(graphs.num_nodes)
    values[index], saliency[:, nodes] = found.values, found.saliency
    if len(saliency):
        mapped[nodes] = node_saliency(trained.model, data, rule=rule).cpu().numpy()
    return Prediction(found.task, values, saliency, graphs.sizes), mapped


def _verdict(prediction: Prediction, g: int) -> Verdict:
    """What is predicted of graph ``g``, and how sure the model is."""
    return prediction.task.verdict(prediction.values[g])


def _saliency_header(graphs: GraphSet) -> list[str]:
    header = ["graph", "node", "layer", "saliency", "predicted", "probability"]
    header += ["true_saliency"] if graphs.true_saliency is not None else []
    header += ["node_name"] if graphs.node_names is not None else []
    return header + (["graph_name"] if graphs.graph_names else [])


def _saliency_rows(
    graphs: GraphSet, prediction: Prediction, index: np.ndarray, named: tuple[str, np.ndarray] | None
) -> Iterator[list[Any]]:
    """A row for each layer and node of each graph; after the layers the map ``named`` by its rule."""
    layers: list[tuple[int | str, np.ndarray]] = [*enumerate(prediction.saliency), *([named] if named else [])]
    known = [column for column in (graphs.true_saliency, graphs.node_names) if column is not None]
    for g in index.tolist():
        nodes, verdict = graphs.nodes_of(g), _verdict(prediction, g)
        of_nodes = [column[nodes].tolist() for column in known]
        for layer, saliency in layers:
            for node, (value, *others) in enumerate(zip(saliency[nodes].tolist(), *of_nodes, strict=True)):
                yield [g, node, layer, value, *verdict, *others, *graphs.graph_names[g : g + 1]]


def _saliency_json(
    graphs: GraphSet, prediction: Prediction, index: np.ndarray, named: tuple[str, np.ndarray] | None
) -> list[dict[str, Any]]:
    found = []
    for g in index.tolist():
        nodes, (name, probability) = graphs.nodes_of(g), _verdict(prediction, g)
        item: dict[str, Any] = {
            "graph": g,
            "predicted": name,
            "probability": probability,
            "saliency": prediction.saliency[:, nodes].tolist(),
        }
        if named is not None:
            item |= {"rule": named[0], "map": named[1][nodes].tolist()}
        if graphs.true_saliency is not None:
            item["true_saliency"] = graphs.true_saliency[nodes].tolist()
        if graphs.node_names is not None:
            item["node_names"] = graphs.node_names[nodes].tolist()
        if graphs.graph_names:
            item["graph_name"] = graphs.graph_names[g]
        found.append(item)
    return found


def _draw(graphs: GraphSet, prediction: Prediction, g: int, saliency: np.ndarray, path: Path) -> None:
    """Write the drawing: a molecule where symbols are known, else a graph, with its truth where that is known."""
    from sargnn import viz
    from sargnn.viz.molecules import are_molecules, draw_molecule

    nodes, title = graphs.nodes_of(g), f"graph {g}: predicted {_verdict(prediction, g)}"
    truth = None if graphs.true_saliency is None else graphs.true_saliency[nodes]
    if truth is None and are_molecules(graphs):
        write_file(path, draw_molecule(graphs, g, saliency[nodes], path.suffix == ".svg", title=title))
    else:
        viz.save(viz.draw_graph(graphs, g, saliency[nodes], title=title, true_saliency=truth), path)


def _page(graphs: GraphSet, prediction: Prediction, drawn: list[int], rule: str, saliency: np.ndarray) -> str:
    from sargnn.pages.explanations import ExplainedGraph, render_page

    maps = {rule: saliency} | {f"layer {l}": layer for l, layer in enumerate(prediction.saliency)}
    maps |= {} if graphs.true_saliency is None else {"true saliency": graphs.true_saliency}
    items = []
    for g in drawn:
        nodes = graphs.nodes_of(g)
        own = {key: values[nodes] for key, values in maps.items()}
        items.append(ExplainedGraph(g, str(_verdict(prediction, g)), own))
    return render_page(graphs, items, f"Which nodes decided: {graphs.name}")
