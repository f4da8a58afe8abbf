"""Timing: contenders in random order, ratios of neighbouring runs, and the load of everything else on the machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Meter", "Times", "interleave", "seconds"]

PROC = Path("/proc")


class Meter:
    """How many cores everything but this process and its descendants uses, as Linux counts it; none elsewhere.

    >>> meter = Meter()
    >>> others = meter.others()
    >>> others is None or others >= 0
    True
    """

    def __init__(self) -> None:
        self.start = time.perf_counter(), _busy_seconds(), _own_seconds()

    def others(self) -> float | None:
        """Mean since the meter was made."""
        wall, busy, own = self.start
        now = _busy_seconds()
        if busy is None or now is None:
            return None
        return max(now - busy - (_own_seconds() - own), 0.0) / max(time.perf_counter() - wall, 1e-9)


def _busy_seconds() -> float | None:
    """Time that the cores have spent on anything, stolen time of virtual machines included."""
    try:
        user, nice, system, _idle, _waiting, *interrupts_and_stolen = map(
            int, (PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]
        )
    except (OSError, ValueError):
        return None
    return (user + nice + system + sum(interrupts_and_stolen)) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """Of this process and all that it has started, directly or not, such as the workers of a loader."""
    parents, used = {}, {}
    for file in PROC.glob("[0-9]*/stat"):
        try:
            # After the name in parentheses: field 4 is the parent; 14 to 17 are user and system time, its own and
            # that of children that have ended.
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        number = int(file.parent.name)
        parents[number], used[number] = int(fields[1]), sum(map(int, fields[11:15]))
    own = {os.getpid()}
    while more := {number for number, parent in parents.items() if parent in own} - own:
        own |= more
    return sum(used.get(number, 0) for number in own) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Times:
    """Seconds of every contender in every round."""

    seconds: dict[str, np.ndarray]
    others: float | None
    """Cores that others used, on average over the rounds that count."""
    refused: bool
    """Whether others used more than was allowed in all but a few rounds, which then all count."""

    def ratio(self, contender: str, reference: str) -> tuple[float, float]:
        """Median of the paired ratios, and their spread: the distance between the quartiles."""
        ratios = self.seconds[contender] / self.seconds[reference]
        low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
        return float(middle), float(high - low)


def interleave(
    calls: Mapping[str, Callable[[], Any]], *, rounds: int, most_seconds: float, busy_limit: float, enough: int = 3
) -> Times:
    """Run all calls once per round, in random order, until there are ``rounds`` quiet rounds or the time is up.

    Busy rounds are measured again, at most ``rounds`` of them; fewer than ``enough`` quiet ones are refused.
    """
    rng = np.random.default_rng(0)
    names = list(calls)
    for name in names:  # memory, caches and compilers warm up
        calls[name]()
    quiet: list[tuple[dict[str, float], float | None]] = []
    busy: list[tuple[dict[str, float], float | None]] = []
    start = time.perf_counter()
    while len(quiet) < rounds and len(busy) < rounds:
        meter = Meter()
        taken = {name: seconds(calls[name]) for name in rng.permutation(names).tolist()}
        others = meter.others()
        (quiet if others is None or others <= busy_limit else busy).append((taken, others))
        if time.perf_counter() - start > most_seconds and len(quiet) + len(busy) >= enough:
            break
    refused = len(quiet) < enough
    counted = quiet + busy if refused else quiet
    known = [others for _, others in counted if others is not None]
    found = {name: np.array([taken[name] for taken, _ in counted]) for name in names}
    return Times(found, float(np.mean(known)) if known else None, refused)


def seconds(call: Callable[[], Any]) -> float:
    """How long the call takes, or says that it took."""
    start = time.perf_counter()
    own = call()
    return own if isinstance(own, float) else time.perf_counter() - start
