"""What the columns of an input are for, where their names do not say it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

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
    id: str | None = None
    """What to call each graph."""
    split: str | None = None
    """``train``, ``validation`` or ``test``."""
    weight: str | None = None
    """How much each graph counts in the loss."""
    group: str | None = None
    """Graphs of one group are in one part of a split."""
    assumed: frozenset[str] = frozenset()
    """The roles whose columns need not be there: they are not said by the user but known from the training file."""

    def __post_init__(self) -> None:
        if self.task is not None and self.task not in TASKS:
            raise InputError(f"task: got {self.task!r}, expected one of {', '.join(TASKS)}")
        labels = self.labels or ()
        if again := [name for name in labels if labels.count(name) > 1]:
            raise InputError(f"labels: got {again[0]!r} twice, expected every column once")
        if self.task == "classification" and len(labels) > 1:
            raise InputError(f"labels: got {len(labels)} columns, expected one for classification: {', '.join(labels)}")
        for role in ("smiles", "id", "split", "weight", "group"):
            if (name := getattr(self, role)) in labels:
                raise InputError(f"labels: got {name!r}, which is the column of the {role}, expected another")

    def names(self, *roles: str) -> Iterator[tuple[str, str]]:
        """Each of the ``roles`` that has columns, with each of its columns."""
        for role in roles:
            value = getattr(self, role) or ()
            yield from ((role, name) for name in ((value,) if isinstance(value, str) else value))

    def or_else(self, known: Roles) -> Roles:
        """These, and where they do not say, what is ``known`` from another input; its columns need not be here.

        >>> Roles(id="name").or_else(Roles(labels=("toxic",), id="key"))
        Roles(labels=('toxic',), ..., id='name', ..., assumed=frozenset({'labels'}))
        """
        own = {role: getattr(self, role) for role in ROLES}
        roles = {role for role in ROLES if own[role] is None and getattr(known, role) is not None}
        if self.labels is not None and set(self.labels) != set(known.labels or ()):
            roles.discard("task")
        roles -= {role for role, name in known.names(*ROLES) if name in (self.labels or ())}
        return Roles(**own | {role: getattr(known, role) for role in roles}, assumed=frozenset(roles))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON that :meth:`from_json` reads back."""
        found = {role: getattr(self, role) for role in ROLES if getattr(self, role)}
        return {role: list(value) if isinstance(value, tuple) else value for role, value in found.items()}

    @classmethod
    def from_json(cls, content: Any) -> Roles:
        """The roles that :meth:`to_json` wrote; an :class:`InputError` when they are none."""
        valid = isinstance(content, dict) and content.keys() <= set(ROLES)
        labels = content.get("labels", []) if valid else None
        texts = [value for role, value in content.items() if role != "labels"] if valid else [None]
        if not isinstance(labels, list) or not all(isinstance(text, str) for text in [*labels, *texts]):
            raise InputError(f"roles: got {content!r}, expected names of columns by {', '.join(ROLES)}")
        return cls(**{**content, **({"labels": tuple(labels)} if "labels" in content else {})})


ROLES = tuple(field.name for field in fields(Roles) if field.name != "assumed")

USUAL = Roles()
"""Nothing is named."""
