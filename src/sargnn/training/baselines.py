"""What is reached without a model: the scores that a headline stands beside."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from sargnn.data.descriptors import fingerprints
from sargnn.data.graphs import GraphSet
from sargnn.tasks import Task
from sargnn.training.neighbours import nearest_molecules

__all__ = ["NEAREST", "baselines"]

NEAREST = "nearest neighbour"
"""The training molecule whose fingerprint (ECFP4, Tanimoto) is most alike; its targets are the prediction."""

Scores = dict[str, float | None]


def baselines(task: Task, graphs: GraphSet, train: np.ndarray, test: np.ndarray) -> dict[str, Scores]:
    """The scores on the test graphs of what needs no model, by its name: the same answer for every graph, from the
    targets of the training graphs; of molecules with RDKit, the targets of the nearest training molecule.

    >>> from sargnn.data.synthetic import motifs
    >>> from sargnn.tasks import task_of
    >>> graphs = motifs(20)
    >>> baselines(task_of(graphs), graphs, np.arange(10), np.arange(10, 20))["largest class"]["auroc"]
    0.5
    """
    targets = task.targets(graphs)
    guessed = task.guess(targets[train])
    if guessed is None or not len(train) or not len(test):
        return {}
    name, constant = guessed
    alike = np.broadcast_to(constant, (len(test), *constant.shape))
    found = {name: task.scores(targets[test], alike)}
    if graphs.smiles and find_spec("rdkit"):
        bits = fingerprints(graphs.smiles)
        _, nearest = nearest_molecules(bits[test], bits[train], 1)
        copied = task.copied(targets[train[nearest[:, 0]]])
        found[NEAREST] = task.scores(targets[test], np.where(np.isnan(copied), alike, copied))
    return found


def beside(scores: dict[str, Any], key: str) -> dict[str, float | None]:
    """One metric of each baseline in the scores of a part.

    >>> beside({"baselines": {"largest class": {"accuracy": 0.5, "auroc": 0.5}}}, "accuracy")
    {'largest class': 0.5}
    """
    return {name: found[key] for name, found in scores.get("baselines", {}).items()}
