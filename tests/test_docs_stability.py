"""The page of what is public, held against the code; every file that llms.txt names."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from sargnn.training.model_address import local_folder
from sargnn.training.model_folder import FORMAT

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "stability.md"


def test_the_lists_are_those_of_the_code() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_stability.py"))
    assert made["page"]() == PAGE.read_text(encoding="utf-8"), "run: python docs/make_stability.py"


def test_the_form_of_model_folders_is_named() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"`{FORMAT}`" in text
    assert f'"{FORMAT}"' in (local_folder("demo:mutag") / "config.json").read_text()
    named = set(re.findall(r"`([\w]+\.(?:json|safetensors))`", text))
    assert {"config.json", "training.json", "weights.safetensors", "trust.safetensors", "calibration.json"} <= named


def test_the_pages_for_language_models_exist() -> None:
    text = (ROOT / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert text.startswith("# sargnn\n\n> ")
    assert len(links) > 10
    assert all((ROOT / link).exists() for link in links)
