// The page: a model, a view, and what is in the address.
import { choice, fill, h } from "./dom.js";
import { linkTo, read, write } from "./address.js";
import { browseView } from "./browse.js";
import { compareView } from "./compare.js";
import { modelView } from "./model.js";
import { predictView } from "./predict.js";

const VIEWS = { predict: ["Predict", predictView], browse: ["Browse", browseView], compare: ["Compare", compareView], model: ["Model", modelView] };

export async function start(source, names) {
  const main = document.getElementById("main"), top = document.getElementById("top");
  let running = new AbortController();
  const page = { source, models: [], sets: [], model: null, show };

  async function show() {
    running.abort();
    running = new AbortController();
    const { signal } = running, state = read();
    try {
      page.models = await source.models();
      page.sets = await source.sets();
      const name = page.models.some((one) => one.name === state.model) ? state.model : page.models[0].name;
      if (state.set && !page.sets.some((one) => one.name === state.set)) page.sets = [...page.sets, await source.set(state.set)];
      page.model = await source.card(name);
      const view = names.includes(state.view) ? state.view : names[0];
      header(name, view);
      document.title = `${VIEWS[view][0]} – ${name} – sargnn`;
      await VIEWS[view][1](main, page, signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.status === 401) signIn();
      else main.replaceChildren(h("p", { class: "problem", role: "alert" }, error.message));
    }
  }

  function header(name, view) {
    const link = (one) => h("a", { href: linkTo({ model: name, view: one, set: read().set }), "aria-current": one === view ? "page" : null }, VIEWS[one][0]);
    fill(top,
      page.models.length > 1 ? choice("model", page.models.map((one) => one.name), name, (value) => { write({ model: value }); show(); }) : h("span", { class: "model" }, name),
      h("nav", { "aria-label": "views" }, names.map(link)),
      source.alive ? h("a", { class: "rest", href: "docs" }, "REST") : null,
    );
  }

  function signIn() {
    const token = h("input", { type: "password", id: "token", autocomplete: "current-password" }), problem = h("p", { class: "problem", role: "alert" });
    main.replaceChildren(h("form", { class: "signin", onsubmit: async (event) => {
      event.preventDefault();
      try {
        await source.signIn(token.value.trim());
        show();
      } catch (error) { problem.textContent = error.message; }
    } }, h("label", { for: "token" }, "This server asks for a token"), token, h("button", { class: "main" }, "Sign in"), problem));
    token.focus();
  }

  // Steps inside a view are its own business; another view, model, set or item is shown anew.
  let before = read();
  addEventListener("written", () => { before = read(); });
  addEventListener("popstate", () => {
    const now = read(), steps = ["gone", "cut", "map", "page"];
    const keys = new Set([...Object.keys(now), ...Object.keys(before)]);
    const anew = [...keys].some((key) => !steps.includes(key) && now[key] !== before[key]);
    before = now;
    if (anew) show();
  });
  await show();
}
