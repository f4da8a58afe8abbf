"""What a person sees: a bar on a terminal, plain lines elsewhere, and nothing of it on standard output."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from sargnn import console

ROWS = [
    {"train_loss": 0.5 / epoch, "validation_loss": 0.6 / epoch, "validation_accuracy": 0.8 + epoch / 100}
    for epoch in range(1, 4)
]


def test_lines_say_losses_accuracy_and_time_left(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(console.show_epochs(ROWS, epochs=3)) == ROWS
    out, err = capfd.readouterr()
    assert out == ""
    first, last = err.splitlines()
    pattern = r"epoch 1/3  loss 0\.5000  validation 0\.6000  accuracy 81\.0%  at most \d+ s left"
    assert re.fullmatch(pattern, first)
    assert last.startswith("epoch 3/3  loss 0.1667  validation 0.2000  accuracy 83.0%")


def test_a_line_now_and_then_and_the_last_one(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(1000))  # one second each time it is asked
    monkeypatch.setattr(console, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    list(console.show_steps(range(8), 8, "drawing"))
    _, err = capfd.readouterr()
    assert err.splitlines() == [
        "drawing 1/8  at most 7 s left",
        "drawing 3/8  at most 5 s left",
        "drawing 5/8  at most 3 s left",
        "drawing 7/8  at most 1 s left",
        "drawing 8/8  at most 0 s left",
    ]


def test_the_count_goes_on_where_a_resumed_run_stopped(capfd: pytest.CaptureFixture[str]) -> None:
    list(console.show_epochs(ROWS[:2], epochs=12, done=10))
    _, err = capfd.readouterr()
    assert [line.split("  ")[0] for line in err.splitlines()] == ["epoch 11/12", "epoch 12/12"]


def test_nothing_to_show_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(console.show_epochs([], epochs=3)) == []
    assert capfd.readouterr() == ("", "")


def test_rows_are_passed_on_as_they_come() -> None:
    """Whoever follows the rows sees each before the next is made."""
    made: list[int] = []

    def rows() -> Iterator[dict[str, Any]]:
        for number, row in enumerate(ROWS):
            made.append(number)
            yield row

    for seen, _ in enumerate(console.show_epochs(rows(), epochs=3)):
        assert made[-1] == seen


def test_on_a_terminal_there_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()

    def terminal(stderr: bool) -> Console:
        assert stderr
        return Console(file=screen, force_terminal=True, width=160)

    monkeypatch.setattr(console, "Console", terminal)
    assert list(console.show_epochs(ROWS, epochs=3)) == ROWS
    shown = screen.getvalue()
    assert "\x1b[" in shown
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    assert "3/3" in text
    assert "━" in text
    assert re.search(r"\d:\d\d:\d\d", text)  # the time left
    assert "loss 0.1667  validation 0.2000  accuracy 83.0%" in text


def test_eighty_columns_hold_the_count_the_time_left_and_all_of_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(console, "Console", lambda stderr: Console(file=screen, force_terminal=True, width=80))
    list(console.show_epochs(ROWS, epochs=200, done=197))
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue()).replace("\r", "\n").splitlines()
    assert max(map(len, lines)) <= 80
    assert re.fullmatch(
        r"epoch 200/200 ━{10} \d:\d\d:\d\d loss 0\.1667  validation 0\.2000  accuracy 83\.0%", lines[-1].rstrip()
    )


def test_what_does_not_fit_is_cut_at_the_end_and_never_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(console, "Console", lambda stderr: Console(file=screen, force_terminal=True, width=60))
    list(console.show_epochs(ROWS, epochs=200, done=197))
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue()).replace("\r", "\n").splitlines()[-1].rstrip()
    assert re.fullmatch(r"epoch 200/200 ━{10} \d:\d\d:\d\d loss 0\.1667  valid.*…", shown)


@pytest.mark.parametrize("text", ["[bold]not bold[/bold]", ":smile: [1, 2]", "a [/] b", "x" * 300, "back\\"])
def test_notes_and_tables_are_shown_letter_by_letter(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    console.note(text)
    console.table(text, {"name": text, text: 1})
    out, err = capfd.readouterr()
    assert err == f"{text}\n"
    width = max(len("name"), len(text))
    assert out.splitlines() == [text, f"  {'name'.ljust(width)}  {text}", f"  {text.ljust(width)}  1"]


def test_a_note_is_plain_in_a_file_and_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(console, "Console", partial(Console, file=screen, force_terminal=True))
    console.note("MUTAG: 188 graphs, 'quoted', 3.5 %")
    assert screen.getvalue() == "MUTAG: 188 graphs, 'quoted', 3.5 %\n"


def test_progress_over_several_studies_says_how_far_all_are(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 60))  # a minute each time it is asked
    monkeypatch.setattr(console, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    show = console.show_study(whole=12)
    show("selecting", 2, 4, None)  # two were in the store
    show("selecting", 4, 4, 0.0)
    show("measuring", 1, 1, 0.0)  # is no training
    show("assessing", 0, 4, None)
    show("assessing", 4, 4, 0.0)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "selecting: 2 of 4 jobs done; in all 2 of 12"
    assert re.fullmatch(r"selecting: 4 of 4 jobs done; in all 4 of 12, about \d+\.\d minutes left", lines[1])
    assert re.fullmatch(r"assessing: 4 of 4 jobs done; in all 8 of 12, about \d+\.\d minutes left", lines[-1])
