"""Models on the Hugging Face Hub, ``hf://OWNER/NAME@REVISION``: download and publish.

Only the files of :data:`FILES` travel: safetensors and JSON, and with them, one way, the model's card. Whatever else a
repository holds is not fetched. A folder that was downloaded is read like any other: its format and checksums are
verified, and nothing in it can run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sargnn.errors import InputError
from sargnn.pages.model_card import render
from sargnn.training import calibration, model_folder, trust
from sargnn.training.card import card_of
from sargnn.training.model_address import HUB

__all__ = ["FILES", "download", "publish"]

FILES = (model_folder.CONFIG, model_folder.WEIGHTS, model_folder.TRAINING, calibration.FILE, trust.FILE)
"""What a published model consists of; the first three are always there."""
CARD = "README.md"
EXTRA = "pip install 'sargnn[hub]'"

_Result = TypeVar("_Result")


def download(address: str) -> Path:
    """The folder with the files of a model on the hub, in the hub's own cache. Without a revision, the newest."""
    repository, revision = _parsed(address)
    patterns = list(FILES)
    found = _asked(
        address,
        lambda hub: hub.snapshot_download(repository, revision=revision, allow_patterns=patterns, etag_timeout=10),
    )
    return Path(found)


def publish(run: Path, address: str, model: str | None = None) -> str:
    """Put the model of ``run`` and its card on the hub in one commit; the address of exactly this version.

    A repository that does not exist is created, and only its owner sees it. ``model`` as in
    :func:`sargnn.load_model`, which reads all that is published before anything is sent.
    """
    repository, revision = _parsed(address)
    trained, record = model_folder.load_model(run, model=model), model_folder.read_training(run)
    if record.get("status") != "finished":
        raise InputError(f"{run}: got a run that is not finished, expected one with scores")
    files: dict[str, Any] = {name: run / name for name in FILES if (run / name).exists()}
    if calibration.FILE in files:
        calibration.load_calibration(run, trained.task)
    if trust.FILE in files:
        trust.load_trust(run, trained)
    try:
        files[CARD] = render(card_of(trained, record), f"{HUB}{repository}").encode()
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        place = run / model_folder.TRAINING
        raise InputError(
            f"{place}: got scores that no card can show ({error}), expected those of sargnn train"
        ) from error

    def commit(hub: Any) -> Any:
        hub.create_repo(repository, private=True, exist_ok=True)
        added = [hub.CommitOperationAdd(path_in_repo=name, path_or_fileobj=content) for name, content in files.items()]
        return hub.create_commit(repository, added, commit_message=f"{trained.settings.name}", revision=revision)

    return f"{HUB}{repository}@{_asked(address, commit).oid}"


def _parsed(address: str) -> tuple[str, str | None]:
    """The repository and the revision.

    >>> _parsed("hf://someone/mutag@v1"), _parsed("hf://someone/mutag")
    (('someone/mutag', 'v1'), ('someone/mutag', None))
    """
    found = re.fullmatch(rf"{HUB}([\w.-]+/[\w.-]+)(?:@([\w./-]+))?", address)
    if not found:
        raise InputError(f"got {address!r}, expected {HUB}OWNER/NAME or {HUB}OWNER/NAME@REVISION")
    return found[1], found[2]


def _asked(address: str, ask: Callable[[Any], _Result]) -> _Result:
    """What the hub answers, its refusals as one line."""
    try:
        import huggingface_hub as hub
    except ImportError as error:
        raise InputError(f"{address}: models on the hub need huggingface_hub: {EXTRA}") from error
    try:
        return ask(hub)
    except Exception as error:  # also those of the library's HTTP client
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{address}: the hub refused or could not be reached ({reason[:200]})") from error
