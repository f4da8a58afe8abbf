"""The page to look around in: it is whole, safe, and says what the maps say."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from sargnn.data.graphs import pack
from sargnn.pages.explanations import HEIGHT, WIDTH, Explanation, render_page
from sargnn.tasks import Verdict

EVIL = '</script><script>alert("x")</script>'
PATH = [(0, 1), (1, 0), (1, 2), (2, 1)]


def page() -> str:
    graphs = pack(
        [(3, PATH), (1, [])], name="<two>", node_names=["a", EVIL, "c", "d"], graph_names=[EVIL, "dot"],
        node_labels=[0, 1, 0, 0], node_label_names=["round", "square"],
    )  # fmt: skip
    items = [
        Explanation(0, Verdict("yes", 0.9), np.array([[0.2, 0.6, 0.2]]), "mean", np.array([0.1, 0.8, 0.1])),
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
    assert sorted(first["edges"]) == [[0, 1], [1, 2]]
    assert first["verdict"] == "graph 0: predicted yes (90%)"
    assert second["verdict"] == "graph 1: predicted no (50%)"
    for graph in data["graphs"]:
        assert all(0 <= x <= WIDTH for x in graph["x"])
        assert all(0 <= y <= HEIGHT for y in graph["y"])
        assert all(0 <= shade <= 1 for shades in graph["shades"].values() for shade in shades)


def test_names_of_the_data_cannot_run_and_nothing_is_fetched() -> None:
    text = page()
    assert text.count("<script") == text.count("</script>") == 2
    assert "alert(" not in text.replace(json.dumps(EVIL).replace("<", "\\u003c"), "")
    assert "<title>Which nodes decided: &lt;two&gt;</title>" in text
    assert not re.search(r'(src|href)="(?!data:,)', text)
    assert "innerHTML" not in text
    assert set(re.findall(r"https?://[^\"]*", text)) == {"http://www.w3.org/2000/svg"}
