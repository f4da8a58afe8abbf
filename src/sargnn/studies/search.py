"""Hyperparameter search with Optuna (extra: ``search``): a study on disk that continues where it stopped.

Every trial trains one model and is judged by its best epoch on the validation graphs; one that is worse than the median
of the earlier trials at the same epoch is pruned. Test graphs are never looked at. Several processes may work on one
study: each runs the same command.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from sargnn.data.graphs import GraphSet
from sargnn.data.splits import Fold, holdout, official
from sargnn.errors import Diverged, InputError
from sargnn.files import write_file
from sargnn.tasks import Task, task_of
from sargnn.training.monitor import check_monitor
from sargnn.training.progress import lower_is_better, monitored
from sargnn.training.run import TrainingRun
from sargnn.training.settings import Settings

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.trial import FrozenTrial

__all__ = ["SPACE", "Choice", "Range", "Search", "read_space"]

STUDY, BEST = "study.db", "best.json"
STARTUP_TRIALS, WARMUP_EPOCHS = 5, 5
"""Trials, and epochs of a trial, before any is pruned."""

SPACE = (
    "model.hidden=32,64,128",
    "model.layers=2..5",
    "model.dropout=0..0.5",
    "training.learning_rate=1e-4..1e-2:log",
    "training.batch_size=16,32,64,128",
)
"""The default space, as far as the model has such fields."""


class Choice(NamedTuple):
    """One of several values, which are texts as on the command line."""

    values: tuple[str, ...]

    def suggest(self, trial: Trial, name: str) -> Any:
        return trial.suggest_categorical(name, self.values)


class Range(NamedTuple):
    """A number from ``low`` to ``high``, both included; an integer if both are; on a logarithmic scale if ``log``."""

    low: int | float
    high: int | float
    log: bool = False

    def suggest(self, trial: Trial, name: str) -> Any:
        if isinstance(self.low, int) and isinstance(self.high, int):
            return trial.suggest_int(name, self.low, self.high, log=self.log)
        return trial.suggest_float(name, self.low, self.high, log=self.log)


Space = dict[str, Choice | Range]


def read_space(assignments: Sequence[str]) -> Space:
    """What to search, from ``key=a,b,c``, ``key=low..high`` or ``key=low..high:log``.

    >>> read_space(["model.fusion=weighted,scaling", "training.learning_rate=1e-4..0.01:log"])
    {'model.fusion': Choice(values=('weighted', 'scaling')),
     'training.learning_rate': Range(low=0.0001, high=0.01, log=True)}
    """
    space: Space = {}
    for assignment in assignments:
        key, _, text = (part.strip() for part in assignment.partition("="))
        values = tuple(value.strip() for value in text.split(","))
        if not key or not all(values):
            raise InputError(f"--space: got {assignment!r}, expected key=a,b,c, key=low..high or key=low..high:log")
        space[key] = _read_range(text, assignment) if ".." in text else Choice(values)
    return space


def _read_range(text: str, assignment: str) -> Range:
    numbers, _, scale = text.partition(":")
    try:
        low, high = (_number(end) for end in numbers.split(".."))
    except ValueError as error:
        raise InputError(f"--space: got {assignment!r}, expected two numbers as in key=1e-4..1e-2:log") from error
    if scale not in ("", "log"):
        raise InputError(f"--space: got scale {scale!r} in {assignment!r}, expected log or none")
    if not low < high or (scale and low <= 0):
        raise InputError(f"--space: got {assignment!r}, expected low < high{', and low > 0' if scale else ''}")
    return Range(low, high, bool(scale))


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


@dataclass(eq=False)
class Search:
    """A study under way: iterate for one dictionary per trial, until there are ``trials``.

    >>> search = Search.start(graphs, Settings.of("sar-gcn"), Path("runs/search"), trials=20)  # doctest: +SKIP
    >>> for trial in search: ...  # doctest: +SKIP
    >>> search.best.model.hidden  # doctest: +SKIP
    128
    """

    graphs: GraphSet
    settings: Settings
    space: Space
    fold: Fold
    study: Study
    trials: int
    device: torch.device | str = "cpu"
    task: Task | None = None

    @classmethod
    def start(
        cls, graphs: GraphSet, settings: Settings, folder: Path | str, *, space: Space | None = None, trials: int = 30,
        fold: Fold | None = None, device: torch.device | str = "cpu", task: str | None = None,
    ) -> Search:  # fmt: skip
        """A new study in ``folder``, or the one that is there, if it is of the same graphs, settings and space.

        Args:
            settings: what all trials share; the seed of the search is that of the training.
            space: by setting, what to choose from; by default :data:`SPACE`.
            trials: how many in all, those of earlier calls included.
            fold: as of :meth:`TrainingRun.start`.
            task: the kind of task, by default that of the targets.
        """
        posed = task_of(graphs, task)
        check_monitor(posed, settings.training)
        strata = posed.strata(posed.targets(graphs))
        fold = fold or official(graphs) or holdout(graphs, seed=settings.training.seed, strata=strata)
        space = _default_space(settings) if space is None else space
        for key, choice in space.items():  # refuse what no trial could use before the first is run
            for value in choice.values if isinstance(choice, Choice) else (choice.low, choice.high):
                _settings_with(settings, {key: value})
        study = _open_study(Path(folder), _description(graphs, settings, space, fold, posed), settings)
        return cls(graphs, settings, space, fold, study, trials, device, posed)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while self.done < self.trials:
            yield self._run_trial()

    @property
    def done(self) -> int:
        """Trials that were judged; one that was interrupted or killed is not."""
        return self._count("COMPLETE") + self.pruned

    @property
    def pruned(self) -> int:
        """Trials that were pruned, that diverged, or whose validation graphs do not define the metric."""
        return self._count("PRUNED")

    @property
    def best(self) -> Settings:
        """The settings of the best trial."""
        return _settings_with(self.settings, self._best_trial.params)

    @property
    def best_value(self) -> float:
        """What the best trial is judged by."""
        value = self._best_trial.value
        assert value is not None
        return value

    @property
    def _best_trial(self) -> FrozenTrial:
        if self.pruned == self.done:
            why = "that was trained to its end and could be judged"
            raise InputError(f"got no trial {why}, expected at least one; change the space or the metric")
        return self.study.best_trial

    def save_best(self, folder: Path) -> Path:
        """Write the best settings as a file for ``--config``."""
        write_file(folder / BEST, json.dumps(self.best.to_json(), indent=1) + "\n")
        return folder / BEST

    def _count(self, state: str) -> int:
        return sum(trial.state.name == state for trial in self.study.get_trials(deepcopy=False))

    def _run_trial(self) -> dict[str, Any]:
        optuna = _optuna()
        # From the number of the trial: a study in two calls is the study in one, and no two processes are alike.
        self.study.sampler = optuna.samplers.TPESampler(seed=self.settings.training.seed + len(self.study.trials))
        trial = self.study.ask()
        values = {key: choice.suggest(trial, key) for key, choice in self.space.items()}
        try:
            value = self._train(trial, _settings_with(self.settings, values))
        except (Diverged, optuna.TrialPruned):
            value = None
            self.study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        except BaseException:
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
            raise
        else:
            self.study.tell(trial, value)
        return {"trial": trial.number, "value": value, **values}

    def _train(self, trial: Trial, settings: Settings) -> float:
        """The judged value of the epoch that is kept."""
        run = TrainingRun.start(self.graphs, settings, fold=self.fold, device=self.device, task=self.task)
        key = monitored(settings.training)
        for row in run:
            if row[key] is not None:
                trial.report(row[key], row["epoch"])
            if trial.should_prune():
                raise _optuna().TrialPruned
        value = run.state.history[run.state.best_epoch - 1][key]
        if value is None:
            raise _optuna().TrialPruned
        return float(value)


def _open_study(folder: Path, description: dict[str, Any], settings: Settings) -> Study:
    optuna = _optuna()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        study: Study = optuna.create_study(
            study_name="sargnn",
            storage=f"sqlite:///{folder.resolve() / STUDY}",
            direction="minimize" if lower_is_better(settings.training) else "maximize",
            pruner=optuna.pruners.MedianPruner(STARTUP_TRIALS, WARMUP_EPOCHS),
            load_if_exists=True,
        )
    except (OSError, optuna.exceptions.OptunaError, importlib.import_module("sqlalchemy.exc").SQLAlchemyError) as error:
        raise InputError(f"{folder / STUDY}: cannot be opened ({' '.join(str(error).split())[:200]})") from error
    for name, value in description.items():
        known = study.user_attrs.get(name)
        if known is None:
            study.set_user_attr(name, value)
        elif known != value:
            raise InputError(f"{folder}: got another {name}, expected that of the study there; choose another --out")
    return study


def _description(graphs: GraphSet, settings: Settings, space: Space, fold: Fold, task: Task) -> dict[str, Any]:
    """What makes two studies the same, as JSON gives it back."""
    split = [fold.train.tolist(), fold.validation.tolist()]
    choices = {key: str(choice) for key, choice in space.items()}
    told = {"data": graphs.fingerprint, "task": task.kind, "settings": settings.to_json(), "space": choices}
    description: dict[str, Any] = json.loads(json.dumps({**told, "split": split}))
    return description


def _default_space(settings: Settings) -> Space:
    known = {f"{name}.{key}" for name in ("model", "training") for key in vars(getattr(settings, name))}
    return {key: choice for key, choice in read_space(SPACE).items() if key in known}


def _settings_with(settings: Settings, values: dict[str, Any]) -> Settings:
    content = settings.to_json()
    name = content.pop("name")
    flat = {f"{section}.{field}": value for section, table in content.items() for field, value in table.items()}
    return Settings.of(name, flat | values)


def _optuna() -> ModuleType:
    try:
        return importlib.import_module("optuna")
    except ImportError as error:
        raise InputError("got no package optuna, expected: pip install 'sargnn[search]'") from error
