"""Models on the hub: the real library against a hub on this machine; what is published comes back, and nothing else."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fake_hub import FakeHub, fake_hub
from sargnn.errors import InputError
from sargnn.training.hub import CARD, FILES, download, publish
from sargnn.training.model_address import local_folder
from sargnn.training.model_folder import load_model
from sargnn.training.open_run import open_run
from sargnn.training.run import train
from tiny import shapes, tiny

LIBRARY = "huggingface_hub"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "run"
    train(shapes(), tiny(), folder)
    return folder


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    """The library reads its variables when it is imported: import it anew."""
    with fake_hub() as running:
        own = {"HF_ENDPOINT": running.address, "HF_HOME": str(tmp_path / "hf"), "HF_TOKEN": "a-token"}
        for name, value in (own | {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}).items():
            monkeypatch.setenv(name, value)
        for name in [name for name in sys.modules if name.split(".")[0] == LIBRARY]:
            monkeypatch.delitem(sys.modules, name)
        yield running
        for name in [name for name in sys.modules if name.split(".")[0] == LIBRARY]:
            del sys.modules[name]


def files_of(run: Path) -> dict[str, bytes]:
    return {name: (run / name).read_bytes() for name in FILES if (run / name).exists()}


def test_what_is_published_predicts_the_same(hub: FakeHub, run: Path) -> None:
    address = publish(run, "hf://someone/shapes")
    (version,) = hub.versions["someone/shapes"]
    assert address == f"hf://someone/shapes@{hub.named('someone/shapes', 0)}"
    assert hub.private == {"someone/shapes": True}
    assert set(version) == {*FILES, CARD}
    assert {name: version[name] for name in FILES} == files_of(run)
    expected = load_model(run).predict(shapes()).values
    np.testing.assert_array_equal(load_model(address).predict(shapes()).values, expected)
    np.testing.assert_array_equal(load_model("hf://someone/shapes").predict(shapes()).values, expected)
    assert open_run(local_folder(address), shapes(), "test").all_graphs is False


def test_the_card_comes_with_it(hub: FakeHub, run: Path) -> None:
    publish(run, "hf://someone/shapes")
    card = hub.versions["someone/shapes"][0][CARD].decode()
    assert 'sargnn.load_model("hf://someone/shapes")' in card
    test = json.loads((run / "training.json").read_text())["scores"]["test"]
    assert f"| Accuracy | {test['accuracy']:.3g} |" in card


def test_only_what_a_model_consists_of_is_fetched(hub: FakeHub, run: Path) -> None:
    strange = {"model.pkl": b"\x80\x04.", "code.py": b"raise SystemExit", "pytorch_model.bin": b"x", CARD: b"# hi"}
    hub.put("someone/shapes", files_of(run) | strange)
    folder = download("hf://someone/shapes")
    assert {path.name for path in folder.iterdir()} == set(files_of(run))
    assert {line.split()[-1] for line in hub.fetched} == set(files_of(run))


def test_a_revision_stays_what_it_was(hub: FakeHub, run: Path, tmp_path: Path) -> None:
    first = publish(run, "hf://someone/shapes")
    train(shapes(seed=1), tiny(training__seed=9), tmp_path / "other")
    second = publish(tmp_path / "other", "hf://someone/shapes")
    assert first != second
    weights = {address: (download(address) / "weights.safetensors").read_bytes() for address in (first, second)}
    assert weights[first] == (run / "weights.safetensors").read_bytes()
    assert weights[second] == (tmp_path / "other" / "weights.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("weights.safetensors", lambda content: content[:-4] + bytes(4), "got damaged content"),
        ("weights.safetensors", lambda content: content[:100], "not a readable safetensors file"),
        ("config.json", lambda content: content.replace(b"sargnn.model/1", b"sargnn.model/9"), "expected format"),
        ("config.json", lambda content: content.replace(b'"ring"', b'"rong"'), "got weights of another config.json"),
        ("training.json", None, "no such file"),
    ],
)
def test_a_damaged_model_is_refused(hub: FakeHub, run: Path, name: str, change: object, message: str) -> None:
    files = files_of(run)
    content = files.pop(name)
    hub.put("someone/shapes", files | ({name: change(content)} if callable(change) else {}))
    with pytest.raises(InputError, match=message):
        load_model("hf://someone/shapes")


@pytest.mark.parametrize(
    "address", ["hf://someone/nothing", "hf://someone/shapes@v9", "hf://someone/shapes@" + "0" * 40]
)
def test_what_is_not_there_is_one_line(hub: FakeHub, run: Path, address: str) -> None:
    hub.put("someone/shapes", files_of(run))
    with pytest.raises(InputError, match=f"{address}: the hub refused or could not be reached") as told:
        load_model(address)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("address", ["hf://", "hf://one", "hf://a/b/c", "hf://a/b@", "hf://a/b@c d", "someone/shapes"])
def test_what_is_no_address_is_said(run: Path, address: str) -> None:
    with pytest.raises(InputError, match="expected hf://OWNER/NAME or hf://OWNER/NAME@REVISION"):
        publish(run, address)


def test_a_damaged_or_unfinished_run_is_not_published(hub: FakeHub, run: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(run, tmp_path / "damaged")
    (damaged / "calibration.json").write_text("{}")
    with pytest.raises(InputError, match=r"calibration\.json"):
        publish(damaged, "hf://someone/shapes")
    record = json.loads((run / "training.json").read_text())
    (damaged / "training.json").write_text(json.dumps(record | {"status": "started"}))
    with pytest.raises(InputError, match="got a run that is not finished"):
        publish(damaged, "hf://someone/shapes")
    assert hub.versions == {}


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, LIBRARY, None)
    with pytest.raises(InputError, match=r"need huggingface_hub: pip install 'sargnn\[hub\]'"):
        load_model("hf://someone/shapes")
