// One graph or molecule as SVG: nodes coloured by a map, bonds as bonds, everything that was taken away faint.
// Looks are attributes, not style sheets, so that what is exported looks the same.
import { svg } from "./dom.js";
import { colourOf } from "./colours.js";

export const WIDTH = 720, HEIGHT = 540, DARKEST = 0.7;
const INK = "#26313d", LINE = "#aab4be", RIM = "#6b7885", PAPER = "#fffdfa", MARK = "#9c2a5e";

// drawing: x, y, bonds [a, b, order, side, wedge], texts [text, shift], molecule, names, labels
// look: values, limits, nodes and edges taken away (sets of positions and of "a-b"), picked, said, onnode, onedge
export function draw(root, drawing, look) {
  root.replaceChildren();
  root.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  root.setAttribute("font-family", "system-ui, sans-serif");
  svg(root, "rect", { width: WIDTH, height: HEIGHT, fill: PAPER, rx: 8 });
  const zoom = Math.min(1.6, Math.max(1, 0.7 * WIDTH / (root.clientWidth || WIDTH))); // text on a narrow screen
  const count = drawing.names.length, radius = Math.max(4, Math.min(20, 110 / Math.sqrt(count)));
  const bonds = svg(root, "g", {}), nodes = svg(root, "g", {}), texts = svg(root, "g", { "pointer-events": "none" });
  if (drawing.molecule) root.insertBefore(nodes, bonds);
  for (const bond of drawing.bonds) drawBond(bonds, drawing, bond, look, zoom, radius);
  for (let node = 0; node < count; node += 1) drawNode(nodes, drawing, node, radius, look);
  drawing.texts.forEach(([text, shift], node) => {
    if (!text || (radius <= 7 && !drawing.molecule)) return;
    const gone = look.nodes.has(node), value = look.values[node], dark = !drawing.molecule && isDark(value, look.limits);
    svg(texts, "text", {
      x: drawing.x[node], y: drawing.y[node], dx: -0.6 * shift + "em", "font-size": zoom * (drawing.molecule ? 17 : 13),
      "text-anchor": "middle", "dominant-baseline": "central", fill: dark && !gone ? "#ffffff" : INK,
      opacity: gone ? 0.35 : 1,
      ...(drawing.molecule ? { stroke: PAPER, "stroke-width": 3, "stroke-linejoin": "round", "paint-order": "stroke" } : {}),
    }, drawing.molecule ? text : text.slice(0, 5));
  });
}

function isDark(value, [low, high]) {
  return low < 0 ? Math.abs(value) > 0.6 * high : (value - low) / (high - low) > 0.5;
}

function isGone(look, a, b) {
  return look.nodes.has(a) || look.nodes.has(b) || look.edges.has(`${Math.min(a, b)}-${Math.max(a, b)}`);
}

function drawNode(parent, drawing, node, radius, look) {
  const gone = look.nodes.has(node), value = look.values[node] ?? 0, [, high] = look.limits;
  const size = radius * (0.6 + 0.4 * Math.min(1, Math.abs(value) / high));
  const made = svg(parent, "circle", {
    cx: drawing.x[node], cy: drawing.y[node], r: gone ? 0.5 * radius : size,
    fill: gone ? PAPER : colourOf(value, look.limits, drawing.molecule ? DARKEST : 1),
    stroke: look.picked === node ? MARK : gone ? LINE : drawing.molecule ? "none" : RIM,
    "stroke-width": look.picked === node ? 3 : 1, "stroke-dasharray": gone ? "3 3" : "none",
    "data-node": node,
  });
  if (!look.onnode) return;
  made.setAttribute("tabindex", 0);
  made.setAttribute("role", "button");
  made.setAttribute("aria-pressed", gone);
  made.setAttribute("aria-label", look.said(node));
  svg(made, "title", {}, look.said(node));
  act(made, () => look.onnode(node));
}

function act(element, what) {
  element.addEventListener("click", what);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    what();
  });
}

function drawBond(parent, drawing, bond, look, zoom, radius) {
  const [a, b] = bond, gone = isGone(look, a, b), group = svg(parent, "g", gone ? { opacity: 0.3 } : {});
  const ends = { x1: drawing.x[a], y1: drawing.y[a], x2: drawing.x[b], y2: drawing.y[b] };
  if (!drawing.molecule) {
    svg(group, "line", { ...ends, stroke: LINE, "stroke-width": 2, "stroke-dasharray": gone ? "4 4" : "none" });
  } else {
    drawLines(group, drawing, bond, gone, zoom);
  }
  if (!look.onedge) return;
  const wide = svg(group, "line", { ...between(drawing, a, b, radius), stroke: "transparent", "stroke-width": 12, "data-edge": `${a}-${b}` });
  svg(wide, "title", {}, `edge ${drawing.names[a]} – ${drawing.names[b]}`);
  wide.addEventListener("click", () => look.onedge(a, b));
}

// From one node's rim to the other's: a click on a node is not one on its bonds, which are drawn over an atom.
function between({ x, y }, a, b, radius) {
  const length = Math.hypot(x[b] - x[a], y[b] - y[a]) || 1, part = Math.min(radius / length, 1 / 3);
  const [dx, dy] = [part * (x[b] - x[a]), part * (y[b] - y[a])];
  return { x1: x[a] + dx, y1: y[a] + dy, x2: x[b] - dx, y2: y[b] - dy };
}

// From the edge of one text to the edge of the other; (u, v) points along the bond, (v, -u) to its left.
function drawLines(parent, drawing, [a, b, order, side, wedge], gone, zoom) {
  let [x1, y1, x2, y2] = [drawing.x[a], drawing.y[a], drawing.x[b], drawing.y[b]];
  const length = Math.hypot(x2 - x1, y2 - y1) || 1, u = (x2 - x1) / length, v = (y2 - y1) / length;
  const room = (node) => (drawing.texts[node][0] ? Math.min(11 * zoom, length / 3) : 0);
  [x1, y1, x2, y2] = [x1 + room(a) * u, y1 + room(a) * v, x2 - room(b) * u, y2 - room(b) * v];
  const look = { stroke: INK, "stroke-width": 1.8, "stroke-linecap": "round", "pointer-events": "none" };
  const line = (from, to, more) => svg(parent, "line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1], ...look, ...more });
  if (wedge === "solid") {
    const d = `M${x1} ${y1}L${x2 + 5 * v} ${y2 - 5 * u}L${x2 - 5 * v} ${y2 + 5 * u}Z`;
    svg(parent, "path", { d, fill: INK, "pointer-events": "none" });
    return;
  }
  if (wedge === "hashed") {
    for (let step = 1; step <= 6; step += 1) {
      const x = x1 + (x2 - x1) * step / 6, y = y1 + (y2 - y1) * step / 6, wide = 5 * step / 6;
      line([x + wide * v, y - wide * u], [x - wide * v, y + wide * u], {});
    }
    return;
  }
  const count = Math.max(1, Math.ceil(order)), gap = Math.min(6, length / 5);
  for (let number = 0; number < count; number += 1) {
    const off = side ? number * side * gap : (number - (count - 1) / 2) * gap;
    const cut = side !== 0 && number > 0 ? Math.min(6, length / 6) : 0, dashed = gone || (number > 0 && number + 1 > order);
    line(
      [x1 + cut * u + off * v, y1 + cut * v - off * u], [x2 - cut * u + off * v, y2 - cut * v - off * u],
      dashed ? { "stroke-dasharray": "5 5" } : {},
    );
  }
}
