"""The requests of docs/serving.md, sent by curl to a real server, and the statements beside them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sargnn.data.sources import load
from sargnn.serving.limits import Limits
from sargnn.training.run import train
from served import serving
from tiny import tiny

PAGE = Path(__file__).parents[1] / "docs" / "serving.md"
EXAMPLES = [
    block for block in re.findall(r"```bash\n(.*?)```", PAGE.read_text(), re.DOTALL) if block.startswith("curl")
]


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_every_request_is_answered(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="SMILES need RDKit")
    smiles = ["CCO", "CCN", "CC(=O)O", "CC(=O)N", "c1ccccc1O", "c1ccccc1N"] * 6
    lines = [f"{text},{'oxygen' if text.endswith('O') else 'nitrogen'}" for text in smiles]
    (tmp_path / "drugs.csv").write_text("\n".join(["smiles,label", *lines]))
    train(load(tmp_path / "drugs.csv"), tiny(), tmp_path / "drugs")
    assert len(EXAMPLES) == 4
    with serving(tmp_path / "drugs", "--data", tmp_path / "drugs.csv") as one:
        for example in EXAMPLES:
            script = example.replace("http://127.0.0.1:8000", one.address)
            done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            for answer in re.findall(r"\{.*?\}(?=\{|$)", done.stdout, re.DOTALL)[:1]:
                assert "error" not in answer, answer
    assert json.loads((tmp_path / "drugs.json").read_text())["name"] == "drugs"


def test_the_limits_are_those_of_the_code() -> None:
    stated = dict(re.findall(r"\| `(--[\w-]+)` \| ([\d,.]+)", PAGE.read_text()))
    defaults = Limits()
    for option, number in stated.items():
        if option != "--threads":
            value = getattr(defaults, option[2:].replace("-", "_"))
            assert float(number.replace(",", "")) == (value / 2**20 if option == "--max-bytes" else value)


def test_the_container_and_the_cluster_name_what_is_there() -> None:
    text = (PAGE.parents[1] / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["/venv/bin/sargnn", "serve"]' in text
    assert "--uid 10001 sargnn" in text
    assert "USER 10001" in text
