"""The errors a user can act on."""

__all__ = ["Diverged", "InputError"]


class InputError(ValueError):
    """The input or the call is wrong: one line that says what came, what was expected, and where.

    The command line prints the line and exits with status 2; library users catch it as a ``ValueError``.

    >>> raise InputError("MUTAG_A.txt line 7: got node 99, expected 1..50")
    Traceback (most recent call last):
    ...
    sargnn.errors.InputError: MUTAG_A.txt line 7: got node 99, expected 1..50
    """


class Diverged(RuntimeError):
    """The loss is no longer a finite number: one line that says in which epoch and batch. The last good weights are
    kept."""
