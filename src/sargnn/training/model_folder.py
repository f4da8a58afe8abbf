"""The saved model: a folder of safetensors and JSON. Nothing in it is code or is ever unpickled; it loads on a CPU.

====================== ==============================================================================================
``config.json``        settings, classes and the fitted encoder: all that is needed to rebuild the model
``weights.safetensors`` the best weights
``training.json``      data fingerprint, split, versions, history, scores
``checkpoint.safetensors`` the state after the last epoch, from which training goes on
====================== ==============================================================================================

Each file is replaced at once, so a kill at any moment leaves the last complete one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from sargnn.data.encodings import Encoder
from sargnn.errors import InputError
from sargnn.files import write_file
from sargnn.training.loop import TrainingState
from sargnn.training.settings import Settings
from sargnn.training.trained import TrainedModel

__all__ = [
    "has_checkpoint",
    "load_checkpoint",
    "load_model",
    "read_training",
    "save_checkpoint",
    "save_config",
    "save_training",
    "save_weights",
]

FORMAT = "sargnn.model/1"
CONFIG, WEIGHTS, TRAINING, CHECKPOINT = "config.json", "weights.safetensors", "training.json", "checkpoint.safetensors"


def load_model(folder: Path | str, device: torch.device | str = "cpu") -> TrainedModel:
    """The model of a folder, ready to predict.

    >>> model = load_model("runs/mutag")  # doctest: +SKIP
    >>> model.predict(sargnn.load("MUTAG")).predicted[:3]  # doctest: +SKIP
    array([1, 0, 0])
    """
    trained = load_untrained(Path(folder))
    tensors, _ = _read_tensors(Path(folder) / WEIGHTS)
    _set_weights(trained.model, tensors, Path(folder) / WEIGHTS)
    trained.model.to(device).eval()
    return trained


def load_untrained(folder: Path) -> TrainedModel:
    """The model of a folder's ``config.json`` with fresh weights."""
    path = folder / CONFIG
    content = _read_json(path, FORMAT)
    try:
        settings = Settings.from_json(content["settings"])
        encoder = Encoder.from_json(content["encoder"])
        classes = tuple(map(str, content["classes"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: got no valid field {error}, expected settings, encoder and classes") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return TrainedModel.untrained(settings, encoder, classes)


def save_config(folder: Path, trained: TrainedModel) -> None:
    _write_json(
        folder / CONFIG,
        {
            "format": FORMAT,
            "settings": trained.settings.to_json(),
            "classes": list(trained.classes),
            "features": list(trained.encoder.feature_names),
            "encoder": trained.encoder.to_json(),
        },
    )


def save_weights(folder: Path, model: nn.Module) -> None:
    write_file(folder / WEIGHTS, save(weights_of(model), metadata={"format": FORMAT}))


def save_training(folder: Path, content: dict[str, Any]) -> None:
    _write_json(folder / TRAINING, {"format": FORMAT, **content})


def read_training(folder: Path) -> dict[str, Any]:
    return _read_json(folder / TRAINING, FORMAT)


def has_checkpoint(folder: Path) -> bool:
    return (folder / CHECKPOINT).exists() and (folder / CONFIG).exists()


def save_checkpoint(folder: Path, state: TrainingState) -> None:
    """Everything between two epochs: last and best weights, the optimiser's moments, the history."""
    tensors = {f"last/{name}": value for name, value in weights_of(state.model).items()}
    tensors |= {f"best/{name}": value.cpu() for name, value in state.best_weights.items() if f"last/{name}" in tensors}
    for name, parameter in state.model.named_parameters():
        for key, value in state.optimizer.state.get(parameter, {}).items():
            tensors[f"adam/{key}/{name}"] = value.detach().cpu().reshape(value.shape)
    words = {"format": FORMAT, "best_epoch": str(state.best_epoch), "history": json.dumps(state.history)}
    write_file(folder / CHECKPOINT, save(tensors, metadata=words))


def load_checkpoint(folder: Path, state: TrainingState) -> None:
    """Put ``state`` where :func:`save_checkpoint` left it."""
    path = folder / CHECKPOINT
    tensors, words = _read_tensors(path)
    parts: dict[str, dict[str, Tensor]] = {"last": {}, "best": {}, "adam": {}}
    for key, value in tensors.items():
        kind, _, name = key.partition("/")
        parts.setdefault(kind, {})[name] = value
    _set_weights(state.model, parts["best"], path)
    state.best_weights = {name: value.detach().clone() for name, value in state.model.state_dict().items()}
    _set_weights(state.model, parts["last"], path)
    for name, parameter in state.model.named_parameters():
        moments = {
            key: parts["adam"][f"{key}/{name}"]
            for key in ("step", "exp_avg", "exp_avg_sq")
            if f"{key}/{name}" in parts["adam"]
        }
        if moments:
            state.optimizer.state[parameter] = {k: v.to(parameter.device).clone() for k, v in moments.items()}
    try:
        state.best_epoch, state.history = int(words["best_epoch"]), json.loads(words["history"])
    except (KeyError, ValueError) as error:
        raise InputError(f"{path}: got a damaged header ({error}), expected a checkpoint of sargnn") from error


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name, each shared tensor once, on the CPU."""
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: value.detach().cpu().contiguous() for name, value in named}


def _set_weights(model: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    named = dict([*model.named_parameters(), *model.named_buffers()])
    for name in sorted(named.keys() ^ tensors.keys()):
        got, expected = ("no", "a") if name in named else ("a", "no")
        raise InputError(f"{path}: got {got} tensor '{name}', expected {expected} such tensor for this config.json")
    with torch.no_grad():
        for name, value in named.items():
            if value.shape != tensors[name].shape:
                shape = list(tensors[name].shape)
                raise InputError(f"{path}: got shape {shape} of '{name}', expected {list(value.shape)}")
            value.copy_(tensors[name])


def _read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            words = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file, expected a model folder written by sargnn train") from error
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"{path}: not a readable safetensors file ({error})") from error
    if words.get("format") != FORMAT:
        raise InputError(f"{path}: got format {words.get('format')!r}, expected {FORMAT!r}")
    return tensors, words


def _read_json(path: Path, expected: str) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file, expected a model folder written by sargnn train") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not readable JSON ({error})") from error
    if not isinstance(content, dict) or content.get("format") != expected:
        raise InputError(f"{path}: got another file, expected format {expected!r}")
    return content


def _write_json(path: Path, content: dict[str, Any]) -> None:
    write_file(path, json.dumps(content, indent=1, allow_nan=False) + "\n")
