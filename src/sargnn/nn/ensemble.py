"""An ensemble: models of one config, each with its own initialisation, whose predictions are averaged."""

from __future__ import annotations

from collections.abc import Iterable
from math import log
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from sargnn.batching import Batch
from sargnn.nn.graph_model import Encoding, GraphModel, Link

__all__ = ["Ensemble", "vote"]


class Ensemble(GraphModel):
    r"""M members and the mean of their probabilities, or of the numbers that they predict (see :func:`vote`).

    .. math::
        p(y \mid G) = \frac{1}{M} \sum_m p_m(y \mid G), \qquad s = \frac{1}{M} \sum_m s_m

    A graph's vector concatenates those of all members. Each member learns by its own loss, as if it were alone; they
    share the order of the graphs and the epoch at which training stops. The saliency is the members' mean per layer:
    what a single initialisation finds by chance counts for little.

    >>> from sargnn.nn.model import SARGNN, ModelConfig
    >>> three = Ensemble(SARGNN(ModelConfig(layers=2, hidden=16), inputs=4, classes=2) for _ in range(3)).eval()
    >>> logits = three(torch.randn(5, 4), torch.tensor([[0, 1], [1, 0]]))
    >>> round(logits.exp().sum().item(), 4)  # they are logarithms of probabilities
    1.0
    """

    layouts = ("compressed", "packed", "padded")

    def __init__(self, members: Iterable[GraphModel]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def ensemble_members(self) -> list[GraphModel]:
        return cast("list[GraphModel]", list(self.members))

    def encode(self, batch: Batch) -> Encoding:
        """Concatenated graph vectors and node features of all members, their mean saliency and their mean loss."""
        own = [member.encode(batch) for member in self.ensemble_members()]
        saliency = zip(*(encoding.saliency for encoding in own), strict=True)
        losses = [encoding.loss for encoding in own if encoding.loss is not None]
        return Encoding(
            torch.cat([encoding.graph for encoding in own], dim=-1),
            torch.cat([encoding.nodes for encoding in own], dim=-1),
            tuple(torch.stack(layer).mean(0) for layer in saliency),
            torch.stack(losses).mean() if losses else None,
        )

    def head(self, vectors: Float[Tensor, "B Md"]) -> Float[Tensor, "*members B outputs"]:
        """In training the outputs of each member, otherwise their vote."""
        outputs = self.member_outputs(vectors)
        return outputs if self.training else vote(outputs, self.link)

    def member_outputs(self, vectors: Float[Tensor, "B Md"]) -> Float[Tensor, "M B outputs"]:
        own = zip(self.ensemble_members(), vectors.chunk(len(self.members), dim=-1), strict=True)
        return torch.stack([member.head(vector) for member, vector in own])

    def parameter_blocks(self) -> list[list[nn.Parameter]]:
        every = zip(*(member.parameter_blocks() for member in self.ensemble_members()), strict=True)
        return [[p for block in blocks for p in block] for blocks in every]

    def backbone_parts(self) -> list[nn.Module]:
        return [part for member in self.ensemble_members() for part in member.backbone_parts()]

    def memory_parameters(self) -> list[nn.Parameter]:
        return [p for member in self.ensemble_members() for p in member.memory_parameters()]

    @property
    def saliency_per_output(self) -> bool:
        return all(member.saliency_per_output for member in self.ensemble_members())

    @property
    def draws_in_eval(self) -> bool:
        return any(member.draws_in_eval for member in self.ensemble_members())


def vote(outputs: Float[Tensor, "M B outputs"], link: Link = "softmax") -> Float[Tensor, "B outputs"]:
    """The outputs that stand for the mean of what M members predict; of a single one, its outputs as they are.

    By the link, they are averaged as probabilities of one class (``softmax``: the logarithms of the means), as
    probabilities each of its own (``sigmoid``: the log-odds of the means), or as numbers (``identity``).

    >>> two = torch.tensor([[[0.0, 2.0]], [[0.0, 4.0]]])
    >>> vote(two, "identity").tolist()
    [[0.0, 3.0]]
    """
    if len(outputs) == 1:
        return outputs[0]
    if link == "softmax":
        return outputs.log_softmax(-1).logsumexp(0) - log(len(outputs))
    if link == "sigmoid":
        return F.logsigmoid(outputs).logsumexp(0) - F.logsigmoid(-outputs).logsumexp(0)
    return outputs.mean(0)
