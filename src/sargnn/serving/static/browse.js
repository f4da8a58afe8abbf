// All graphs of a set: filter them, find them on a map, look at one.
import { announce, choice, h } from "./dom.js";
import { read, write } from "./address.js";
import { graphView } from "./graph_view.js";
import { filters, listRows, nameOf, sieve, toRows } from "./rows.js";
import { scatter, within } from "./scatter.js";

export async function rowsOf(page, set, model, main, signal) {
  const wait = h("p", { class: "wait" }, "predicting the set…");
  main.replaceChildren(wait);
  const columns = await page.source.rows(set, model, (done, all) => { wait.textContent = `predicting the set… ${done} of ${all}`; }, signal);
  return toRows(columns);
}

export function noSet(main) {
  main.replaceChildren(h("p", { class: "note" }, "No set to browse. Start the server with --data DATA, or drop a file of several graphs on the page Predict."));
}

export async function browseView(main, page, signal) {
  const set = read().set ?? page.sets[0]?.name;
  if (!set) { noSet(main); return; }
  const rows = await rowsOf(page, set, page.model.name, main, signal), byGraph = new Map(rows.map((row) => [row.graph, row]));
  const wide = matchMedia("(min-width: 901px)").matches;
  const list = h("div", {}), panel = h("section", { class: "panel" }), map = h("div", { class: "map" });
  let places = null, shown = null;
  const box = () => { const ends = (read().box ?? "").split(".").map(Number); return ends.length === 4 ? ends : null; };
  const chosen = () => (places && box() ? new Set(within(places, box())) : null);
  const select = () => (read().graph === undefined ? null : Number(read().graph));

  function refresh() {
    listRows(list, sieve(rows, read(), chosen()), select(), choose);
    if (places) drawMap();
  }

  function choose(row) {
    write({ graph: row.graph, set, gone: "", cut: "" });
    look();
    if (panel.getBoundingClientRect().top > innerHeight - 200) panel.scrollIntoView();
  }

  function look() {
    refresh();
    const row = byGraph.get(select());
    shown?.abort();
    shown = new AbortController();
    signal.addEventListener("abort", () => shown.abort());
    if (!row) { panel.replaceChildren(h("p", { class: "note" }, "Choose a graph.")); return; }
    if (row.error) { panel.replaceChildren(h("p", { class: "problem" }, row.error)); return; }
    const about = { source: page.source, model: page.model, item: { set, graph: row.graph }, title: nameOf(row), truth: row.truth, right: row.right, fixed: !page.source.alive };
    graphView(panel, about, shown.signal).catch((error) => {
      if (error.name !== "AbortError") panel.replaceChildren(h("p", { class: "problem", role: "alert" }, error.message));
    });
  }

  async function loadMap(method) {
    map.replaceChildren(h("p", { class: "wait" }, "computing the map…"));
    try {
      places = await page.source.map(set, page.model.name, method);
      refresh();
    } catch (error) { map.replaceChildren(h("p", { class: "problem" }, error.message)); }
  }

  function pick(drawn) {
    write({ box: drawn, page: "" }, true);
    refresh();
    announce(chosen() ? `${chosen().size} graphs chosen` : "all graphs");
  }

  function drawMap() {
    const state = read(), colour = state.colour ?? "prediction", method = state.method ?? "pca";
    const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", "map of the graphs; the list below has the same graphs");
    const group = (graph) => String(byGraph.get(graph)?.[colour] ?? "unknown"), groups = places.graph.map(group);
    const several = new Set(groups).size <= 12;
    const kept = new Set(sieve(rows, state, chosen()).map((row) => row.graph));
    const names = scatter(picture, places, several ? groups : groups.map(() => "graphs"), box(), kept, (drawn, one) => {
      if (one !== null) choose(byGraph.get(one));
      else pick(drawn?.join(".") ?? "");
    }, select());
    map.replaceChildren(
      h("div", { class: "tools" },
        page.source.alive ? choice("by", [["pca", "PCA"], ["tsne", "t-SNE"]], method, (value) => { write({ method: value, box: "" }, true); loadMap(value); }) : null,
        choice("colour", [["prediction", "predicted"], ["truth", "true"], ["right", "right or wrong"]], colour, (value) => { write({ colour: value }, true); drawMap(); }),
        h("span", { class: "spring" }), h("button", { type: "button", disabled: !box(), onclick: () => pick("") }, "Show all"),
      ), picture,
      h("p", { class: "key" }, names.map(([name, colour]) => {
        const dot = h("span", { class: "dot" });
        dot.style.background = colour;
        return h("span", {}, dot, name);
      })),
    );
  }

  main.replaceChildren(h("div", { class: "two" },
    h("div", { class: "left" }, page.sets.length > 1 ? choice("set", page.sets.map((one) => [one.name, one.title]), set, (value) => { write({ set: value, graph: "" }); page.show(); }) : null,
      filters(rows, refresh), h("details", { class: "mapbox", open: wide || Boolean(box()), ontoggle: (event) => { if (event.target.open && !places) loadMap(read().method ?? "pca"); } }, h("summary", {}, "Map: draw a box to choose graphs"), map), list),
    panel));
  look();
}
