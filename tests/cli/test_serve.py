"""``sargnn serve`` refuses what cannot be served before it opens a port."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import error_of
from sargnn.training.run import train
from tiny import shapes, tiny


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "shapes"
    train(shapes(), tiny(), folder)
    return folder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "0.0.0.0"], "--host: got '0.0.0.0', which other machines can reach, expected --token-file with it"),
        (["--token-file", "nothing"], "--token-file: cannot read nothing"),
        (["--max-bytes", "0"], "--max-bytes: got 0, expected at least 1"),
        (["--max-queue", "10"], "--max-queue: got 10, less than --max-graphs 1000, expected room for the largest"),
        (["--data", "nothing.json"], "got 'nothing.json', expected a file or folder that exists"),
    ],
)
def test_a_wrong_call_is_one_line(run: Path, arguments: list[str], message: str) -> None:
    assert message in error_of("serve", run, *arguments)


@pytest.mark.parametrize("command", [["serve"], ["evaluate"], ["train", "DATA", "--from"]])
@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("hf://x", "got 'hf://x', expected hf://OWNER/NAME or hf://OWNER/NAME@REVISION"),
        ("demo:x", "got 'demo:x', expected demo: and one of mutag, triangles"),
    ],
)
def test_a_bad_address_is_told_in_words_of_this_package_alone(command: list[str], address: str, message: str) -> None:
    told = error_of(*command, address, *(["DATA"] if command == ["evaluate"] else []))
    assert told.startswith("Invalid value for ")
    assert f": {message} (" in told


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    assert "expected a model folder written by sargnn train" in error_of("serve", tmp_path)
