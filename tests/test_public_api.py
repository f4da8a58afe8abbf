"""The public names: all there, all documented, and none of them paid for before it is used."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import sargnn

HEAVY = ("torch", "torch_geometric", "numpy", "scipy", "sklearn", "matplotlib", "networkx")


def imported_by(code: str) -> set[str]:
    """Which heavy packages a fresh Python has imported after running ``code``."""
    ask = f"import sys\n{code}\nprint('loaded', *[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


def calling(arguments: list[str]) -> str:
    """Code that calls the command line and goes on."""
    return f"sys.argv = ['sargnn', *{arguments!r}]\nfrom sargnn.cli import main\ntry:\n main()\nexcept SystemExit: pass"


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert imported_by("import sargnn\nassert 'train' in dir(sargnn)") == set()


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["data", "generate", "-h"], ["nonsense"]])
def test_help_and_wrong_calls_wait_for_nothing_heavy(arguments: list[str]) -> None:
    assert imported_by(calling(arguments)) == set()


def test_looking_at_data_waits_for_no_torch(tmp_path: Path) -> None:
    sargnn.motifs(2).save(tmp_path / "set")
    for arguments in (["data", "list"], ["data", "check", str(tmp_path / "set")]):
        assert "torch" not in imported_by(calling(arguments))


def test_data_needs_no_torch() -> None:
    assert "torch" not in imported_by("import sargnn\nsargnn.GraphSet, sargnn.pack, sargnn.load, sargnn.triangles")


def test_only_public_names_are_listed() -> None:
    assert dir(sargnn) == sorted([*sargnn.__all__, "__version__"])


@pytest.mark.parametrize("name", sargnn.__all__)
def test_every_public_name_is_there_and_says_what_it_is(name: str) -> None:
    thing = getattr(sargnn, name)
    assert thing.__name__ == name
    assert thing.__doc__
    assert thing.__doc__.strip()


@pytest.mark.parametrize("name", sargnn.__all__)
def test_every_public_name_has_an_example_that_runs(name: str) -> None:
    examples = doctest.DocTestParser().get_examples(getattr(sargnn, name).__doc__)
    assert [example for example in examples if doctest.SKIP not in example.options]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'sargnn' has no attribute 'tarin'"):
        _ = sargnn.tarin
    assert not hasattr(sargnn, "__path_to_nowhere__")


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(sargnn.__file__).read_text())
    (block,) = (
        node for node in tree.body if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
    )
    declared = {
        (statement.module, alias.name)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert declared == {(module, name) for module, names in sargnn._HOME.items() for name in names}
    assert (Path(sargnn.__file__).parent / "py.typed").exists()


MODULES = sorted(m.name for m in pkgutil.walk_packages(sargnn.__path__, "sargnn.") if not m.name.endswith("__main__"))


@pytest.mark.parametrize("name", MODULES)
def test_every_module_has_what_it_lists(name: str) -> None:
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", ()):
        thing = getattr(module, public)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert thing.__module__.startswith("sargnn")
