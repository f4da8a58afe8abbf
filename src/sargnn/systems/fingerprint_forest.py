r"""Fingerprint forest: a random forest on the circular substructures of molecules, the usual baseline of chemistry. It
does not see the graph: it shows what a model of graphs must be better than.

Reference: D. Rogers, M. Hahn, "Extended-Connectivity Fingerprints", Journal of Chemical Information and Modeling 2010;
L. Breiman, "Random Forests", 2001.

With the counts g of the substructures of up to two bonds around each atom, hashed to the columns of
``data.graph_encodings=morgan``,

.. math::
    x_k = [g_k > 0], \qquad p = \frac{1}{T} \sum_{t=1}^{T} p_{\text{leaf}_t(x)}, \qquad \text{logits} = \log p

where each of the T trees is grown by scikit-learn on a sample of the training molecules drawn with replacement.

Choices:

- Whether a substructure is there counts, not how often: this is ECFP4, with 1,024 columns.
- Of several targets, and of numbers, each has a forest of its own, grown on the molecules that have the target; the
  trees of numbers choose each split from a third of the columns.
- Forests are fitted in one epoch: of the training config only ``class_weights``, ``sampling`` and ``seed`` matter.
  Validation graphs decide nothing, so a cross-validation grows the final forest on them too.
- No node scores.
"""

from __future__ import annotations

from dataclasses import dataclass

from sargnn.batching import Batch
from sargnn.errors import InputError
from sargnn.nn.graph_model import Encoding
from sargnn.systems.forest import Forest, ForestConfig, ForestModel

__all__ = ["FingerprintForest", "FingerprintForestConfig"]


@dataclass(frozen=True)
class FingerprintForestConfig(ForestConfig):
    """Hyperparameters of the fingerprint forest."""


class FingerprintForest(ForestModel):
    """Which substructures a molecule has, and a forest on them.

    >>> model = FingerprintForest(FingerprintForestConfig(), inputs=4, classes=2, graph_inputs=1024)
    >>> model.head.width
    1024
    """

    optional_inputs = ("graph_inputs",)

    def __init__(self, config: FingerprintForestConfig, inputs: int, classes: int, graph_inputs: int = 0) -> None:
        if not graph_inputs:
            raise InputError("data.graph_encodings: got none, expected morgan, which fingerprint-forest classifies")
        super().__init__()
        self.config = config
        self.head = Forest(graph_inputs, classes)

    def encode(self, batch: Batch) -> Encoding:
        """The columns that are not 0 as graph vectors."""
        assert batch.graph_x is not None
        return Encoding((batch.graph_x > 0).to(batch.x.dtype), batch.x)
