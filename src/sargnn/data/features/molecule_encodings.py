"""Inputs of whole molecules, computed by RDKit from SMILES (extra: ``chem``).

===============  ==========================================================================================
``descriptors``  RDKit's descriptors: weight, polarity, charges, counts of fragments, about 200 numbers
``morgan``       how often each circular substructure of up to two bonds occurs, hashed to 1024 columns
===============  ==========================================================================================

Descriptors have heavy tails: one reaches 1e24 in ordinary molecules. So each is read as x -> asinh(x), which is x near
0 and grows as a logarithm, and then standardised on the training graphs. Counts are divided by their deviation and not
centred: a substructure that is not there stays 0. Both are clipped at :data:`FARTHEST` deviations. A descriptor that
RDKit cannot compute for a molecule, as charges beside a metal, is read as the mean of the training graphs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sargnn.data.descriptors import descriptor_names, descriptors, morgan_counts, smiles_of
from sargnn.data.features.base import Encoding, check_columns, check_number
from sargnn.data.features.standardisation import moments, over_deviation
from sargnn.data.graphs import GraphSet
from sargnn.data.set_chunks import SetChunks
from sargnn.errors import InputError

__all__ = ["Descriptors", "Morgan"]

FARTHEST = 5.0
"""Deviations up to which a value is read: a new molecule far from all others must not outweigh what the graph says."""
MORGAN_RADIUS, MORGAN_COLUMNS = 2, 1024
READER = "data.graph_encodings are"


@dataclass(frozen=True)
class Descriptors(Encoding):
    """asinh of RDKit's descriptors, each less its mean over its deviation on the training graphs."""

    names: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    of = "graph"

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.mean) == len(self.std) or not self.names:
            counts = f"{len(self.names)} names, {len(self.mean)} means and {len(self.std)} deviations"
            raise InputError(f"got {counts}, expected as many of each")
        check_number("std", min(self.std), 0)

    @classmethod
    def fit(cls, config: object, training: SetChunks) -> Descriptors:
        # Of the whole set, of which they are kept: every fold reads what the first has computed, and so does encode.
        smiles = smiles_of(training.graphs, READER)
        chosen = np.sort(np.concatenate(training.indices))
        return cls(descriptor_names(), *moments([np.arcsinh(descriptors(smiles)[chosen])]))

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.names

    def encode(self, graphs: GraphSet) -> np.ndarray:
        values = np.arcsinh(descriptors(smiles_of(graphs, READER))[:, self._columns()])
        scaled = np.clip(over_deviation(values - self.mean, self.std), -FARTHEST, FARTHEST)
        return np.asarray(np.nan_to_num(scaled))

    def _columns(self) -> list[int]:
        """Where the names are among those of this version of RDKit."""
        column = {name: i for i, name in enumerate(descriptor_names())}
        if unknown := [name for name in self.names if name not in column]:
            raise InputError(f"got an RDKit without {unknown[0]}, expected one that computes it, as in training")
        return [column[name] for name in self.names]


@dataclass(frozen=True)
class Morgan(Encoding):
    """Counts of circular substructures, each over its deviation on the training graphs."""

    radius: int
    std: tuple[float, ...]
    of = "graph"

    def __post_init__(self) -> None:
        check_number("radius", self.radius, 0, 16)
        check_number("columns", len(self.std), 1)
        check_columns("columns", len(self.std))
        check_number("std", min(self.std), 0)

    @classmethod
    def fit(cls, config: object, training: SetChunks) -> Morgan:
        counts = (morgan_counts(smiles_of(graphs, READER), MORGAN_RADIUS, MORGAN_COLUMNS) for graphs in training)
        return cls(MORGAN_RADIUS, moments(counts)[1])

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"substructure {i}" for i in range(len(self.std)))

    def encode(self, graphs: GraphSet) -> np.ndarray:
        counts = morgan_counts(smiles_of(graphs, READER), self.radius, len(self.std))
        return np.asarray(np.minimum(over_deviation(counts, self.std), FARTHEST))
