"""What each command does, as a function that returns its answer as a plain dictionary."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sargnn.console import note, show_epochs, show_steps
from sargnn.data.check import check, summary
from sargnn.data.convert import convert
from sargnn.data.graphs import GraphSet
from sargnn.data.scaffolds import named_folds
from sargnn.data.sources import KNOWN, load, require_two_classes
from sargnn.data.splits import Fold
from sargnn.data.synthetic import motifs, triangles
from sargnn.errors import InputError
from sargnn.explain.maps import RULES
from sargnn.files import write_file
from sargnn.report import GalleryItem, TrainingReport, choose_gallery, render
from sargnn.training.calibration import assess, load_calibration, save_calibration, with_temperature
from sargnn.training.calibration import calibrate as fit_calibration
from sargnn.training.metrics import confusion
from sargnn.training.model_folder import load_model, read_training
from sargnn.training.run import TrainingRun, find_device, hardware, parts_of, score, versions
from sargnn.training.settings import Settings, read_settings
from sargnn.training.tracking import tracking
from sargnn.training.trained import Prediction, TrainedModel

Answer = dict[str, Any]

FORMS = ("png", "svg", "html")
"""What ``explain`` draws: a file for each graph, or one page of all."""

QUICKSTART_SIZES = (4000, 500, 1000, 0)
QUICKSTART_SETTINGS = {
    "data.encodings": ("degree", "random-walk"),
    "model.normalize": "none",
    "training.epochs": 50,
    "training.patience": 0,
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
    device: str, split: Path | None, fold: int, resume: bool, command: str, track: Sequence[str] = (),
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
    report = _train(run, command, track)
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


def predict(
    run: Path, data: str, out: Path, part: str, device: str, coverage: float | None = None, calibrated: bool = False
) -> Answer:
    trained, graphs, index = _open(run, data, part, device)
    prediction = trained.predict(graphs)
    shown, sets = prediction.probabilities[index], np.empty((len(index), 0), bool)
    header = ["graph", "class", *(f"probability_{name}" for name in trained.classes)]
    answer: Answer = {"graphs": len(index), "file": str(out)}
    if coverage is not None:
        sets = load_calibration(run).sets(shown, coverage)
        header += [f"in_set_{name}" for name in trained.classes]
        answer["mean_set_size"] = float(sets.sum(axis=1).mean())
    if calibrated:
        shown = with_temperature(shown, load_calibration(run).temperature)
    rows = (
        [g, trained.classes[prediction.predicted[g]], *map(_exact, shown[row]), *sets[row].astype(int)]
        for row, g in enumerate(index.tolist())
    )
    write_file(out, _csv(header, rows))
    return answer


def calibrate(run: Path, data: str, part: str, coverage: float, device: str) -> Answer:
    trained, graphs, index = _open(run, data, part, device, labelled=True)
    parts = _parts_of(run, graphs) or {}
    if parts and part in ("all", "train"):
        raise InputError(f"--part: got {part}, expected graphs that the model was not trained on, such as validation")
    held_out = fit_calibration(trained, graphs, index)
    save_calibration(run, held_out)
    answer: Answer = {"graphs": len(index), "temperature": held_out.temperature, "file": str(run / "calibration.json")}
    if part != "test" and len(test := parts.get("test", ())):
        others = graphs.subset(test)
        true, probabilities = trained.true_classes(others), trained.predict(others).probabilities
        answer |= {f"test_{name}": value for name, value in assess(held_out, true, probabilities, coverage).items()}
    return answer


def export(run: Path, to: str, out: Path) -> Answer:
    from sargnn.export import export_model

    return export_model(load_model(run), to, out)


def search(
    data: str, out: Path | None, model: str | None, assignments: list[str], config: Path | None, seed: int | None,
    device: str, space: list[str], trials: int,
) -> Answer:  # fmt: skip
    from sargnn.search import Search, read_space

    settings = read_settings(model, assignments, config, seed)
    where, graphs = find_device(device), _load(data)
    require_two_classes(graphs)
    folder = out or _new_folder(f"{graphs.name}-search")
    study = Search.start(
        graphs, settings, folder, space=read_space(space) if space else None, trials=trials, device=where
    )
    for _ in show_steps(study, trials - study.done, "trial"):
        pass
    best = study.save_best(folder)
    return {
        "trials": study.done, "pruned": study.pruned, f"validation_{settings.training.monitor}": study.study.best_value,
        "best": study.study.best_params, "config": str(best), "folder": str(folder),
    }  # fmt: skip


def explain(
    run: Path, data: str, out: Path, part: str, drawings: int, device: str,
    rule: str | None = None, form: str = "png", chosen: str | None = None,
) -> Answer:  # fmt: skip
    for option, value, known in (("--format", form, FORMS), ("--rule", rule or "mean", RULES)):
        if value not in known:
            raise InputError(f"{option}: got {value!r}, expected one of {', '.join(known)}")
    trained, graphs, index = _open(run, data, part, device)
    index = index if chosen is None else _chosen(chosen, graphs, index)
    prediction = trained.predict(graphs)
    if not len(prediction.saliency):
        raise InputError(
            f"{run}: model '{trained.settings.name}' has no saliency, expected one that has, such as sar-gcn"
        )
    shown = rule or "mean"
    nodes = trained.saliency(graphs, shown)
    named = None if rule is None else (rule, nodes)
    write_file(out / "saliency.csv", _csv(_saliency_header(graphs), _saliency_rows(graphs, prediction, index, named)))
    write_file(out / "saliency.json", json.dumps(_saliency_json(graphs, prediction, index, named)))
    drawn = index[:drawings].tolist()
    if len(drawn) < len(index):
        note(f"drawing the first {len(drawn)} of {len(index)} graphs; --drawings {len(index)} draws all")
    answer = {"graphs": len(index), "layers": len(prediction.saliency), "drawings": len(drawn), "folder": str(out)}
    if form == "html":
        page = out / "explanations.html"
        write_file(page, _page(graphs, prediction, drawn, shown, nodes))
        return answer | {"page": str(page)}
    for g in show_steps(drawn, len(drawn), "drawing"):
        _draw(graphs, prediction, g, nodes, out / "drawings" / f"graph-{g}.{form}")
    return answer


def explain_compare(
    data: str, out: Path | None, model: str | None, assignments: list[str], config: Path | None, seed: int | None,
    graphs: int, seeds: int, explainers: list[str], part: str, device: str, command: str,
) -> Answer:  # fmt: skip
    from sargnn.explain.compare import as_table, compare

    settings = read_settings(model, assignments, config, seed)
    rows = []
    for row in compare(
        _load(data), settings, count=graphs, seeds=seeds, explainers=explainers, part=part, device=find_device(device)
    ):
        note(f"{row['data']}: {row['explainer']} of {row['model']}, {row['seconds_per_graph']:.3g} s a graph")
        rows.append({**row, "command": command})
        if out is not None:  # the whole file each time: what was found stays, whatever dies
            write_file(out, "".join(json.dumps(each, allow_nan=False) + "\n" for each in rows))
    return {"rows": rows, "table": as_table(rows), "file": None if out is None else str(out)}


def reproduce(
    name: str,
    preset: str,
    out: Path,
    only_data: str | None,
    engine: str,
    workers: int | None,
    address: str | None,
    device: str,
    rows: Path | None = None,
) -> Answer:
    """Run a table or a figure of the paper, or all, into a store and write it down beside what was published.

    ``rows``: a file of rows that a store which is still empty starts from, such as the one this project keeps.
    """
    from sargnn.experiments.paper import PRESETS
    from sargnn.experiments.reproduce import NAMES, SALIENCY_FIGURES, Reproduction
    from sargnn.experiments.reproduction import write_page
    from sargnn.experiments.store import Store

    _choice("NAME", name, (*NAMES, "all", "page"))
    _choice("--preset", preset, PRESETS)
    if name == "page":
        if rows is None:
            raise InputError("--rows: got none, expected the file of rows that the page is made of")
        return {"written": [str(file) for file in write_page(rows, out)]}
    if only_data is not None and name in ("all", *SALIENCY_FIGURES):
        raise InputError(f"--data: got {only_data} with {name}, expected a table or a figure of several sets")
    os.environ["SARGNN_DEVICE"] = str(find_device(device))
    reproduction = Reproduction(preset, out, only_data, engine, workers, address)
    with Store(out / f"{preset}.sqlite") as store:
        if rows is not None and not store.rows():
            store.import_rows(rows)
        return reproduction.run_all(store) if name == "all" else reproduction.run(name, store)


def cv(
    data: str,
    model: list[str],
    assignments: list[str],
    grid: list[str],
    folds: int,
    repeats: int,
    split: Path | None,
    seed: int,
    out: Path | None,
    device: str,
) -> Answer:
    """The protocol on a user's own data: one model, or two compared."""
    from sargnn.experiments.cross_validation import cross_validate

    os.environ["SARGNN_DEVICE"] = str(find_device(device))
    graphs = _load(data)
    require_two_classes(graphs)
    return cross_validate(graphs, data, model, assignments, grid, folds, repeats, split, seed, out)


def bench(
    quick: bool, contenders: tuple[str, ...], batches: tuple[int, ...], hidden: tuple[int, ...],
    threads: tuple[int, ...], busy_limit: float, out: Path | None, device: str, command: str,
) -> Answer:  # fmt: skip
    import sargnn.bench as measuring

    plan = measuring.Plan(quick, contenders, batches, hidden, threads, device, busy_limit, growth=out is not None)
    rows = measuring.run(plan)
    files = [] if out is None else measuring.save(rows, out, command, plan)
    answer = {"rows": [row for row in rows if row["kind"] != "growth"], "versions": versions()}
    answer |= {"hardware": hardware(find_device(device)), "files": [str(file) for file in files]}
    return {"answer": answer, "table": measuring.table(rows)}


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


def data_check(data: str, labels: str | None = None, smiles: str | None = None, out: Path | None = None) -> Answer:
    report = check(data, labels=labels, smiles=smiles)
    answer: Answer = {"problems": [problem.to_json() for problem in report.problems]}
    if report.count > len(report.problems):
        answer["problems_in_all"] = report.count
    answer |= {} if report.graphs is None else summary(report.graphs)
    if out is not None:
        from sargnn.check_page import write_check_page

        answer["page"] = str(write_check_page(out, data, report, answer))
    return answer


def data_convert(
    data: str, out: Path, to: str | None = None, labels: str | None = None, smiles: str | None = None
) -> Answer:
    graphs = load(data, labels=labels, smiles=smiles, labelled=False)
    form = to or ("jsonl" if out.suffix == ".jsonl" else "graphset")
    notes = [*graphs.notes, *convert(graphs, out, form)]
    return {"written": str(out), "form": form, "graphs": len(graphs), "fingerprint": graphs.fingerprint, "notes": notes}


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


def _choice(name: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise InputError(f"{name}: got '{value}', expected one of {', '.join(known)}")


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
    folds = named_folds(split, graphs)
    if not 0 <= fold < len(folds):
        raise InputError(f"--fold: got {fold}, expected 0..{len(folds) - 1}, in {split}")
    return folds[fold]


def _train(run: TrainingRun, command: str, track: Sequence[str] = ()) -> Path:
    """Train with the progress shown, finish, calibrate, and write the report."""
    for text in run.trained.encoder.notes:
        note(text)
    training = run.trained.settings.training
    assert run.folder is not None
    with tracking(run, track) as trackers:
        for row in show_epochs(run, training.epochs, len(run.state.history)):
            for tracker in trackers:
                tracker.log(row)
        run.finish()
        for tracker in trackers:
            tracker.log_scores(run)
    if len(run.fold.validation):
        save_calibration(run.folder, fit_calibration(run.trained, run.graphs, run.fold.validation))
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
        gallery=[_gallery_item(graphs, prediction, g, int(true[g])) for g in _gallery(prediction, true, index)],
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


def _chosen(text: str, graphs: GraphSet, index: np.ndarray) -> np.ndarray:
    """The graphs named in ``--graphs 0,5,7``, in that order."""
    found = []
    for word in text.split(","):
        if not re.fullmatch(r"\s*[0-9]{1,15}\s*", word):
            raise InputError(f"--graphs: got {text!r}, expected numbers of graphs such as 0,5,7")
        if int(word) >= len(graphs):
            raise InputError(f"--graphs: got {int(word)}, expected 0..{len(graphs) - 1}, in {graphs.name}")
        if int(word) not in index:
            raise InputError(f"--graphs: got {int(word)}, which is not in --part, in {graphs.name}")
        found.append(int(word))
    return np.array(found)


def _saliency_header(graphs: GraphSet) -> list[str]:
    header = ["graph", "node", "layer", "saliency", "predicted", "probability"]
    header += ["true_saliency"] if graphs.true_saliency is not None else []
    return header + (["node_name"] if graphs.node_names is not None else [])


def _saliency_rows(
    graphs: GraphSet, prediction: Prediction, index: np.ndarray, named: tuple[str, np.ndarray] | None
) -> Any:
    layers: list[tuple[int | str, np.ndarray]] = [*enumerate(prediction.saliency), *([named] if named else [])]
    known = [column for column in (graphs.true_saliency,) if column is not None]
    for g in index.tolist():
        name = prediction.classes[prediction.predicted[g]]
        probability = _exact(prediction.probabilities[g].max())
        start, end = graphs.node_ptr[g : g + 2].tolist()
        for layer, saliency in layers:
            for node in range(start, end):
                row = [g, node - start, layer, _exact(saliency[node]), name, probability]
                row += [_exact(column[node]) for column in known]
                yield row if graphs.node_names is None else [*row, graphs.node_names[node]]


def _saliency_json(
    graphs: GraphSet, prediction: Prediction, index: np.ndarray, named: tuple[str, np.ndarray] | None
) -> list[dict[str, Any]]:
    found = []
    for g in index.tolist():
        nodes = slice(*graphs.node_ptr[g : g + 2].tolist())
        item: dict[str, Any] = {
            "graph": g,
            "predicted": prediction.classes[prediction.predicted[g]],
            "probability": float(prediction.probabilities[g].max()),
            "saliency": prediction.saliency[:, nodes].tolist(),
        }
        if named is not None:
            item |= {"rule": named[0], "map": named[1][nodes].tolist()}
        if graphs.true_saliency is not None:
            item["true_saliency"] = graphs.true_saliency[nodes].tolist()
        if graphs.node_names is not None:
            item["node_names"] = graphs.node_names[nodes].tolist()
        found.append(item)
    return found


def _draw(graphs: GraphSet, prediction: Prediction, g: int, saliency: np.ndarray, path: Path) -> None:
    """Write the drawing: a molecule where symbols are known, else a graph, with its truth where that is known."""
    from sargnn import viz
    from sargnn.explain.molecules import are_molecules, draw_molecule

    nodes = slice(*graphs.node_ptr[g : g + 2].tolist())
    name, probability = prediction.classes[prediction.predicted[g]], prediction.probabilities[g].max()
    title = f"graph {g}: predicted {name} ({probability:.0%})"
    truth = None if graphs.true_saliency is None else graphs.true_saliency[nodes]
    if truth is None and are_molecules(graphs):
        write_file(path, draw_molecule(graphs, g, saliency[nodes], path.suffix == ".svg", title=title))
    else:
        viz.save(viz.draw_graph(graphs, g, saliency[nodes], title=title, true_saliency=truth), path)


def _page(graphs: GraphSet, prediction: Prediction, drawn: list[int], rule: str, saliency: np.ndarray) -> str:
    from sargnn.explain.page import ExplainedGraph, render_page

    maps = {rule: saliency} | {f"layer {l}": layer for l, layer in enumerate(prediction.saliency)}
    maps |= {} if graphs.true_saliency is None else {"true saliency": graphs.true_saliency}
    items = []
    for g in drawn:
        nodes = slice(*graphs.node_ptr[g : g + 2].tolist())
        name, probability = prediction.classes[prediction.predicted[g]], float(prediction.probabilities[g].max())
        items.append(ExplainedGraph(g, name, probability, {key: values[nodes] for key, values in maps.items()}))
    return render_page(graphs, items, f"Which nodes decided: {graphs.name}")


def _exact(value: Any) -> str:
    return repr(float(value))


def _csv(header: list[str], rows: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
