"""Log a run to TensorBoard: ``sargnn train --track tensorboard``. docs/tracking.md does it with other services."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from sargnn.errors import InputError
from sargnn.training.progress import Row
from sargnn.training.run import TrainingRun

__all__ = ["TensorBoard", "tracking"]


class TensorBoard:
    """Curves in the run's folder ``tensorboard``.

    >>> with tracking(run, ["tensorboard"]) as (board,):  # doctest: +SKIP
    ...     for row in run:
    ...         board.log(row)
    """

    def __init__(self, run: TrainingRun) -> None:
        if run.folder is None:
            raise InputError("--track: got tensorboard for a run without a folder, expected one")
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            missing = "--track: got tensorboard, which is not installed: pip install 'sargnn[tracking]'"
            raise InputError(missing) from error
        self.writer = SummaryWriter(str(run.folder / "tensorboard"), purge_step=len(run.state.history) + 1)
        self.writer.add_text("settings", json.dumps(run.trained.settings.to_json(), indent=1))

    def log(self, row: Row) -> None:
        """One epoch."""
        for field, value in row.items():
            if field != "epoch":
                self.writer.add_scalar(_named(*field.rpartition("_")[::2]), float(value), row["epoch"])

    def log_scores(self, run: TrainingRun) -> None:
        """The headline score of the best weights on every part; that on the validation part is in the curves."""
        headline, epoch = run.trained.task.metrics[0].key, run.state.best_epoch
        for part, score in run.scores.items():
            if part != "validation":
                self.writer.add_scalar(_named(part, headline), score[headline], epoch)
        self.writer.add_scalar("best_epoch", epoch, epoch)

    def close(self) -> None:
        self.writer.close()


@contextmanager
def tracking(run: TrainingRun, names: Sequence[str] = ()) -> Iterator[list[TensorBoard]]:
    """The trackers that ``--track`` names, closed when the block ends."""
    for name in names:
        if name != "tensorboard":
            raise InputError(f"--track: got {name!r}, expected tensorboard (for other services see docs/tracking.md)")
    with ExitStack() as stack:
        yield [stack.enter_context(closing(TensorBoard(run))) for _ in names]


def _named(part: str, number: str) -> str:
    """
    >>> _named("validation", "accuracy"), _named("", "seconds"), _named("learning", "rate")
    ('val/acc', 'seconds', 'learning_rate')
    """
    if part not in ("train", "validation", "test", "test-large"):
        return f"{part}_{number}" if part else number
    return f"{'val' if part == 'validation' else part}/{'acc' if number == 'accuracy' else number}"
