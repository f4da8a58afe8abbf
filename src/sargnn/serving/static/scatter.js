// A map of graphs: a point for each, near each other where the model sees them alike. Draw a box to choose some.
import { svg } from "./dom.js";

const SIDE = 360, MARGIN = 14;
const COLOURS = ["#9c2a5e", "#2f7f86", "#d9853b", "#4a6fa5", "#7f8f3a", "#8a5fb0", "#555f69", "#c2557a"];

export function scatter(root, places, groups, chosen, brushed, picked) {
  root.replaceChildren();
  root.setAttribute("viewBox", `0 0 ${SIDE} ${SIDE}`);
  svg(root, "rect", { width: SIDE, height: SIDE, fill: "#fffdfa", rx: 8 });
  const scale = (values) => {
    const low = Math.min(...values), high = Math.max(...values), reach = high - low || 1;
    return values.map((value) => MARGIN + (SIDE - 2 * MARGIN) * (value - low) / reach);
  };
  const x = scale(places.x), y = scale(places.y).map((value) => SIDE - value), names = [...new Set(groups)].sort();
  places.graph.forEach((graph, i) => {
    const inside = !chosen || chosen.has(graph);
    svg(root, "circle", {
      cx: x[i], cy: y[i], r: graph === picked ? 6 : 3.5, fill: COLOURS[names.indexOf(groups[i]) % COLOURS.length],
      "fill-opacity": inside ? 0.8 : 0.15, stroke: graph === picked ? "#26313d" : "none", "stroke-width": 2,
    });
  });
  const box = svg(root, "rect", { fill: "#26313d", "fill-opacity": 0.1, stroke: "#26313d", visibility: "hidden" });
  let start = null;
  const at = (event) => {
    const frame = root.getBoundingClientRect();
    return [(event.clientX - frame.left) * SIDE / frame.width, (event.clientY - frame.top) * SIDE / frame.height];
  };
  root.onpointerdown = (event) => { start = at(event); root.setPointerCapture(event.pointerId); };
  root.onpointermove = (event) => {
    if (!start) return;
    const [a, b] = at(event), shape = { x: Math.min(a, start[0]), y: Math.min(b, start[1]), width: Math.abs(a - start[0]), height: Math.abs(b - start[1]) };
    for (const [key, value] of Object.entries(shape)) box.setAttribute(key, value);
    box.setAttribute("visibility", "visible");
  };
  root.onpointerup = (event) => {
    if (!start) return;
    const [a, b] = at(event), [u, v] = start;
    start = null;
    box.setAttribute("visibility", "hidden");
    if (Math.hypot(a - u, b - v) < 4) { brushed(null, nearest(places.graph, x, y, a, b)); return; }
    const within = (value, one, two) => value >= Math.min(one, two) && value <= Math.max(one, two);
    brushed(places.graph.filter((_, i) => within(x[i], a, u) && within(y[i], b, v)), null);
  };
  return names.map((name, i) => [name, COLOURS[i % COLOURS.length]]);
}

function nearest(graphs, x, y, a, b) {
  let best = null, least = 10;
  graphs.forEach((graph, i) => {
    const far = Math.hypot(x[i] - a, y[i] - b);
    if (far < least) [best, least] = [graph, far];
  });
  return best;
}
