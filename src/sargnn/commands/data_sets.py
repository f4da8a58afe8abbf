"""Look at data sets, check them, convert them, make them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sargnn.commands.inputs import Answer, load_noted
from sargnn.data.check import check, summary
from sargnn.data.io.convert import convert
from sargnn.data.sources import KNOWN, load
from sargnn.data.synthetic import motifs, triangles
from sargnn.errors import InputError

__all__ = ["data_check", "data_convert", "data_generate", "data_info", "data_list"]


def data_list() -> Answer:
    return {
        name: f"{k.graphs} graphs, {k.nodes} nodes, {k.edges} directed edges, {k.classes} classes"
        for name, k in KNOWN.items()
    }


def data_info(data: str) -> Answer:
    graphs = load_noted(data, labelled=None)
    return {
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


def data_check(data: str, labels: str | None = None, smiles: str | None = None, out: Path | None = None) -> Answer:
    report = check(data, labels=labels, smiles=smiles)
    answer: Answer = {"problems": [problem.to_json() for problem in report.problems]}
    if report.count > len(report.problems):
        answer["problems_in_all"] = report.count
    answer |= {} if report.graphs is None else summary(report.graphs)
    if out is not None:
        from sargnn.pages.data_check import write_check_page

        answer["page"] = str(write_check_page(out, data, report, answer))
    return answer


def data_convert(
    data: str, out: Path, to: str | None = None, labels: str | None = None, smiles: str | None = None
) -> Answer:
    graphs = load(data, labels=labels, smiles=smiles, labelled=None)
    form = to or ("jsonl" if out.suffix.lower() == ".jsonl" else "graphset")
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
