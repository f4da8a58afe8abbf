"""A batch of graphs in one of a few layouts, and the primitives that a model needs of it.

*Packed* concatenates the nodes of all graphs and lists the edges: right for any sizes. *Padded* gives every graph
``n`` rows and an ``n x n`` adjacency: faster for small graphs, and of fixed shape. *Compressed* is packed with the
edges in the order of their targets, summed by the C kernels of :mod:`sargnn.batching.kernels`: the fastest on a CPU
that has a C compiler. A model written against :class:`Batch` runs on all; :mod:`sargnn.batching.layouts` chooses.

Three kinds of tensors appear, all of which may have further leading dimensions (attention heads):

============  ==================  ===================
kind          packed, compressed  padded
============  ==================  ===================
graph         ``[B, d]``          ``[B, d]``
node          ``[N, d]``, ``[N]`` ``[B, n, d]``, ``[B, n]``
edge          ``[E]``             ``[B, n, n]`` (target, source), 0 where there is no edge
============  ==================  ===================

"Edges" are those of the *closed* neighbourhoods {i} ∪ N(i): every node has one self-loop, whatever the data had.
"""

from sargnn.batching.base import Batch
from sargnn.batching.compressed import CompressedBatch
from sargnn.batching.packed import FilledBatch, ListedBatch, PackedBatch
from sargnn.batching.padded import PaddedBatch

__all__ = ["Batch", "CompressedBatch", "FilledBatch", "ListedBatch", "PackedBatch", "PaddedBatch"]
