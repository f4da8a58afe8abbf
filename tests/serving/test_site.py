"""The page as files: one plain script, data as scripts, nothing half written."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from command import answer_of, error_of
from sargnn.serving.loaded import LoadedRun
from sargnn.serving.site import STATIC, bundle, write_site
from tiny import shapes


def test_the_modules_become_one_script_in_the_order_of_their_needs() -> None:
    text = bundle(STATIC)
    order = re.findall(r"^// (\w+\.js)$", text, re.MULTILINE)
    assert order.index("dom.js") < order.index("drawing.js") < order.index("graph_view.js") < order.index("main.js")
    assert order[-1] == "site.js"
    assert not re.search(r"^\s*(import|export) ", text, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", text, re.MULTILINE)
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_every_module_of_the_page_is_needed() -> None:
    needed = set(re.findall(r"^// (\w+\.js)$", bundle(STATIC) + bundle(STATIC, "page.js"), re.MULTILINE))
    assert {path.name for path in STATIC.glob("*.js")} - needed == {"docs.js"}


def test_a_site_says_what_the_server_says(run: Path, tmp_path: Path) -> None:
    graphs = shapes()
    drawn = write_site(tmp_path / "site", LoadedRun.load("shapes", run), graphs, drawings=3)
    assert drawn == 3
    name, content = (tmp_path / "site/data/about.js").read_text().split(" = ", 1)
    about = json.loads(content.rstrip(";\n"))
    assert name == "globalThis.SARGNN"
    assert about["rows"]["graph"] == list(range(24))
    said = json.loads((tmp_path / "site/data/graphs-0.js").read_text().split(" = ", 1)[1].rstrip(";\n"))
    assert [one["prediction"] for one in said] == about["rows"]["prediction"]
    assert ["error" in one["drawing"] for one in said] == [False] * 3 + [True] * 21


def test_the_command_writes_it_and_replaces_only_its_own(run: Path, tmp_path: Path) -> None:
    shapes().save(tmp_path / "data")
    for _ in range(2):
        answer = answer_of("explain", run, tmp_path / "data", "--site", tmp_path / "site")
        assert (answer["graphs"], answer["drawings"]) == (24, 24)
    assert Path(answer["page"]).exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    assert "expected a new folder" in error_of("explain", run, tmp_path / "data", "--site", tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.tex").exists()
    assert "or --site DIR for a page" in error_of("explain", run, tmp_path / "data")


def test_names_cannot_end_the_script(run: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    graphs = replace(shapes(), name="</script><script>alert(1)</script>\u2028")
    write_site(tmp_path / "site", LoadedRun.load("shapes", run), graphs, drawings=0)
    content = (tmp_path / "site/data/about.js").read_text()
    assert json.loads(content.split(" = ", 1)[1].rstrip(";\n"))["set"]["title"] == graphs.name
    assert "<script" not in (tmp_path / "site/index.html").read_text().replace("<script defer", "")


@pytest.mark.parametrize("name", ["index.html", "site.html", "docs.html"])
def test_pages_have_nothing_inline(name: str) -> None:
    text = (STATIC / name).read_text()
    assert not re.search(r"<script(?![^>]*src=)|<style| on\w+=|style=|https?:", text)
