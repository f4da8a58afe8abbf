"""What a plan measures, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from sargnn import bench
from sargnn.bench import plan
from sargnn.bench.contenders import CONTENDERS
from sargnn.bench.plan import Plan
from sargnn.cli import main
from sargnn.errors import InputError


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
