"""``torch.compile`` for steps of many small products.

A library call for a product of matrices of at most 128 rows and columns takes a GPU 4 to 6 us, several times the
arithmetic, and cannot be fused. Written as products and sums, the compiler makes one kernel of it and of what follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx

__all__ = ["compiled", "write_out_small_products"]

LARGEST = 128
"""Rows and columns of matrices whose product is written out."""

aten = torch.ops.aten


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` compiled anew for each shape, with its small products on a GPU written out.

    The shapes of a step hardly ever change, and dynamic ones cannot be indexed in an ensemble (``vmap`` in ``vmap``).
    """
    return torch.compile(function, dynamic=False, options={"post_grad_custom_pre_pass": write_out_small_products})


def write_out_small_products(graph: fx.Graph) -> None:
    """Replace products of small matrices, also those with a summand, by products and sums."""
    for node in list(graph.nodes):
        if node.target not in (aten.mm.default, aten.addmm.default) or node.kwargs:
            continue
        *summand, left, right = node.args
        if not _small(left.meta["val"], right.meta["val"]):
            continue
        with graph.inserting_before(node):
            written = _written_out(graph, left, right)
            for each in summand:
                written = _call(graph, aten.add.Tensor, written, each)
        node.replace_all_uses_with(written)
        graph.erase_node(node)


def _small(left: Tensor, right: Tensor) -> bool:
    return left.is_cuda and max(*left.shape, right.shape[1]) <= LARGEST


def _written_out(graph: fx.Graph, left: fx.Node, right: fx.Node) -> fx.Node:
    """Σ_k left_ik right_kj. The factors are stored first, or each column or row would compute them again."""
    for factor in (left, right):
        factor.meta["inductor_realize_to_strides"] = True
    rows, columns = _call(graph, aten.unsqueeze.default, left, 2), _call(graph, aten.unsqueeze.default, right, 0)
    return _call(graph, aten.sum.dim_IntList, _call(graph, aten.mul.Tensor, rows, columns), [1])


def _call(graph: fx.Graph, operation: Any, *arguments: Any) -> fx.Node:
    """A new node, with the shape of its value."""
    node = graph.call_function(operation, arguments)
    node.meta["val"] = operation(*fx.map_arg(arguments, lambda argument: argument.meta["val"]))
    return node
