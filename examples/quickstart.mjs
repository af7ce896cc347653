// A Remanence server from JavaScript: Node 18 or newer, Deno, Bun and browsers. Nothing to install.

const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto; // Node 18 has it there

class Memory {
  constructor(url = "http://127.0.0.1:8005", { key, retries = 3 } = {}) {
    this.url = url.replace(/\/+$/, "");
    this.key = key;
    this.retries = retries;
  }

  // POST, PUT and PATCH take a body; GET and DELETE take a query.
  async call(method, path, given = {}) {
    const inQuery = method === "GET" || method === "DELETE";
    const headers = { Accept: "application/json" };
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    if (!inQuery) headers["Content-Type"] = "application/json";
    if (method !== "GET") headers["Idempotency-Key"] = crypto.randomUUID();
    const query = inQuery ? `?${new URLSearchParams(given)}` : "";
    const body = inQuery ? undefined : JSON.stringify(given);
    return this.#send(this.url + path + query, { method, headers, body });
  }

  // The key of a write stays the same, so one that is sent twice is done once.
  async #send(url, request) {
    for (let tried = 0; ; tried++) {
      const response = await fetch(url, request).catch((error) => error);
      const passing = response instanceof Error || [429, 502, 503].includes(response.status);
      if (passing && tried < this.retries) {
        const wait = 100 * 2 ** tried * (0.5 + Math.random() / 2);
        await new Promise((done) => setTimeout(done, wait));
        continue;
      }
      if (response instanceof Error) {
        throw new Error(`Nobody answers at ${this.url}; \`rem serve\` starts one.`, { cause: response });
      }
      const answer = await response.json();
      if (!response.ok) throw Object.assign(new Error(answer.detail), answer);
      return answer;
    }
  }

  add(text, more = {}) {
    return this.call("POST", "/v1/memories", { text, ...more });
  }

  async search(query, more = {}) {
    return (await this.call("POST", "/v1/search", { query, ...more })).hits;
  }

  context(query, more = {}) {
    return this.call("POST", "/v1/context", { query, ...more });
  }
}

const { REMANENCE_URL, REMANENCE_KEY } = globalThis.process?.env ?? {};
const memory = new Memory(REMANENCE_URL, { key: REMANENCE_KEY });
const user = { user_id: "ana" };

const record = await memory.add("Ana moved to Lisbon in March", user);
await memory.add("Ana is allergic to peanuts", user);

const [best] = await memory.search("Where does Ana live?", user);
console.log(best.memory.text);

const prompt = await memory.context("What can I cook for Ana?", { ...user, max_tokens: 300 });
console.log(prompt.text.includes("peanuts"));

await memory.call("POST", "/v1/blocks/human/append", { ...user, text: "Her name is Ana." });
const block = await memory.call("GET", "/v1/blocks/human", user);
console.log(block.value);

await memory.call("POST", "/v1/memories/forget", { id: [record.id], erase: true });
try {
  await memory.call("GET", `/v1/memories/${record.id}`);
} catch (error) {
  console.log(error.status, error.type);
}
