"""What each command does, as a function that returns its answer as a plain dictionary."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sargnn.console import note, show_epochs, show_steps
from sargnn.data.graphs import GraphSet
from sargnn.data.sources import KNOWN, load, require_two_classes
from sargnn.data.splits import Fold, read_splits
from sargnn.data.synthetic import motifs, triangles
from sargnn.errors import InputError
from sargnn.files import write_file
from sargnn.report import GalleryItem, TrainingReport, choose_gallery, render
from sargnn.training.metrics import confusion
from sargnn.training.model_folder import load_model, read_training
from sargnn.training.run import TrainingRun, find_device, parts_of, score, versions
from sargnn.training.settings import Settings, read_settings
from sargnn.training.trained import Prediction, TrainedModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Answer = dict[str, Any]

QUICKSTART_SIZES = (4000, 500, 1000, 0)
QUICKSTART_SETTINGS = {
    "data.encodings": ("degree", "random-walk"),
    "model.normalize": "none",
    "training.epochs": 40,
    "training.learning_rate": 3e-3,
    "training.schedule": "cosine",
}
"""Random-walk return probabilities are inputs that any graph has; with degrees alone no message passing can see a
triangle."""


def quickstart(out: Path | None, seed: int, device: str, command: str) -> Answer:
    note("generating triangle graphs: the class is the number of triangles, the truth is the nodes in one")
    graphs = triangles(*QUICKSTART_SIZES, seed=seed)
    settings = Settings.of("sar-gcn", {**QUICKSTART_SETTINGS, "training.seed": seed})
    run = TrainingRun.start(graphs, settings, out or _new_folder("quickstart"), device=find_device(device))
    report = _train(run, command)
    test = run.scores["test"]
    return {
        "test_accuracy": test["accuracy"],
        "saliency_auc": test["saliency_auc"],
        "train_seconds": run.seconds,
        "run": str(run.folder),
        "report": str(report),
    }


def train(
    data: str, out: Path | None, model: str | None, assignments: list[str], config: Path | None, seed: int | None,
    device: str, split: Path | None, fold: int, resume: bool, command: str,
) -> Answer:  # fmt: skip
    settings = read_settings(model, assignments, config, seed)
    where = find_device(device)
    graphs = _load(data)
    if resume and out is None:
        raise InputError("--resume: got no --out, expected the folder of the run to go on with")
    run = TrainingRun.start(
        graphs, settings, out or _new_folder(f"{graphs.name}-{settings.name}"),
        fold=_fold(split, fold, graphs), device=where, resume=resume,
    )  # fmt: skip
    report = _train(run, command)
    answer: Answer = {"run": str(run.folder), "model": settings.name}
    answer |= {"validation_accuracy": None, "test_accuracy": None}  # for a split without such graphs
    answer |= {f"{part.replace('-', '_')}_accuracy": s["accuracy"] for part, s in run.scores.items()}
    saliency_auc = run.scores.get("test", {}).get("saliency_auc")
    answer |= {} if saliency_auc is None else {"saliency_auc": saliency_auc}
    return answer | {
        "epochs": len(run.state.history),
        "best_epoch": run.state.best_epoch,
        "train_seconds": run.seconds,
        "report": str(report),
    }


def evaluate(run: Path, data: str, part: str, device: str) -> Answer:
    trained, graphs, index = _open(run, data, part, device, labelled=True)
    prediction = trained.predict(graphs)
    answer: Answer = {"model": trained.settings.name, **score(trained, graphs, prediction, index)}
    parts = _parts_of(run, graphs)
    if parts and part == "all":
        answer["parts"] = {p: score(trained, graphs, prediction, i)["accuracy"] for p, i in parts.items() if len(i)}
        note("these graphs were trained on, but for the test part: its accuracy is the honest one")
    return answer


def predict(run: Path, data: str, out: Path, part: str, device: str) -> Answer:
    trained, graphs, index = _open(run, data, part, device)
    prediction = trained.predict(graphs)
    header = ["graph", "class", *(f"probability_{name}" for name in trained.classes)]
    rows = (
        [g, trained.classes[prediction.predicted[g]], *map(_exact, prediction.probabilities[g])] for g in index.tolist()
    )
    write_file(out, _csv(header, rows))
    return {"graphs": len(index), "file": str(out)}


def explain(run: Path, data: str, out: Path, part: str, drawings: int, device: str) -> Answer:
    trained, graphs, index = _open(run, data, part, device)
    prediction = trained.predict(graphs)
    if not len(prediction.saliency):
        raise InputError(
            f"{run}: model '{trained.settings.name}' has no saliency, expected one that has, such as sar-gcn"
        )
    header = ["graph", "node", "layer", "saliency", "predicted", "probability"]
    header += ["true_saliency"] if graphs.true_saliency is not None else []
    write_file(out / "saliency.csv", _csv(header, _saliency_rows(graphs, prediction, index)))
    write_file(out / "saliency.json", json.dumps(_saliency_json(graphs, prediction, index)))
    drawn = index[:drawings].tolist()
    if len(drawn) < len(index):
        note(f"drawing the first {len(drawn)} of {len(index)} graphs; --drawings {len(index)} draws all")
    from sargnn import viz

    for g in show_steps(drawn, len(drawn), "drawing"):
        viz.save(_draw(graphs, prediction, g), out / "drawings" / f"graph-{g}.png")
    return {"graphs": len(index), "layers": len(prediction.saliency), "drawings": len(drawn), "folder": str(out)}


def data_list() -> Answer:
    return {
        name: f"{k.graphs} graphs, {k.nodes} nodes, {k.edges} directed edges, {k.classes} classes"
        for name, k in KNOWN.items()
    }


def data_info(data: str) -> Answer:
    graphs = _load(data, labelled=False)
    answer: Answer = {
        "name": graphs.name, "graphs": len(graphs), "nodes": graphs.num_nodes, "edges": graphs.num_edges,
        "classes": len(graphs.classes), "class_names": list(graphs.classes),
        "graphs_per_class": None if graphs.y is None else np.bincount(graphs.y, minlength=len(graphs.classes)).tolist(),
        "nodes_per_graph": {
            "least": int(graphs.sizes.min()), "mean": float(graphs.sizes.mean()), "most": int(graphs.sizes.max()),
        },
        "node_labels": len(graphs.node_label_names),
        "node_attributes": 0 if graphs.node_attributes is None else graphs.node_attributes.shape[1],
        "edge_labels": len(graphs.edge_label_names),
        "edge_attributes": 0 if graphs.edge_attributes is None else graphs.edge_attributes.shape[1],
        "true_saliency": graphs.true_saliency is not None,
        "fingerprint": graphs.fingerprint,
    }  # fmt: skip
    return answer


def data_check(data: str) -> Answer:
    graphs = _load(data)
    require_two_classes(graphs)
    return {
        "problems": 0, "graphs": len(graphs), "notes": list(graphs.notes),
        "one_node_graphs": int((graphs.sizes == 1).sum()),
        "graphs_without_edges": int((np.diff(graphs.edge_ptr) == 0).sum()),
        "isolated_nodes": int((graphs.degrees == 0).sum()),
    }  # fmt: skip


def data_generate(kind: str, out: Path, sizes: tuple[int, int, int, int], graphs: int, seed: int) -> Answer:
    if kind not in ("triangles", "motifs"):
        raise InputError(f"got kind '{kind}', expected triangles or motifs")
    if out.exists() and any(out.iterdir() if out.is_dir() else [out]):
        raise InputError(f"--out: {out} is not empty, expected a new folder")
    made = triangles(*sizes, seed=seed) if kind == "triangles" else motifs(graphs, seed=seed)
    made.save(out)
    return {
        "folder": str(out),
        "graphs": len(made),
        "nodes": made.num_nodes,
        "edges": made.num_edges,
        "fingerprint": made.fingerprint,
    }


def _load(data: str, labelled: bool = True) -> GraphSet:
    graphs = load(data, labelled=labelled)
    for text in graphs.notes:
        note(f"{graphs.name}: {text}")
    return graphs


def _fold(split: Path | None, fold: int, graphs: GraphSet) -> Fold | None:
    if split is None:
        if fold:
            raise InputError(f"--fold: got {fold} without --split, expected the split file it is a fold of")
        return None
    folds = read_splits(split, graphs)
    if not 0 <= fold < len(folds):
        raise InputError(f"--fold: got {fold}, expected 0..{len(folds) - 1}, in {split}")
    return folds[fold]


def _train(run: TrainingRun, command: str) -> Path:
    """Train with the progress shown, finish, and write the report."""
    for text in run.trained.encoder.notes:
        note(text)
    training = run.trained.settings.training
    for _ in show_epochs(run, training.epochs, len(run.state.history)):
        pass
    run.finish()
    assert run.folder is not None
    report = run.folder / "report.html"
    write_file(report, render(_report(run, command)))
    return report


def _report(run: TrainingRun, command: str) -> TrainingReport:
    """The page of a finished run: scores of all parts, and a gallery of graphs it was not trained on."""
    trained, graphs, settings = run.trained, run.graphs, run.trained.settings
    part = "test" if "test" in run.scores else list(run.scores)[-1]
    index = parts_of(graphs, run.fold)[part]
    prediction = trained.predict(graphs)
    true, predicted = trained.true_classes(graphs), prediction.predicted
    configs = settings.to_json()
    return TrainingReport(
        title=graphs.name,
        model=settings.name,
        settings={section: configs[section] for section in ("model", "data", "training")},
        graphs=graphs,
        fold_sizes={name: scores["graphs"] for name, scores in run.scores.items()},
        history=run.state.history,
        best_epoch=run.state.best_epoch,
        results=run.scores,
        confusion=confusion(true[index], predicted[index], len(trained.classes)),
        saliency_auc=run.scores[part].get("saliency_auc"),
        gallery=[_gallery_item(graphs, prediction, g, true[g]) for g in _gallery(prediction, true, index)],
        parameters=sum(p.numel() for p in trained.model.parameters()),
        train_seconds=run.seconds,
        versions=versions(),
        notes=[*graphs.notes, *trained.encoder.notes],
        command=command,
    )


def _gallery(prediction: Prediction, true: np.ndarray, index: np.ndarray) -> list[int]:
    if not len(prediction.saliency):
        return []
    chosen = choose_gallery(true[index], prediction.predicted[index], prediction.probabilities[index].max(axis=1))
    return index[chosen].tolist()


def _gallery_item(graphs: GraphSet, prediction: Prediction, g: int, true: int) -> GalleryItem:
    nodes = slice(*graphs.node_ptr[g : g + 2].tolist())
    assert prediction.mean_saliency is not None
    return GalleryItem(
        graph=g,
        true_class=prediction.classes[true],
        predicted_class=prediction.classes[prediction.predicted[g]],
        probability=float(prediction.probabilities[g].max()),
        saliency=prediction.mean_saliency[nodes],
        layer="mean of the layers",
        true_saliency=None if graphs.true_saliency is None else graphs.true_saliency[nodes],
    )


def _new_folder(name: str) -> Path:
    """``runs/NAME``, or the first of ``runs/NAME-2``, ``-3``, ... that does not exist."""
    name = re.sub(r"[^\w.-]+", "-", name)  # the name of a data set comes from a file and may be anything
    numbered = (Path("runs") / (name if n == 1 else f"{name}-{n}") for n in range(1, 1_000_000))
    return next(path for path in numbered if not path.exists())


def _open(
    run: Path, data: str, part: str, device: str, labelled: bool = False
) -> tuple[TrainedModel, GraphSet, np.ndarray]:
    """The model of ``run``, the graphs of ``data``, and which of them ``part`` names."""
    trained = load_model(run, find_device(device))
    graphs = _load(data, labelled=labelled)
    if graphs.y is not None:
        trained.true_classes(graphs)  # graphs of other classes are not for this model
    if part == "all":
        return trained, graphs, np.arange(len(graphs))
    parts = _parts_of(run, graphs)
    if parts is None:
        raise InputError(f"--part: got {part!r}, expected all: {graphs.name} is not the set that {run} was trained on")
    known = [name for name, index in parts.items() if len(index)]
    if part not in known:
        raise InputError(f"--part: got {part!r}, expected one of all, {', '.join(known)}")
    return trained, graphs, parts[part]


def _parts_of(run: Path, graphs: GraphSet) -> dict[str, np.ndarray] | None:
    """The parts of the run's own split, if ``graphs`` are the ones it was trained on."""
    record = read_training(run)
    if record["data"]["fingerprint"] != graphs.fingerprint:
        return None
    split = {name: np.array(record["split"][name], dtype=np.int64) for name in ("train", "validation", "test")}
    return parts_of(graphs, Fold(**split))


def _saliency_rows(graphs: GraphSet, prediction: Prediction, index: np.ndarray) -> Any:
    for g in index.tolist():
        name = prediction.classes[prediction.predicted[g]]
        probability = _exact(prediction.probabilities[g].max())
        start, end = graphs.node_ptr[g : g + 2].tolist()
        for layer, saliency in enumerate(prediction.saliency):
            for node in range(start, end):
                row = [g, node - start, layer, _exact(saliency[node]), name, probability]
                yield row if graphs.true_saliency is None else [*row, _exact(graphs.true_saliency[node])]


def _saliency_json(graphs: GraphSet, prediction: Prediction, index: np.ndarray) -> list[dict[str, Any]]:
    found = []
    for g in index.tolist():
        nodes = slice(*graphs.node_ptr[g : g + 2].tolist())
        item: dict[str, Any] = {
            "graph": g,
            "predicted": prediction.classes[prediction.predicted[g]],
            "probability": float(prediction.probabilities[g].max()),
            "saliency": prediction.saliency[:, nodes].tolist(),
        }
        if graphs.true_saliency is not None:
            item["true_saliency"] = graphs.true_saliency[nodes].tolist()
        found.append(item)
    return found


def _draw(graphs: GraphSet, prediction: Prediction, g: int) -> Figure:
    from sargnn import viz

    nodes = slice(*graphs.node_ptr[g : g + 2].tolist())
    assert prediction.mean_saliency is not None
    name, probability = prediction.classes[prediction.predicted[g]], prediction.probabilities[g].max()
    truth = None if graphs.true_saliency is None else graphs.true_saliency[nodes]
    title = f"graph {g}: predicted {name} ({probability:.0%})"
    return viz.draw_graph(graphs, g, prediction.mean_saliency[nodes], title=title, true_saliency=truth)


def _exact(value: Any) -> str:
    return repr(float(value))


def _csv(header: list[str], rows: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
