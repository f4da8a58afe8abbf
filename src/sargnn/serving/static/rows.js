// The graphs of a set as a list that can be filtered and sorted; the same for browsing and comparing.
import { choice, fill, h, percent, shown } from "./dom.js";
import { read, write } from "./address.js";

export const PAGE = 100;

export function toRows(columns) {
  return columns.graph.map((_, i) => Object.fromEntries(Object.entries(columns).map(([key, values]) => [key, values[i]])));
}

export function distinct(rows, key) {
  return [...new Set(rows.map((row) => row[key]).filter((value) => value !== null && value !== undefined))].sort();
}

// The rows that the address asks for.
export function sieve(rows, state, chosen) {
  const most = Number(state.sure || 1), [least, largest] = [Number(state.least || 0), Number(state.most || Infinity)];
  const words = (state.q ?? "").toLowerCase();
  const kept = rows.filter((row) =>
    (!state.predicted || row.prediction === state.predicted) && (!state.truth || row.truth === state.truth) &&
    (!state.right || String(row.right) === state.right) && (!state.part || row.part === state.part) &&
    (most >= 1 || (row.confidence !== null && row.confidence <= most)) && row.nodes >= least && row.nodes <= largest &&
    (!words || `${row.graph} ${row.name ?? ""}`.toLowerCase().includes(words)) && (!chosen || chosen.has(row.graph)));
  const by = { unsure: (row) => row.confidence ?? 2, sure: (row) => -(row.confidence ?? 0), large: (row) => -row.nodes, small: (row) => row.nodes }[state.sort];
  return by ? kept.sort((a, b) => by(a) - by(b)) : kept;
}

export function filters(rows, change) {
  const state = read(), set = (key) => (value) => { write({ [key]: value, page: "" }, true); change(); };
  const any = (values) => [["", "all"], ...values.map((value) => [value, value])];
  const typed = (key, label, type, more = {}) => h("label", { class: "choice" }, h("span", {}, label),
    h("input", { type, value: state[key] ?? "", oninput: (event) => set(key)(event.target.value), ...more }));
  const options = (key, label, values) => (values.length > 1 && values.length <= 200 ? choice(label, any(values), state[key] ?? "", set(key)) : null);
  const known = rows.some((row) => row.right !== null && row.right !== undefined);
  const sure = rows.some((row) => row.confidence !== null && row.confidence !== undefined);
  return h("div", { class: "filters", role: "search" },
    typed("q", "name", "search"),
    options("predicted", "predicted", distinct(rows, "prediction")), options("truth", "true", distinct(rows, "truth")),
    options("part", "part", distinct(rows, "part")),
    known ? choice("prediction", [["", "all"], ["true", "right"], ["false", "wrong"]], state.right ?? "", set("right")) : null,
    sure ? choice("certainty", [["", "all"], ["0.9", "at most 90%"], ["0.7", "at most 70%"], ["0.6", "at most 60%"]], state.sure ?? "", set("sure")) : null,
    typed("least", "nodes from", "number", { min: 0 }), typed("most", "nodes to", "number", { min: 0 }),
    choice("order", [["", "by number"], ["unsure", "least certain first"], ["sure", "most certain first"], ["large", "largest first"], ["small", "smallest first"]].filter(([key]) => sure || !key.endsWith("sure")), state.sort ?? "", set("sort")),
  );
}

export function nameOf(row) {
  return row.name ?? `graph ${row.graph}`;
}

// A prediction in a line: what, and how sure.
export function said(row) {
  return [h("b", {}, shown(row.prediction)), row.confidence === null ? "" : ` ${percent(row.confidence)}`];
}

export function rowButton(row, selected, choose) {
  const mark = row.error ? "✕" : row.right === true ? "✓" : row.right === false ? "✗" : "";
  const word = row.error ? "cannot be read" : row.right === true ? "right" : row.right === false ? "wrong" : "";
  return h("button", { type: "button", class: "row", "aria-pressed": String(selected), onclick: choose, "data-graph": row.graph, title: row.error ?? nameOf(row) },
    h("span", { class: `sign ${word}`, "aria-label": word, role: word ? "img" : null }, mark),
    h("span", { class: "name" }, nameOf(row)),
    h("span", { class: "what" }, row.error ? "cannot be read" : said(row)),
  );
}

// The rows, a page at a time.
export function listRows(parent, rows, selected, choose, line = rowButton) {
  const page = Math.min(Number(read().page || 0), Math.floor(Math.max(rows.length - 1, 0) / PAGE));
  const some = rows.slice(page * PAGE, (page + 1) * PAGE);
  const turn = (to) => { write({ page: to || "" }, true); listRows(parent, rows, selected, choose, line); };
  fill(parent,
    h("p", { class: "note count" }, `${rows.length.toLocaleString("en")} graphs`),
    h("div", { class: "rows" }, some.map((row) => line(row, row.graph === selected, () => choose(row)))),
    rows.length > PAGE ? h("div", { class: "tools" },
      h("button", { type: "button", disabled: page === 0, onclick: () => turn(page - 1) }, "Back"),
      h("span", {}, `${page * PAGE + 1} to ${page * PAGE + some.length}`),
      h("button", { type: "button", disabled: (page + 1) * PAGE >= rows.length, onclick: () => turn(page + 1) }, "Next")) : null,
  );
}
