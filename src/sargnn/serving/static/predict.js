// Drop, paste or type graphs; see what the model says of each.
import { announce, h } from "./dom.js";
import { linkTo, read, write } from "./address.js";
import { graphView } from "./graph_view.js";

const LONGEST = 6000;

// What was typed: JSON of one graph or several, or SMILES, one on each line.
export function itemsOf(text) {
  const trimmed = text.trim();
  if (/^[{["]/.test(trimmed)) {
    try {
      const content = JSON.parse(trimmed);
      return Array.isArray(content) ? content : (content.graphs ?? [content]);
    } catch (error) {
      if (trimmed.startsWith("{")) throw new Error(`got a text that is not JSON (${error.message})`);
    }
  }
  return trimmed.split(/\s*\n\s*/).filter(Boolean).map((line) => line.split(/[\s,;]/)[0]);
}

function typed(item) {
  return typeof item === "string" ? item : JSON.stringify(item, null, 1);
}

export function titleOf(item) {
  if (typeof item === "string") return item;
  return item.graph?.name ?? item.name ?? (item.set ? `graph ${item.graph}` : item.smiles ?? "your graph");
}

export async function predictView(main, page, signal) {
  const { source, model } = page, state = read();
  const panel = h("section", { class: "panel", "aria-live": "off" }), list = h("div", { class: "several" });
  const problem = h("p", { class: "problem", role: "alert" });
  const text = h("textarea", { rows: 5, id: "graphs", spellcheck: "false", placeholder: "SMILES, or JSON {\"nodes\": [...], \"edges\": [...]}" });
  const file = h("input", { type: "file", class: "unseen", id: "file", onchange: () => { if (file.files.length) take([...file.files]); } });
  const form = h("form", { class: "drop", onsubmit: (event) => { event.preventDefault(); submit(text.value); } },
    h("label", { for: "graphs" }, "Drop a file of graphs here, or paste SMILES or JSON"), text,
    h("div", { class: "tools" },
      h("button", { type: "submit", class: "main" }, "Predict"),
      h("label", { class: "button", for: "file", tabindex: 0, onkeydown: (event) => { if (event.key === "Enter") file.click(); } }, "Open a file…"), file,
      h("button", { type: "button", onclick: () => { text.value = typed(model.example); submit(text.value); } }, "Example"),
    ), problem);
  for (const event of ["dragenter", "dragover"]) {
    form.addEventListener(event, (dragged) => { dragged.preventDefault(); form.classList.add("over"); });
  }
  for (const event of ["dragleave", "drop"]) form.addEventListener(event, () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    const files = [...event.dataTransfer.files];
    if (files.length) take(files);
    else submit(event.dataTransfer.getData("text"));
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(text.value);
  });
  main.replaceChildren(h("div", { class: "two" }, h("div", {}, form, list), panel));

  function refuse(error) {
    problem.textContent = error.message;
    panel.replaceChildren(h("p", { class: "note" }, "Nothing to show."));
    announce(error.message);
  }

  async function take(files) {
    try {
      problem.textContent = "";
      const [one] = files;
      if (/\.(txt|smiles?)$/i.test(one.name)) { submit(await one.text()); return; }
      const set = await source.upload(one.name, await one.arrayBuffer());
      const others = files.length > 1 ? [`took ${one.name}, the first of ${files.length} files; a zip can hold several`] : [];
      const notes = [...others, ...set.notes, ...set.left_out.map((line) => `left out: ${line}`)];
      if (set.graphs > 1) {
        location.hash = linkTo({ model: model.name, view: "browse", set: set.name });
      } else {
        write({ view: "predict", item: JSON.stringify({ set: set.name, graph: 0 }), gone: "", cut: "" });
        show({ set: set.name, graph: 0 }, set.title);
      }
      if (notes.length) problem.textContent = notes.slice(0, 5).join("; ");
    } catch (error) { refuse(error); }
  }

  async function submit(typed) {
    try {
      problem.textContent = "";
      const items = itemsOf(typed);
      if (!items.length) throw new Error("got nothing, expected SMILES or JSON");
      list.replaceChildren();
      if (items.length > 1) several(items);
      choose(items[0]);
    } catch (error) { refuse(error); }
  }

  function several(items) {
    list.append(h("h3", {}, `${items.length} graphs`), h("ol", { start: 0 }, items.slice(0, 500).map((item) =>
      h("li", {}, h("button", { type: "button", class: "link", onclick: () => choose(item) }, titleOf(item))))));
  }

  function choose(item) {
    const kept = JSON.stringify(item);
    write({ view: "predict", item: kept.length <= LONGEST ? kept : "", gone: "", cut: "" });
    show(item, titleOf(item));
  }

  function show(item, title) {
    return graphView(panel, { source, model, item, title: String(title) }, signal).catch((error) => {
      if (error.name !== "AbortError") refuse(error);
    });
  }

  if (state.item) {
    try {
      const item = JSON.parse(state.item);
      text.value = item.set ? "" : typed(item);
      await show(item, titleOf(item));
    } catch (error) { refuse(error); }
  } else {
    panel.replaceChildren(h("p", { class: "note" }, "Nothing to show yet. ", "Try the example."));
  }
}
