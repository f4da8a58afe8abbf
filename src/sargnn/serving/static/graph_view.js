// One graph: the prediction, what decided, and what would be without some of its nodes and edges.
import { limitsOf, scaleOf } from "./colours.js";
import { announce, choice, h, percent, shown } from "./dom.js";
import { DARKEST, draw } from "./drawing.js";
import { canUndo, read, write } from "./address.js";
import { saveJson, savePng, saveSvg } from "./save.js";

const COVERAGE = 0.9, EFFECT = "effect on ", MOST_EFFECTS = 24, UNUSUAL = 95;

function numbersIn(text) {
  return new Set((text ?? "").split(".").filter(Boolean).map(Number));
}

function pairsIn(text) {
  return new Set((text ?? "").split(".").filter(Boolean));
}

// The maps of an answer by name, with a place for every node of the whole graph.
function mapsOf(answer, count, gone) {
  const kept = Array.from({ length: count }, (_, node) => node).filter((node) => !gone.has(node));
  const spread = (values) => {
    const whole = Array(count).fill(0);
    values.forEach((value, i) => { whole[kept[i]] = value; });
    return whole;
  };
  const found = {};
  const layers = answer.layers ?? [];
  if (answer.saliency) found[layers.length > 1 ? "all layers" : "saliency"] = spread(answer.saliency);
  if (layers.length > 1) layers.forEach((layer, i) => { found[`layer ${i}`] = spread(layer); });
  for (const [name, values] of Object.entries(answer.effects ?? {})) found[EFFECT + name] = spread(values);
  return found;
}

function numbersOf(values) {
  return Object.entries(values).filter(([, value]) => typeof value === "number");
}

export function verdict(answer) {
  return answer.prediction + (answer.confidence === null ? "" : ` (${percent(answer.confidence)})`);
}

// `about`: model (its card), item, title, truth, source, and whether `fixed`: nothing can be taken away
export function graphView(panel, about, signal) {
  const { source, model, item } = about, options = { ...(model.calibrated ? { coverage: COVERAGE } : {}), ...(model.trust ? { trust: true } : {}) };
  let base = null, now = null, picked = null, running = null;
  const state = () => read();
  const effects = () => (source.alive && (state().map ?? "").startsWith(EFFECT) ? { effects: true } : {});
  const gone = () => numbersIn(state().gone), cut = () => pairsIn(state().cut);
  panel.replaceChildren(h("p", { class: "wait" }, "predicting…"));

  async function begin() {
    base = await source.explain(model.name, item, { ...options, ...effects(), drawing: true }, signal);
    now = base;
    if (gone().size || cut().size) await change();
    else render();
  }

  async function change(focus) {
    running?.abort();
    running = new AbortController();
    if (signal.aborted) return;
    const nodes = [...gone()], edges = [...cut()].map((pair) => pair.split("-").map(Number));
    const whole = !nodes.length && !edges.length, asked = { ...options, ...effects() };
    try {
      if (!whole) now = await source.explain(model.name, item, { ...asked, without: { nodes, edges } }, running.signal);
      else if (asked.effects && !base.effects) now = base = { ...base, ...(await source.explain(model.name, item, asked, running.signal)) };
      else now = base;
    } catch (error) {
      if (error.name === "AbortError") return;
      now = whole ? { ...base, problem: error.message } : { ...base, error: error.message, saliency: null, layers: [] };
    }
    render();
    if (focus !== undefined) panel.querySelector(`[data-node="${focus}"]`)?.focus();
    announce(now.error ?? now.problem ?? `${verdict(now)}, before ${verdict(base)}`);
  }

  function toggleNode(node) {
    const nodes = gone();
    if (!nodes.delete(node)) nodes.add(node);
    write({ gone: [...nodes].sort((a, b) => a - b).join(".") });
    change(node);
  }

  function toggleEdge(a, b) {
    const pairs = cut(), pair = `${Math.min(a, b)}-${Math.max(a, b)}`;
    if (!pairs.delete(pair)) pairs.add(pair);
    write({ cut: [...pairs].join(".") });
    change();
  }

  function restore() {
    write({ gone: "", cut: "" });
    change();
  }

  function render() {
    const drawing = base.drawing, changed = gone().size + cut().size > 0;
    panel.replaceChildren();
    panel.append(headline(about, base, now, changed), numbers(base, now, changed));
    if (now.error ?? now.problem) panel.append(h("p", { class: "problem", role: "alert" }, now.error ?? now.problem));
    if (drawing?.error || !drawing) {
      panel.append(h("p", { class: "note" }, drawing?.error ?? "no drawing"));
      return;
    }
    const count = drawing.names.length, maps = mapsOf(now, count, gone()), names = Object.keys(maps);
    const offered = [...names, ...(source.alive ? model.outputs.slice(0, MOST_EFFECTS).map((name) => EFFECT + name).filter((name) => !names.includes(name)) : [])];
    const chosen = names.includes(state().map) ? state().map : names[0];
    const choose = (name) => {
      write({ map: name }, true);
      if (names.includes(name)) render();
      else change();
    };
    const values = maps[chosen] ?? Array(count).fill(0), limits = limitsOf(values);
    const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    picture.setAttribute("class", "picture");
    picture.setAttribute("role", "group");
    picture.setAttribute("aria-label", `drawing of ${about.title}, ${count} nodes`);
    const said = (node) => nodeWords(drawing, maps, node) + (gone().has(node) ? ", taken away" : "");
    const redraw = () => draw(picture, drawing, {
      values, limits, nodes: gone(), edges: cut(), picked, said,
      onnode: about.fixed ? null : toggleNode, onedge: about.fixed ? null : toggleEdge,
    });
    const bar = h("span", { class: "bar" });
    bar.style.background = scaleOf(limits, drawing.molecule ? DARKEST : 1);
    const legend = names.length
      ? h("div", { class: "legend" }, h("span", {}, chosen), h("span", {}, shown(limits[0])), bar, h("span", {}, shown(limits[1])))
      : h("p", { class: "note" }, "This model has no saliency; choose an effect to see what each node does.");
    panel.append(
      h("figure", {},
        h("div", { class: "tools" },
          offered.length > 1 || !names.length ? choice("colour", names.length ? offered : [["", "none"], ...offered], chosen ?? "", choose) : null,
          h("span", { class: "spring" }),
          about.fixed ? null : h("button", { type: "button", onclick: () => (canUndo() ? history.back() : restore()), disabled: !changed }, "Undo"),
          about.fixed ? null : h("button", { type: "button", onclick: restore, disabled: !changed }, "Restore all"),
          h("button", { type: "button", onclick: () => savePng(about.title, picture) }, "PNG"),
          h("button", { type: "button", onclick: () => saveSvg(about.title, picture) }, "SVG"),
          h("button", { type: "button", onclick: () => saveJson(about.title, { item, ...now }) }, "JSON"),
        ),
        picture, legend, chosen && !chosen.startsWith(EFFECT) ? relianceWords(model.reliance) : null,
        about.fixed ? null : h("figcaption", {}, "Click a node or an edge to take it away: the prediction follows. Click again to put it back."),
      ),
      nodeTable(drawing, maps, chosen, gone(), (node) => { picked = node; redraw(); }),
    );
    redraw(); // now that it has a width
  }

  const again = () => { if (base) change(); };
  addEventListener("popstate", again, { signal });
  signal.addEventListener("abort", () => running?.abort());
  return begin();
}

function headline(about, base, now, changed) {
  const parts = [h("strong", { class: "verdict" }, now.error ? "—" : verdict(now))];
  if (changed && !now.error) parts.push(h("span", { class: "before" }, `before: ${verdict(base)}`));
  if (about.truth !== null && about.truth !== undefined) {
    parts.push(h("span", { class: about.right ? "right" : "wrong" }, `true: ${about.truth}`));
  }
  const inside = Object.entries(now.region ?? {}).filter(([name, value]) => name.startsWith("in_set_") && value === 1);
  if (inside.length) {
    const names = inside.map(([name]) => name.slice(7)).join(" or ");
    parts.push(h("span", { class: "set", title: "holds the true class 9 times in 10" }, `90% set: ${names}`));
  }
  return h("header", { class: "said" }, h("h2", {}, about.title), h("p", {}, parts.flatMap((part) => [part, " "])), trustWords(now.trust));
}

// Whether to believe the colours at all.
export function relianceWords(reliance) {
  if (!reliance) return null;
  return h("p", { class: "note reliance" }, `On ${shown(reliance.graphs)} held-out graphs, ${reliance.verdict}.`);
}

// How near the graph is to those that the model was trained on.
function trustWords(trust) {
  if (!trust || trust.error) return null;
  const near = [1, 2, 3].filter((k) => trust[`nearest_${k}`] !== undefined).map((k) =>
    `${trust[`nearest_${k}`]} (${trust[`similarity_${k}`] === undefined ? "distance" : "similarity"} ${shown(trust[`similarity_${k}`] ?? trust[`distance_${k}`])})`);
  const far = trust.distance_percentile >= UNUSUAL;
  const summary = trust.unseen_categories ? `It has what was never seen in training: ${trust.unseen_categories}`
    : far ? "It is unlike the training graphs" : "It is like the training graphs";
  const words = [`${shown(Math.round(trust.distance_percentile))}% of the training graphs are nearer to another one than this graph is to any`];
  if (trust.unseen_scaffold) words.push("its scaffold was not in training");
  if (typeof trust.spread === "number") words.push(`the members of the ensemble differ by ${shown(trust.spread)}`);
  return h("details", { class: `trust ${far || trust.unseen_categories ? "doubt" : ""}` }, h("summary", {}, `Can I trust this? ${summary}`), h("p", {}, `${words.join("; ")}. Nearest: ${near.join(", ")}.`));
}

function regionOf(region, name) {
  const target = name.replace(/^(probability|predicted)_/, "");
  if (region?.[`set_${target}`] !== undefined) return region[`set_${target}`];
  const low = region?.[`low_${target}`], high = region?.[`high_${target}`];
  return low === undefined ? null : `90%: ${low === null ? "−∞" : shown(low)} to ${high === null ? "∞" : shown(high)}`;
}

function numbers(base, now, changed) {
  const rows = numbersOf(now.values), before = base.values;
  const bars = rows.every(([name]) => name.startsWith("probability_"));
  const body = rows.map(([name, value]) => {
    const fill = h("span", { class: "fill" }), mark = h("span", { class: "mark" });
    fill.style.width = `${100 * value}%`;
    mark.style.left = `${100 * before[name]}%`;
    return h("tr", {},
      h("th", { scope: "row" }, name.replace(/^(probability|predicted)_/, "")),
      bars ? h("td", { class: "track" }, h("span", { class: "rail" }, fill, changed ? mark : null)) : null,
      h("td", { class: "number" }, shown(value)),
      now.region && regionOf(now.region, name) !== null ? h("td", { class: "region" }, String(regionOf(now.region, name))) : null,
      changed ? h("td", { class: "number change" }, (value >= before[name] ? "+" : "−") + shown(Math.abs(value - before[name]))) : null,
    );
  });
  return h("table", { class: "numbers" }, h("caption", { class: "unseen" }, "Numbers of the prediction"), h("tbody", {}, body));
}

function nodeWords(drawing, maps, node) {
  const label = drawing.labels[node] ? ` ${drawing.labels[node]}` : "";
  const [first] = Object.values(maps);
  return `node ${drawing.names[node]}${label}` + (first ? `, ${shown(first[node])}` : "");
}

function nodeTable(drawing, maps, chosen, gone, pick) {
  const names = Object.keys(maps);
  const order = drawing.names.map((_, node) => node);
  if (names.length) order.sort((a, b) => Math.abs(maps[chosen][b]) - Math.abs(maps[chosen][a]));
  const labelled = drawing.labels.some(Boolean);
  const head = ["node", ...(labelled ? ["label"] : []), ...names];
  const body = order.slice(0, 200).map((node) => h("tr", {
    class: gone.has(node) ? "gone" : null, onmouseenter: () => pick(node), onmouseleave: () => pick(null),
  },
    h("th", { scope: "row" }, drawing.names[node]), labelled ? h("td", {}, drawing.labels[node]) : null,
    names.map((name) => h("td", { class: "number" }, gone.has(node) ? "" : shown(maps[name][node]))),
  ));
  return h("details", { class: "nodes", open: true },
    h("summary", {}, `Nodes (${drawing.names.length}${order.length > 200 ? ", the first 200" : ""})`),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "table of nodes" },
      h("table", {}, h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, body))),
  );
}
