"""A model that is not of this package: the page that shows one, run as it stands, and folders that name one."""

from __future__ import annotations

import csv
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sargnn
from command import error_of
from sargnn.errors import InputError
from sargnn.systems import find_system
from sargnn.training.model_folder import load_model
from sargnn.training.run import TrainingRun
from sargnn.training.settings import Settings
from tiny import FOLD, shapes

PAGE = (Path(__file__).parents[1] / "docs" / "your-model.md").read_text()
(CODE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(COMMANDS,) = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
OWN = "my_model:AttentionPool"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with the page's model in it and nothing of it imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_model.py").write_text(CODE)
    sys.modules.pop("my_model", None)
    yield tmp_path
    sys.modules.pop("my_model", None)


def test_the_model_of_the_page_is_short() -> None:
    assert len([line for line in CODE.splitlines() if line]) <= 30


def test_every_command_of_the_page_runs_in_a_process_of_its_own(folder: Path) -> None:
    """``-P``: as with the installed command, the current folder is not among those that modules are found in."""
    answers = {}
    for line in COMMANDS.splitlines():
        _, command, *arguments = shlex.split(line)
        call = [sys.executable, "-P", "-m", "sargnn", command, *arguments, "--json"]
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        answers[command] = json.loads(done.stdout)
    assert list(answers) == ["data", "train", "cv", "evaluate", "predict", "explain"]
    assert answers["train"]["model"] == answers["evaluate"]["model"] == OWN
    assert answers["explain"]["layers"] == 1
    graphs, read = sargnn.load(folder / "motifs"), load_model(folder / "run", model=OWN)
    assert read.settings.model.hidden == 16
    rows = list(csv.reader((folder / "predictions.csv").read_text().splitlines()))[1:]
    got = [[float(value) for value in row[2:4]] for row in rows]
    np.testing.assert_allclose(got, read.predict(graphs).probabilities, rtol=1e-6)


def train_own() -> TrainingRun:
    settings = Settings.of(OWN, {"model.hidden": 8, "training.epochs": 2})
    run = TrainingRun.start(shapes(), settings, Path("run"), fold=FOLD)
    for _ in run:
        pass
    return run.finish()


def test_a_folder_never_decides_which_code_is_imported(folder: Path) -> None:
    run = train_own()
    sys.modules.pop("my_model")
    line = rf"^run/config\.json: got a model '{OWN}', whose code is not in sargnn, expected --model {OWN} to allow it$"
    with pytest.raises(InputError, match=line):
        load_model("run")
    with pytest.raises(InputError, match=rf"^run/config\.json: got a model '{OWN}', expected --model other:Model$"):
        load_model("run", model="other:Model")
    assert "my_model" not in sys.modules
    assert error_of("evaluate", "run", "MUTAG") == (
        f"run/config.json: got a model '{OWN}', whose code is not in sargnn, expected --model {OWN} to allow it"
    )
    got, expected = load_model("run", model=OWN).predict(shapes()), run.trained.predict(shapes())
    assert np.array_equal(got.probabilities, expected.probabilities)


@pytest.mark.parametrize("name", ["os:system", "my_model:AttentionPool,AttentionPoolConfig", ":", "sar-gcn:", ":x"])
def test_a_changed_name_in_a_folder_is_refused(name: str, folder: Path) -> None:
    train_own()
    config = json.loads(Path("run/config.json").read_text())
    config["settings"]["name"] = name
    Path("run/config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match="expected --model"):
        load_model("run")
    with pytest.raises(InputError):
        load_model("run", model=name)


def test_a_run_of_it_is_resumed(folder: Path) -> None:
    train_own()
    settings = Settings.of(OWN, {"model.hidden": 8, "training.epochs": 3})
    assert [row["epoch"] for row in TrainingRun.start(shapes(), settings, "run", fold=FOLD, resume=True)] == [3]
    with pytest.raises(InputError, match=f"expected --model {OWN} to allow it"):
        TrainingRun.start(shapes(), Settings.of("gcn"), "run", fold=FOLD, resume=True)


def test_what_is_no_model_is_refused_in_one_line(folder: Path) -> None:
    Path("broken.py").write_text(
        "from dataclasses import dataclass\nfrom sargnn.nn import GraphModel\n"
        "class Bare(GraphModel): pass\nclass Loose(GraphModel): pass\nclass LooseConfig: pass\n"
        "class Open(GraphModel): pass\n@dataclass\nclass OpenConfig:\n    hidden: int\nnumber = 3\n"
    )
    for name, expected in {
        "nowhere:Model": r"expected a module that can be imported \(No module named 'nowhere'\)",
        "my_model:Other": "which is no such class, expected a subclass of sargnn.nn.GraphModel",
        "broken:number": "which is something else, expected a subclass of sargnn.nn.GraphModel",
        "broken:Bare": "without its config, expected a dataclass BareConfig in broken",
        "broken:Loose": "without its config, expected a dataclass LooseConfig in broken",
        "broken:Open": r"^--model: got OpenConfig.hidden without a default, expected one for every field$",
        ":Model": "expected a module that can be imported",
        "my_model:": "which is no such class",
    }.items():
        with pytest.raises(InputError, match=expected) as caught:
            find_system(name)
        assert str(caught.value).startswith("--model: got ")
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"unknown setting 'model\.hiden'; did you mean 'model\.hidden'"):
        Settings.of(OWN, {"model.hiden": 3})
