// node client.mjs http://127.0.0.1:8600 TOKEN
const [site, token] = process.argv.slice(2);
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
const wait = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

async function call(method, path, body, key) {
  // The key lets a call be repeated when its answer is lost: it counts once.
  const more = key ? { "idempotency-key": key } : {};
  for (let attempt = 1; ; attempt++) {
    let answer;
    try {
      answer = await fetch(site + path, {
        method,
        headers: { ...headers, ...more },
        body: body && JSON.stringify(body),
      });
    } catch (lost) {
      if (attempt === 5) throw lost;
    }
    if (answer?.ok) return answer.json();
    const isBusy = !answer || answer.status === 503;
    if (!isBusy || attempt === 5) {
      const { error } = await answer.json();
      throw new Error(`${error.kind}: ${error.message}`);
    }
    await wait(attempt);
  }
}

async function follow(id, seen, signal) {
  // Server-sent events: lines of fields, and an empty line after each message.
  let last = 0;
  while (!signal.aborted) {
    try {
      const answer = await fetch(`${site}/api/studies/${id}/events?after=0`, {
        headers: { ...headers, accept: "text/event-stream", "last-event-id": String(last) },
        signal,
      });
      let text = "";
      for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
        const messages = (text + part).split("\n\n");
        text = messages.pop();
        for (const message of messages) {
          const fields = Object.fromEntries(message.split("\n").map((line) => {
            const at = line.indexOf(": ");
            return [line.slice(0, at), line.slice(at + 2)];
          }));
          if (fields.id) last = Number(fields.id);
          if (fields.event === "logged") seen(JSON.parse(fields.data));
        }
      }
    } catch {
      // The connection was lost, or `signal` ended it.
    }
    if (!signal.aborted) await wait(1);
  }
}

const measure = (arm) => ({ A: 0.3, B: 0.5, C: 0.9 })[arm]; // instead: measure

const question = { study_name: "from JavaScript", candidates: ["A", "B", "C"], m: 1, noise: 0.1 };
const { id } = await call("POST", "/api/studies", question, "begin");
const numbers = [];
const ending = new AbortController();
const following = follow(id, (event) => numbers.push(event.number), ending.signal);

let status = "running";
while (status === "running") {
  const { trials } = await call("POST", `/api/studies/${id}/ask`, { n: 1, worker: "robot 1" });
  for (const trial of trials) {
    const told = { trial: trial.id, value: measure(trial.arm) };
    ({ status } = await call("POST", `/api/studies/${id}/tell`, told, `trial ${trial.id}`));
  }
}
const { state } = await call("GET", `/api/studies/${id}`);
while (numbers.length < state.events) await wait(0.05);
ending.abort();
await following;
const { answer, samples } = state;
console.log(JSON.stringify({ status, answer, samples, events: numbers }));
