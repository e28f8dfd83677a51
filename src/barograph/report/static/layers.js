// The layers of a chart, each drawn over the ones before: grid, results, levels, marks, cursor.
//
// A `view` has the context, the colours, the box of the plot, the scales x (of a position) and y
// (of a value), `edge` (between two results) and the range of drawn results that are in sight.
import { day, firstAt, format, place } from "./scales.js";

export const TEXT = 12; // pixels: the font
export const ROW = 19; // a row of marks
export const UNIT = 16; // the unit at the side
export const FAINT = 0.35; // of a level that no change was measured with
const LIKELY = 0.5;

export function segment(context, a, b, c, d) {
  context.beginPath();
  context.moveTo(a, b);
  context.lineTo(c, d);
  context.stroke();
}

export function axes(view, data) {
  const { context, colour, box } = view;
  context.lineWidth = 1;
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const { value, text } of view.marks) {
    const y = Math.round(view.y(value)) + 0.5;
    context.strokeStyle = colour.grid;
    segment(context, box.left, y, box.right, y);
    context.fillStyle = colour["ink-3"];
    context.fillText(text, box.left - 8, y);
  }
  context.strokeStyle = colour.line;
  segment(context, box.left, box.bottom + 0.5, box.right, box.bottom + 0.5);
  if (data.unit) unitTitle(view, data.unit);
  ticks(view, data);
}

function unitTitle({ context, colour, box }, unit) {
  context.save();
  context.translate(UNIT / 2, (box.top + box.bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillStyle = colour["ink-3"];
  context.fillText(unit, 0, 0, box.height);
  context.restore();
}

function ticks(view, data) {
  const { context, colour, box, positions } = view;
  context.fillStyle = colour["ink-3"];
  context.textBaseline = "alphabetic";
  const many = Math.max(2, Math.floor((box.right - box.left) / 150));
  let end = -Infinity, before = "";
  for (let k = 0; k <= many; k += 1) {
    const x = box.left + (k / many) * (box.right - box.left);
    const drawn = Math.min(firstAt(positions, view.at(x)), positions.length - 1);
    if (drawn < 0) return;
    const date = view.axis === "time" ? day(view.at(x)) : data.label(drawn).date;
    const text = date || format(place(data, drawn) + 1);
    context.textAlign = k === 0 ? "left" : k === many ? "right" : "center";
    const width = context.measureText(text).width;
    const start = x - (k === 0 ? 0 : k === many ? width : width / 2);
    if (start < end + 12 || text === before) continue; // several marks of one day
    end = start + width;
    before = text;
    context.fillText(text, x, box.bottom + 16);
    if (positions.length < 2) break;
  }
}

// The commits that may have caused a change that nobody has decided on.
export function bands(view, data) {
  const { context, colour, box } = view;
  context.fillStyle = colour["suspect-soft"];
  for (const [from, to] of data.ranges ?? []) {
    const a = view.x(view.positions[from]), b = view.x(view.positions[to]);
    if (b < box.left || a > box.right) continue;
    context.fillRect(a, box.top, Math.max(b - a, 3), box.height);
  }
}

// Drifts as a dashed line over a band from begin to end, changes of noise as a band.
export function slowChanges(view, data) {
  const { context, colour, box } = view;
  for (const [kind, begin, end, before, after] of data.slow ?? []) {
    const a = Math.max(view.edge(begin), box.left), b = Math.min(view.edge(end), box.right);
    if (b <= a) continue;
    context.fillStyle = colour.ink;
    context.globalAlpha = kind === "drift" ? 0.07 : 0.04;
    context.fillRect(a, box.top, b - a, box.height);
    context.globalAlpha = 1;
    if (kind !== "drift") continue;
    const at = (x) => view.y(before + ((x - view.edge(begin)) / (view.edge(end) - view.edge(begin))) * (after - before));
    context.setLineDash([6, 4]);
    context.lineWidth = 1.5;
    context.strokeStyle = colour.ink;
    segment(context, a, at(a), b, at(b));
    context.setLineDash([]);
  }
}

export function lines(view, data) {
  const { context, colour, box } = view;
  context.setLineDash([2, 3]);
  context.lineWidth = 1;
  context.strokeStyle = colour["ink-3"];
  for (const change of data.changes) {
    const x = Math.round(view.edge(change.index)) + 0.5;
    if (x < box.left - 1 || x > box.right + 1) continue;
    segment(context, x, box.top - 10, x, box.bottom);
  }
  context.setLineDash([]);
}

// The least and the largest run of each commit; of more commits than pixels, of each pixel.
export function errorBars(view, data) {
  if (!data.low) return;
  const { context, colour, from, to, box } = view;
  const clamp = (y) => Math.min(Math.max(y, box.top), box.bottom);
  context.strokeStyle = colour.trace;
  context.lineWidth = 1;
  context.beginPath();
  let column = null, low = 0, high = 0;
  const flush = () => {
    if (column === null || low === high) return;
    context.moveTo(column + 0.5, clamp(view.y(low)));
    context.lineTo(column + 0.5, clamp(view.y(high)));
  };
  for (let k = from; k < to; k += 1) {
    if (data.low[k] === data.high[k]) continue;
    const x = Math.round(view.x(view.positions[k]) - 0.5);
    if (x === column) {
      low = Math.min(low, data.low[k]);
      high = Math.max(high, data.high[k]);
    } else {
      flush();
      column = x; low = data.low[k]; high = data.high[k];
    }
  }
  flush();
  context.stroke();
}

// Results as dots. Of more than two in a column of pixels, a line from the lowest to the highest.
export function dots(view, data) {
  const { context, colour, from, to, box } = view;
  const many = to - from;
  const columns = Math.max(1, (box.right - box.left) / 1.5);
  const radius = Math.min(2, Math.max(1, 26 / Math.sqrt(many)));
  const special = data.special;
  const [bottom, top] = view.limits;
  const beyond = [];
  context.fillStyle = context.strokeStyle = colour.trace;
  context.beginPath();
  const dot = (k) => {
    const value = data.values[k], x = view.x(view.positions[k]);
    if (special?.has(k)) return;
    if (value < bottom || value > top) { beyond.push([x, value > top]); return; }
    const y = view.y(value);
    if (radius < 1.4) { context.rect(x - radius, y - radius, 2 * radius, 2 * radius); return; }
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, 2 * Math.PI);
  };
  if (many <= 2 * columns) {
    for (let k = from; k < to; k += 1) dot(k);
  } else {
    // Without the line, columns would look like two groups of results.
    const height = (k) => view.y(Math.min(Math.max(data.values[k], bottom), top));
    for (const [low, high] of extremes(view, data, columns)) {
      dot(low);
      if (high === low) continue;
      dot(high);
      if (special?.has(low) || special?.has(high)) continue;
      context.rect(view.x(view.positions[low]) - radius / 4, height(high), radius / 2, height(low) - height(high));
    }
  }
  context.fill();
  context.lineWidth = 1;
  for (const [x, above] of beyond) {
    const tip = above ? box.top + 1 : box.bottom - 1, base = above ? 6 : -6;
    triangle(context, x, tip, 3.5, base);
    context.stroke();
  }
}

// The drawn results with the lowest and the highest value of each column.
export function extremes(view, data, columns) {
  const { from, to, positions } = view;
  const start = view.at(view.box.left), width = (view.at(view.box.right) - start) / columns;
  const kept = [];
  let k = from;
  while (k < to) {
    const column = Math.floor((positions[k] - start) / width);
    let low = k, high = k;
    for (; k < to && Math.floor((positions[k] - start) / width) === column; k += 1) {
      if (data.values[k] < data.values[low]) low = k;
      if (data.values[k] > data.values[high]) high = k;
    }
    kept.push([low, high]);
  }
  return kept;
}

function triangle(context, x, tip, half, base) {
  context.beginPath();
  context.moveTo(x, tip);
  context.lineTo(x - half, tip + base);
  context.lineTo(x + half, tip + base);
  context.closePath();
}

// Outliers are rings, results that wait for a rerun are triangles.
export function specials(view, data) {
  const { context, colour, box, from, to } = view;
  const within = (k) => k >= from && k < to;
  const height = (k) => Math.min(Math.max(view.y(data.values[k]), box.top + 4), box.bottom - 6);
  context.lineWidth = 1.25;
  context.strokeStyle = colour["ink-3"];
  context.fillStyle = colour.sheet;
  for (const k of (data.outliers ?? []).filter(within)) {
    context.beginPath();
    context.arc(view.x(view.positions[k]), height(k), 3, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }
  context.fillStyle = colour.suspect;
  for (const k of (data.suspects ?? []).filter(within)) {
    triangle(context, view.x(view.positions[k]), height(k) - 5, 5.5, 10);
    context.fill();
  }
}

// A level is strong where a change was measured with it, and faint elsewhere.
export function levels(view, data) {
  const { context, colour, box } = view;
  const effects = new Map(data.changes.filter(divides).map(({ index, effect }) => [index, effect]));
  context.textBaseline = "alphabetic";
  const isOnly = data.levels.length === 1;
  for (const [k, [start, end, value, isUsed]] of data.levels.entries()) {
    const a = Math.max(view.edge(start), box.left), b = Math.min(view.edge(end), box.right);
    if (b < box.left || a > box.right) continue;
    const y = view.y(value), effect = effects.get(start);
    if (y < box.top - 1 || y > box.bottom + 1) continue;
    context.strokeStyle = effect ? colour[effect] : colour.ink;
    context.lineWidth = effect ? 2.25 : 1.5;
    context.globalAlpha = isUsed ? 1 : FAINT;
    segment(context, a, y, Math.max(b, a + 2), y);
    context.globalAlpha = 1;
    if (!isUsed && !isOnly) continue;
    const text = format(value, view.step / 10), size = context.measureText(text).width;
    // The text may stand above the faint line that continues the level.
    const next = data.levels.slice(k + 1).find((line) => line[3]);
    const room = Math.min(next ? view.edge(next[0]) : box.right, box.right) - a;
    const last = end >= data.count && room < size + 8;
    if (size + 8 > room && !(last && b - size > box.left)) continue;
    context.textAlign = last ? "right" : "left";
    halo(view, text, last ? b - 2 : a + 5, y - 5, colour["ink-2"]);
  }
}

function divides(change) { return !change.state || ["unprocessed", "real"].includes(change.state); }

function halo(view, text, x, y, style) {
  const { context, colour } = view;
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = colour.sheet;
  context.strokeText(text, x, y);
  context.fillStyle = style;
  context.fillText(text, x, y);
}

// Every change has its mark; a label only where there is room: the undecided ones first, then the
// likeliest and newest. Marks that would overlap take the next row.
export function labels(view, data) {
  const { context, colour, box, rows } = view;
  const shown = data.changes
    .map((change) => ({ change, x: view.edge(change.index) }))
    .filter(({ x }) => x >= box.left - 5 && x <= box.right + 5);
  const taken = Array.from({ length: rows }, () => []);
  const isFree = (row, a, b) => taken[row].every(([c, d]) => b < c || a > d);
  const rank = ({ change }) => [change.state === "unprocessed" ? 1 : 0, change.probability ?? 1];
  shown.sort((glyph, other) => {
    const [a, b] = rank(glyph), [c, d] = rank(other);
    return c - a || d - b || other.change.index - glyph.change.index;
  });
  for (const glyph of shown) {
    const all = taken.map((_, row) => row);
    glyph.row = all.find((row) => isFree(row, glyph.x - 7, glyph.x + 7)) ?? rows - 1;
    glyph.span = [glyph.x - 8, glyph.x + 8];
    taken[glyph.row].push(glyph.span);
  }
  view.glyphs = shown;
  for (const glyph of shown) {
    const { change, x } = glyph, text = change.text ?? "";
    const label = text ? labelOf(glyph, context.measureText(text).width, box, taken) : null;
    const y = view.lane + glyph.row * ROW;
    drawMark(view, change, x, y, change === view.selected);
    if (!label) continue;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillStyle = labelColour(colour, change);
    context.fillText(text, label[0], y + 0.5);
  }
}

// Where the label of a mark has room, on one of its sides; null if nowhere. Its mark goes to another
// row if there is room for both.
function labelOf(glyph, width, box, taken) {
  const { x, span } = glyph;
  const sides = [[x + 10, x + 10 + width], [x - 10 - width, x - 10]]
    .filter(([a, b]) => a > box.left - 30 && b < box.right);
  const isFree = (row, [a, b]) => taken[row].every((other) => other === span || b < other[0] || a > other[1]);
  for (const row of [glyph.row, ...taken.keys()]) {
    const label = isFree(row, span) && sides.find(([a, b]) => isFree(row, [a - 6, b + 6]));
    if (!label) continue;
    taken[glyph.row].splice(taken[glyph.row].indexOf(span), 1);
    taken[row].push(span, label);
    glyph.row = row;
    return label;
  }
  return null;
}

function labelColour(colour, { state, effect }) {
  if (state === "noise") return colour.noise;
  return state === "moved" || state === "withdrawn" ? colour["ink-3"] : colour[effect];
}

// The shape says the state, so that colour is never alone. A report has no states: there a full
// disc is a change that is likely real.
function drawMark(view, change, x, y, isSelected) {
  const { context, colour } = view;
  const { state, effect } = change;
  context.lineWidth = 1.75;
  context.fillStyle = colour.sheet;
  context.strokeStyle = state ? colour.ink : colour[effect];
  if (isSelected) {
    context.save();
    context.fillStyle = colour.mark;
    context.beginPath();
    context.arc(x, y, 9, 0, 2 * Math.PI);
    context.fill();
    context.restore();
  }
  if (state === "withdrawn") {
    segment(context, x - 4, y - 4, x + 4, y + 4);
    segment(context, x - 4, y + 4, x + 4, y - 4);
    return;
  }
  context.beginPath();
  context.arc(x, y, 4.5, 0, 2 * Math.PI);
  if (state === "noise") {
    context.fillStyle = context.strokeStyle = colour.noise;
  } else if (state === "real" || (!state && (change.probability ?? 1) >= LIKELY)) {
    context.fillStyle = context.strokeStyle;
  }
  if (state === "moved") {
    context.setLineDash([2, 2]);
    context.strokeStyle = colour["ink-3"];
  }
  context.fill();
  context.stroke();
  context.setLineDash([]);
  if (state === "noise") {
    context.strokeStyle = colour.sheet;
    segment(context, x - 2.5, y, x + 2.5, y);
  }
}

export function ticketMarks(view, data) {
  const { context, colour, box } = view;
  const ends = [-Infinity, -Infinity, -Infinity]; // of the rows of tickets
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const ticket of data.tickets ?? []) {
    const x = view.edge(ticket.index);
    if (x < box.left || x > box.right) continue;
    const free = ends.findIndex((end) => end < x), row = free < 0 ? ends.indexOf(Math.min(...ends)) : free;
    const y = box.bottom - 10 - 16 * row;
    const end = x + context.measureText(ticket.key).width + 18;
    const fits = free >= 0 && end - 8 < box.right;
    ends[row] = Math.max(ends[row], fits ? end : x + 8);
    context.fillStyle = colour["ink-2"];
    context.beginPath();
    context.moveTo(x, y - 5.5);
    context.lineTo(x + 5.5, y);
    context.lineTo(x, y + 5.5);
    context.lineTo(x - 5.5, y);
    context.fill();
    if (fits) halo(view, ticket.key, x + 9, y, colour["ink-2"]);
  }
}

export function cursor(view, data, chosen) {
  const { context, colour, box } = view;
  const x = view.x(view.positions[chosen]);
  if (x < box.left - 1 || x > box.right + 1) return;
  const y = Math.min(Math.max(view.y(data.values[chosen]), box.top), box.bottom);
  context.strokeStyle = colour["ink-3"];
  context.lineWidth = 1;
  segment(context, Math.round(x) + 0.5, box.top, Math.round(x) + 0.5, box.bottom);
  context.beginPath();
  context.arc(x, y, 3.5, 0, 2 * Math.PI);
  context.fillStyle = colour.ink;
  context.fill();
}
