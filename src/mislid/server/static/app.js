// Fills pages and keeps them up to date. Names and values become text, never markup.

import { intervals, visible } from "./charts.js";

const MEND = new Set(["corrected", "voided", "redeclared", "added", "retired", "contradicted"]);
// What is shown besides the log, and after how many milliseconds it is asked for again.
const PAUSES = { state: 300, estimates: 1000, forecast: 2000 };
const LOG_ROWS = 100;
const LOG_FIRST = 15;
const TABLE_ROWS = 25;

// --- small things ---------------------------------------------------------------------------

export function make(name, attributes = {}, ...parts) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  }
  made.append(...parts.filter((part) => part !== null && part !== undefined));
  return made;
}

function trusted(html) {
  // Words that the server has escaped.
  const made = document.createElement("template");
  made.innerHTML = html;
  return made.content;
}

function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (value === "inf") return "∞";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

function ago(seconds) {
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const [size, unit] = units.find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Math.max(0, Math.floor(seconds / size))} ${unit} ago`;
}

function named(text) {
  return make("bdi", { class: "name" }, visible(text));
}

function table(heads, rows, { marks = [], kind = "", left = [] } = {}) {
  const side = (at) => (left.includes(at) ? { class: "text" } : {});
  const head = make("tr", {}, ...heads.map((text, at) => make("th", { scope: "col", ...side(at) }, text)));
  const body = rows.map(([first, ...rest], row) =>
    make("tr", { class: marks[row] || null },
      make("th", { scope: "row" }, first),
      ...rest.map((cell, at) => make("td", side(at + 1), cell))));
  const made = make("table", { class: kind || null }, make("thead", {}, head), make("tbody", {}, ...body));
  return make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": heads.filter(Boolean).join(", ") }, made);
}

function put(place, ...parts) {
  // What was opened stays open, and the keyboard stays where it was.
  const stops = () => [...place.querySelectorAll("summary, button, [tabindex]")];
  const opened = [...place.querySelectorAll("details")].map((one) => one.open);
  const at = stops().indexOf(document.activeElement);
  place.replaceChildren(...parts);
  place.querySelectorAll("details").forEach((one, number) => { one.open = opened[number] ?? one.open; });
  if (at >= 0) stops()[at]?.focus({ preventScroll: true });
}

function folded(heads, rows, options = {}) {
  // Long tables begin with a part.
  const shown = make("div", {}, table(heads, rows.slice(0, TABLE_ROWS), options));
  if (rows.length > TABLE_ROWS) {
    const all = make("button", { type: "button", onclick: () => shown.replaceChildren(table(heads, rows, options)) },
      `Show all ${rows.length.toLocaleString("en")}`);
    shown.append(all);
  }
  return shown;
}

async function get(path) {
  const answer = await fetch(path, { headers: { accept: "application/json" } });
  const found = await answer.json().catch(() => null);
  if (answer.status === 401) location.reload(); // which asks for the token
  if (!answer.ok) throw new Error(found?.error?.message ?? `the server answered ${answer.status}`);
  return found;
}

function say(text) {
  const place = document.getElementById("live");
  if (place.textContent !== text) place.textContent = text;
}

// --- all studies ----------------------------------------------------------------------------

async function studiesPage(main) {
  const list = make("div");
  main.replaceChildren(make("h1", {}, "Studies"), list);
  let shown = "";
  const draw = async () => {
    try {
      const { studies } = await get("/api/studies");
      const text = JSON.stringify(studies) + Math.floor(Date.now() / 30000);
      if (text !== shown) list.replaceChildren(studiesTable(studies));
      shown = text;
      say("up to date");
    } catch (problem) {
      say(`not up to date: ${problem.message}`);
    }
  };
  await draw();
  setInterval(draw, 2000);
}

function studiesTable(studies) {
  if (!studies.length) return make("p", { class: "note" }, "There is no study here yet.");
  const now = Date.now() / 1000;
  const rows = studies.map((one) => [
    make("a", { href: `/studies/${one.id}` }, named(one.name)),
    one.status,
    one.m === undefined ? "–" : `the best ${one.m === 1 ? "" : one.m} of ${number(one.candidates)}`.replace("  ", " "),
    number(one.observations),
    number(one.pending),
    one.updated === undefined ? "–" : ago(now - one.updated),
  ]);
  const heads = ["study", "status", "question", "measurements", "open trials", "last event"];
  return table(heads, rows, { marks: studies.map((one) => (one.status === "decided" ? "in" : "")), left: [1, 2] });
}

// --- one study ------------------------------------------------------------------------------

class StudyView {
  constructor(id, after) {
    this.id = id;
    this.last = after; // events that there are
    this.seen = Math.max(0, after - LOG_ROWS); // the number of the last one that came
    this.state = null;
    this.asked = new Map(); // what is asked for or drawn soon
    this.place = {};
    for (const name of ["words", "estimates", "forecast", "proof", "certificate", "log"]) {
      this.place[name] = make("section", { id: `${name}-${id}` });
    }
    this.place.words.append(make("p", { class: "note" }, "The study is being read."));
    this.events = [];
    this.logOpen = false;
  }

  get path() { return `/api/studies/${this.id}`; }

  listen() {
    const source = new EventSource(`${this.path}/events?after=${this.seen}`);
    source.addEventListener("open", () => { say("live"); this.askAll(); });
    source.addEventListener("error", () => {
      say("not connected: trying again");
      // Browsers try again by themselves, but not after an answer that refuses.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => { this.askAll(); this.listen(); }, 3000);
    });
    source.addEventListener("logged", (event) => this.logged(JSON.parse(event.data)));
    source.addEventListener("trouble", (event) => this.trouble(JSON.parse(event.data).error.message));
    source.addEventListener("gone", () => { source.close(); say("the study was deleted"); });
    source.addEventListener("reset", () => location.reload());
  }

  askAll() {
    for (const [kind, pause] of Object.entries(PAUSES)) this.soon(kind, () => this.ask(kind), pause);
  }

  async ask(kind) {
    try {
      const found = await get(kind === "state" ? this.path : `${this.path}/${kind}`);
      const draw = { state: this.drawState, estimates: this.drawEstimates, forecast: this.drawForecast }[kind];
      draw.call(this, found[kind], found.events);
      this.asked.delete(kind);
      if (found.events < this.last) this.soon(kind, () => this.ask(kind), PAUSES[kind]);
    } catch (problem) {
      this.asked.delete(kind);
      this.trouble(problem.message);
    }
  }

  trouble(text) {
    say(`trouble: ${text}`);
    if (!this.state) put(this.place.words, make("p", { class: "note" }, text));
  }

  logged(event) {
    if (event.number <= this.seen) return;
    this.seen = event.number;
    this.last = Math.max(this.last, event.number);
    this.events = [...this.events, event].slice(-LOG_ROWS);
    this.soon("log", () => { this.asked.delete("log"); this.drawLog(); }, 50);
    this.askAll();
  }

  soon(name, work, wait) {
    // Once for many events; work that is done deletes its name.
    if (!this.asked.has(name)) this.asked.set(name, setTimeout(work, wait));
  }

  heading(text, events) {
    const age = events < this.last ? `as of event ${number(events)} of ${number(this.last)}` : "";
    return make("h2", {}, text, make("span", { class: "age" }, age));
  }

  drawState(state, events) {
    if (this.state && events < this.state.events) return;
    this.state = state;
    put(this.place.words, trusted(state.words));
    if (state.proof) put(this.place.proof, make("h2", {}, "Misspecification"), make("p", {}, `${state.proof}.`));
    this.drawCertificate();
  }

  drawLog() {
    const shown = [...this.events].reverse().slice(0, this.logOpen ? LOG_ROWS : LOG_FIRST);
    const more = make("button", { type: "button", onclick: () => { this.logOpen = !this.logOpen; this.drawLog(); } },
      this.logOpen ? "Show fewer" : `Show ${this.events.length}`);
    put(this.place.log, make("h2", {}, "Log"),
      make("p", { class: "note" }, `The last ${shown.length} events of ${number(this.last)}.`),
      eventTable(shown),
      this.events.length > LOG_FIRST ? more : "");
  }

  drawEstimates(rows, events) {
    const order = [...rows].sort((a, b) => (b.in_answer - a.in_answer) || ((b.mean ?? -Infinity) - (a.mean ?? -Infinity)));
    const modelled = rows.some((one) => one.model !== null);
    const cells = order.map((one) => [named(one.label), number(one.count), number(one.mean), number(one.lower), number(one.upper),
      ...(modelled ? [number(one.model), number(one.residual)] : []), number(one.evidence), one.in_answer ? "yes" : ""]);
    const heads = ["candidate", "measurements", "mean", "from", "to", ...(modelled ? ["by the model", "residual"] : []),
      "evidence", this.state?.status === "decided" ? "answer" : "in front"];
    put(this.place.estimates, this.heading("Estimates", events),
      intervals(order), folded(heads, cells, { marks: order.map((one) => (one.in_answer ? "in" : "")) }));
  }

  drawForecast(found, events) {
    const rows = [[number(found.more), number(found.more_low), number(found.more_high), found.note]];
    const heads = ["more measurements", "from", "to", ""];
    put(this.place.forecast, this.heading("What is left", events), table(heads, rows, { left: [3] }));
  }

  drawCertificate() {
    const place = this.place.certificate;
    if (this.state.status !== "decided") { place.replaceChildren(); return; }
    if (place.childElementCount) return;
    place.replaceChildren(make("h2", {}, "Certificate"),
      make("p", {}, make("a", { href: `${this.path}/certificate`, download: "certificate.json" }, "Download"), ": `mislid study verify certificate.json` checks it."));
  }
}

function eventTable(events) {
  const rows = events.map((one) => [
    number(one.number), new Date(one.time * 1000).toLocaleString(), one.kind, described(one)]);
  const marks = events.map((one) => (MEND.has(one.kind) ? "mended" : ""));
  return table(["event", "time", "kind", "what"], rows, { marks, kind: "log", left: [1, 2, 3] });
}

function described(event) {
  const body = event.body;
  switch (event.kind) {
    case "told": return `trial ${body.trial}: ${[body.value, ...(body.more ?? [])].map((one) => number(one, 6)).join(", ")}`;
    case "failed": return `trial ${body.trial}`;
    case "asked": return `trials ${body.trials.join(", ")}${body.worker ? ` for ${body.worker}` : ""}`;
    case "observed": return `${body.values.length} values`;
    case "corrected": return `rows ${body.rows.join(", ")}: ${body.values.map((one) => number(one, 6)).join(", ")}${body.reason ? ` (${body.reason})` : ""}`;
    case "voided": return `rows ${body.rows.join(", ")}${body.reason ? ` (${body.reason})` : ""}`;
    case "decided": return `after ${number(body.samples)} measurements, by ${body.rule}`;
    case "contradicted": return `${body.what}, after ${number(body.samples)} measurements`;
    default: return body.reason ?? "";
  }
}

function studyPage(main) {
  const view = new StudyView(Number(main.dataset.id), Number(main.dataset.after));
  const title = make("h1", { class: main.dataset.name.length > 200 ? "cut" : null }, named(main.dataset.name));
  const { words, estimates, forecast, proof, certificate, log } = view.place;
  main.replaceChildren(title, words, estimates, make("div", { class: "pair" }, forecast, proof), certificate, log);
  view.listen();
}

const main = document.getElementById("main");
const page = { studies: studiesPage, study: studyPage }[main.dataset.page];
if (page) page(main);
