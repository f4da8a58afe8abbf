// Elements made in code: text is only ever set as text, so that no name can become markup.
export function h(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "value") made.value = value;
    else if (key === "checked") made.checked = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return made;
}

// In place of what was there; a child that is null is none, not the word.
export function fill(parent, ...children) {
  parent.replaceChildren(...children.filter((child) => child !== null));
}

export function svg(parent, name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return parent.appendChild(made);
}

export function choice(label, options, value, change) {
  const select = h("select", { onchange: () => change(select.value) });
  for (const option of options) {
    const [key, text] = Array.isArray(option) ? option : [option, option];
    const made = new Option(text, key);
    made.selected = String(key) === String(value);
    select.append(made);
  }
  return h("label", { class: "choice" }, h("span", {}, label), select);
}

// What a person who cannot see the page is told.
export function announce(text) {
  document.getElementById("status").textContent = text;
}

export function shown(value) {
  if (value === null || value === undefined) return "—";
  if (typeof value !== "number") return String(value);
  return Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(4)));
}

export function percent(value) {
  return value === null || value === undefined ? "" : (100 * value).toFixed(value > 0.995 && value < 1 ? 1 : 0) + "%";
}
