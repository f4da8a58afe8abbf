"""The page to look around in: it is whole, safe, and says what the maps say."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sargnn.data.graphs import pack
from sargnn.data.sources import load
from sargnn.pages.explanation import Explanation, Flip
from sargnn.pages.explanations import BOND, HEIGHT, MARGIN, WIDTH, render_page
from sargnn.tasks import Verdict

EVIL = '</script><script>alert("x")</script>'
PATH = [(0, 1), (1, 0), (1, 2), (2, 1)]


def page() -> str:
    graphs = pack(
        [(3, PATH), (1, [])], name="<two>", node_names=["a", EVIL, "c", "d"], graph_names=[EVIL, "dot"],
        node_labels=[0, 1, 0, 0], node_label_names=["round", "square"],
        y=[0, 0], classes=["0", "1"], class_titles=["no", "yes"],
    )  # fmt: skip
    items = [
        Explanation(
            0,
            Verdict("1", 0.9),
            np.array([[0.2, 0.6, 0.2]]),
            "mean",
            np.array([0.1, 0.8, 0.1]),
            {"class": "1", "probability_0": 0.1, "probability_1": 0.9},
            "0",
            False,
        ),
        Explanation(1, Verdict("no", 0.5), np.empty((0, 1)), "mean", np.ones(1)),
    ]
    return render_page(graphs, items)


def content(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_page_holds_the_graphs_their_names_and_all_values() -> None:
    data = content(page())
    first, second = data["graphs"]
    assert first["title"] == EVIL
    assert first["names"] == ["a", EVIL, "c"]
    assert first["labels"] == ["round", "square", "round"]
    assert first["maps"] == {"mean": [0.1, 0.8, 0.1], "layer 0": [0.2, 0.6, 0.2]}
    assert sorted(first["bonds"]) == [[0, 1, 1.0, 0, ""], [1, 2, 1.0, 0, ""]]
    assert first["texts"] == [["round", 0.0], ["square", 0.0], ["round", 0.0]]
    assert first["limits"]["mean"] == [0.0, 0.8]
    assert first["verdict"] == "graph 0: predicted yes (90%), true no"
    assert (first["predicted"], first["truth"], first["right"]) == ("yes", "no", False)
    assert first["values"] == [["no", 0.1], ["yes", 0.9]]
    assert (second["truth"], second["right"], second["values"]) == (None, None, [])
    assert second["verdict"] == "graph 1: predicted no (50%)"
    for graph in data["graphs"]:
        assert all(0 <= x <= WIDTH for x in graph["x"])
        assert all(0 <= y <= HEIGHT for y in graph["y"])
        assert all(0 <= shade <= 1 for shades in graph["shades"].values() for shade in shades)


def test_effects_are_maps_with_a_scale_that_has_zero_in_its_middle() -> None:
    item = Explanation(
        0, Verdict("toxic", None), np.empty((0, 3)), "mean", np.zeros(3), effects={"toxic": np.array([1.0, 0.0, -2.0])}
    )
    data = content(render_page(pack([(3, PATH)], name="one"), [item]))
    (graph,) = data["graphs"]
    assert graph["signed"] == ["effect on toxic"] == list(graph["maps"])  # there is no saliency to show
    assert graph["shades"]["effect on toxic"] == [0.75, 0.5, 0.0]
    assert graph["limits"]["effect on toxic"] == [-2.0, 2.0]
    assert len(data["effects"]) == len(data["colours"])


def test_fragments_edges_and_counterfactuals_are_on_the_page() -> None:
    graphs = pack([(3, PATH)], name="one", y=[0], classes=["0", "1"], class_titles=["safe", "toxic"])
    flip = Flip([1], [1, 2], Verdict("0", 0.75), True)
    base = Explanation(0, Verdict("1", 0.9), np.empty((0, 3)), "mean", np.zeros(3), flip=flip)
    effects = {"1": np.array([1.0, -2.0])}
    names = ["nitro", EVIL]
    both = [
        replace(base, kind="edges", parts=[[0, 1], [1, 2]], effects=effects),
        replace(base, kind="fragments", parts=[[0], [1, 2]], part_names=names, effects=effects),
    ]
    text = render_page(graphs, both, [("1", [f"{EVIL}: +1.00 towards toxic in 1 graph"])])
    assert EVIL not in text
    assert "towards toxic in 1 graph</li>" in text
    edges, fragments = content(text)["graphs"]
    (name,) = edges["ties"]
    assert name == "effect of edges on toxic"
    values = {tuple(edges["bonds"][bond][:2]): (value, shade) for bond, value, shade in edges["ties"][name]}
    assert values == {(0, 1): (1.0, 0.75), (1, 2): (-2.0, 0.0)}
    assert edges["maps"][name] == [0.0, 0.0, 0.0]
    assert edges["limits"][name] == [-2.0, 2.0]
    assert [edges["bonds"][bond][:2] for bond in edges["flip"]["bonds"]] == [[1, 2]]
    assert edges["flip"]["text"].endswith("1-2 changes the decision. What is left, as a graph of its own: safe (75%).")
    (name,) = fragments["ties"]
    assert fragments["maps"][name] == [1.0, -2.0, -2.0]
    assert [part["name"] for part in fragments["fragments"]] == names
    assert fragments["flip"]["nodes"] == [1, 2]


def test_names_of_the_data_cannot_run_and_nothing_is_fetched() -> None:
    text = page()
    assert text.count("<script") == text.count("</script>") == 2
    assert "alert(" not in text.replace(json.dumps(EVIL).replace("<", "\\u003c"), "")
    assert "<title>Which nodes decided: &lt;two&gt;</title>" in text
    assert not re.search(r'(src|href)="(?!data:,)', text)
    assert "innerHTML" not in text
    assert set(re.findall(r"https?://[^\"]*", text)) == {"http://www.w3.org/2000/svg"}


def test_molecules_have_their_bonds_texts_and_smiles(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs RDKit (extra: chem)")
    (tmp_path / "two.csv").write_text("smiles,label\nC[C@@H](N)C(=O)[O-],0\nCC,1\n")
    graphs = load(tmp_path / "two.csv")
    items = [
        Explanation(g, Verdict("0", 0.9), np.empty((0, n)), "mean", np.ones(n) / n) for g, n in enumerate(graphs.sizes)
    ]
    alanine, ethane = content(render_page(graphs, items))["graphs"]
    assert alanine["molecule"]
    assert alanine["caption"] == "C[C@@H](N)C(=O)[O-]"
    assert sorted(text for text, _ in alanine["texts"] if text)[-2:] == ["O", "O⁻"]
    assert sorted(order for _, _, order, *_ in alanine["bonds"]) == [1, 1, 1, 1, 2]
    assert sum(bool(wedge) for *_, wedge in alanine["bonds"]) == 1
    (ax, bx), (ay, by) = ethane["x"], ethane["y"]
    assert np.hypot(ax - bx, ay - by) == pytest.approx(BOND, abs=0.2)


def test_the_page_works_in_a_browser(tmp_path: Path) -> None:
    """Filters hide what they should, and the drawing has every node and bond: asked of a real browser."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("needs chromium on the path")
    probe = """
const all = (what) => [...document.querySelectorAll(what)];
const pick = (select, value) => { select.value = value; select.dispatchEvent(new Event("change")); };
const seen = () => all("nav button").filter((button) => !button.hidden).map((button) => button.textContent);
const found = { filters: all("#filters label").map((label) => label.firstChild.textContent), all: seen(),
  circles: all("circle").length, bonds: all("svg .edge").length, rows: all("#values tr").length,
  verdict: document.getElementById("verdict").textContent, scale: document.getElementById("scale").textContent };
pick(all("#filters select").at(-1), "wrong");
found.wrong = seen();
pick(all("#filters select").at(-1), "right");
found.right = seen();
document.title = JSON.stringify(found);
"""
    text = page()
    end = text.rindex("</script>")
    path = tmp_path / "page.html"
    path.write_text(text[:end] + probe + text[end:])
    run = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'user'}", "--dump-dom"]
    done = subprocess.run([*run, path.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    title = re.search("<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title, done.stderr[-500:]
    found = json.loads(html.unescape(title[1]))
    assert found == {
        "filters": ["predicted", "prediction", "name"], "all": [EVIL, "dot"], "wrong": [EVIL], "right": [],
        "circles": 3, "bonds": 2, "rows": 2, "verdict": "graph 0: predicted yes (90%), true no",
        "scale": "saliency00.8",
    }  # fmt: skip


def test_a_lopsided_molecule_stays_inside_its_frame(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs RDKit (extra: chem)")
    (tmp_path / "one.csv").write_text("smiles,label\nCCOc1ccc2nc(S(N)(=O)=O)sc2c1,0\nCC,1\n")
    graphs = load(tmp_path / "one.csv")
    n = int(graphs.sizes[0])
    (drawn,) = content(render_page(graphs, [Explanation(0, Verdict("0", 0.9), np.ones((1, n)), "mean", np.ones(n))]))[
        "graphs"
    ]
    assert min(drawn["x"]) >= MARGIN - 1
    assert max(drawn["x"]) <= WIDTH - MARGIN + 1
