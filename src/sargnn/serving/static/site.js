// The page without a server: what it shows was written beside it, as scripts.
import { start } from "./main.js";

function load(address) {
  return new Promise((done, failed) => {
    const script = document.createElement("script");
    Object.assign(script, { src: address, onload: done, onerror: () => failed(new Error(`got no file ${address}`)) });
    document.head.append(script);
  });
}

const site = {
  alive: false,
  models: async () => [SARGNN.card],
  card: async () => SARGNN.card,
  sets: async () => [SARGNN.set],
  set: async () => SARGNN.set,
  rows: async () => SARGNN.rows,
  map: async () => SARGNN.map,

  async explain(model, item) {
    const number = Math.floor(item.graph / SARGNN.atOnce);
    if (!SARGNN.graphs[number]) await load(`data/graphs-${number}.js`);
    const said = SARGNN.graphs[number][item.graph % SARGNN.atOnce];
    if (said.error) throw new Error(said.error);
    return said;
  },
};

start(site, ["browse", "model"]);
