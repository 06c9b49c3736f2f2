// Pictures in SVG; their styles are in the style sheet.

const SVG = "http://www.w3.org/2000/svg";
const MOST = 40;

function draw(name, attributes = {}, ...parts) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...parts);
  return made;
}

function html(name, attributes, ...parts) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...parts);
  return made;
}

// Controls, marks that turn text around, and line breaks, but for the joiners of scripts and emoji.
const CONTROLS = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

export function visible(text) {
  return String(text).replace(CONTROLS, (letter) => {
    const code = letter.codePointAt(0).toString(16);
    return code.length < 3 ? `\\x${code.padStart(2, "0")}` : code.length < 5 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
  });
}

function short(text, most = 18) {
  const letters = [...String(text)];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : String(text);
}

function ticks(low, high, wanted = 5) {
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
    parts.push(draw("g", {}, draw("title", {}, `${visible(one.label)}: ${plain(one.mean)}, ${one.count} measurements`),
      draw("text", { x: left - 10, y: y + 4, "text-anchor": "end", class: one.in_answer ? "strong" : null }, short(visible(one.label))),
      draw("line", { class: `bar${kind}`, x1: sx(one.lower), x2: sx(one.upper), y1: y, y2: y }),
      draw("circle", { class: `dot${kind}`, cx: sx(one.mean), cy: y, r: 5 })));
  });
  return html("figure", {}, draw("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "means with intervals; the table has all numbers" }, ...parts));
}
