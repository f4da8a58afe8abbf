"""Training that is killed or interrupted at any moment, as real processes: nothing is lost but the epoch under way."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

import pytest
from safetensors import safe_open

from sargnn.data.graphs import GraphSet
from sargnn.training.model_folder import load_model, read_training
from sargnn.training.run import train
from tiny import DEMANDING, FOLD, shapes, tensors, timeless, tiny

SETTINGS = tiny(**DEMANDING, training__epochs=40, training__patience=0, training__batch_size=2)
"""Forty epochs of some thirty milliseconds, saving included."""

FILES = {"config.json", "weights.safetensors", "training.json", "checkpoint.safetensors", "history.csv"}


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    """Makes processes that have imported all when they start, so that a kill meets training and not imports."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sargnn.training.run"])
    return context


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    return shapes(truth=True)


def train_in_process(processes: ForkServerContext, graphs: GraphSet, folder: Path) -> ForkServerProcess:
    process = processes.Process(
        target=train, args=(graphs, SETTINGS, folder), kwargs={"fold": FOLD, "resume": True}, daemon=True
    )
    process.start()
    return process


def kill_in_time(process: ForkServerProcess, sign: Callable[[], int], seconds: float) -> int | None:
    """Kill it that long after the first change of ``sign``; its exit status."""
    before = sign()
    while process.is_alive() and sign() == before:
        time.sleep(0.002)
    time.sleep(seconds)
    process.kill()
    process.join(timeout=600)
    return process.exitcode


def last_change(folder: Path) -> int:
    return folder.stat().st_mtime_ns if folder.exists() else 0


def epochs_saved(folder: Path) -> int:
    """How many epochs the checkpoint knows of."""
    if not (folder / "checkpoint.safetensors").exists():
        return 0
    with safe_open(folder / "checkpoint.safetensors", framework="numpy") as file:
        return len(json.loads(json.loads(file.metadata()["sargnn"])["history"]))


def test_killed_at_random_moments_and_gone_on_with_ends_the_same(
    processes: ForkServerContext, graphs: GraphSet, tmp_path: Path
) -> None:
    whole, run = tmp_path / "whole", tmp_path / "run"
    undisturbed = train_in_process(processes, graphs, whole)
    undisturbed.join()
    draw = random.Random(7)
    saved = [0]
    for sign in [partial(last_change, run), partial(epochs_saved, run)] * 3:
        process = train_in_process(processes, graphs, run)
        assert kill_in_time(process, sign, draw.uniform(0, 0.1)) == -signal.SIGKILL
        saved.append(epochs_saved(run))
        if (run / "weights.safetensors").exists():
            load_model(run).predict(graphs)
    assert saved == sorted(saved)
    assert 3 <= saved[-1] < 40
    train_in_process(processes, graphs, run).join()
    for file in ("weights.safetensors", "checkpoint.safetensors"):
        assert tensors(run, file) == tensors(whole, file)
    ours, theirs = read_training(run), read_training(whole)
    assert timeless(ours["history"]) == timeless(theirs["history"])
    assert ours["scores"] == theirs["scores"]
    assert {path.name for path in run.iterdir()} == FILES | {"calibration.json", "report.html", "trust.safetensors"}


COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # even if whoever runs the tests ignores it
from sargnn.cli import main
main()
"""


def test_ctrl_c_gives_status_130_one_line_and_a_run_to_go_on_with(graphs: GraphSet, tmp_path: Path) -> None:
    graphs.save(tmp_path / "graphs")
    run = tmp_path / "run"
    sets = ["training.epochs=100000", "training.patience=0", "model.layers=2", "model.hidden=8", "model.dropout=0.3"]
    arguments = ["train", str(tmp_path / "graphs"), "--model", "sar-gcn", "--out", str(run)]
    arguments += [part for s in sets for part in ("--set", s)]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    while process.poll() is None and epochs_saved(run) < 3:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert out == ""
    *progress, last = [line for line in err.splitlines() if line]
    assert all(line.startswith("epoch ") for line in progress)
    assert last == "Interrupted. Rerun with --resume, or repeat the same command."

    done = epochs_saved(run)
    assert {path.name for path in run.iterdir()} == FILES
    load_model(run).predict(graphs)
    values = {"model__dropout": 0.3, "training__patience": 0, "training__epochs": done + 2}
    settings = tiny(**values, training__batch_size=64, training__learning_rate=0.001)
    train(graphs, settings, run, resume=True)
    train(graphs, settings, tmp_path / "whole")
    assert tensors(run) == tensors(tmp_path / "whole")
