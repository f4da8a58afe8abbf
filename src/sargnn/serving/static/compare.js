// Two runs on one set: the graphs on which they disagree first, side by side.
import { choice, h } from "./dom.js";
import { read, write } from "./address.js";
import { noSet, rowsOf } from "./browse.js";
import { graphView } from "./graph_view.js";
import { listRows, nameOf, said } from "./rows.js";

// How far two predictions are apart: the largest difference of their numbers.
export function apart(one, two) {
  if (!one.values || !two.values) return 0;
  const shared = Object.keys(one.values).filter((key) => typeof one.values[key] === "number" && typeof two.values[key] === "number");
  return Math.max(0, ...shared.map((key) => Math.abs(one.values[key] - two.values[key])));
}

export function disagreements(first, second) {
  const other = new Map(second.map((row) => [row.graph, row]));
  const both = first.filter((row) => other.has(row.graph) && !row.error && !other.get(row.graph).error).map((row) => {
    const two = other.get(row.graph);
    return { ...row, two, differs: row.prediction !== two.prediction, apart: apart(row, two) };
  });
  return both.sort((a, b) => b.differs - a.differs || b.apart - a.apart);
}

export async function compareView(main, page, signal) {
  const state = read(), set = state.set ?? page.sets[0]?.name, others = page.models.filter((one) => one.name !== page.model.name);
  if (!set) { noSet(main); return; }
  if (!others.length) {
    main.replaceChildren(h("p", { class: "note" }, "One run is served. Start the server with two: sargnn serve RUN RUN --data DATA."));
    return;
  }
  const name = others.some((one) => one.name === state.other) ? state.other : others[0].name;
  const second = await page.source.card(name);
  const rows = disagreements(await rowsOf(page, set, page.model.name, main, signal), await rowsOf(page, set, name, main, signal));
  const count = rows.filter((row) => row.differs).length;
  const list = h("div", {}), left = h("section", { class: "panel" }), right = h("section", { class: "panel" });
  let running = null;

  function line(row, selected, choose) {
    return h("button", { type: "button", class: "row", "aria-pressed": String(selected), onclick: choose, "data-graph": row.graph },
      h("span", { class: `sign ${row.differs ? "wrong" : ""}`, role: "img", "aria-label": row.differs ? "they disagree" : "they agree" }, row.differs ? "≠" : "="),
      h("span", { class: "name" }, nameOf(row)),
      h("span", { class: "what" }, said(row), " · ", said(row.two)));
  }

  function choose(row) {
    write({ graph: row.graph, gone: "", cut: "" });
    look();
    if (left.getBoundingClientRect().top > innerHeight - 200) left.scrollIntoView();
  }

  function look() {
    const graph = read().graph === undefined ? rows[0]?.graph : Number(read().graph), row = rows.find((one) => one.graph === graph);
    listRows(list, rows, graph, choose, line);
    running?.abort();
    running = new AbortController();
    signal.addEventListener("abort", () => running.abort());
    if (!row) { left.replaceChildren(); right.replaceChildren(); return; }
    for (const [panel, model, one] of [[left, page.model, row], [right, second, row.two]]) {
      const about = { source: page.source, model, item: { set, graph }, title: `${model.name}: ${nameOf(row)}`, truth: one.truth, right: one.right, fixed: true };
      graphView(panel, about, running.signal).catch((error) => {
        if (error.name !== "AbortError") panel.replaceChildren(h("p", { class: "problem" }, error.message));
      });
    }
  }

  main.replaceChildren(h("div", { class: "two" },
    h("div", { class: "left" },
      choice("compare with", others.map((one) => one.name), name, (value) => { write({ other: value, graph: "" }); page.show(); }),
      h("p", {}, `They disagree on ${count} of ${rows.length} graphs.`), list),
    h("div", { class: "beside" }, left, right)));
  look();
}
