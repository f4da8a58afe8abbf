// What is known of a run: scores, inputs, settings, its report.
import { h, shown } from "./dom.js";
import { relianceWords } from "./graph_view.js";

function table(title, rows) {
  return h("section", {}, h("h3", {}, title), h("table", { class: "plain" }, h("tbody", {},
    rows.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value))))));
}

function words(value) {
  if (Array.isArray(value)) return value.map(words).join(", ") || "none";
  if (value !== null && typeof value === "object") return Object.entries(value).map(([key, one]) => `${key} ${words(one)}`).join(", ") || "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value === null ? "none" : shown(value);
}

// The numbers of each part of the data that are single numbers, and the interval of the first.
function scoreTable(scores) {
  const single = (key) => scores.every(([, part]) => typeof part[key] !== "object" || part[key] === null);
  const keys = [...new Set(scores.flatMap(([, part]) => Object.keys(part)))].filter((key) => key !== "high" && single(key));
  const nameOf = (key) => (key === "low" ? "its 95% interval" : key.replaceAll("_", " "));
  const cell = (part, key) => (key === "low" ? `${words(part.low)} to ${words(part.high)}` : words(part[key] ?? null));
  const head = h("tr", {}, h("th", {}), scores.map(([name]) => h("th", { scope: "col", class: "number" }, name)));
  const body = keys.map((key) => h("tr", {},
    h("th", { scope: "row" }, nameOf(key)), scores.map(([, part]) => h("td", { class: "number" }, cell(part, key)))));
  return h("section", {}, h("h3", {}, "Scores"), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "scores" },
    h("table", { class: "plain" }, h("thead", {}, head), h("tbody", {}, body))));
}

export async function modelView(main, page) {
  const { model, source } = page, scores = Object.entries(model.scores), outputs = model.outputs.slice(0, 20).join(", ");
  const settings = Object.entries(model.settings).filter(([, part]) => part !== null && typeof part === "object");
  main.replaceChildren(h("div", { class: "card" },
    h("h2", {}, model.name),
    h("p", {}, `${model.system}, ${model.task}: ${outputs}${model.outputs.length > 20 ? ", …" : ""}. Trained on ${model.data.name ?? "graphs"} (${shown(model.data.graphs)} graphs).`),
    model.report && source.reportOf ? h("p", {}, h("a", { href: source.reportOf(model.name), target: "_blank", rel: "noopener" }, "Open the training report")) : null,
    scores.length ? scoreTable(scores) : null, relianceWords(model.reliance),
    table("Inputs", Object.entries(model.inputs).map(([key, value]) => [key.replaceAll("_", " "), words(value)])),
    h("div", { class: "settings" }, settings.map(([part, values]) =>
      table(`Settings: ${part}`, Object.entries(values).map(([key, value]) => [key, words(value)])))),
  ));
}
