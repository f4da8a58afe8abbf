"""The saved model: a folder of safetensors and JSON. Nothing in it is code or is ever unpickled; it loads on a CPU.

========================== ==========================================================================================
``config.json``            settings, classes and the fitted encoder: all that is needed to rebuild the model
``weights.safetensors``    the best weights
``training.json``          data fingerprint, split, versions, history, scores
``history.csv``            losses, score, learning rate and seconds of each epoch
``calibration.json``       temperature and conformal scores of the validation graphs
``trust.safetensors``      what new graphs are compared with: fingerprints or vectors of the training graphs
``report.html``            the run as a page
``checkpoint.safetensors`` the state after the last epoch, from which training is resumed
========================== ==========================================================================================

Each file is replaced as a whole, so a kill at any moment leaves the last complete one. Tensor files carry their own
checksum and that of their config, so a damaged file or one of another model is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from sargnn.data.features.encoder import Encoder
from sargnn.data.problems import shown
from sargnn.data.roles import Roles
from sargnn.errors import InputError
from sargnn.files import is_leftover, is_part, write_csv, write_file
from sargnn.limits import over
from sargnn.nn.graph_model import GraphModel
from sargnn.processes import FolderLock
from sargnn.reading import integer_of, parse_json, read_text, require_regular
from sargnn.tasks import task_from_json
from sargnn.training.loop import TrainingState, snapshot
from sargnn.training.model_address import local_folder
from sargnn.training.progress import Row
from sargnn.training.settings import Settings
from sargnn.training.trained_model import TrainedModel

__all__ = [
    "load_checkpoint", "load_model", "prepare", "read_tensors", "read_training", "save_checkpoint", "save_config",
    "save_history", "save_training", "save_weights", "take", "write_tensors",
]  # fmt: skip

FORMAT = "sargnn.model/1"
HEADER = "sargnn"
CONFIG, WEIGHTS, TRAINING, CHECKPOINT = "config.json", "weights.safetensors", "training.json", "checkpoint.safetensors"
HISTORY = "history.csv"
MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What the optimiser keeps of a parameter."""
PROGRESS = {"epoch", "train_loss", "validation_loss", "learning_rate", "seconds"}
"""What every row of a history has."""


def load_model(folder: Path | str, device: torch.device | str = "cpu", *, model: str | None = None) -> TrainedModel:
    """The model of a folder, ready to predict; ``demo:NAME`` is one that comes with this package, and
    ``hf://OWNER/NAME@REVISION`` one on the Hugging Face Hub.

    ``model``: the name that the folder's model must have. A model from outside this package, ``package.module:Class``,
    is only read if it is named here: its module is imported, and a folder must not decide which code runs.

    >>> from tempfile import TemporaryDirectory
    >>> from sargnn import Settings, motifs, train
    >>> with TemporaryDirectory() as folder:
    ...     run = train(motifs(20), Settings.of("gcn", {"training.epochs": 1, "model.hidden": 8}), folder)
    ...     model = load_model(folder)
    >>> model.predict(motifs(3)).probabilities.shape
    (3, 2)
    """
    folder = local_folder(folder)
    trained = load_untrained(folder, folder / WEIGHTS, model)
    read_training(folder)  # not needed to predict, but a folder without it is incomplete
    tensors, _ = read_tensors(folder / WEIGHTS)
    _set_weights(trained.model, tensors, folder / WEIGHTS)
    trained.model.to(device).eval()
    return trained


def load_untrained(folder: Path, tensors: Path, model: str | None = None) -> TrainedModel:
    """The model of a folder's ``config.json`` with fresh weights, if it can have those of the file ``tensors``;
    ``model`` as in :func:`load_model`."""
    path = folder / CONFIG
    content = _read_json(path)
    try:
        _check_name(content["settings"]["name"], model)
        settings = Settings.from_json(content["settings"])
        encoder = Encoder.from_json(content["encoder"])
        task = task_from_json(content)
        roles = Roles.from_json(content.get("roles", {}))
        return TrainedModel.untrained(settings, encoder, task, roles, _budget_of(tensors))
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"{path}: got no valid field {error}, expected settings, encoder and classes") from error
    except InputError as error:
        problem = str(error)
        raise InputError(problem if problem.startswith(str(folder)) else f"{path}: {problem}") from error
    except ValueError as error:
        raise InputError(f"{path}: got a value that no config has ({error})") from error


def _budget_of(path: Path) -> Callable[[int, int], str]:
    """No more than a file of tensors could hold: a model that does not fit its weights is not built to the end."""
    with _opened(path) as file:
        size, count = path.stat().st_size, len(file.keys())

    def check(numbers: int, tensors: int) -> str:
        if numbers <= size and tensors <= 4 * count + 64:  # a number is a byte or more; some parts are made twice
            return ""
        return f"got settings of a larger model than that of {path.name}, expected those it was trained with"

    return check


def _check_name(name: object, expected: str | None) -> None:
    """Refuse a model of another name, and one from outside this package that was not asked for by name."""
    if expected is not None and name != expected:
        raise InputError(f"got a model '{name}', expected --model {expected}")
    if expected is None and ":" in str(name):
        raise InputError(f"got a model '{name}', whose code is not in sargnn, expected --model {name} to allow it")


def prepare(folder: Path, resume: bool) -> bool:
    """Whether ``folder`` has a run to resume; refuses to overwrite anything."""
    try:
        files = list(folder.iterdir()) if folder.exists() else []
        leftovers = [path for path in files if is_leftover(path)]
        found = {path.name for path in files if not is_part(path)}
        if found and not resume:
            raise InputError(f"{folder} is not empty: add --resume to continue it, or choose another --out")
        resumable = {CONFIG, CHECKPOINT} <= found
        if not resumable and found - {CONFIG, TRAINING}:  # those two are there before the first epoch is done
            raise InputError(f"{folder}: got no {CHECKPOINT} to resume from, expected a run or an empty folder")
        for path in leftovers:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: not a usable folder ({error.strerror or error})") from error
    return resumable


def take(folder: Path) -> FolderLock | None:
    """Make a new folder that this process alone writes to; refused if another was faster."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FolderLock.of(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot write ({error.strerror or error})") from error
    prepare(folder, resume=False)
    return lock


def save_config(folder: Path, trained: TrainedModel) -> None:
    _write_json(folder / CONFIG, _config(trained))


def _config(trained: TrainedModel) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "settings": trained.settings.to_json(),
        **trained.task.to_json(),
        "features": list(trained.encoder.feature_names),
        "edge_features": list(trained.encoder.edge_feature_names),
        "encoder": trained.encoder.to_json(),
        **({"roles": known} if (known := trained.roles.to_json()) else {}),
    }


def save_weights(folder: Path, trained: TrainedModel) -> None:
    write_tensors(folder / WEIGHTS, weights_of(trained.model), trained)


def save_training(folder: Path, content: dict[str, Any]) -> None:
    _write_json(folder / TRAINING, {"format": FORMAT, **content})


def save_history(folder: Path, history: list[Row]) -> None:
    """``history.csv``: one line per epoch. Written as a whole, so that a kill leaves no half line."""
    columns = list(dict.fromkeys(column for row in history for column in row))  # those of a resumed run may be fewer
    write_csv(folder / HISTORY, columns, [[row.get(column) for column in columns] for row in history])


def read_training(folder: Path) -> dict[str, Any]:
    """The record of a run; ``split`` holds indices below ``data.graphs``."""
    path = folder / TRAINING
    content = _read_json(path)
    try:
        graphs, named = content["data"]["graphs"], [content["data"][name] for name in ("name", "fingerprint")]
        indices = [index for part in ("train", "validation", "test") for index in content["split"][part]]
        valid = all(type(index) is int and 0 <= index < graphs for index in indices) and type(graphs) is int
        valid = valid and len(set(indices)) == len(indices)
        notes, history = content.get("notes", []), content.get("history", [])
        valid = valid and all(isinstance(text, str) for text in (*named, *notes)) and isinstance(history, list)
        valid = valid and all(isinstance(part, dict) for part in (*history, content.get("versions", {})))
        valid = valid and _are_scores(content.get("scores", {}))
    except (AttributeError, KeyError, TypeError):
        valid = False
    if not valid:
        raise InputError(f"{path}: got no valid fields data, split and scores, expected those written by sargnn train")
    return content


def _are_scores(scores: dict[str, dict[str, Any]]) -> bool:
    """Whether these are the scores of parts of a split, as far as pages and cards take them apart."""
    inside = [own.get(name, {}) for own in scores.values() for name in ("intervals", "baselines")]
    inside += [other for own in scores.values() for other in own.get("baselines", {}).values()]
    return all(isinstance(some, dict) for some in inside)


def save_checkpoint(folder: Path, trained: TrainedModel, state: TrainingState) -> None:
    """Everything between two epochs: last and best weights, the optimiser's moments, the history."""
    tensors = {f"last/{name}": value for name, value in weights_of(state.model).items()}
    tensors |= {f"best/{name}": value.cpu() for name, value in state.best_weights.items() if f"last/{name}" in tensors}
    for name, parameter in state.model.named_parameters():
        for key, value in state.optimizer.state.get(parameter, {}).items():
            tensors[f"adam/{key}/{name}"] = value.detach().cpu()
    words = {"best_epoch": str(state.best_epoch), "history": json.dumps(state.history)}
    write_tensors(folder / CHECKPOINT, tensors, trained, words)


def load_checkpoint(folder: Path, state: TrainingState) -> None:
    """Put ``state`` where :func:`save_checkpoint` left it."""
    path = folder / CHECKPOINT
    tensors, words = read_tensors(path)
    parts: dict[str, dict[str, Tensor]] = {"last": {}, "best": {}, "adam": {}}
    for key, value in tensors.items():
        kind, _, name = key.partition("/")
        if kind not in parts:
            raise InputError(f"{path}: got a tensor {shown(key)}, expected only last, best and adam")
        parts[kind][name] = value
    _check_tensors(_moments_of(state.model, parts["adam"]), parts["adam"], path)
    for name, value in parts["adam"].items():
        if not name.startswith("exp_avg/") and (value < 0).any():
            raise InputError(f"{path}: got a number below 0 in {shown(name, 80)}, expected a count or squares")
    best_epoch, history = _progress_of(words, path)
    _set_weights(state.model, parts["best"], path)
    state.best_weights = snapshot(state.model)
    _set_weights(state.model, parts["last"], path)
    for name, parameter in state.model.named_parameters():
        if f"step/{name}" in parts["adam"]:
            own = {key: parts["adam"][f"{key}/{name}"].to(parameter.device).clone() for key in MOMENTS}
            state.optimizer.state[parameter] = own
    state.best_epoch, state.history = best_epoch, history


def _moments_of(model: GraphModel, found: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What the optimiser keeps of the parameters that have learned already, as far as type and shape go."""
    learned = {
        name: value for name, value in model.named_parameters() if any(f"{key}/{name}" in found for key in MOMENTS)
    }
    return {
        f"{key}/{name}": torch.zeros(()) if key == "step" else value
        for name, value in learned.items()
        for key in MOMENTS
    }


def _progress_of(words: Mapping[str, Any], path: Path) -> tuple[int, list[Row]]:
    """The best epoch and the history, one row of numbers for each epoch."""
    try:
        best, history = integer_of(words["best_epoch"]), parse_json(words["history"])
        columns = list(history[0]) if history else []
        sound = 0 <= best <= len(history) and {*columns, *(() if history else PROGRESS)} >= PROGRESS
        for epoch, row in enumerate(history, 1):
            numbers = all(value is None or (type(value) in (int, float) and isfinite(value)) for value in row.values())
            numbers = numbers and None not in (row["train_loss"], row["learning_rate"], row["seconds"])
            sound = sound and list(row) == columns and row["epoch"] == epoch and numbers
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        sound = False
    if not sound:
        raise InputError(f"{path}: got no valid best_epoch and history, expected those of sargnn train")
    return best, history


def weights_of(model: GraphModel) -> dict[str, Tensor]:
    """Parameters and buffers by name, each shared tensor once, on the CPU."""
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: value.detach().cpu().contiguous() for name, value in named}


def _set_weights(model: GraphModel, tensors: dict[str, Tensor], path: Path) -> None:
    try:
        model.resize_to(tensors)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    named = dict([*model.named_parameters(), *model.named_buffers()])
    _check_tensors(named, tensors, path)
    with torch.no_grad():
        for name, value in named.items():
            value.copy_(tensors[name])


def _check_tensors(expected: Mapping[str, Tensor], tensors: Mapping[str, Tensor], path: Path) -> None:
    """Refuse other names, shapes or types than expected, and what is no finite number, before anything is used: code
    that is not Python's does not look twice."""
    for name in sorted(expected.keys() ^ tensors.keys()):
        got, wanted = ("no", "one") if name in expected else ("a", "none")
        raise InputError(f"{path}: got {got} tensor {shown(name, 80)}, expected {wanted} for this {CONFIG}")
    for name, value in expected.items():
        found = tensors[name]
        if found.shape != value.shape:
            raise InputError(f"{path}: got shape {list(found.shape)} of '{name}', expected {list(value.shape)}")
        if found.dtype != value.dtype:
            raise InputError(f"{path}: got {found.dtype} in '{name}', expected {value.dtype}")
        if found.is_floating_point() and not found.isfinite().all():
            raise InputError(f"{path}: got a weight that is no finite number in '{name}', expected finite weights")


def write_tensors(
    path: Path, tensors: dict[str, Tensor], trained: TrainedModel, words: dict[str, str] | None = None
) -> None:
    """Write tensors and ``words`` with a checksum of both and that of the model's config."""
    words = {"format": FORMAT, "config": _identity(_config(trained)), **(words or {})}
    words["checksum"] = _checksum(tensors, words)
    # Under one name: safetensors writes several in any order, and equal runs should give equal files.
    write_file(path, save(tensors, metadata={HEADER: json.dumps(words, sort_keys=True)}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a file that is undamaged and belongs to the config beside it."""
    with _opened(path) as file:
        words = parse_json((file.metadata() or {}).get(HEADER, "{}"))
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
    if not isinstance(words, dict) or words.get("format") != FORMAT:
        raise InputError(f"{path}: got another file, expected format {FORMAT!r}")
    if words.pop("checksum", None) != _checksum(tensors, words):
        raise InputError(f"{path}: got damaged content, expected that of its checksum")
    if words.get("config") != _identity(_read_json(path.parent / CONFIG)):
        raise InputError(f"{path}: got weights of another {CONFIG}, expected those of the one beside it")
    return tensors, words


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A file of tensors; errors in the block are about the file."""
    try:
        if problem := over("parameters", require_regular(path).st_size // 16, "numbers"):
            raise InputError(f"{path}: {problem}")
        with safe_open(path, framework="pt", device="cpu") as file:
            if problem := over("tensors", len(file.keys()) // 5, "tensors"):  # a checkpoint has five of each
                raise InputError(f"{path}: {problem}")
            yield file
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file, expected a model folder written by sargnn train") from error
    except InputError:
        raise
    except (SafetensorError, OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a readable safetensors file ({' '.join(str(error).split())[:200]})") from error


def _checksum(tensors: dict[str, Tensor], words: dict[str, str]) -> str:
    digest = hashlib.sha256(json.dumps(words, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _identity(config: dict[str, Any]) -> str:
    """Identifies the config of a model, except for the number of epochs, which a resumed run may change."""
    settings = config["settings"]
    training = {field: value for field, value in settings.get("training", {}).items() if field != "epochs"}
    content = {**config, "settings": {**settings, "training": training}}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = parse_json(read_text(path, "json"))
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file, expected a model folder written by sargnn train") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not readable JSON ({error})") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path}: got another file, expected format {FORMAT!r}")
    return content


def _write_json(path: Path, content: dict[str, Any]) -> None:
    write_file(path, json.dumps(content, indent=1, allow_nan=False) + "\n")
