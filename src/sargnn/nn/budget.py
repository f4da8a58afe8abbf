"""A model is built within a budget: a config of a few bytes can ask for more layers, or wider ones, than memory has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_parameter_registration_hook,
)

from sargnn.errors import InputError
from sargnn.limits import over

__all__ = ["built_within", "within_limits"]

Check = Callable[[int, int], str]
"""From the numbers and the tensors of a model so far to what is wrong with so many, if anything is."""


def within_limits(numbers: int, tensors: int) -> str:
    """The budget of a model that is made from settings: the limits ``parameters`` and ``tensors``.

    >>> within_limits(1000, 10)
    ''
    """
    return over("parameters", numbers, "numbers in a model") or over("tensors", tensors, "tensors in a model")


@contextmanager
def built_within(check: Check) -> Iterator[None]:
    """Stop building a model in the block once it is too large by the ``check``.

    PyTorch takes memory from the system as it is first written, which is after a tensor became part of the model.

    >>> with built_within(lambda numbers, tensors: "too wide" if numbers > 100 else ""):
    ...     nn.Linear(1000, 1000)
    Traceback (most recent call last):
    sargnn.errors.InputError: too wide
    """
    numbers = tensors = 0

    def count(module: nn.Module, name: str, tensor: Tensor | None) -> Any:
        nonlocal numbers, tensors
        if tensor is not None:
            numbers, tensors = numbers + tensor.numel(), tensors + 1
            if problem := check(numbers, tensors):
                raise InputError(problem)

    with ExitStack() as stack:
        for register in (register_module_parameter_registration_hook, register_module_buffer_registration_hook):
            stack.callback(register(count).remove)
        try:
            yield
        except (MemoryError, OverflowError, RuntimeError) as error:  # so much that PyTorch does not even try
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"got a model that cannot be built ({reason}), expected a smaller one") from error
