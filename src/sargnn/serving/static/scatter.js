// A map of graphs: a point for each, near each other where the model sees them alike. Draw a box to choose some.
import { svg } from "./dom.js";

const WIDE = 360, HIGH = 270, MARGIN = 14;
const COLOURS = ["#9c2a5e", "#2f7f86", "#d9853b", "#4a6fa5", "#7f8f3a", "#8a5fb0", "#555f69", "#c2557a"];

// Where each graph is drawn.
function onPaper(places) {
  const scale = (values, side) => {
    let low = Infinity, high = -Infinity;
    for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
    return values.map((value) => MARGIN + (side - 2 * MARGIN) * (value - low) / (high - low || 1));
  };
  return [scale(places.x, WIDE), scale(places.y, HIGH).map((value) => HIGH - value)];
}

// The graphs in a box: left, top, right, bottom.
export function within(places, [left, top, right, bottom]) {
  const [x, y] = onPaper(places);
  return places.graph.filter((_, i) => x[i] >= left && x[i] <= right && y[i] >= top && y[i] <= bottom);
}

// `brushed` hears of a box that was drawn, `picked` is the graph with a ring.
export function scatter(root, places, groups, chosen, kept, brushed, picked) {
  root.replaceChildren();
  root.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  svg(root, "rect", { width: WIDE, height: HIGH, fill: "#fffdfa", rx: 8 });
  const [x, y] = onPaper(places), names = [...new Set(groups)].sort();
  places.graph.forEach((graph, i) => {
    const inside = kept.has(graph);
    svg(root, "circle", {
      cx: x[i], cy: y[i], r: graph === picked ? 6 : 3.5, fill: COLOURS[names.indexOf(groups[i]) % COLOURS.length],
      "fill-opacity": inside ? 0.8 : 0.15, stroke: graph === picked ? "#26313d" : "none", "stroke-width": 2,
    });
  });
  const box = svg(root, "rect", { fill: "#26313d", "fill-opacity": 0.1, stroke: "#26313d" });
  const show = ([left, top, right, bottom]) => {
    for (const [key, value] of Object.entries({ x: left, y: top, width: right - left, height: bottom - top })) box.setAttribute(key, value);
  };
  show(chosen ?? [0, 0, 0, 0]);
  let start = null;
  const at = (event) => {
    const frame = root.getBoundingClientRect();
    return [(event.clientX - frame.left) * WIDE / frame.width, (event.clientY - frame.top) * HIGH / frame.height];
  };
  root.onpointerdown = (event) => { start = at(event); root.setPointerCapture(event.pointerId); };
  root.onpointermove = (event) => {
    if (!start) return;
    show(sorted(at(event), start));
  };
  root.onpointerup = (event) => {
    if (!start) return;
    const [a, b] = at(event), [u, v] = start;
    start = null;
    if (Math.hypot(a - u, b - v) < 4) brushed(null, nearest(places.graph, x, y, a, b));
    else brushed(sorted([a, b], [u, v]).map(Math.round), null);
  };
  return names.map((name, i) => [name, COLOURS[i % COLOURS.length]]);
}

function sorted([a, b], [u, v]) {
  return [Math.min(a, u), Math.min(b, v), Math.max(a, u), Math.max(b, v)].map((value) => Math.max(0, value));
}

function nearest(graphs, x, y, a, b) {
  let best = null, least = 10;
  graphs.forEach((graph, i) => {
    const far = Math.hypot(x[i] - a, y[i] - b);
    if (far < least) [best, least] = [graph, far];
  });
  return best;
}
