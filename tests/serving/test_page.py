"""The page in a real browser: a person drops, clicks, filters, compares and shares."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest

from sargnn.serving.loaded import LoadedRun
from sargnn.serving.site import write_site
from sargnn.training.run import train
from served import Served, graph, serving
from tiny import shapes, tiny

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or importlib.util.find_spec("playwright") is None, reason="needs Chromium and Playwright"
)
HOSTILE = '<img src=x onerror="window.broken=1">"\'&;${1}\u202e</script><script>window.broken=1</script>'


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@contextmanager
def opened(browser: Any, address: str, refused: str = "no refusal", **options: Any) -> Iterator[Any]:
    """A page without mistakes, from one host alone; the browser may tell of a status that is ``refused``."""
    context = browser.new_context(**options)
    page, wrong, hosts = context.new_page(), [], set()
    page.set_default_timeout(30_000)
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.goto(address)
    yield page
    assert [said for said in wrong if refused not in said] == []
    assert hosts - {""} <= {urlsplit(address).netloc}
    assert page.evaluate("window.broken") is None
    assert not re.search(r"\b(null|undefined|NaN)\b", page.evaluate(TEXT))
    context.close()


def verdict(page: Any) -> str:
    return str(page.locator(".verdict").first.inner_text())


def drop(page: Any, name: str, content: Any) -> None:
    file = {"name": name, "mimeType": "application/json", "buffer": json.dumps(content).encode()}
    page.set_input_files("#file", [file])


def submit(page: Any, text: str) -> None:
    page.fill("#graphs", text)
    page.click("text=Predict >> nth=1")
    page.wait_for_selector(".picture circle[data-node]")


def test_a_smiles_is_predicted_drawn_and_explained(served: Served, browser: Any) -> None:
    with opened(browser, f"{served.address}/#model=drugs") as page:
        submit(page, "CCO")
        assert verdict(page).startswith(("oxygen", "nitrogen"))
        assert page.locator(".picture circle[data-node]").count() == 3
        assert page.locator(".picture text").all_inner_texts() != []
        rows = page.locator(".nodes tbody tr")
        assert rows.count() == 3
        said = [float(text) for text in page.locator(".nodes tbody tr td.number:nth-of-type(2)").all_inner_texts()]
        assert sum(said) == pytest.approx(1, abs=0.01)
        assert said == sorted(said, reverse=True)


def test_a_dropped_file_of_json_is_predicted_and_nodes_can_be_taken_away(served: Served, browser: Any) -> None:
    with opened(browser, f"{served.address}/#model=shapes") as page:
        drop(page, "a.json", graph(6))
        page.wait_for_selector(".picture circle[data-node]")
        before, numbers = verdict(page), page.locator(".numbers td.number").first.inner_text()
        page.click('[data-node="0"]')
        page.wait_for_selector(".before")
        assert page.locator(".before").inner_text() == f"before: {before}"
        assert page.locator(".numbers td.number").first.inner_text() != numbers
        assert "gone=0" in page.url
        assert page.locator('[data-node="0"]').get_attribute("aria-pressed") == "true"
        page.locator('[data-node="2"]').press("Enter")  # the keyboard does the same
        page.wait_for_selector('[data-node="2"][aria-pressed="true"]')
        assert page.evaluate("document.activeElement.dataset.node") == "2"
        page.locator('[data-edge="4-5"]').dispatch_event("click")
        page.wait_for_url(re.compile("cut=4-5"))
        page.click("text=Undo")
        page.wait_for_url(re.compile("gone=0.2(?!.*cut=4-5)"))
        page.click("text=Restore all")
        page.wait_for_selector(".before", state="detached")
        assert verdict(page) == before
        assert page.locator(".numbers td.number").first.inner_text() == numbers


def test_a_click_on_an_atom_takes_the_atom_and_one_on_a_bond_the_bond(served: Served, browser: Any) -> None:
    with opened(browser, f"{served.address}/#model=drugs") as page:
        submit(page, "CC(=O)N")
        assert page.locator(".nodes tbody th").all_inner_texts() != ["C", "C", "O", "N"]
        assert sorted(page.locator(".nodes tbody th").all_inner_texts()) == ["0", "1", "2", "3"]
        for node in range(4):
            page.click(f'[data-node="{node}"]')
            page.wait_for_selector(f'[data-node="{node}"][aria-pressed="true"]')
            assert "cut" not in page.url
            page.click("text=Restore all")
            page.wait_for_selector(".before", state="detached")
        page.click('[data-edge="1-3"]')
        page.wait_for_url(re.compile("cut=1-3"))


def test_it_says_whether_to_believe_the_colours(served: Served, browser: Any, web: httpx.Client) -> None:
    told = web.get("/v1/models/shapes").json()["reliance"]
    with opened(browser, f"{served.address}/#model=shapes") as page:
        submit(page, json.dumps(graph(4)))
        expected = f"On {told['graphs']} held-out graphs, {told['verdict']}."
        assert page.locator(".reliance").inner_text() == expected
        page.select_option("figure select", "effect on ring")
        page.wait_for_selector(".legend:has-text('effect on ring')")
        assert page.locator(".reliance").count() == 0
    assert web.get("/v1/models/plain").json()["reliance"] is None


def test_the_example_and_what_is_pasted_in_quotes_are_read(served: Served, browser: Any) -> None:
    for model, nodes in (("drugs", 3), ("shapes", 3)):
        with opened(browser, f"{served.address}/#model={model}") as page:
            page.click("text=Example")
            page.wait_for_selector(".picture circle[data-node]")
            assert page.locator(".picture circle[data-node]").count() == nodes
    with opened(browser, f"{served.address}/#model=drugs") as page:
        submit(page, '"CCN"')
        assert page.locator(".said h2").inner_text() == "CCN"


def test_a_step_of_a_shared_view_can_be_undone(served: Served, browser: Any) -> None:
    """There is nothing to go back to, and the page stays."""
    with opened(browser, f"{served.address}/#model=shapes&view=browse&set=data&graph=2&gone=0.1") as page:
        page.wait_for_selector(".before")
        page.click("text=Undo")
        page.wait_for_selector(".before", state="detached")
        assert page.locator('[data-node="0"]').get_attribute("aria-pressed") == "false"
        page.click('[data-node="2"]')
        page.wait_for_selector(".before")
        page.click("text=Undo")
        page.wait_for_selector(".before", state="detached")


def test_what_is_too_large_for_an_effect_says_so(served: Served, browser: Any) -> None:
    with opened(browser, f"{served.address}/#model=shapes", refused="status of 413") as page:
        submit(page, json.dumps(graph(501)))
        page.select_option("figure select", "effect on ring")
        page.wait_for_selector(".problem:has-text('got 501 nodes, expected at most 500')")
        assert page.locator(".picture circle[data-node]").count() == 501


def test_what_if_says_what_rest_says(served: Served, browser: Any, web: httpx.Client) -> None:
    asked = graph(5, ring=False, without={"nodes": [1]})
    (expected,) = web.post("/v1/models/shapes/explain", json={"graphs": [asked]}).json()["results"]
    with opened(browser, f"{served.address}/#model=shapes") as page:
        submit(page, json.dumps(graph(5, ring=False)))
        page.click('[data-node="1"]')
        page.wait_for_selector(".before")
        shown = [float(text) for text in page.locator(".numbers td.number:not(.change)").all_inner_texts()]
        assert shown == pytest.approx([v for v in expected["values"].values() if isinstance(v, float)], rel=1e-3)


def test_effects_are_drawn_by_output(served: Served, browser: Any) -> None:
    with opened(browser, f"{served.address}/#model=plain") as page:
        submit(page, json.dumps(graph(4)))
        assert page.locator(".nodes tbody tr td").count() == 0  # no saliency
        page.select_option("figure select", "effect on ring")
        page.wait_for_selector(".nodes tbody tr td.number")
        signs = [float(text) for text in page.locator(".nodes tbody td.number").all_inner_texts()]
        assert len(signs) == 4 * 2  # of each output
        assert min(signs) < 0 < max(signs)


def test_a_set_is_filtered_mapped_and_brushed(served: Served, browser: Any) -> None:
    with opened(browser, f"{served.address}/#model=shapes&view=browse") as page:
        page.wait_for_selector(".rows .row")
        assert page.locator(".count").inner_text() == "60 graphs"
        page.select_option('.filters label:has-text("true") select', "ring")
        assert page.locator(".count").inner_text() == "30 graphs"
        page.fill('.filters label:has-text("nodes from") input', "5")
        kept = int(page.locator(".count").inner_text().split()[0])
        assert kept == int((shapes(count=60).sizes[::2] >= 5).sum())
        page.wait_for_selector(".map svg circle")
        assert page.locator(".map svg circle").count() == 60
        frame = page.locator(".map svg").bounding_box()
        page.mouse.move(frame["x"] + 2, frame["y"] + 2)
        page.mouse.down()
        page.mouse.move(frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] - 2, steps=4)
        page.mouse.up()
        chosen = page.locator(".count").inner_text()
        assert int(chosen.split()[0]) < kept
        assert "box=" in page.url
        shared = page.url
        page.click(".rows .row >> nth=0")
        page.wait_for_selector(".picture circle[data-node]")
        assert page.locator(".said .right, .said .wrong").inner_text() == "true: ring"
    with opened(browser, shared) as page:
        page.wait_for_selector(".map svg circle")
        assert page.locator(".count").inner_text() == chosen
        page.click("text=Show all")
        assert page.locator(".count").inner_text() == f"{kept} graphs"


def test_two_runs_are_compared_disagreements_first(served: Served, browser: Any, web: httpx.Client) -> None:
    with opened(browser, f"{served.address}/#model=shapes&view=compare&other=plain") as page:
        page.wait_for_selector(".beside .verdict >> nth=1")
        signs = page.locator(".rows .sign").all_inner_texts()
        rows = {
            name: web.get("/v1/sets/data/graphs", params={"model": name}).json()["rows"] for name in ("shapes", "plain")
        }
        differ = sum(a != b for a, b in zip(rows["shapes"]["prediction"], rows["plain"]["prediction"], strict=True))
        assert signs == ["≠"] * differ + ["="] * (60 - differ)
        assert page.locator(f"text=They disagree on {differ} of 60 graphs.").count() == 1


def test_a_view_can_be_shared_and_gone_back_to(served: Served, browser: Any) -> None:
    with opened(browser, f"{served.address}/#model=shapes") as page:
        submit(page, json.dumps(graph(5)))
        page.click('[data-node="3"]')
        page.wait_for_selector(".before")
        shared, said = page.url, verdict(page)
        page.click("text=Model >> nth=-1")
        page.wait_for_selector(".card h2")
        page.go_back()
        page.wait_for_selector(".before")
    with opened(browser, shared) as page:
        page.wait_for_selector(".before")
        assert verdict(page) == said
        assert page.locator('[data-node="3"]').get_attribute("aria-pressed") == "true"


def test_what_is_shown_can_be_saved(served: Served, browser: Any) -> None:
    with opened(browser, f"{served.address}/#model=shapes", accept_downloads=True) as page:
        submit(page, json.dumps(graph(4)))
        for name, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("JSON", b"{")):
            with page.expect_download() as download:
                page.click(f"figure button:has-text('{name}')")
            assert Path(download.value.path()).read_bytes().startswith(start)


def test_a_wrong_input_is_one_line_beside_the_form(served: Served, browser: Any) -> None:
    with opened(browser, f"{served.address}/#model=shapes") as page:
        page.fill("#graphs", '{"nodes": 3')
        page.click("text=Predict >> nth=1")
        page.wait_for_selector(".problem:has-text('not JSON')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_shows_everything(served: Served, browser: Any, scheme: Any) -> None:
    small = {"viewport": {"width": 360, "height": 740}, "color_scheme": scheme, "reduced_motion": "reduce"}
    for view in ("predict", "browse", "compare&other=plain", "model"):
        with opened(browser, f"{served.address}/#model=shapes&view={view}", **small) as page:
            page.wait_for_selector("#main :is(form, .rows, .card)")
            assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_control_has_a_name_and_text_stands_out(served: Served, browser: Any, scheme: Any) -> None:
    with opened(browser, f"{served.address}/#model=shapes&view=browse&graph=1", color_scheme=scheme) as page:
        page.wait_for_selector(".picture circle[data-node]")
        assert page.evaluate(UNNAMED) == []
        assert page.evaluate(CONTRAST) == []
    with opened(browser, f"{served.address}/#model=shapes", color_scheme=scheme) as page:
        page.hover("button.main")
        assert page.evaluate(CONTRAST) == []


TEXT = "[...document.querySelectorAll('#top, #main')].map((part) => part.innerText).join(' ')"
UNNAMED = """[...document.querySelectorAll("button, input, select, textarea, a, [role=button]")]
  .filter((one) => !(one.textContent.trim() || one.getAttribute("aria-label") || one.labels?.length))
  .map((one) => one.outerHTML)"""
CONTRAST = """(() => {
  const light = (colour) => {
    const [r, g, b] = colour.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const colour = numbers(getComputedStyle(one).backgroundColor);
      if (colour.length < 4 || colour[3] > 0.9) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const one of document.querySelectorAll("#top *, #main *")) {
    if (one.closest("svg") || one.disabled || one.closest(":disabled")) continue;
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !one.offsetParent) continue;
    const [a, b] = [light(numbers(getComputedStyle(one).color).slice(0, 3)), light(behind(one))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(`${one.className} ${one.textContent.slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return found;
})()"""


def test_hostile_names_are_shown_and_do_nothing(run: Path, browser: Any, tmp_path: Path) -> None:
    """In every field that a file can name: graph, nodes, labels, classes, notes, the file itself."""
    nasty = graph(3, name=HOSTILE, graph={"label": HOSTILE})
    for row in nasty["nodes"]:
        row["node_name"] = HOSTILE
    (tmp_path / "data.jsonl").write_text("\n".join([json.dumps(nasty)] * 3))
    with serving(run, "--data", tmp_path / "data.jsonl") as one:
        with opened(browser, f"{one.address}/#view=browse&graph=1") as page:
            page.wait_for_selector(".picture circle[data-node]")
            assert HOSTILE[:20] in page.locator(".rows .name").first.inner_text()
            assert HOSTILE[:20] in page.locator(".nodes tbody th").first.inner_text()
        with opened(browser, f"{one.address}/") as page:
            drop(page, f"{HOSTILE.replace('/', '')}.json", nasty)
            page.wait_for_selector(".picture circle[data-node]")
    unreadable = {"nodes": [{"id": HOSTILE, "other": HOSTILE}], "edges": []}
    with serving(run) as one, opened(browser, f"{one.address}/", refused="status of 422") as page:
        page.fill("#graphs", json.dumps(unreadable))
        page.click("text=Predict >> nth=1")
        page.wait_for_selector(".problem:has-text('attribute')")


def test_hostile_classes_and_sets_are_shown_and_do_nothing(browser: Any, tmp_path: Path) -> None:
    """In every field that a model can name: outputs, targets, the set that it was trained on, categories."""
    graphs = shapes()
    labels = graphs.edges[0][: graphs.num_nodes] % 2
    hostile: dict[str, Any] = {"classes": (HOSTILE, "path"), "name": HOSTILE, "graph_names": (HOSTILE,) * 24}
    graphs = replace(graphs, node_labels=labels, node_label_names=(HOSTILE, "b"), **hostile)
    train(graphs, tiny(training__epochs=1), tmp_path / "run")
    write_site(tmp_path / "site", LoadedRun.load("run", tmp_path / "run"), graphs)
    with opened(browser, f"{(tmp_path / 'site' / 'index.html').as_uri()}#graph=0") as page:
        page.wait_for_selector(".picture circle[data-node]")
        for where in (".numbers th", ".said h2", ".nodes td", ".rows .name", ".filters option"):
            assert any(HOSTILE[:20] in text for text in page.locator(where).all_inner_texts()), where
        page.click("text=Model >> nth=-1")
        page.wait_for_selector(".card h2")
        assert HOSTILE[:20] in page.locator(".card").inner_text()


def test_a_server_with_a_token_asks_for_it(run: Path, browser: Any, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("correct-horse-battery")
    with serving(run, "--token-file", tmp_path / "token") as one:
        context = browser.new_context()
        page = context.new_page()
        page.goto(one.address)
        page.fill("#token", "wrong")
        page.click("text=Sign in")
        page.wait_for_selector(".problem:has-text('wrong token')")
        page.fill("#token", "correct-horse-battery")
        page.click("text=Sign in")
        page.wait_for_selector("#graphs")
        context.close()


def test_the_documentation_works_offline(served: Served, browser: Any) -> None:
    with opened(browser, f"{served.address}/docs") as page:
        page.wait_for_selector("text=Predict graphs")
        page.wait_for_selector("text=Say which nodes decided")


def test_a_site_opens_as_files(run: Path, browser: Any, tmp_path: Path) -> None:
    write_site(tmp_path / "site", LoadedRun.load("shapes", run), shapes(count=70), drawings=66)
    address = (tmp_path / "site" / "index.html").as_uri()
    with opened(browser, f"{address}#graph=65") as page:
        page.wait_for_selector(".picture circle[data-node]")
        assert page.locator(".count").inner_text() == "70 graphs"
        assert page.locator("#top nav a").all_inner_texts() == ["Browse", "Model"]
        assert page.locator(".map svg circle").count() == 70
        page.click('[data-graph="3"]')
        page.wait_for_selector(".said h2:text-is('graph 3')")
        page.click("text=Model >> nth=-1")
        page.wait_for_selector(".card h2")
