"""What the columns of an input are for, where their names do not say it."""

from __future__ import annotations

from dataclasses import dataclass

from sargnn.errors import InputError

__all__ = ["TASKS", "USUAL", "Roles"]

TASKS = ("classification", "multilabel", "regression")
"""What can be predicted: one class, several binary targets with gaps, or measured numbers."""


@dataclass(frozen=True)
class Roles:
    """Columns of a table, or attributes of graphs, by what they are for; without a name, the usual ones are looked for.

    >>> Roles(labels=("NR-AR", "SR-p53"), task="multilabel").labels
    ('NR-AR', 'SR-p53')
    """

    labels: tuple[str, ...] | None = None
    """What is to be predicted, in one column or several; ``()`` looks for nothing."""
    task: str | None = None
    """One of :data:`TASKS`; by default seen from the labels."""
    smiles: str | None = None
    """The molecules."""

    def __post_init__(self) -> None:
        if self.task is not None and self.task not in TASKS:
            raise InputError(f"task: got {self.task!r}, expected one of {', '.join(TASKS)}")
        labels = self.labels or ()
        if again := [name for name in labels if labels.count(name) > 1]:
            raise InputError(f"labels: got {again[0]!r} twice, expected every column once")
        if self.task == "classification" and len(labels) > 1:
            raise InputError(f"labels: got {len(labels)} columns, expected one for classification: {', '.join(labels)}")
        if self.smiles is not None and self.smiles in labels:
            raise InputError(f"labels: got {self.smiles!r}, which is the column of the SMILES, expected another")


USUAL = Roles()
"""Nothing is named."""
