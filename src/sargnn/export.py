"""A trained model as one file: ONNX, or a program of ``torch.export``.

The file runs without this package on inputs that are encoded. Beside an ONNX file stands a program, a copy of
:mod:`sargnn.standalone`, that encodes graphs with NumPy alone and predicts; inputs that it cannot compute are named.

The file takes encoded graphs, as PyTorch Geometric batches hold them, any number of graphs, nodes and edges:

==============  ==================  ====================================================================
``x``           float32 ``[N, F]``  node inputs, in the order of ``features``
``edge_index``  int64 ``[2, E]``    source and target of every directed edge, each once, no self-loops
``batch``       int64 ``[N]``       the graph of every node: 0, 1, ... without gaps
``edge_attr``   float32 ``[E, F]``  edge inputs, in the order of ``edge_features``; if the model has any
``graph_attr``  float32 ``[B, F]``  inputs of whole graphs; if the model has any
==============  ==================  ====================================================================

It gives ``logits [B, C]`` of classes, ``probabilities [B, T]`` of binary targets or ``values [B, T]`` of measured
numbers in their own unit, and, if the model has saliency, ``saliency [L, N]`` of every layer. The task, feature
names and the fitted encoder are inside as JSON under ``sargnn``. Before it is written, the file is run on graphs of
other sizes than the traced ones, and must agree with the model.
"""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn import standalone
from sargnn.batching import PackedBatch
from sargnn.errors import InputError
from sargnn.files import write_file
from sargnn.nn.graph_model import GraphModel
from sargnn.reading import read_bytes
from sargnn.training.trained_model import TrainedModel

__all__ = ["FORMATS", "Exportable", "export_model"]

METADATA = "sargnn"
TOLERANCE = 1e-4
"""Largest difference from the model's output, relative to the largest one or 1: float32 sums in another order."""
TRACED, CHECKED = (5, 4, 6), ((3,), (9, 2, 2, 7), (1, 12), (1,))
"""Sizes of the graphs that are traced, and of those that the result is tested on."""

Graphs = dict[str, Tensor]
"""The inputs of a file by name: ``ALWAYS``, then those that the model has."""
ALWAYS = ("x", "edge_index", "batch")


class Exportable(nn.Module):
    """A model as a plain function of tensors, in which no shape depends on their content.

    >>> from sargnn.nn.model import SARGNN, ModelConfig
    >>> model = Exportable(SARGNN(ModelConfig(layers=2, hidden=8), inputs=4, classes=3).eval())
    >>> x, edge_index, batch = torch.randn(5, 4), torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0, 0, 1, 1])
    >>> [tuple(out.shape) for out in model(x, edge_index, batch)]
    [(2, 3), (2, 5)]
    """

    def __init__(self, model: GraphModel, finish: Callable[[Tensor], Tensor] = lambda outputs: outputs) -> None:
        super().__init__()
        self.model = model
        self.finish = finish

    def forward(
        self, x: Tensor, edge_index: Tensor, batch: Tensor, edge_attr: Tensor | None = None,
        graph_attr: Tensor | None = None,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        graphs: Any = batch.max().item() + 1 if graph_attr is None else graph_attr.shape[0]
        if graph_attr is None:  # bounds of a number that is symbolic in a traced program
            torch._check(graphs >= 1)
            torch._check(graphs <= x.shape[0])
        loops = torch.arange(x.shape[0], device=x.device)
        source, target = torch.cat([edge_index[0], loops]), torch.cat([edge_index[1], loops])
        edges = None if edge_attr is None else F.pad(edge_attr.T, (0, x.shape[0]))
        packed = PackedBatch(x, source, target, batch, graphs, edges=edges, graph_x=graph_attr)
        # Counted by sums: the size of what bincount gives depends on the content.
        vars(packed)["degrees"] = x.new_zeros(x.shape[0]).index_add(0, target, x.new_ones(target.shape[0]))
        sizes = x.new_zeros(graphs).index_add(0, batch, x.new_ones(x.shape[0]))
        vars(packed)["uniform"] = sizes.reciprocal().index_select(0, batch)
        encoding = self.model.encode(packed)
        values = self.finish(self.model.head(encoding.graph))
        return (values, torch.stack(encoding.saliency)) if encoding.saliency else (values,)


def export_model(trained: TrainedModel, to: str, path: Path) -> dict[str, Any]:
    """Write ``trained`` to ``path`` as ``"onnx"`` or ``"torch-export"``; returns a description of the file.

    >>> export_model(load_model("runs/mutag"), "onnx", Path("mutag.onnx"))["largest_difference"]  # doctest: +SKIP
    2.4e-07
    """
    if to not in FORMATS:
        raise InputError(f"--to: got {to!r}, expected one of {', '.join(FORMATS)}")
    if to == "onnx" and path.suffix == ".py":
        raise InputError(f"--out: got {path}, expected another ending: the program beside the file has this one")
    if to == "onnx" and not standalone.unknown_encodings(trained.encoder.to_json()):
        _refuse_own_program(path.with_suffix(".py"))
    if trained.model.draws_in_eval:
        name = trained.settings.name
        raise InputError(f"got model '{name}', which draws numbers at every call, expected one that does not")
    module = Exportable(trained.model.cpu().eval(), trained.task.export)
    outputs = (trained.task.exported, "saliency")[: len(module(**_random_graphs(trained, (2,))))]
    try:
        with _quiet():
            program = _traced(module, _random_graphs(trained, TRACED))
            content, run = FORMATS[to](program, outputs, _description(trained))
    except InputError:
        raise
    except Exception as error:  # exporters raise anything at an operation that they do not know
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"--to: got model '{trained.settings.name}', which {to} cannot express ({reason})") from error
    difference = float(np.max([_difference(module, run, _random_graphs(trained, sizes)) for sizes in CHECKED]))
    if not difference <= TOLERANCE:
        differs = f"whose {to} file differs from it by {difference:.2g}, expected {TOLERANCE} at most"
        raise InputError(f"--to: got model '{trained.settings.name}', {differs}")
    write_file(path, content)
    return {
        **(_write_script(trained, path) if to == "onnx" else {}),
        "file": str(path), "format": to, "bytes": len(content), "outputs": list(outputs),
        "features": list(trained.encoder.feature_names), "edge_features": list(trained.encoder.edge_feature_names),
        "largest_difference": difference,
    }  # fmt: skip


def _refuse_own_program(script: Path) -> None:
    """Refuse to put the program beside the file where a user has one of that name."""
    own = Path(standalone.__file__).read_bytes().splitlines()[0]  # the same in every version
    if script.exists() and not (script.is_file() and read_bytes(script).startswith(own)):
        raise InputError(f"--out: {script} exists and is no program of sargnn export, expected another name")


def _write_script(trained: TrainedModel, path: Path) -> dict[str, str]:
    """Write the program that predicts with the file beside it, or say why there is none."""
    if unknown := standalone.unknown_encodings(trained.encoder.to_json()):
        return {"script": "none", "needs": f"sargnn itself, for the inputs {', '.join(unknown)}"}
    script = path.with_suffix(".py")
    write_file(script, Path(standalone.__file__).read_text(encoding="utf-8"))
    return {"script": str(script)}


def _traced(module: Exportable, graphs: Graphs) -> torch.export.ExportedProgram:
    nodes, edges = torch.export.Dim("nodes", min=1), torch.export.Dim("edges", min=0)
    every = {
        "x": {0: nodes}, "edge_index": {1: edges}, "batch": {0: nodes}, "edge_attr": {0: edges},
        "graph_attr": {0: torch.export.Dim("graphs", min=1)},
    }  # fmt: skip
    shapes = {name: every[name] for name in graphs}
    with torch.no_grad():
        program = torch.export.export(module, *_arguments(graphs), dynamic_shapes=shapes, strict=True)
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)  # paths of this machine
    return program


def _arguments(graphs: Graphs) -> tuple[tuple[Tensor, ...], dict[str, Tensor]]:
    """Positional and keyword arguments."""
    named = {name: value for name, value in graphs.items() if name not in ALWAYS}
    return tuple(graphs[name] for name in ALWAYS), named


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporters' own logs and warnings."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


Run = Callable[[Graphs], list[np.ndarray]]


def _to_onnx(program: torch.export.ExportedProgram, outputs: tuple[str, ...], words: str) -> tuple[bytes, Run]:
    try:
        import onnxruntime
        import onnxscript  # noqa: F401 (what torch.onnx works with)
    except ImportError as error:
        raise InputError(f"--to: got onnx without {error.name}, expected: pip install 'sargnn[onnx]'") from error
    made = torch.onnx.export(program, output_names=list(outputs), dynamo=True, verbose=False)
    assert made is not None
    model = made.model_proto
    for node in (*model.graph.node, *(node for function in model.functions for node in function.node)):
        del node.metadata_props[:]  # most of the file, and not needed to run it
    model.metadata_props.add(key=METADATA, value=words)
    content = model.SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]

    def run(graphs: Graphs) -> list[np.ndarray]:
        return list(session.run(None, {name: graphs[name].numpy() for name in names}))

    return content, run


def _to_torch_export(program: torch.export.ExportedProgram, outputs: tuple[str, ...], words: str) -> tuple[bytes, Run]:
    file = io.BytesIO()
    torch.export.save(program, file, extra_files={METADATA: words})
    module = torch.export.load(io.BytesIO(file.getvalue())).module()

    def run(graphs: Graphs) -> list[np.ndarray]:
        arguments, named = _arguments(graphs)
        return [out.detach().numpy() for out in module(*arguments, **named)]

    return file.getvalue(), run


FORMATS: dict[str, Callable[..., tuple[bytes, Run]]] = {"onnx": _to_onnx, "torch-export": _to_torch_export}
"""The kinds of file that can be written."""


def _description(trained: TrainedModel) -> str:
    encoder = trained.encoder
    content = {
        "model": trained.settings.name, **trained.task.to_json(), "features": list(encoder.feature_names),
        "edge_features": list(encoder.edge_feature_names), "encoder": encoder.to_json(),
        "columns": trained.task.columns(),
    }  # fmt: skip
    return json.dumps(content)


def _random_graphs(trained: TrainedModel, sizes: tuple[int, ...]) -> Graphs:
    """Random graphs of these sizes, each with about half of all edges."""
    rng, nodes, encoder = np.random.default_rng(sizes), sum(sizes), trained.encoder
    x = rng.normal(size=(nodes, encoder.width)).astype(np.float32)
    batch = np.repeat(np.arange(len(sizes)), sizes)
    together = np.triu((batch[:, None] == batch) & (rng.random((nodes, nodes)) < 0.5), k=1)
    edges = np.stack(np.nonzero(together | together.T)).astype(np.int64)
    graphs = {"x": x, "edge_index": edges, "batch": batch}
    more = {"edge_attr": (edges.shape[1], encoder.edge_width), "graph_attr": (len(sizes), encoder.graph_width)}
    graphs |= {name: rng.normal(size=shape).astype(np.float32) for name, shape in more.items() if shape[1]}
    return {name: torch.from_numpy(values) for name, values in graphs.items()}


def _difference(module: Exportable, run: Run, graphs: Graphs) -> float:
    """The largest difference of any output, relative to its largest value or 1 (a logit near zero may be a sum of large
    terms); NaN if any is."""
    with torch.no_grad():
        expected = [out.numpy() for out in module(**graphs)]
    pairs = zip(run(graphs), expected, strict=True)
    return float(np.max([np.abs(a - b).max() / max(1, np.abs(b).max()) for a, b in pairs]))
