// The colours of saliency, from cream to plum: those of every drawing of this package.
export const SALIENCY = [
  "#f8f3ec", "#f7efe5", "#f7ebde", "#f6e7d7", "#f5e3cf", "#f5dfc8", "#f4dbc1", "#f4d7ba",
  "#f3d3b3", "#f3cead", "#f3caa7", "#f3c6a1", "#f2c19b", "#f2bd95", "#f2b98f", "#f2b489",
  "#f2ae82", "#f2a97d", "#f2a478", "#f29f74", "#f39a6f", "#f3956a", "#f39066", "#f38a61",
  "#f2855e", "#f0815d", "#ef7c5d", "#ed775d", "#eb735c", "#e96e5c", "#e76a5c", "#e5655b",
  "#e25f5b", "#df5b5b", "#db575c", "#d8535c", "#d54f5c", "#d24b5c", "#ce475d", "#cb425d",
  "#c73f5d", "#c23d5e", "#bd3a5e", "#b9385e", "#b4355f", "#af335f", "#aa3060", "#a52e60",
  "#9f2c60", "#9a2b5f", "#94295f", "#8f285e", "#89275e", "#84265d", "#7f245d", "#79235c",
  "#74225b", "#6e2159", "#692058", "#632057", "#5e1f55", "#581e54", "#531d52", "#4d1c51",
];
const AGAINST = [47, 127, 134], NOTHING = [248, 243, 236], FOR = [156, 42, 94];

// The ends of the colour scale: zero, or the least value; the largest, but at least twice the mean, so that a graph in
// which no node stands out has a middle tone. Parts with signs have a scale of their own, even on both sides.
export function limitsOf(values) {
  const least = Math.min(0, ...values), most = Math.max(...values);
  if (least < 0) return [-Math.max(-least, most) || -1, Math.max(-least, most) || 1];
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);
  return [0, Math.max(most, 2 * mean) || 1];
}

function mixed(from, to, part) {
  return "rgb(" + from.map((value, i) => Math.round(value + (to[i] - value) * part)).join(",") + ")";
}

export function colourOf(value, [low, high], darkest = 1) {
  if (low < 0) return value < 0 ? mixed(NOTHING, AGAINST, value / low) : mixed(NOTHING, FOR, value / high);
  const shade = Math.min(1, Math.max(0, (value - low) / (high - low)));
  return SALIENCY[Math.round(darkest * shade * (SALIENCY.length - 1))];
}

export function scaleOf(limits, darkest = 1) {
  const steps = Array.from({ length: 9 }, (_, i) => limits[0] + (limits[1] - limits[0]) * i / 8);
  return "linear-gradient(90deg, " + steps.map((value) => colourOf(value, limits, darkest)).join(", ") + ")";
}
