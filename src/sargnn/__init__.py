"""sargnn: graph classification that shows which nodes decided.

>>> import sargnn
>>> graphs = sargnn.load("MUTAG")  # doctest: +SKIP
>>> run = sargnn.train(graphs)  # doctest: +SKIP
>>> run.scores["test"]["accuracy"]  # doctest: +SKIP
0.8888888888888888
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sargnn.batching import PackedBatch as PackedBatch
    from sargnn.batching import PaddedBatch as PaddedBatch
    from sargnn.batching.tensor_set import TensorSet as TensorSet
    from sargnn.data.features.encoder import Encoder as Encoder
    from sargnn.data.features.encodings import DataConfig as DataConfig
    from sargnn.data.graphs import GraphSet as GraphSet
    from sargnn.data.graphs import pack as pack
    from sargnn.data.known_truth import ba_2motifs as ba_2motifs
    from sargnn.data.known_truth import spurious_motif as spurious_motif
    from sargnn.data.sources import load as load
    from sargnn.data.splits import Fold as Fold
    from sargnn.data.splits import holdout as holdout
    from sargnn.data.splits import official as official
    from sargnn.data.splits import read_splits as read_splits
    from sargnn.data.splits import stratified_folds as stratified_folds
    from sargnn.data.splits import write_splits as write_splits
    from sargnn.data.synthetic import colors as colors
    from sargnn.data.synthetic import motifs as motifs
    from sargnn.data.synthetic import triangles as triangles
    from sargnn.errors import InputError as InputError
    from sargnn.estimator import GraphClassifier as GraphClassifier
    from sargnn.estimator import GraphRegressor as GraphRegressor
    from sargnn.nn.model import SARGNN as SARGNN
    from sargnn.nn.model import ModelConfig as ModelConfig
    from sargnn.training.loop import TrainingConfig as TrainingConfig
    from sargnn.training.model_folder import load_model as load_model
    from sargnn.training.run import TrainingRun as TrainingRun
    from sargnn.training.run import train as train
    from sargnn.training.settings import Settings as Settings
    from sargnn.training.trained_model import Prediction as Prediction
    from sargnn.training.trained_model import TrainedModel as TrainedModel
    from sargnn.training.trust import Trust as Trust
    from sargnn.training.trust import TrustReference as TrustReference
    from sargnn.training.trust import load_trust as load_trust


__version__ = "0.1.0"

_HOME = {
    "sargnn.batching": ("PackedBatch", "PaddedBatch"),
    "sargnn.batching.tensor_set": ("TensorSet",),
    "sargnn.data.features.encoder": ("Encoder",),
    "sargnn.data.features.encodings": ("DataConfig",),
    "sargnn.data.graphs": ("GraphSet", "pack"),
    "sargnn.data.known_truth": ("ba_2motifs", "spurious_motif"),
    "sargnn.data.sources": ("load",),
    "sargnn.data.splits": ("Fold", "holdout", "official", "read_splits", "stratified_folds", "write_splits"),
    "sargnn.data.synthetic": ("colors", "motifs", "triangles"),
    "sargnn.errors": ("InputError",),
    "sargnn.estimator": ("GraphClassifier", "GraphRegressor"),
    "sargnn.nn.model": ("SARGNN", "ModelConfig"),
    "sargnn.training.loop": ("TrainingConfig",),
    "sargnn.training.model_folder": ("load_model",),
    "sargnn.training.run": ("TrainingRun", "train"),
    "sargnn.training.settings": ("Settings",),
    "sargnn.training.trained_model": ("Prediction", "TrainedModel"),
    "sargnn.training.trust": ("Trust", "TrustReference", "load_trust"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: importing the package itself does no work."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'sargnn' has no attribute '{name}'")
    return getattr(importlib.import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
