// The server that this page came from. Every answer is JSON; an error is one line.
export class Refusal extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("the server does not answer", 0);
  }
  const content = await answer.json().catch(() => ({ error: "got an answer that is not JSON" }));
  if (!answer.ok && !content.results) throw new Refusal(content.error ?? "refused", answer.status);
  return content;
}

function send(path, content, signal) {
  const headers = { "content-type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(content), signal });
}

const named = encodeURIComponent;

export const server = {
  alive: true,
  models: async () => (await ask("v1/models")).models,
  card: (model) => ask(`v1/models/${named(model)}`),
  sets: async () => (await ask("v1/sets")).sets,
  set: (name) => ask(`v1/sets/${named(name)}`),
  signIn: (token) => send("v1/session", { token }),
  reportOf: (model) => `v1/models/${named(model)}/report`,

  // What the model says of one graph, without the nodes and edges that were taken away.
  async explain(model, item, options = {}, signal = undefined) {
    const { without, ...others } = options;
    const graph = without ? { ...(typeof item === "string" ? { smiles: item } : item), without } : item;
    const { results } = await send(`v1/models/${named(model)}/explain`, { graphs: [graph], ...others }, signal);
    if (results[0].error) throw new Refusal(results[0].error, results[0].status);
    return results[0];
  },

  upload: (name, content) =>
    ask(`v1/files?name=${named(name)}`, {
      method: "POST", headers: { "content-type": "application/octet-stream" }, body: content,
    }),

  // All graphs of a set with what the model says of them; `tell` hears how far it is.
  async rows(set, model, tell, signal) {
    for (;;) {
      const first = await ask(`v1/sets/${named(set)}/graphs?model=${named(model)}&limit=10000`, { signal });
      tell(first.predicted, first.graphs);
      if (first.predicted >= first.graphs) return rest(first, set, model, signal);
      await new Promise((done) => setTimeout(done, 400));
    }
  },

  map: (set, model, method) => ask(`v1/sets/${named(set)}/map?model=${named(model)}&method=${named(method)}`),
};

async function rest(first, set, model, signal) {
  for (let offset = 10000; offset < first.graphs; offset += 10000) {
    const path = `v1/sets/${named(set)}/graphs?model=${named(model)}&limit=10000&offset=${offset}`;
    const { rows } = await ask(path, { signal });
    for (const key of Object.keys(rows)) first.rows[key].push(...rows[key]);
  }
  return first.rows;
}
