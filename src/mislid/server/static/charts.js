// Pictures in SVG, without styles inside: what they look like is in the style sheet.

const SVG = "http://www.w3.org/2000/svg";
const MOST = 40;

function draw(name, attributes = {}, ...parts) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...parts);
  return made;
}

function html(name, attributes, ...parts) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...parts);
  return made;
}

function short(text, most = 18) {
  const letters = [...String(text)];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : String(text);
}

export function ticks(low, high, wanted = 5) {
  // Round numbers between two.
  if (!(high > low)) return [low];
  const step = 10 ** Math.floor(Math.log10((high - low) / wanted));
  const size = [1, 2, 5, 10].find((by) => (high - low) / (step * by) <= wanted) * step;
  const found = [];
  for (let at = Math.ceil(low / size); at * size <= high + size * 1e-9; at += 1) found.push(Number((at * size).toPrecision(12)));
  return found;
}

function plain(value) {
  return Math.abs(value) >= 1000 ? value.toLocaleString("en") : String(Number(value.toPrecision(4)));
}

// Lines over measurements: hover or arrow keys name one, dragging zooms, Escape shows all again.
export function lines(series, { needed = null, x = "", y = "" } = {}) {
  const [width, height, left, right, top, bottom] = [720, 320, 52, 12, 12, 40];
  const hint = html("p", { class: "hint", "aria-live": "polite" });
  const whole = [Math.min(...series.flatMap((one) => one.x)), Math.max(...series.flatMap((one) => one.x))];
  let [from, to] = whole;
  let chosen = -1;
  let drag = null;
  const picture = draw("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: "0",
    "aria-label": `${y} over ${x}, ${series.length} lines; arrow keys choose one` });

  const sx = (value) => left + (width - left - right) * ((value - from) / Math.max(to - from, 1e-300));
  const back = (at) => from + (to - from) * ((at - left) / (width - left - right));

  function redraw() {
    const inside = series.map((one) => one.x.map((value, at) => [value, one.y[at]])
      .filter(([value, level]) => value >= from && value <= to && Number.isFinite(level)));
    const levels = inside.flat().map(([, level]) => level);
    const high = Math.max(needed === null ? 0 : needed * 1.1, Math.min(Math.max(0, ...levels), needed === null ? Infinity : 1.6 * needed)) || 1;
    const low = Math.min(0, ...levels);
    const sy = (value) => height - bottom - (height - top - bottom) * ((Math.min(value, high) - low) / (high - low));
    const parts = [];
    for (const tick of ticks(low, high, 4)) {
      parts.push(draw("line", { class: "axis", x1: left, x2: width - right, y1: sy(tick), y2: sy(tick) }),
        draw("text", { x: left - 6, y: sy(tick) + 4, "text-anchor": "end" }, needed === null ? plain(tick) : `${Math.round(100 * tick)}%`));
    }
    for (const tick of ticks(from, to)) parts.push(draw("text", { x: sx(tick), y: height - bottom + 18, "text-anchor": "middle" }, plain(tick)));
    parts.push(draw("text", { x: width - right, y: height - 6, "text-anchor": "end" }, x));
    if (needed !== null) parts.push(draw("line", { class: "needed", x1: left, x2: width - right, y1: sy(needed), y2: sy(needed) }));
    const order = inside.map((points, at) => at).reverse();
    if (chosen >= 0) order.push(chosen);
    for (const at of order) {
      const kind = at === chosen ? "line on" : at === 0 ? "line first" : "line";
      const points = inside[at].map(([value, level]) => `${sx(value).toFixed(1)},${sy(level).toFixed(1)}`).join(" ");
      if (points) parts.push(draw("polyline", { class: kind, points }));
    }
    if (drag) parts.push(draw("rect", { class: "zoom", x: Math.min(...drag), y: top, width: Math.abs(drag[1] - drag[0]), height: height - top - bottom }));
    picture.replaceChildren(...parts);
    picture.nearest = (px, py) => {
      let best = [30, -1];
      inside.forEach((points, at) => points.forEach(([value, level]) => {
        const far = Math.hypot(sx(value) - px, sy(level) - py);
        if (far < best[0]) best = [far, at];
      }));
      return best[1];
    };
  }

  function choose(at) {
    if (at === chosen) return;
    chosen = at;
    const one = series[at];
    const last = one?.y.at(-1);
    hint.textContent = one ? `${one.name}: ${Number.isFinite(last) ? (needed === null ? plain(last) : `${Math.floor(100 * last)}%`) : "–"} in the end` : "";
    redraw();
  }

  function place(event) {
    const box = picture.getBoundingClientRect();
    return [(event.clientX - box.left) * width / box.width, (event.clientY - box.top) * height / box.height];
  }

  function zoom(low, high) {
    [from, to] = [Math.max(whole[0], low), Math.min(whole[1], high)];
    if (!(to > from)) [from, to] = whole;
    redraw();
  }

  picture.addEventListener("pointermove", (event) => {
    const [px, py] = place(event);
    if (drag) { drag[1] = Math.max(left, Math.min(width - right, px)); redraw(); } else choose(picture.nearest(px, py));
  });
  picture.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse") return;
    const [px] = place(event);
    drag = [px, px];
    picture.setPointerCapture(event.pointerId);
  });
  picture.addEventListener("pointerup", () => {
    if (!drag) return;
    const [low, high] = [Math.min(...drag), Math.max(...drag)];
    drag = null;
    if (high - low > 8) zoom(back(low), back(high)); else redraw();
  });
  picture.addEventListener("dblclick", () => zoom(...whole));
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const middle = (from + to) / 2;
    const half = (to - from) / 2;
    if (step) choose((chosen + step + series.length) % series.length);
    else if (event.key === "+") zoom(middle - half / 2, middle + half / 2);
    else if (event.key === "-") zoom(middle - 2 * half, middle + 2 * half);
    else if (event.key === "Escape") { zoom(...whole); choose(-1); } else return;
    event.preventDefault();
  });
  redraw();
  return html("figure", {}, picture, hint);
}

// Means with their intervals, the best first.
export function intervals(rows) {
  const shown = rows.filter((one) => one.mean !== null).slice(0, MOST);
  if (!shown.length) return html("p", { class: "note" }, "Nothing has been measured yet.");
  const [width, left, right, line] = [560, 150, 16, 22];
  const height = shown.length * line + 30;
  const finite = shown.flatMap((one) => [one.mean, one.lower, one.upper]).filter((one) => typeof one === "number" && Number.isFinite(one));
  const means = shown.map((one) => one.mean);
  const spread = Math.max(...means) - Math.min(...means) || Math.abs(means[0]) || 1;
  const low = Math.max(Math.min(...finite), Math.min(...means) - 2 * spread);
  const high = Math.min(Math.max(...finite), Math.max(...means) + 2 * spread);
  const sx = (value) => left + (width - left - right) * ((Math.max(low, Math.min(high, value === "inf" ? high : value === "-inf" ? low : value)) - low) / (high - low || 1));
  const parts = [];
  for (const tick of ticks(low, high, 4)) {
    parts.push(draw("line", { class: "axis", x1: sx(tick), x2: sx(tick), y1: 0, y2: height - 24 }),
      draw("text", { x: sx(tick), y: height - 8, "text-anchor": "middle" }, plain(tick)));
  }
  shown.forEach((one, at) => {
    const y = at * line + line / 2;
    const kind = one.in_answer ? " in" : "";
    parts.push(draw("g", {}, draw("title", {}, `${one.label}: ${plain(one.mean)}, ${one.count} measurements`),
      draw("text", { x: left - 10, y: y + 4, "text-anchor": "end", class: one.in_answer ? "strong" : null }, short(one.label)),
      draw("line", { class: `bar${kind}`, x1: sx(one.lower), x2: sx(one.upper), y1: y, y2: y }),
      draw("circle", { class: `dot${kind}`, cx: sx(one.mean), cy: y, r: 5 })));
  });
  return html("figure", {}, draw("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "means with intervals; the table has all numbers" }, ...parts));
}

// Shares of measurements, with marks at the optimal ones.
export function bars(rows) {
  const shown = rows.slice(0, MOST);
  const [width, left, right, line] = [560, 150, 16, 22];
  const height = shown.length * line + 4;
  const high = Math.max(...shown.flatMap((one) => [one.share, one.optimal ?? 0])) || 1;
  const sx = (share) => left + (width - left - right) * (share / high);
  const parts = shown.map((one, at) => {
    const y = at * line + 4;
    const made = [draw("title", {}, `${one.label}: ${(100 * one.share).toFixed(1)}%`),
      draw("text", { x: left - 10, y: y + 12, "text-anchor": "end" }, short(one.label)),
      draw("rect", { class: "box", x: left, y, width: Math.max(0, sx(one.share) - left), height: 14 })];
    if (one.optimal !== null) made.push(draw("line", { class: "mark", x1: sx(one.optimal), x2: sx(one.optimal), y1: y - 2, y2: y + 16 }));
    return draw("g", {}, ...made);
  });
  return html("figure", {}, draw("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "shares of measurements; the table has all numbers" }, ...parts));
}
