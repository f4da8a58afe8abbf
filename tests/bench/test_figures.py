"""Drawings of how cost grows."""

from __future__ import annotations

from sargnn.bench.figures import draw_growth


def row(by: str, size: int, contender: str = "gcn", **more: int) -> dict[str, object]:
    return {"by": by, "size": size, "contender": contender, "seconds": size / 1e4, "hidden": 64, "threads": 1, **more}


def test_one_panel_for_each_thing_that_grows_and_one_line_per_contender() -> None:
    rows = [row(by, size, name) for by in ("models", "batch") for size in (128, 32) for name in ("gcn", "sar-gcn")]
    batch, models = draw_growth([*rows, row("batch", 512, hidden=128), row("nodes", 10, threads=2)]).axes
    assert (batch.get_xlabel(), models.get_xlabel()) == ("graphs in a batch", "models trained at once")
    assert [line.get_label() for line in batch.lines] == ["gcn", "sar-gcn"]
    assert batch.lines[0].get_xydata().tolist() == [[32, 0.0032], [128, 0.0128]]
    assert [text.get_text() for text in batch.get_xticklabels()] == ["32", "128"]
