"""The bench: contenders that compute the same thing, rows of the promised form, refusals. Never a time."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sargnn import bench
from sargnn.bench import measure, plan, timing
from sargnn.bench.contenders import CONTENDERS, FAMILIES, Workload, collating
from sargnn.bench.measure import Cell, check_equal, random_graphs
from sargnn.bench.plan import Plan
from sargnn.cli import main
from sargnn.data.features.encoder import Encoder
from sargnn.data.features.encodings import DataConfig
from sargnn.data.splits import Fold
from sargnn.errors import InputError
from sargnn.nn.model import ModelConfig
from sargnn.training.loop import TrainingConfig

CELL = Cell("step", ("sar-gcn", "pyg-gcn", "pyg-sar-gcn"), 5, 8, 1, "cpu", rounds=3, most_seconds=0.0, busy_limit=1e9)
EAGER = [name for name in CONTENDERS if not name.endswith("-compiled")]


@pytest.fixture
def work() -> Workload:
    graphs = random_graphs(12, nodes=7, edges=9)
    return Workload(graphs, Encoder.fit(DataConfig(), graphs).encode(graphs), torch.device("cpu"))


@pytest.fixture
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:
    """Sizes at which a cell takes milliseconds."""
    monkeypatch.setattr(measure, "EPOCH_BATCHES", 4)
    monkeypatch.setattr(measure, "GROWTH_BATCHES", (2, 5, 20))
    monkeypatch.setattr(measure, "SHAPES", [("nodes", 4, 4, 6), ("edges", 9, 6, 9)])
    monkeypatch.setattr(measure, "GROWTH_MODELS", (1, 2))


# -------------------------------------------------------------------------------------------------------- contenders


def built(work: Workload, *names: str) -> dict[str, Any]:
    return measure._built(replace(CELL, contenders=names), work)


def test_contenders_of_a_family_are_equal(work: Workload) -> None:
    check_equal(built(work, *EAGER), [np.arange(12), np.array([3, 1, 8])])


def test_every_family_has_a_contender_of_this_project() -> None:
    assert {family for family, _ in CONTENDERS.values()} == set(FAMILIES)


@pytest.mark.parametrize(("wrong", "reference"), [("pyg-sar-gcn", "sar-gcn"), ("pyg-gcn", "gcn")])
def test_a_contender_that_computes_something_else_is_found_out(work: Workload, wrong: str, reference: str) -> None:
    contenders = built(work, reference, wrong)
    with torch.no_grad():
        contenders[wrong].model.head[0].weight[0, 0] += 0.5
    with pytest.raises(AssertionError, match=f"{wrong} and {reference} differ by"):
        check_equal(contenders, [np.arange(12)])


@pytest.mark.parametrize("name", ["gcn", "sar-gcn", "pyg-gcn", "pyg-sar-gcn"])
def test_an_epoch_trains(work: Workload, name: str) -> None:
    contender = built(work, name)[name]
    before = [p.detach().clone() for p in contender.model.parameters()]
    epochs = contender.epochs(batch_size=4)
    next(epochs)
    next(epochs)
    assert any(not torch.equal(b, p) for b, p in zip(before, contender.model.parameters(), strict=True))


def test_on_a_gpu_every_family_would_train_as_an_ensemble(work: Workload) -> None:
    """Of its own architecture; an ensemble of one trains on a CPU too."""
    fold = Fold(np.arange(12), np.arange(1), np.arange(0))
    for name, family in FAMILIES.items():
        contender = built(work, name)[name]
        ensemble = contender.stack(fold, TrainingConfig(epochs=1, batch_size=4))
        [rows] = list(ensemble)
        assert np.isfinite(rows[0]["train_loss"])
        assert ensemble.models[0].model.config == ModelConfig(hidden=8, **family)


# ------------------------------------------------------------------------------------------------------------ timing


def fake_clock(monkeypatch: pytest.MonkeyPatch, busy: list[float | None]) -> None:
    """A clock that only calls move, and others that are as busy as the list says, round by round."""
    now = [0.0]
    left = iter(busy)
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(timing.Meter, "others", lambda self: next(left))
    monkeypatch.setattr(timing, "now", now, raising=False)


def takes(seconds: float) -> Any:
    def call() -> None:
        timing.now[0] += seconds  # type: ignore[attr-defined]

    return call


def test_ratios_are_paired(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clock(monkeypatch, [0.0] * 5)
    times = timing.interleave({"a": takes(3), "b": takes(2)}, rounds=5, most_seconds=1e9, busy_limit=0.1)
    assert times.ratio("a", "b") == (1.5, 0.0)
    assert (len(times.seconds["a"]), times.others, times.refused) == (5, 0.0, False)


def test_busy_rounds_are_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clock(monkeypatch, [0.0, 0.9, 0.05, 0.9, 0.0, 0.0])
    times = timing.interleave({"a": takes(1)}, rounds=4, most_seconds=1e9, busy_limit=0.1)
    assert (len(times.seconds["a"]), times.refused) == (4, False)
    assert times.others == pytest.approx(0.0125)


def test_a_busy_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clock(monkeypatch, [1.5, 0.0, 0.0, 1.5, 1.5, 1.5])
    times = timing.interleave({"a": takes(1)}, rounds=4, most_seconds=1e9, busy_limit=0.1)
    assert (times.refused, len(times.seconds["a"])) == (True, 6)
    assert times.others == pytest.approx(1.0)


def test_where_others_are_not_known_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clock(monkeypatch, [None] * 3)
    times = timing.interleave({"a": takes(1)}, rounds=3, most_seconds=1e9, busy_limit=0.1)
    assert (times.refused, times.others) == (False, None)


def test_no_more_rounds_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clock(monkeypatch, [0.0] * 9)
    times = timing.interleave({"a": takes(1)}, rounds=9, most_seconds=5.0, busy_limit=0.1)
    assert len(times.seconds["a"]) == 6


def test_the_meter_counts_others_and_not_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = tmp_path / "stat"
    monkeypatch.setattr(timing, "PROC", tmp_path)
    monkeypatch.setattr(timing.os, "sysconf", lambda name: 100)
    monkeypatch.setattr(timing, "_own_seconds", iter([1.0, 3.0]).__next__)
    monkeypatch.setattr(timing.time, "perf_counter", iter([10.0, 14.0]).__next__)
    stat.write_text("cpu  100 0 100 900 50 0 0 0 0 0\ncpu0 1 1\n")
    meter = timing.Meter()
    stat.write_text("cpu  300 0 200 999 99 10 10 80 0 0\ncpu0 1 1\n")  # 4 s busy, of which 2 s are our own
    assert meter.others() == pytest.approx((4 - 2) / 4)


def test_without_counts_of_the_system_others_are_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "PROC", tmp_path / "missing")
    assert timing.Meter().others() is None


# -------------------------------------------------------------------------------------------------------------- rows


@pytest.mark.usefixtures("small")
def test_rows_have_the_promised_fields() -> None:
    kinds = ("step", "epoch", "assembly", "folds")
    rows = measure.measure([replace(CELL, kind=kind) for kind in kinds])
    for kind in kinds:
        pairs = {(row["contender"], row["reference"]) for row in rows if row["kind"] == kind}
        assert pairs == {("sar-gcn", "pyg-gcn"), ("sar-gcn", "pyg-sar-gcn"), ("pyg-sar-gcn", "pyg-gcn")}
    for row in rows:
        assert list(row)[:8] == ["kind", "contender", "reference", "batch", "hidden", "threads", "ratio", "spread"]
        assert (row["batch"], row["hidden"], row["threads"]) == (5, 8, 1)
        assert row["ratio"] > 0
        assert row["spread"] >= 0


@pytest.mark.usefixtures("small")
def test_folds_are_shared_out_among_processes() -> None:
    cell = replace(CELL, kind="folds", contenders=("sar-gcn", "pyg-sar-gcn"), threads=2)
    [row] = measure.measure([cell])
    assert (row["kind"], row["contender"], row["reference"], row["threads"]) == ("folds", "sar-gcn", "pyg-sar-gcn", 2)
    assert row["ratio"] > 0


def test_the_time_of_children_that_still_run_is_their_parents() -> None:
    with ProcessPoolExecutor(1) as process:
        before = timing._own_seconds()
        used = process.submit(_work_for, 0.3).result()
        assert timing._own_seconds() - before >= used - 0.05


def _work_for(seconds: float) -> float:
    while time.process_time() < seconds:
        pass
    return time.process_time()


def test_the_time_of_grandchildren_is_their_grandparents() -> None:
    """A loader beside a GPU has workers in the process of the others' contenders."""
    with ProcessPoolExecutor(1) as process:
        before = timing._own_seconds()
        used = process.submit(_have_worked, 0.3).result()
        assert timing._own_seconds() - before >= used - 0.05


def _have_worked(seconds: float) -> float:
    with ProcessPoolExecutor(1) as process:
        return process.submit(_work_for, seconds).result()


def test_the_loader_beside_a_gpu_needs_few_files_whatever_the_number_of_graphs() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as elsewhere:  # as others' contenders are
        assert elsewhere.submit(_graphs_loaded, 400, 300).result() == 400


def _graphs_loaded(count: int, open_files: int) -> int:
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    graphs = random_graphs(count, nodes=3, edges=2)
    objects = Workload(graphs, Encoder.fit(DataConfig(), graphs).encode(graphs), torch.device("cpu")).objects
    return sum(batch.num_graphs for batch in collating(objects, 50, workers=2))


@pytest.mark.usefixtures("small")
def test_a_study_is_thirty_models(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "STUDY_EPOCHS", 1)
    [row] = measure.measure([replace(CELL, kind="study", contenders=("sar-gcn",), batch=32)])
    assert (row["kind"], row["contender"], row["data"]) == ("study", "sar-gcn", "MUTAG")
    assert (row["models"], row["epochs"], row["batch"], row["device"]) == (30, 1, 32, "cpu")
    assert row["seconds"] > 0


@pytest.mark.usefixtures("small")
def test_growth_by_batch_compares_with_a_quarter() -> None:
    rows = measure.measure([replace(CELL, kind="growth by batch", contenders=("gcn",), batch=20)])
    assert [row["size"] for row in rows if row["kind"] == "growth"] == [2, 5, 20]
    [compared] = [row for row in rows if row["kind"] == "step"]
    names = (compared["contender"], compared["reference"], compared["batch"], compared["reference_batch"])
    assert names == ("gcn", "gcn", 20, 5)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("kind", "by"), [("growth by shape", {"nodes", "edges"}), ("growth by models", {"models"})])
def test_growth_by_shape_and_models(kind: str, by: set[str]) -> None:
    rows = measure.measure([replace(CELL, kind=kind, contenders=("sar-gcn",), batch=20)])
    assert {row["by"] for row in rows} == by
    assert all(row["seconds"] > 0 for row in rows)


def test_random_graphs_have_as_many_nodes_and_edges_as_asked() -> None:
    graphs = random_graphs(3, nodes=5, edges=7)
    assert np.diff(graphs.edge_ptr).tolist() == [14] * 3
    assert np.diff(random_graphs(1, nodes=3, edges=9).edge_ptr).tolist() == [6]


# -------------------------------------------------------------------------------------------------------------- plans


def test_the_whole_plan_has_every_size_and_contender() -> None:
    whole = Plan()
    cells = [cell for threads in whole.thread_counts for cell in whole.cells(threads)]
    steps = [cell for cell in cells if cell.kind == "step"]
    assert {(cell.batch, cell.hidden) for cell in steps} == {(b, h) for b in (32, 128, 512) for h in (64, 128)}
    assert {cell.threads for cell in steps} == set(whole.thread_counts)
    assert all(set(cell.contenders) == set(CONTENDERS) for cell in steps)


def test_the_quick_plan_has_the_main_rows() -> None:
    cells = Plan(quick=True).cells(threads=1)
    found = {(cell.kind, cell.batch) for cell in cells}
    assert found >= {("step", 128), ("step", 512), ("epoch", 128), ("assembly", 128), ("assembly", 512)}
    assert {cell.hidden for cell in cells} == {64}


@pytest.mark.parametrize("name", ["cuda", "auto"])
def test_on_a_gpu_whole_epochs_and_a_study_are_measured(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "find_device", lambda name: torch.device("cuda"))
    quick = Plan(quick=True, device=name)
    assert quick.thread_counts == (1,)
    epoch, study = quick.cells(threads=1)
    assert (epoch.kind, epoch.contenders, epoch.batch) == ("epoch", ("sar-gcn", "sar-gcn-compiled", "pyg-gcn"), 128)
    assert (study.kind, study.contenders, study.batch) == ("study", ("sar-gcn",), 32)
    assert {epoch.device, study.device} == {"cuda"}
    kinds = [cell.kind for cell in Plan(device=name, growth=True).cells(threads=1)]
    assert kinds == ["epoch"] * 3 + ["study", "folds", "growth by models"]
    [alone] = Plan(quick=True, device=name, contenders=("gcn",)).cells(threads=1)
    assert alone.contenders == ("gcn", "pyg-gcn")


def test_chosen_contenders_meet_the_reference() -> None:
    steps = [cell for cell in Plan(contenders=("sar-gin",), batches=(7,)).cells(threads=1) if cell.kind == "step"]
    assert {cell.contenders for cell in steps} == {("sar-gin", "pyg-gcn")}
    assert {cell.batch for cell in steps} == {7}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"contenders": ("gnc",)}, "--contender: got 'gnc', expected one of gcn, "),
        ({"batches": (0,)}, "--batch: got 0, expected at least 1"),
        ({"hidden": (-3,)}, "--hidden: got -3, expected at least 1"),
        ({"threads": (100_000,)}, "--threads: got 100000, expected at most"),
        ({"busy_limit": float("nan")}, "--busy-limit: got nan, expected 0 or more cores"),
        ({"device": "cuda:77"}, "--device: got 'cuda:77', but this machine has"),
    ],
)
def test_a_wrong_plan_is_one_clear_line(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Plan(**values)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


# ------------------------------------------------------------------------------------------------------- command line

ROWS = [
    {"kind": "step", "contender": "sar-gcn", "reference": "pyg-gcn", "batch": 128, "hidden": 64, "threads": 1,
     "ratio": 0.9, "spread": 0.1, "others": 0.0, "refused": False},
    {"kind": "step", "contender": "gcn", "reference": "gcn", "batch": 512, "hidden": 64, "threads": 1,
     "ratio": 3.1, "spread": 0.1, "others": 1.2, "refused": True, "reference_batch": 128},
    {"kind": "growth", "contender": "gcn", "by": "batch", "size": 32, "batch": 32, "hidden": 64, "threads": 1,
     "seconds": 0.1, "refused": True},
    {"kind": "study", "contender": "sar-gcn", "data": "MUTAG", "models": 30, "epochs": 300, "batch": 32, "hidden": 64,
     "threads": 1, "seconds": 4.043, "refused": False},
]  # fmt: skip


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(plan, "run", lambda chosen: ROWS)
    monkeypatch.setattr(bench, "run", lambda chosen: ROWS)
    monkeypatch.setattr("sys.argv", ["sargnn", "bench", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


def test_the_table_says_what_was_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch) == 0
    heading, first, second, study = capsys.readouterr().out.splitlines()
    assert heading.split() == ["kind", "contender", "reference", "batch", "hidden", "threads", "ratio", "spread"]
    assert first.split() == ["step", "sar-gcn", "pyg-gcn", "128", "64", "1", "0.9", "0.1"]
    assert second.endswith("refused: others used 1.2 cores")
    assert study.split(maxsplit=2) == ["study", "sar-gcn", "30 models, 300 epochs on MUTAG: 4.04 s"]


def test_json_and_files(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "results" / "bench.jsonl"
    assert call(monkeypatch, "--quick", "--json", "--out", str(out)) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rows"] == [ROWS[0], ROWS[1], ROWS[3]]
    made, *rows = map(json.loads, out.read_text().splitlines())
    assert rows == ROWS
    assert made["command"].startswith("sargnn bench --quick")
    assert {"versions", "hardware"} <= set(made)
    assert answer["files"] == [str(out), str(out.with_suffix(".png"))]
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("arguments", [("--batch", "0"), ("--contender", "fastest"), ("--device", "cuda:77")])
def test_a_wrong_call_is_one_line_and_status_2(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, *arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {arguments[0]}: got ")
    assert error.count("\n") == 1
