"""GraphClassifier: a model behind scikit-learn's contract, for graphs instead of tables of numbers.

It works inside ``GridSearchCV``, ``cross_val_score``, ``Pipeline`` and ``CalibratedClassifierCV``, which pick graphs
out of a list, an object array or a :class:`GraphSet`.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import chain
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sargnn.console import show_epochs
from sargnn.data.graphs import EDGE_ARRAYS, GRAPH_ARRAYS, NODE_ARRAYS, GraphSet
from sargnn.data.relabel import require_every_class
from sargnn.data.sources import load
from sargnn.data.splits import holdout
from sargnn.errors import InputError
from sargnn.files import write_file, write_folder
from sargnn.tasks.calibration import Calibration
from sargnn.training import model_folder
from sargnn.training.calibration import load_calibration
from sargnn.training.hardware import find_device
from sargnn.training.run import REPORT, TrainingRun, save_run
from sargnn.training.settings import DEFAULT_MODEL, Settings
from sargnn.training.trained_model import TrainedModel
from sargnn.training.trust import FILE as TRUST
from sargnn.training.trust import TrustReference, load_trust

__all__ = ["GraphClassifier"]

FORMAT = "sargnn.estimator/1"
FILE = "estimator.json"

SHORT = {
    "hidden": "model.hidden",
    "layers": "model.layers",
    "epochs": "training.epochs",
    "batch_size": "training.batch_size",
    "learning_rate": "training.learning_rate",
}
"""The settings that constructor arguments stand for; none: the model's default."""

VOCABULARIES = ("classes", "node_label_names", "edge_label_names")


class GraphClassifier(ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Classify graphs, in scikit-learn's way.

    ``X`` is whatever :func:`sargnn.load` takes: a :class:`GraphSet`, a list or object array of NetworkX graphs or
    PyTorch Geometric ``Data``, one of these, a path, a known name; or a list of single graphs of one ``GraphSet``,
    which is what scikit-learn's splitters make of it.

    Args:
        model: a name that ``sargnn train --model`` knows.
        hidden: features per node after each layer; none, here and below: the model's own default.
        layers: layers of the model.
        epochs: passes over the training graphs at most.
        batch_size: graphs in one step; the default model's follows from the number of graphs.
        learning_rate: of Adam.
        class_weight: ``"balanced"`` lets a class count in inverse proportion to its graphs.
        validation_fraction: fraction of the graphs held out to calibrate on and, unless the model keeps its last
            epoch as ``sargnn-plus`` does, to choose the best epoch and to stop early; with 0 the training graphs choose
            the epoch, and nothing can be calibrated.
        calibrated: whether :meth:`predict_proba` divides the logits by the temperature found on the held-out graphs.
        settings: any other setting by the name that ``--set`` gives it, as in ``{"model.fusion": "scaling"}``.
        device: ``"cpu"``, ``"cuda"``, ``"cuda:N"`` or ``"auto"``.
        random_state: seed of the weights, the held-out graphs and the order of graphs.
        verbose: 1 shows the progress of training on standard error.

    Attributes:
        classes_: the classes, sorted, as they came in ``y``; texts where they came with the graphs.
        trained_: the model with its encoder and settings, a :class:`TrainedModel`.
        calibration_: temperature and conformal scores of the held-out graphs; none without such graphs.
        history_: one dictionary per epoch: losses, validation accuracy, learning rate, seconds.
        n_iter_: number of epochs trained; the weights are those of ``best_epoch_``.

    >>> import networkx as nx
    >>> graphs = [nx.cycle_graph(n) for n in range(3, 13)] + [nx.path_graph(n) for n in range(3, 13)]
    >>> shapes = ["ring"] * 10 + ["path"] * 10
    >>> classifier = GraphClassifier(hidden=16, epochs=20, learning_rate=0.01, random_state=0).fit(graphs, shapes)
    >>> classifier.predict([nx.cycle_graph(20), nx.path_graph(20)]).tolist()
    ['ring', 'path']
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        hidden: int | None = None,
        layers: int | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        class_weight: Literal["balanced"] | None = None,
        validation_fraction: float = 0.1,
        calibrated: bool = False,
        settings: dict[str, Any] | None = None,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.hidden = hidden
        self.layers = layers
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.calibrated = calibrated
        self.settings = settings
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> GraphClassifier:
        """Train on the graphs ``X`` of the classes ``y``; without ``y``, of the classes that come with the graphs."""
        graphs = _graphs(X, labelled=None if y is None else False)
        if y is not None:  # before NumPy makes a text of a NaN among texts
            require_every_class(np.asarray(y, dtype=object).ravel(), "y")
        labels = _names(graphs) if y is None else column_or_1d(y, warn=True)
        check_classification_targets(labels)
        check_consistent_length(range(len(graphs)), labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"y: got one class only, {str(self.classes_[0])!r}, expected two or more")
        classes = tuple(map(str, self.classes_))
        graphs = replace(graphs, y=codes.astype(np.int64), classes=classes, class_titles=(), part=None)
        settings = self._chosen_settings()
        fold = holdout(graphs, seed=settings.training.seed, validation=self.validation_fraction, test=0.0)
        run = TrainingRun.start(graphs, settings, fold=fold, device=find_device(self.device))
        for _ in show_epochs(run, settings.training.epochs) if self.verbose else run:
            pass
        self._run: TrainingRun | None = run.finish()
        self._take(run.trained, run.record("finished"), run.calibration)
        self._n_features_out = self.transform(graphs.subset([0])).shape[1]
        return self

    def _take(self, trained: TrainedModel, record: dict[str, Any], calibration: Calibration | None) -> None:
        """What was learned, from a run or from its folder."""
        self.trained_, self.calibration_, self._record = trained, calibration, record
        self.history_, self.best_epoch_ = record["history"], record["best_epoch"]
        self.n_iter_ = len(self.history_)

    def predict(self, X: Any) -> np.ndarray:
        """``[graphs]``: the most probable class of each graph, in the type of ``classes_``."""
        most = self._probabilities(X).argmax(axis=1)
        return np.asarray(self.classes_[most])

    def predict_proba(self, X: Any) -> np.ndarray:
        """float64 ``[graphs, classes]``: the probability of every class, in the order of ``classes_``."""
        found = self._probabilities(X)
        return self._held_out().apply(found) if self.calibrated else found

    def predict_set(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """bool ``[graphs, classes]``: sets of classes, each of which holds the true one with probability ``coverage``.

        Split conformal prediction on the graphs that ``fit`` held out (:class:`ClassCalibration`); no set is empty.
        """
        return self._held_out().regions(self._probabilities(X), coverage)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy; without ``y``, by the classes that come with the graphs."""
        check_is_fitted(self)
        graphs = _graphs(X)
        y = self.classes_[self.trained_.task.targets(graphs)] if y is None else y
        return float(super().score(graphs, y, sample_weight))

    def transform(self, X: Any) -> np.ndarray:
        """float32 ``[graphs, features]``: the vector of each graph that the last layers classify."""
        check_is_fitted(self)
        return self.trained_.vectors(_graphs(X))

    def explain(self, X: Any) -> list[np.ndarray]:
        """The saliency of each node: for every graph float64 ``[nodes]`` that sums to 1.

        The mean over the layers of the saliency that the model itself used; ``trained_.predict`` has each layer's.
        """
        check_is_fitted(self)
        graphs = _graphs(X)
        saliency = self.trained_.predict(graphs).mean_saliency
        if saliency is None:
            raise InputError(f"model: got {self.model!r}, which has no saliency, expected one such as sar-gcn")
        return np.split(saliency, graphs.node_ptr[1:-1])

    def save(self, folder: PathLike[str] | str) -> None:
        """Write a new model folder, as ``sargnn predict``, ``sargnn explain`` and the other commands read it."""
        check_is_fitted(self)
        folder = Path(folder)
        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            raise InputError(f"{folder}: got something that exists, expected a new folder")
        with write_folder(folder) as temporary:
            save_run(temporary, self.trained_, self._record, self.calibration_, self._report(), self._reference())
            write_file(temporary / FILE, json.dumps(self._words(), indent=1) + "\n")

    @classmethod
    def load(cls, folder: PathLike[str] | str, *, model: str | None = None) -> GraphClassifier:
        """The classifier of a folder written by :meth:`save`; ``model`` as in :func:`sargnn.load_model`."""
        folder = Path(folder)
        trained, record = model_folder.load_model(folder, model=model), model_folder.read_training(folder)
        try:
            words = json.loads((folder / FILE).read_text())
            classifier = cls(**words["parameters"])
            classifier.classes_ = np.array(words["classes"], dtype=_plain_type(words["type"]))
            classifier._n_features_out = int(words["vector"])
            classifier._run, classifier._page = None, (folder / REPORT).read_text()
            classifier._trust = load_trust(folder, trained) if (folder / TRUST).exists() else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{folder / FILE}: got {error!r}, expected a file of GraphClassifier.save") from error
        if tuple(map(str, classifier.classes_)) != trained.classes:
            raise InputError(f"{folder / FILE}: got other classes than those of the model, expected the same")
        held_out = load_calibration(folder, trained.task) if record["split"]["validation"] else None
        classifier._take(trained, record, held_out)
        return classifier

    def __getstate__(self) -> dict[str, Any]:
        """Without the training graphs: their report is enough to save the classifier later."""
        state = dict(super().__getstate__())
        if not state.get("_run"):
            return state
        return {**state, "_run": None, "_page": self._report(), "_trust": self._reference()}

    def _report(self) -> str:
        """The page of the training."""
        return self._page if self._run is None else self._run.page

    def _reference(self) -> TrustReference | None:
        """What new graphs are compared with; none of a folder of an earlier version."""
        return self._trust if self._run is None else self._run.trust_reference

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False  # the classes may come with the graphs
        tags.transformer_tags.preserves_dtype = []  # graphs have no type that vectors could keep
        return tags

    def _chosen_settings(self) -> Settings:
        """The settings of the model, with the arguments that are given and then ``settings`` on top."""
        if self.class_weight not in (None, "balanced"):
            raise InputError(f"class_weight: got {self.class_weight!r}, expected 'balanced' or None")
        values = {key: getattr(self, name) for name, key in SHORT.items() if getattr(self, name) is not None}
        values |= {"training.class_weights": "balanced"} if self.class_weight else {}
        given = self.random_state
        seed = int(given) if isinstance(given, Integral) else check_random_state(given).randint(2**31 - 1)
        for key in values.keys() & (self.settings or {}).keys():
            raise InputError(f"settings: got {key!r} beside the argument that stands for it, expected one of the two")
        return Settings.of(self.model, {"training.seed": seed, **values, **(self.settings or {})})

    def _probabilities(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.trained_.predict(_graphs(X)).probabilities

    def _held_out(self) -> Calibration:
        check_is_fitted(self)
        if self.calibration_ is None:
            raise InputError("validation_fraction: got no graphs to calibrate on, expected a fraction above 0")
        return self.calibration_

    def _words(self) -> dict[str, Any]:
        """What a model folder alone does not know of a classifier."""
        parameters = self.get_params(deep=False)
        if not isinstance(self.random_state, Integral | None):
            parameters["random_state"] = None  # a generator is not a fact about the model; its seed is in config.json
        return {
            "format": FORMAT, "parameters": parameters, "classes": self.classes_.tolist(),
            "type": self.classes_.dtype.str, "vector": self._n_features_out,
        }  # fmt: skip


def _plain_type(name: str) -> np.dtype[Any]:
    """The type of class names: truth values, numbers, texts or Python's own texts."""
    if not re.fullmatch(r"[<>|]([biuf]\d|U\d{1,4}|O)", name):
        raise ValueError(f"type {name!r}")
    return np.dtype(name)


def _graphs(X: Any, labelled: bool | None = False) -> GraphSet:
    """The graphs of ``X``, with their classes if all have one; ``labelled`` as in :func:`load`."""
    if isinstance(X, list | tuple | np.ndarray) and len(X) and all(isinstance(item, GraphSet) for item in X):
        return _joined(list(X))
    return load(X, labelled=labelled)


def _joined(sets: list[GraphSet]) -> GraphSet:
    """Sets that are parts of the same one, joined: their categories must have the same names."""
    first = sets[0]
    for position, other in enumerate(sets):
        for name in VOCABULARIES:
            if getattr(other, name) != getattr(first, name):
                raise InputError(f"X: got other {name} in item {position} than in item 0, expected graphs of one set")
    joined: dict[str, Any] = {}
    for name in (*NODE_ARRAYS, *EDGE_ARRAYS, *GRAPH_ARRAYS):
        parts = [getattr(item, name) for item in sets]
        joined[name] = None if any(part is None for part in parts) else np.concatenate(parts)
    for name in ("node_ptr", "edge_ptr"):
        counts = np.concatenate([np.diff(getattr(item, name)) for item in sets])
        joined[name] = np.concatenate([[0], np.cumsum(counts)])
    joined["edges"] = np.concatenate([item.edges for item in sets], axis=1)
    joined["graph_names"] = tuple(chain.from_iterable(item.graph_names for item in sets))
    return replace(first, **joined)


def _names(graphs: GraphSet) -> np.ndarray:
    """The class of each graph, as a text."""
    if graphs.y is None:
        raise InputError(f"{graphs.name}: got no classes, expected y, or graphs that come with their classes")
    return np.asarray(np.array(graphs.classes)[graphs.y])
