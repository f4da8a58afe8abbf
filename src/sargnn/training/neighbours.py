"""The nearest training graphs, in memory that does not grow with the number of pairs."""

from __future__ import annotations

import numpy as np

from sargnn.data.io.molecules import load_rdkit

__all__ = ["nearest_molecules", "nearest_vectors"]


def nearest_vectors(vectors: np.ndarray, known: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """float64 and int64 [G, count]: how far the nearest of the ``known`` vectors are, and which they are.

    >>> nearest_vectors(np.array([[0.0, 1.0]]), np.array([[3.0, 5.0], [0.0, 0.0]]), 2)
    (array([[1., 5.]]), array([[1, 0]]))
    """
    from sklearn.neighbors import NearestNeighbors

    found = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(known)  # compares block by block
    if not len(vectors):
        return np.empty((0, count)), np.empty((0, count), np.int64)
    distances, index = found.kneighbors(vectors)
    return np.asarray(distances, np.float64), np.asarray(index, np.int64)


def nearest_molecules(fingerprints: np.ndarray, known: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The same for uint8 ``fingerprints``, as :func:`sargnn.data.descriptors.fingerprints` gives them; a distance is 1
    less the Tanimoto similarity: bits of both over bits of either.

    >>> one, other = np.array([[0b1100]], np.uint8), np.array([[0b0110]], np.uint8)
    >>> nearest_molecules(one, other, 1)[0].round(3).tolist()
    [[0.667]]
    """
    load_rdkit()
    from rdkit.DataStructs import BulkTanimotoSimilarity, CreateFromFPSText

    bits = [CreateFromFPSText(row.tobytes().hex()) for row in known]
    distances, index = np.empty((len(fingerprints), count)), np.empty((len(fingerprints), count), np.int64)
    for g, row in enumerate(fingerprints):
        similarity = np.array(BulkTanimotoSimilarity(CreateFromFPSText(row.tobytes().hex()), bits))
        near = np.flatnonzero(similarity >= np.partition(similarity, -count)[-count])
        index[g] = near[np.argsort(-similarity[near], kind="stable")[:count]]
        distances[g] = 1 - similarity[index[g]]
    return distances, index
