"""What classifier and regressor share: arguments, training, vectors, explanations, saving."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sargnn.console import show_epochs
from sargnn.data.graphs import GraphSet
from sargnn.data.splits import holdout
from sargnn.errors import InputError
from sargnn.estimator.inputs import graphs_of
from sargnn.files import write_file, write_folder
from sargnn.reading import parse_json, read_text
from sargnn.tasks import Task
from sargnn.tasks.calibration import Calibration
from sargnn.training import model_folder
from sargnn.training.calibration import load_calibration
from sargnn.training.hardware import find_device
from sargnn.training.run import REPORT, TrainingRun, save_run
from sargnn.training.settings import DEFAULT_MODEL, Settings
from sargnn.training.trained_model import Prediction, TrainedModel
from sargnn.training.trust import FILE as TRUST
from sargnn.training.trust import TrustReference, load_trust

__all__ = ["GraphEstimator"]

Own = TypeVar("Own", bound="GraphEstimator")

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


class GraphEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of :class:`GraphClassifier` and :class:`GraphRegressor`, which say what the arguments are."""

    kinds: ClassVar[tuple[str, ...]]
    """The kinds of task that it learns."""

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        hidden: int | None = None,
        layers: int | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        validation_fraction: float = 0.1,
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
        self.validation_fraction = validation_fraction
        self.settings = settings
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _train(self, graphs: GraphSet, task: Task) -> None:
        """Fit the model of the arguments to the targets of ``graphs``."""
        settings = self._chosen_settings()
        strata, seed = task.strata(task.targets(graphs)), settings.training.seed
        fold = holdout(graphs, seed=seed, validation=self.validation_fraction, test=0.0, strata=strata)
        run = TrainingRun.start(graphs, settings, fold=fold, device=find_device(self.device), task=task)
        for _ in show_epochs(run, settings.training.epochs) if self.verbose else run:
            pass
        self._run: TrainingRun | None = run.finish()
        self._take(run.trained, run.record("finished"), run.calibration)
        self._n_features_out = self.transform(graphs.subset([0])).shape[1]

    def _take(self, trained: TrainedModel, record: dict[str, Any], calibration: Calibration | None) -> None:
        """What was learned, from a run or from its folder."""
        self.trained_, self.calibration_, self._record = trained, calibration, record
        self.history_, self.best_epoch_ = record["history"], record["best_epoch"]
        self.n_iter_ = len(self.history_)

    def _predicted(self, X: Any) -> Prediction:
        check_is_fitted(self)
        return self.trained_.predict(graphs_of(X))

    def transform(self, X: Any) -> np.ndarray:
        """float32 ``[graphs, features]``: the vector of each graph that the last layers make the prediction of."""
        check_is_fitted(self)
        return self.trained_.vectors(graphs_of(X))

    def explain(self, X: Any) -> list[np.ndarray]:
        """The saliency of each node: for every graph float64 ``[nodes]`` that sums to 1.

        The mean over the layers of the saliency that the model itself used, one map for all classes and targets;
        ``trained_.predict`` has each layer's.
        """
        graphs = graphs_of(X)
        saliency = self._predicted(graphs).mean_saliency
        if saliency is None:
            raise InputError(f"model: got {self.model!r}, which has no saliency, expected one such as sar-gcn")
        return np.split(saliency, graphs.node_ptr[1:-1])

    def effects(self, X: Any) -> list[np.ndarray]:
        """How much each node raises each output, found by removing it: for every graph float64 ``[nodes, outputs]``.

        The log-odds of each class or target, or the numbers of a regressor in their own unit; any model has effects.
        """
        check_is_fitted(self)
        graphs = graphs_of(X)
        return np.split(self.trained_.effects(graphs), graphs.node_ptr[1:-1])

    def save(self, folder: PathLike[str] | str) -> None:
        """Write a new model folder, as ``sargnn predict``, ``sargnn explain`` and the other commands read it."""
        check_is_fitted(self)
        folder = Path(folder)
        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            raise InputError(f"{folder}: got something that exists, expected a new folder")
        words = {"format": FORMAT, "parameters": self._parameters(), **self._words(), "vector": self._n_features_out}
        with write_folder(folder) as temporary:
            save_run(temporary, self.trained_, self._record, self.calibration_, self._report(), self._reference())
            write_file(temporary / FILE, json.dumps(words, indent=1) + "\n")

    @classmethod
    def load(cls: type[Own], folder: PathLike[str] | str, *, model: str | None = None) -> Own:
        """The estimator of a folder written by :meth:`save`; ``model`` as in :func:`sargnn.load_model`."""
        folder = Path(folder)
        trained, record = model_folder.load_model(folder, model=model), model_folder.read_training(folder)
        if (kind := trained.task.kind) not in cls.kinds:
            raise InputError(f"{folder}: got a model of {kind}, expected {' or '.join(cls.kinds)} for {cls.__name__}")
        try:
            words = parse_json(read_text(folder / FILE))
            made = cls(**words["parameters"])
            made._read_words(words, trained.task)
            made._n_features_out = int(words["vector"])
            made._run, made._page = None, read_text(folder / REPORT)
            made._trust = load_trust(folder, trained) if (folder / TRUST).exists() else None
        except InputError as error:
            raise InputError(f"{folder / FILE}: {error}") from error
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{folder / FILE}: got {error!r}, expected a file of {cls.__name__}.save") from error
        held_out = load_calibration(folder, trained.task) if record["split"]["validation"] else None
        made._take(trained, record, held_out)
        return made

    @abstractmethod
    def _words(self) -> dict[str, Any]:
        """What a model folder alone does not know of the estimator, beside its arguments."""

    @abstractmethod
    def _read_words(self, words: Mapping[str, Any], task: Task) -> None:
        """Read :meth:`_words` back; ``task`` is that of the model."""

    def _parameters(self) -> dict[str, Any]:
        """The arguments as JSON: a generator is not a fact about the model; its seed is in config.json."""
        seed = self.random_state if isinstance(self.random_state, Integral | None) else None
        return {**self.get_params(deep=False), "random_state": seed}

    def __getstate__(self) -> dict[str, Any]:
        """Without the training graphs: their report is enough to save the estimator later."""
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
        tags.target_tags.required = False  # the truth may come with the graphs
        tags.target_tags.multi_output = True
        tags.transformer_tags.preserves_dtype = []  # graphs have no type that vectors could keep
        return tags

    def _chosen_settings(self, **more: Any) -> Settings:
        """The settings of the model, with the arguments that are given and ``more``, and then ``settings`` on top."""
        values = {key: getattr(self, name) for name, key in SHORT.items() if getattr(self, name) is not None} | more
        given = self.random_state
        seed = int(given) if isinstance(given, Integral) else check_random_state(given).randint(2**31 - 1)
        for key in values.keys() & (self.settings or {}).keys():
            raise InputError(f"settings: got {key!r} beside the argument that stands for it, expected one of the two")
        return Settings.of(self.model, {"training.seed": seed, **values, **(self.settings or {})})

    def _held_out(self) -> Any:
        """The calibration, of the kind that the task has."""
        check_is_fitted(self)
        if self.calibration_ is None:
            raise InputError("validation_fraction: got no graphs to calibrate on, expected a fraction above 0")
        return self.calibration_
