"""The compiler of PyTorch waits until it is used, and then works."""

from __future__ import annotations

import subprocess
import sys

LATE = """
import sys
from sargnn.startup import load_compiler_late
load_compiler_late()
import sargnn.training.trained_model
loaded = "torch._dynamo.symbolic_convert" in sys.modules
import torch
print(loaded, torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1)).item())
"""


def test_the_compiler_is_loaded_when_something_is_compiled_and_not_before() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "2.0"], done.stderr
