"""The one error a user can act on."""

__all__ = ["InputError"]


class InputError(ValueError):
    """The input or the call is wrong: one line that says what came, what was expected, and where.

    The command line prints the line and exits with status 2; library users catch it as a ``ValueError``.

    >>> raise InputError("MUTAG_A.txt line 7: got node 99, expected 1..50")
    Traceback (most recent call last):
    ...
    sargnn.errors.InputError: MUTAG_A.txt line 7: got node 99, expected 1..50
    """
