// Fills pages and keeps them up to date. Names and values become text, never markup.

import { bars, intervals, lines } from "./charts.js";

const MEND = new Set(["corrected", "voided", "redeclared", "accepted", "added", "retired", "contradicted"]);
// What streams bring besides events.
const KINDS = ["state", "estimates", "revisions", "evidence", "allocation", "forecast", "sensitivity"];
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

function percent(share) {
  return share === null || share === undefined ? "–" : `${Math.min(999, Math.floor(100 * share))}%`;
}

function ago(seconds) {
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const [size, unit] = units.find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Math.max(0, Math.floor(seconds / size))} ${unit} ago`;
}

function named(text) {
  return make("bdi", { class: "name" }, String(text));
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
    this.asked = new Map(); // what is drawn soon
    this.place = {};
    for (const name of ["words", "evidence", "estimates", "allocation", "forecast", "sensitivity", "ask", "certificate", "revisions", "log"]) {
      this.place[name] = make("section", { id: `${name}-${id}` });
    }
    this.place.words.append(make("p", { class: "note" }, "The study is being read."));
    this.events = [];
    this.logOpen = false;
  }

  get path() { return `/api/studies/${this.id}`; }

  listen() {
    // All that is shown comes by the stream, so that many who look cost what one does.
    const source = new EventSource(`${this.path}/events?after=${this.seen}&views=1`);
    source.addEventListener("open", () => say("live"));
    source.addEventListener("error", () => {
      say("not connected: trying again");
      // Browsers try again by themselves, but not after an answer that refuses.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => { this.ask(); this.listen(); }, 3000);
    });
    source.addEventListener("recovered", () => say("live"));
    source.addEventListener("logged", (event) => this.logged(JSON.parse(event.data)));
    for (const kind of KINDS) source.addEventListener(kind, (event) => this.take(kind, JSON.parse(event.data)));
    source.addEventListener("trouble", (event) => this.trouble(JSON.parse(event.data).error.message));
    source.addEventListener("gone", () => { source.close(); say("the study was deleted"); });
    source.addEventListener("reset", () => location.reload());
  }

  ask() {
    // Why the stream was refused: perhaps the token is another one.
    get(this.path).then((found) => this.take("state", found), (problem) => this.trouble(problem.message));
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
    this.soon("log", () => this.drawLog(), 50);
  }

  soon(name, work, wait) {
    // Once for many events.
    if (this.asked.has(name)) return;
    this.asked.set(name, setTimeout(() => { this.asked.delete(name); work(); }, wait));
  }

  drawRevisions(some) {
    if (!some.length) return;
    put(this.place.revisions, make("h2", {}, "Corrections and changes"),
      make("details", {}, make("summary", {}, `The last ${number(some.length)}, of the whole log`), eventTable(some, "revisions")));
  }

  take(kind, found) {
    say("live");
    const draw = { state: this.drawState, estimates: this.drawEstimates, revisions: this.drawRevisions, evidence: this.drawEvidence,
      allocation: this.drawAllocation, forecast: this.drawForecast, sensitivity: this.drawSensitivity }[kind];
    draw.call(this, found[kind], found.events);
  }

  heading(text, events) {
    const age = events < this.last ? `as of event ${number(events)} of ${number(this.last)}` : "";
    return make("h2", {}, text, make("span", { class: "age" }, age));
  }

  drawState(state, events) {
    if (this.state && events < this.state.events) return;
    this.state = state;
    const words = state.words;
    put(this.place.words,
      make("p", { class: "note" }, words.question),
      trusted(words.headline), trusted(words.cautions), trusted(words.numbers));
    this.drawCertificate();
    this.askAgain();
  }

  drawLog() {
    const shown = [...this.events].reverse().slice(0, this.logOpen ? LOG_ROWS : LOG_FIRST);
    const more = make("button", { type: "button", onclick: () => { this.logOpen = !this.logOpen; this.drawLog(); } },
      this.logOpen ? "Show fewer" : `Show ${this.events.length}`);
    put(this.place.log, make("h2", {}, "Log"),
      make("p", { class: "note" }, `The last ${shown.length} events of ${number(this.last)}.`),
      eventTable(shown, "log"),
      this.events.length > LOG_FIRST ? more : "");
  }

  drawEstimates(rows, events) {
    const order = [...rows].sort((a, b) => (b.in_answer - a.in_answer) || ((b.mean ?? -Infinity) - (a.mean ?? -Infinity)));
    const means = order.map((one) => one.mean).filter((one) => one !== null);
    this.gap = means.length ? Math.max(...means) - Math.min(...means) : 0;
    const modelled = rows.some((one) => one.model !== null);
    const cells = order.map((one) => [named(one.label), number(one.count), number(one.mean), number(one.lower), number(one.upper),
      ...(modelled ? [number(one.model), number(one.residual)] : []), number(one.evidence), one.in_answer ? "yes" : ""]);
    const heads = ["candidate", "measurements", "mean", "from", "to", ...(modelled ? ["by the model", "residual"] : []),
      "evidence", this.state?.status === "decided" ? "answer" : "in front"];
    put(this.place.estimates, this.heading("Estimates", events),
      intervals(order), folded(heads, cells, { marks: order.map((one) => (one.in_answer ? "in" : "")) }));
  }

  drawEvidence(found, events) {
    const title = this.heading("Evidence", events);
    if (!found.pairs.length) {
      put(this.place.evidence, title, make("p", { class: "note" }, found.note || "There is none yet."));
      return;
    }
    const rows = found.pairs.map((one) => [named(one.challenger), named(one.incumbent),
      percent(one.shares.at(-1)), number(one.evidence), number(one.threshold), number(one.settled_after)]);
    const heads = ["not better", "than", "of what is needed", "evidence", "threshold", "settled after"];
    const series = found.pairs.map((one) => ({ name: `${one.challenger} against ${one.incumbent}`, x: one.times, y: one.shares }));
    const more = found.hidden ? ` ${number(found.hidden)} other pairs are not drawn.` : "";
    put(this.place.evidence, title,
      make("p", { class: "note" }, `Every pair has to reach 100 %; one that did stays settled.${more}`),
      lines(series, { needed: 1, x: "measurements", y: "of the evidence needed" }),
      make("details", {}, make("summary", {}, "As a table"), folded(heads, rows, { left: [1] })));
  }

  drawAllocation(found, events) {
    const rows = found.labels.map((label, at) => ({ label, share: found.shares[at], optimal: found.optimal?.[at] ?? null }))
      .sort((a, b) => b.share - a.share);
    const note = found.optimal ? "Marks are the shares that would be best if the present estimates were true." : found.note;
    put(this.place.allocation, this.heading("Where measurements went", events),
      note ? make("p", { class: "note" }, note) : "", bars(rows),
      make("details", {}, make("summary", {}, "As a table"),
        folded(["candidate", "share", "optimal"], rows.map((one) => [named(one.label), percent(one.share), percent(one.optimal)]))));
  }

  drawForecast(found, events) {
    const rows = [[number(found.more), number(found.more_low), number(found.more_high), number(found.lower_bound), found.note]];
    const heads = ["more measurements", "from", "to", "any method needs in all", ""];
    put(this.place.forecast, this.heading("What is left", events), table(heads, rows, { left: [4] }));
  }

  drawSensitivity(found, events) {
    if (found === null) { put(this.place.sensitivity); return; }
    if (found.note) {
      put(this.place.sensitivity, this.heading("If the misspecification were another", events), make("p", { class: "note" }, found.note));
      return;
    }
    const rows = found.table.map((one) => [number(one.misspecification), (one.answer ?? []).join(", "),
      number(one.statistic), number(one.threshold), one.contradicted ? "contradicted" : one.decided ? "yes" : "no"]);
    const usable = found.table.filter((one) => typeof one.statistic === "number" && typeof one.misspecification === "number" && one.threshold > 0);
    const series = [{ name: "evidence", x: usable.map((one) => one.misspecification), y: usable.map((one) => one.statistic / one.threshold) }];
    const marks = found.table.map((one) => (one.misspecification === found.declared ? "in" : ""));
    put(this.place.sensitivity, this.heading("If the misspecification were another", events),
      make("p", {}, found.statement),
      usable.length > 1 ? lines(series, { needed: 1, x: "misspecification", y: "of the evidence needed" }) : "",
      make("details", {}, make("summary", {}, "As a table"),
        table(["if it were", "answer", "evidence", "threshold", "decided"], rows, { marks, left: [1, 4] })));
  }

  askAgain() {
    const state = this.state;
    if (!state || this.place.ask.childElementCount) return;
    const answer = make("p", { class: "hint", role: "status" });
    const eps = typeof state.misspecification === "number" ? state.misspecification : 0;
    const gap = this.gap || 1;
    const fields = {
      m: { min: 1, max: Math.min(state.candidates - 1, 4 * state.m + 4), step: 1, value: state.m },
      delta: { min: 0.001, max: 0.3, step: 0.001, value: state.delta },
      misspecification: { min: 0, max: Number((4 * eps || gap).toPrecision(2)), step: "any", value: eps },
      tolerance: { min: 0, max: Number(gap.toPrecision(2)), step: "any", value: 0 },
    };
    const moved = new Set();
    if (state.misspecification === null || state.misspecification === "inf") delete fields.misspecification;
    const inputs = Object.entries(fields).map(([name, field]) => {
      const shown = make("output", {}, number(field.value));
      const slider = make("input", { name, type: "range", ...field, oninput: () => {
        moved.add(name);
        shown.textContent = number(Number(slider.value), 3);
      }, onchange: () => form.requestSubmit() });
      return make("label", {}, name, slider, shown);
    });
    const form = make("form", { class: "tools", onsubmit: async (event) => {
      event.preventDefault();
      const given = new URLSearchParams([...new FormData(form)].filter(([name]) => moved.has(name)));
      answer.textContent = "Computing …";
      try {
        const found = await get(`${this.path}/what-if?${given}`);
        const best = found.answer_now.length ? ` In front: ${found.answer_now.join(", ")}.` : "";
        answer.textContent = found.decided_now ? `That is decided by now.${best}`
          : `About ${number(found.more)} more (${number(found.more_low)} to ${number(found.more_high)}). ${found.note}${best}`;
      } catch (problem) { answer.textContent = problem.message; }
    } }, ...inputs, make("button", { type: "submit" }, "What if?"));
    this.place.ask.replaceChildren(make("h2", {}, "Another question"), form, answer);
  }

  drawCertificate() {
    const place = this.place.certificate;
    if (this.state.status !== "decided") { place.replaceChildren(); return; }
    if (place.childElementCount) return;
    const said = make("p", { class: "hint", role: "status" });
    const verify = make("button", { type: "button", onclick: async () => {
      said.textContent = "Checking …";
      try {
        const found = await get(`${this.path}/verification`);
        said.textContent = found.ok ? `It holds: ${found.checks.length} checks, ${found.rule ?? ""}`.replace(/, $/, ".") : `It does not hold: ${found.failure}`;
      } catch (problem) { said.textContent = problem.message; }
    } }, "Verify it");
    place.replaceChildren(make("h2", {}, "Certificate"),
      make("div", { class: "tools" }, make("a", { href: `${this.path}/certificate`, download: "certificate.json" }, "Download"), verify), said);
  }
}

function eventTable(events, kind) {
  const rows = events.map((one) => [
    number(one.number), new Date(one.time * 1000).toLocaleString(), one.kind, described(one)]);
  const marks = events.map((one) => (kind === "log" && MEND.has(one.kind) ? "mended" : ""));
  return table(["event", "time", "kind", "what"], rows, { marks, kind, left: [1, 2, 3] });
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
  const { words, evidence, estimates, allocation, forecast, sensitivity, ask, certificate, revisions, log } = view.place;
  main.replaceChildren(title, words,
    evidence, make("div", { class: "pair" }, estimates, allocation),
    make("div", { class: "pair" }, forecast, sensitivity), ask, certificate, revisions, log);
  view.listen();
}

const main = document.getElementById("main");
const page = { studies: studiesPage, study: studyPage }[main.dataset.page];
if (page) page(main);
