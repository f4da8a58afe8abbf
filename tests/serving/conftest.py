"""A trained run, the application in this process, and the command in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from sargnn.serving.app import create_app
from sargnn.training.run import train
from served import ANY, Client, Served, serving
from tiny import shapes, tiny


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with saliency of rings and paths whose nodes have two attributes."""
    folder = tmp_path_factory.mktemp("runs") / "shapes"
    train(shapes(count=60), tiny(training__epochs=8), folder)
    return folder


@pytest.fixture(scope="session")
def other_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another model of the same graphs, without saliency."""
    folder = tmp_path_factory.mktemp("others") / "plain"
    train(shapes(count=60), tiny("gcn"), folder)
    return folder


@pytest.fixture(scope="session")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of molecules."""
    pytest.importorskip("rdkit", reason="SMILES need RDKit")
    from sargnn.data.sources import load

    folder = tmp_path_factory.mktemp("molecules")
    smiles = ["CCO", "CCN", "CCCO", "CCCN", "c1ccccc1O", "c1ccccc1N", "CC(=O)O", "CC(=O)N"] * 5
    lines = [f"{text},{'oxygen' if 'O' in text.replace('=O', '') else 'nitrogen'}" for text in smiles]
    (folder / "drugs.csv").write_text("\n".join(["smiles,label", *lines]))
    train(load(folder / "drugs.csv"), tiny(training__epochs=8), folder / "drugs")
    return folder / "drugs"


@pytest.fixture
def client(run: Path) -> Iterator[Client]:
    """Makes clients of an application in this process."""
    opened: list[TestClient] = []

    def made(*folders: Path, data: Any = None, **options: Any) -> TestClient:
        one = TestClient(create_app(folders or [run], data, **options), base_url=ANY, raise_server_exceptions=False)
        one.__enter__()
        opened.append(one)
        return one

    yield made
    for one in opened:
        one.__exit__(None, None, None)


@pytest.fixture(scope="session")
def served(run: Path, other_run: Path, molecules: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of three runs with a set to browse, for all tests that need a real one."""
    data = tmp_path_factory.mktemp("data") / "shapes"
    shapes(count=60).save(data)
    with serving(run, other_run, molecules, "--data", data) as one:
        yield one


@pytest.fixture
def web(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.address, timeout=30) as one:
        yield one
