"""The paper's formulas written as they stand: one graph at a time, dense N x N matrices, loops over nodes, float64.

A second implementation to compare the package with. Nothing of the package computes here: a model's weights are taken
by name and its settings by value. Row ``i`` of a matrix is what node ``i`` hears; column ``j`` is who it hears from.
"""

from __future__ import annotations

from ctypes import CDLL
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from sargnn.batching import Batch, PaddedBatch
from sargnn.batching.kernels import library
from sargnn.batching.tensor_set import TensorSet
from sargnn.data.graphs import pack
from sargnn.nn.model import SARGNN, SARConfig
from sargnn.systems.as_published import AsPublished, AsPublishedConfig

INPUTS = 3
CLASSES = 3
COMMON = ("packed", "padded")
"""The layouts that can be asked for, and that every model is given."""
LAYOUTS = (*COMMON, "compressed")
"""Those of models that know a batch by its primitives alone."""
BACKBONES = ("gcn", "gin", "sage", "gat")

Weights = dict[str, np.ndarray]


# ------------------------------------------------------------------------------------------------------------- graphs


@dataclass(frozen=True)
class Graph:
    """So many nodes, (source, target) pairs, a row of inputs for each node and, where there are any, inputs ``e[i, j]``
    of the edge j -> i and ``u`` of the graph."""

    nodes: int
    edges: tuple[tuple[int, int], ...]
    x: np.ndarray
    e: np.ndarray | None = None
    u: np.ndarray | None = None

    @property
    def closed(self) -> np.ndarray:
        """Ã[i, j] = 1 where j ∈ {i} ∪ N(i)."""
        a = np.eye(self.nodes)
        for source, target in self.edges:
            a[target, source] = 1
        return a


def graph(nodes: int, edges: list[tuple[int, int]], seed: int = 0) -> Graph:
    """A graph with normal random inputs."""
    return Graph(nodes, tuple(edges), np.random.default_rng([seed, nodes]).normal(size=(nodes, INPUTS)))


def both_ways(*edges: tuple[int, int]) -> list[tuple[int, int]]:
    return [pair for u, v in edges for pair in ((u, v), (v, u))]


EXAMPLES = [
    graph(3, []),  # no edge
    graph(9, both_ways((0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 6), (6, 3), (6, 7), (7, 8), (1, 7))),
    graph(1, []),  # one node
    graph(6, both_ways((0, 1), (2, 3), (3, 4), (4, 2))),  # three components, one of them a lonely node
    graph(4, [(0, 1), (1, 2), (2, 3), (3, 1), (0, 3)]),  # directed: nobody sends to node 0
    graph(2, both_ways((0, 1))),
]
"""Graphs of different sizes, with every structural edge case of a batch."""


@st.composite
def wild_graphs(draw: st.DrawFn, most: int = 7) -> Graph:
    """Any small graph: one node, no edges, directed edges, self-loops, repeated edges, several components."""
    nodes = draw(st.integers(1, most))
    node = st.integers(0, nodes - 1)
    return graph(nodes, draw(st.lists(st.tuples(node, node), max_size=3 * nodes)), draw(st.integers(0, 9)))


@st.composite
def choices(draw: st.DrawFn) -> tuple[list[Graph], list[int]]:
    """Some graphs and an order of some of them, repeats allowed."""
    graphs = draw(st.lists(wild_graphs(), min_size=1, max_size=5))
    return graphs, draw(st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=6))


def random_graph(nodes: int, edges: int, seed: int = 0) -> Graph:
    """A large undirected graph, with whatever self-loops and repeated edges chance brings."""
    ends = np.random.default_rng(seed).integers(0, nodes, (edges, 2)).tolist()
    return graph(nodes, both_ways(*((u, v) for u, v in ends)), seed)


# ------------------------------------------------------------------------------------- between graphs and the package


def tensor_set(graphs: list[Graph], dtype: type = np.float64) -> TensorSet:
    packed = pack([(g.nodes, g.edges) for g in graphs])
    widths = {g.e.shape[-1] for g in graphs if g.e is not None}
    ends = [(g, s, t) for g, one in zip(graphs, packed, strict=True) for s, t in one.edges.T]
    e = np.array([g.e[t, s] for g, s, t in ends if g.e is not None], dtype)
    u = [g.u for g in graphs if g.u is not None]
    return TensorSet(
        packed,
        np.concatenate([g.x for g in graphs]).astype(dtype),
        edge_x=e.reshape(len(ends), *widths) if widths else None,
        graph_x=np.stack(u).astype(dtype) if u else None,
    )


def batch_of(graphs: list[Graph], layout: str, dtype: type = np.float64) -> Batch:
    """All the graphs in one batch of that layout."""
    data = tensor_set(graphs, dtype)
    if layout == "compressed":
        kernels(data.x.dtype)
    return getattr(data, layout)(np.arange(len(graphs)))


def every_batch_of(graphs: list[Graph], dtype: type = np.float64) -> list[Batch]:
    """All the graphs in one batch of every layout that there is on this machine."""
    here = LAYOUTS if library(torch.float64) else COMMON
    return [batch_of(graphs, layout, dtype) for layout in here]


def kernels(dtype: torch.dtype) -> CDLL:
    """The C kernels; a test that asks for them is skipped on a machine without a C compiler."""
    found = library(dtype)
    if found is None:
        pytest.skip("no C compiler, so no kernels")
    return found


def edge_arguments(
    graphs: list[Graph], dtype: torch.dtype = torch.float64
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``x, edge_index, batch`` of PyTorch Geometric, edges as they come."""
    starts = np.cumsum([0] + [g.nodes for g in graphs])
    edges = [(u + start, v + start) for g, start in zip(graphs, starts, strict=False) for u, v in g.edges]
    return (
        torch.from_numpy(np.concatenate([g.x for g in graphs])).to(dtype),
        torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T,
        torch.repeat_interleave(torch.tensor([g.nodes for g in graphs])),
    )


def node_rows(batch: Batch, h: torch.Tensor) -> torch.Tensor:
    """Features of the real nodes, graph after graph: ``[N, d]``."""
    return h[batch.mask] if isinstance(batch, PaddedBatch) else h


def make_model(config: SARConfig, seed: int = 0, dtype: torch.dtype = torch.float64, **widths: int) -> SARGNN:
    """A model in eval mode whose every weight and statistic is random: no zero bias or ε that could hide a mistake."""
    torch.manual_seed(seed)
    kind = AsPublished if isinstance(config, AsPublishedConfig) else SARGNN
    model = kind(config, INPUTS, CLASSES, **widths).to(dtype).eval()
    for name, value in model.state_dict().items():
        value.uniform_(0.5, 2) if name.endswith("running_variance") else value.normal_(0, 0.5)
    return model


def slow_packed(graphs: list[Graph], index: list[int]) -> tuple[np.ndarray, set[tuple[int, int]], list[int]]:
    """Node inputs, edges of closed neighbourhoods and the graph of every node, put together graph after graph."""
    x, edges, owner = [], set(), []
    for place, g in enumerate(index):
        start = len(owner)
        x.append(graphs[g].x)
        edges |= {(start + u, start + v) for u, v in graphs[g].edges}
        edges |= {(start + v, start + v) for v in range(graphs[g].nodes)}
        owner += [place] * graphs[g].nodes
    return np.concatenate(x), edges, owner


def node_values(batch: Batch, *leading: int, d: int | None = None) -> torch.Tensor:
    """Random node tensor; values of real nodes do not depend on the layout."""
    generator = torch.Generator().manual_seed(3)
    n = int(batch.mask.sum()) if isinstance(batch, PaddedBatch) else len(batch.x)
    flat = torch.randn(*leading, n, *([d] if d else []), generator=generator, dtype=torch.float64)
    if not isinstance(batch, PaddedBatch):
        return flat
    out = torch.full((*leading, *batch.mask.shape, *([d] if d else [])), 1e3, dtype=torch.float64)
    out[(slice(None),) * len(leading) + (batch.mask,)] = flat
    return out


# ----------------------------------------------------------------------------------------------------- the equations


class Literal(NamedTuple):
    """What the formulas make of one graph."""

    graph: np.ndarray
    nodes: np.ndarray
    saliency: list[np.ndarray]
    logits: np.ndarray


def encode(model: SARGNN, g: Graph) -> Literal:
    """The loop of the overview (eqs. fm, compat, backbone), the readout and the classifier."""
    c, p = model.config, {name: value.detach().double().numpy() for name, value in model.state_dict().items()}
    A, H, saliency = g.closed, g.x, []
    features = []
    C = edge_channels(within(p, "edge_channels"), g) if c.edge_channels else None
    if c.input_norm:
        H = batch_norm(within(p, "input_norm"), H)
    features.append(H)
    uses_memory = c.readout in ("memory", "all") or c.saliency not in ("none", "uniform")
    M = p["initial_memory.vector"] if uses_memory else None
    for l in range(c.layers):
        s = None
        if M is not None:
            M = memory(within(p, f"memory_layers.{l}"), H, M, c)  # M^l from H^{l-1}, M^{l-1}
        if c.saliency == "uniform":
            s = np.full(g.nodes, 1 / g.nodes)
        elif c.saliency != "none":
            s = node_saliency(within(p, f"saliency_layers.{l}"), M, H)  # s^{l-1} from M^l, H^{l-1}
        H = backbone(within(p, f"backbone.{l}"), H, A, s, c, C)  # H^l from H^{l-1}, s^{l-1}
        H = {"none": lambda q, h: h, "batch": batch_norm, "layer": layer_norm}[c.norm](within(p, f"norms.{l}"), H)
        H = relu(H) if c.activate else H
        features.append(H)
        saliency += [] if s is None else [s]
    last = (
        None if c.readout in ("sum", "gated") or M is None else memory(within(p, f"memory_layers.{c.layers}"), H, M, c)
    )
    parts = {"memory": [last], "sum": [H.sum(axis=0)], "all": [last, H.sum(axis=0), H.max(axis=0)]}
    if c.readout == "salient":
        uniform = np.full(g.nodes, 1 / g.nodes)
        s = uniform if c.saliency == "uniform" else node_saliency(within(p, "readout_saliency"), last, H)
        parts["salient"], saliency = [s @ H, s @ H * np.log(g.nodes)], [s]
    if c.readout == "gated":
        logits = [mlp(within(p, "gates.0.mlp"), np.concatenate([F[j] for F in features]))[0] for j in range(g.nodes)]
        gates = 1 / (1 + np.exp(-np.array(logits)))
        total = sum(gate * H[j] for j, gate in enumerate(gates))
        vector = batch_norm(within(p, "gates.0.norm"), np.concatenate([total / gates.sum(), total]))
        parts["gated"], saliency = [vector], [gates / gates.sum()]
    vector = np.concatenate(parts[c.readout])
    vector = vector if g.u is None else np.concatenate([vector, g.u])
    return Literal(vector, H, saliency, mlp(within(p, "head"), vector))


def within(p: Weights, part: str) -> Weights:
    """The weights of one part of the model, by their names inside it."""
    return {name.removeprefix(f"{part}."): value for name, value in p.items() if name.startswith(f"{part}.")}


def softmax(v: np.ndarray) -> np.ndarray:
    exponential = np.exp(v - v.max())  # the same ratio whatever is subtracted; without it exp overflows
    return exponential / exponential.sum()


def relu(v: np.ndarray) -> np.ndarray:
    return np.maximum(v, 0)


def mlp(p: Weights, v: np.ndarray) -> np.ndarray:
    """F_MLP: two fully connected layers with ReLU between them, the second of which is the last entry."""
    last = max(int(name.split(".")[0]) for name in p)
    return relu(v @ p["0.weight"].T + p["0.bias"]) @ p[f"{last}.weight"].T + p[f"{last}.bias"]


def attention(q: np.ndarray, K: np.ndarray, V: np.ndarray, heads: int) -> np.ndarray:
    """softmax(q Kᵀ / √d) V, each head on its own columns."""
    d, out = len(q) // heads, []
    for h in range(heads):
        columns = slice(h * d, (h + 1) * d)
        out.append(softmax(q[columns] @ K[:, columns].T / sqrt(d)) @ V[:, columns])
    return np.concatenate(out)


def memory(p: Weights, H: np.ndarray, M: np.ndarray, c: SARConfig) -> np.ndarray:
    """M^l = M^{l-1} + F_M(H^{l-1}, M^{l-1}) (eq. memory), F_M applied k times; the residual joins adjacent layers."""
    if isinstance(c, AsPublishedConfig) and c.memory_block == "as-published":
        return published_memory(p, H, M, c)
    Wq, WK, WV = (p[f"{name}.weight"].T for name in ("query", "key", "value"))
    K, V = H @ WK, H @ WV
    read = M
    for _ in range(c.iterations):
        read = mlp(within(p, "mlp"), attention(read @ Wq, K, V, c.memory_heads))
    return M + read


def published_memory(p: Weights, H: np.ndarray, M: np.ndarray, c: SARConfig) -> np.ndarray:
    """The released code's block: post-norm Transformer decoder, residuals inside, layer norms without parameters."""
    Wq, WK, WV = p["shared.query.weight"].T, p["key.weight"].T, p["value.weight"].T
    for _ in range(c.iterations):
        read = attention(M @ Wq, H @ WK, H @ WV, c.memory_heads) @ p["shared.out.weight"].T + p["shared.out.bias"]
        M = standardise(M + read)
        M = standardise(M + mlp(within(p, "shared.feed_forward"), M))
    return M


def node_saliency(p: Weights, M: np.ndarray, H: np.ndarray) -> np.ndarray:
    """s^{l-1} = softmax(q_s K_sᵀ / √d_s) (eq. saliency)."""
    q, K = M @ p["query.weight"].T, H @ p["key.weight"].T
    return softmax(q @ K.T / sqrt(len(q)))


def fuse(a: np.ndarray, s: np.ndarray, A: np.ndarray, c: SARConfig) -> np.ndarray:
    """w_i(j) for all j ∈ {i} ∪ N(i) (eqs. regular1, regular2), and the released code's arithmetic."""
    w = np.zeros_like(a)
    for i in range(len(a)):
        j = np.flatnonzero(A[i])
        k = (1 + s[j]) ** c.gamma
        if c.normalize == "as-published":
            w[i, j] = a[i, j] + 2 * c.beta * s[j] if c.fusion == "weighted" else (a[i, j] + k) * k
            continue
        w[i, j] = a[i, j] + c.beta * s[j] if c.fusion == "weighted" else k * a[i, j]
        if c.normalize == "softmax":
            w[i, j] = softmax(w[i, j])
    return w


def edge_channels(p: Weights, g: Graph) -> np.ndarray:
    """c_ij = ReLU(W_e e_ij + W_x (x_i - x_j) + b) for every edge j -> i of two nodes, else 0: [P, N, N]."""
    C = np.zeros((len(p["bias"]), g.nodes, g.nodes))
    for j, i in g.edges:
        if i != j:
            edge = 0 if g.e is None else p["of_edges.weight"] @ g.e[i, j]
            nodes = p["of_nodes.weight"] @ (g.x[i] - g.x[j]) if "of_nodes.weight" in p else 0
            C[:, i, j] = relu(edge + nodes + p["bias"])
    return C


def weighted_sum(p: Weights, w: np.ndarray, Z: np.ndarray, C: np.ndarray | None) -> np.ndarray:
    """Σ_j w_ij z_j + Σ_p V_p [Σ_j w_ij c_ij^p A_p z_j ; Σ_j w_ij c_ij^p], message after message."""
    out = np.zeros_like(Z)
    for i, j in np.argwhere(w != 0):
        out[i] += w[i, j] * Z[j]
        if C is not None:
            V = np.split(p["edge_network.out.weight"], len(C), axis=1)
            A = np.split(p["edge_network.into.weight"], len(C), axis=0)
            out[i] += sum(w[i, j] * C[q, i, j] * V[q] @ np.append(A[q] @ Z[j], 1) for q in range(len(C)))
    return out


def backbone(
    p: Weights, H: np.ndarray, A: np.ndarray, s: np.ndarray | None, c: SARConfig, C: np.ndarray | None = None
) -> np.ndarray:
    """H^{l+1} of the four backbones; without saliency w = a."""

    def w(a: np.ndarray) -> np.ndarray:
        return a if s is None else fuse(a, s, A, c)

    degrees, bias = A.sum(axis=1), p.get("bias", 0.0)
    if c.backbone == "gcn":
        D = np.diag(degrees**-0.5)
        if H.shape[1] < len(p["theta.weight"]):  # with edge channels it matters which width is summed: the smaller
            return relu(weighted_sum(p, w(D @ A @ D), H, C) @ p["theta.weight"].T + bias)
        return relu(weighted_sum(p, w(D @ A @ D), H @ p["theta.weight"].T, C) + bias)
    if c.backbone == "gin":
        return mlp(within(p, "mlp"), weighted_sum(p, w(A + p["epsilon"] * np.eye(len(A))), H, C))
    if c.backbone == "sage":
        mean = weighted_sum(p, w(A), H, C) / degrees[:, None]
        return relu(mean @ p["theta.weight"].T + p.get("theta.bias", 0.0))
    d = p["theta.weight"].shape[0] // c.heads
    heads = []
    for h in range(c.heads):
        WH = H @ p["theta.weight"][h * d : (h + 1) * d].T
        vector = np.concatenate([p["attend_target"][h, :, 0], p["attend_source"][h, :, 0]])
        edge = None if C is None else np.tensordot(p["attend_edge.weight"][h], C, axes=1)
        heads.append(w(graph_attention(WH, vector, A, edge)) @ WH)
    return relu(np.concatenate(heads, axis=1) + bias)


def graph_attention(WH: np.ndarray, vector: np.ndarray, A: np.ndarray, edge: np.ndarray | None = None) -> np.ndarray:
    """GAT's a_i(j) = softmax_j(LeakyReLU(aᵀ[W h_i ‖ W h_j] + a_eᵀ c_ij)); ``edge[i, j]`` is a_eᵀ c_ij."""
    a, edge = np.zeros_like(A), np.zeros_like(A) if edge is None else edge
    for i in range(len(A)):
        j = np.flatnonzero(A[i])
        score = np.array([vector @ np.concatenate([WH[i], WH[n]]) + edge[i, n] for n in j])
        a[i, j] = softmax(np.where(score > 0, score, 0.2 * score))
    return a


def standardise(v: np.ndarray) -> np.ndarray:
    """Layer normalisation without parameters."""
    return (v - v.mean(axis=-1, keepdims=True)) / np.sqrt(v.var(axis=-1, keepdims=True) + 1e-5)


def layer_norm(p: Weights, H: np.ndarray) -> np.ndarray:
    return standardise(H) * p["weight"] + p["bias"]


def batch_norm(p: Weights, H: np.ndarray) -> np.ndarray:
    """With the running statistics, as at test time."""
    return (H - p["running_mean"]) / np.sqrt(p["running_variance"] + 1e-5) * p["weight"] + p["bias"]
