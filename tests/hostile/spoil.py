"""How inputs are spoiled: files made, arrays, JSON and tensors changed; checksums are made anew."""

from __future__ import annotations

import gzip
import json
import os
import socket
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save

from sargnn.training import model_folder
from sargnn.training.calibration import _weights_in

Make = Callable[[], object]


def file(name: str, content: str | bytes) -> Make:
    def make() -> None:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))

    return make


def files(**contents: str | bytes) -> Make:
    """Of names with ``__`` for the dot."""
    return every(*(file(name.replace("__", "."), content) for name, content in contents.items()))


def every(*makes: Make) -> Make:
    def make() -> None:
        for one in makes:
            one()

    return make


def nothing() -> None:
    """The copies of the kit are all that is needed."""


def pipe(name: str) -> Make:
    def make() -> None:
        Path(name).unlink(missing_ok=True)
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(name)

    return make


def link(name: str, to: str) -> Make:
    def make() -> None:
        Path(name).unlink(missing_ok=True)
        Path(name).symlink_to(to)

    return make


def listening(name: str) -> Make:
    def make() -> None:
        with socket.socket(socket.AF_UNIX) as opened:  # the name stays
            opened.bind(name)

    return make


def sparse(name: str, size: int) -> Make:
    """A file of zeros that takes no room on the disk."""

    def make() -> None:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        with open(name, "wb") as opened:
            opened.truncate(size)

    return make


def packed(name: str, *members: tuple[str, str | bytes]) -> Make:
    """A zip, whose members may have any names."""

    def make() -> None:
        import warnings

        with warnings.catch_warnings(), zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as opened:
            warnings.simplefilter("ignore")  # of names that come twice
            for member, content in members:
                opened.writestr(zipfile.ZipInfo(member), content, zipfile.ZIP_DEFLATED)

    return make


def gzipped(name: str, content: bytes) -> Make:
    return lambda: Path(name).write_bytes(gzip.compress(content, 1))


def change(path: str, edit: Callable[[bytes], bytes]) -> Make:
    return lambda: Path(path).write_bytes(edit(Path(path).read_bytes()))


def words(path: str, edit: Callable[[Any], Any]) -> Make:
    """JSON with a change; of a run also the checksums that depend on it."""

    def make() -> None:
        content = json.loads(Path(path).read_text())
        found = edit(content)
        Path(path).write_text(json.dumps(content if found is None else found))
        if Path(path).name == "config.json":
            for name in ("weights.safetensors", "checkpoint.safetensors"):
                _resign(Path(path).with_name(name), lambda tensors, words: None)
        _seal_calibration(Path(path).parent)

    return make


def tensors(path: str, edit: Callable[[dict[str, torch.Tensor], dict[str, str]], object]) -> Make:
    """Tensors and words with a change, and their checksum: whoever attacks can compute it too."""

    def make() -> None:
        _resign(Path(path), edit)
        _seal_calibration(Path(path).parent)

    return make


def _resign(path: Path, edit: Callable[[dict[str, torch.Tensor], dict[str, str]], object]) -> None:
    from safetensors import safe_open

    with safe_open(path, framework="pt") as opened:
        words = json.loads(opened.metadata()[model_folder.HEADER])
    found = load_file(path)
    words.pop("checksum")
    edit(found, words)
    config = json.loads((path.parent / "config.json").read_text())
    words["config"] = model_folder._identity(config)
    words["checksum"] = model_folder._checksum(found, words)
    path.write_bytes(save(found, metadata={model_folder.HEADER: json.dumps(words, sort_keys=True)}))


def _seal_calibration(folder: Path) -> None:
    path = folder / "calibration.json"
    if path.exists() and (folder / "weights.safetensors").exists():
        content = json.loads(path.read_text())
        if isinstance(content, dict):
            path.write_text(json.dumps(content | {"weights": _weights_in(folder)}))


def put(*keys: Any, to: Any) -> Callable[[Any], None]:
    """A value in JSON, by the way to it."""

    def edit(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = to

    return edit


def drop(*keys: Any) -> Callable[[Any], None]:
    def edit(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        del content[keys[-1]]

    return edit


def array(path: str, edit: Callable[[np.ndarray], Any]) -> Make:
    def make() -> None:
        values = np.load(path)
        found = edit(values)
        np.save(path, values if found is None else found)

    return make


def cell(place: Any, value: Any) -> Callable[[np.ndarray], None]:
    return lambda values: values.__setitem__(place, value)


def lying_header(path: str, length: int) -> Make:
    """A file of tensors that says it has a header of that many bytes."""
    return change(path, lambda content: struct.pack("<Q", length) + content[8:])
