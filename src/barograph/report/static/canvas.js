// The canvas of a chart: its size on the screen, its colours, and its layers from back to front.
import {
  FAINT, ROW, TEXT, UNIT, axes, bands, cursor, dots, errorBars, extremes, labels, levels, lines, segment,
  slowChanges, specials, ticketMarks,
} from "./layers.js";
import { firstAt, formatTick, valueSteps, vertical } from "./scales.js";

const COLOURS = [
  "ink", "ink-2", "ink-3", "trace", "grid", "line", "edge", "mark", "sheet", "worse", "better",
  "changed", "trend", "noise", "suspect", "suspect-soft",
];
const AXIS = 22, OVERVIEW = 36, GAP = 12, RIGHT = 6;

// Sizes the canvas for the screen; without a size that can be drawn on, returns null.
export function prepare(canvas, size, ratio) {
  const { width, height } = size ?? canvas.getBoundingClientRect();
  if (width < 8 || height < 8) return null;
  const scale = ratio ?? Math.min(window.devicePixelRatio || 1, 3);
  const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
  const context = canvas.getContext("2d");
  if (canvas.width !== across || canvas.height !== down) {
    canvas.width = across;
    canvas.height = down;
  }
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height, ratio: scale, colour: palette(canvas) };
}

// A custom property may hold light-dark(), which only a real property resolves. The colours are
// looked up once for each theme.
const palettes = new Map();
function palette({ ownerDocument: page }) {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = `${page.documentElement.dataset.theme ?? ""} ${isDark}`;
  if (!palettes.has(theme)) {
    const probe = page.createElement("span");
    page.body.append(probe);
    const colours = { font: getComputedStyle(page.body).fontFamily };
    for (const name of COLOURS) {
      probe.style.color = `var(--${name})`;
      colours[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    palettes.set(theme, colours);
  }
  return palettes.get(theme);
}

// Where the parts of a chart are: the lane of marks, the plot, and the overview below it.
function layout(state, data, { width, height }) {
  const { rows, hasOverview, limits, scale } = state;
  const top = 15 + ROW * rows, right = width - RIGHT;
  const bottom = height - AXIS - (hasOverview ? OVERVIEW + GAP : 0);
  const values = valueSteps(limits, scale, bottom - top), step = values[1] - values[0] || 0;
  const marks = values.map((value) => ({ value, text: formatTick(value, step) }));
  const widest = Math.max(...marks.map(({ text }) => text.length), 0);
  const left = Math.max(46, widest * 7 + 12) + (data.unit ? UNIT : 0);
  const box = { left, right, top, bottom, height: bottom - top };
  const overview = hasOverview ? { top: height - OVERVIEW, bottom: height - 1 } : null;
  return { box, overview, lane: 14, marks, step };
}

function scalesOf(state, { box }) {
  const [start, end] = state.range;
  const across = (box.right - box.left) / (end - start || 1);
  const x = (at) => box.left + (at - start) * across;
  return {
    x,
    at: (pixel) => start + (pixel - box.left) / across,
    edge: (index) => x(state.horizontal.edge(index)),
    y: vertical(state.limits, state.scale, box.top, box.height),
  };
}

// Draws a chart and returns the view that it was drawn with.
export function paint(canvas, data, state, { size, ratio, title } = {}) {
  const prepared = prepare(canvas, size ?? state.size, ratio);
  if (!prepared) return null;
  const placed = layout(state, data, prepared), { positions } = state.horizontal;
  const view = {
    ...prepared, ...placed, ...scalesOf(state, placed), positions,
    axis: state.axis, scale: state.scale, limits: state.limits, rows: state.rows,
    selected: state.selected,
    from: Math.max(firstAt(positions, state.range[0]) - 1, 0),
    to: Math.min(firstAt(positions, state.range[1]) + 1, positions.length),
  };
  const { context, colour, box } = view;
  context.font = `${TEXT}px ${colour.font}`;
  if (title) heading(view, title);
  axes(view, data);
  context.save();
  context.beginPath();
  context.rect(box.left - 3, box.top - 12, box.right - box.left + 6, box.height + 14);
  context.clip();
  bands(view, data);
  slowChanges(view, data);
  lines(view, data);
  errorBars(view, data);
  dots(view, data);
  specials(view, data);
  levels(view, data);
  ticketMarks(view, data);
  context.restore();
  labels(view, data);
  if (state.chosen >= 0) cursor(view, data, state.chosen);
  if (view.overview) overview(canvas, view, data, state);
  return view;
}

function heading({ context, colour, width, height }, title) {
  context.fillStyle = colour.sheet;
  context.globalCompositeOperation = "destination-over";
  context.fillRect(0, 0, width, height);
  context.globalCompositeOperation = "source-over";
  context.fillStyle = colour["ink-3"];
  context.textAlign = "right";
  context.textBaseline = "bottom";
  context.fillText(title, width - RIGHT, height - 2);
}

// The whole series, and a window around what the plot shows. The series stays the same while the
// window moves, so its picture is kept.
const overviews = new WeakMap();
function overview(canvas, view, data, state) {
  const { context, colour, box, ratio } = view;
  const { top, bottom } = view.overview;
  const key = [view.width, view.height, ratio, state.axis, box.left, colour.ink].join(" ");
  let kept = overviews.get(canvas);
  if (kept?.key !== key) {
    kept = { key, picture: trace(canvas, view, data, state) };
    overviews.set(canvas, kept);
  }
  const width = box.right - box.left, height = bottom - top;
  context.drawImage(kept.picture, box.left, top, width, height);
  const [a, b] = windowOf(state, box);
  context.globalAlpha = 0.7;
  context.fillStyle = colour.sheet;
  context.fillRect(box.left, top, a - box.left, height);
  context.fillRect(b, top, box.right - b, height);
  context.globalAlpha = 1;
  context.strokeStyle = colour.edge;
  context.lineWidth = 1;
  context.beginPath();
  context.roundRect(a + 0.5, top + 0.5, Math.max(b - a - 1, 2), height - 1, 3);
  context.stroke();
  context.fillStyle = colour.sheet;
  for (const x of [a, b]) {
    context.beginPath();
    context.roundRect(x - 3.5, top + height / 2 - 8, 7, 16, 3);
    context.fill();
    context.stroke();
  }
}

function trace(canvas, view, data, state) {
  const { colour, box, ratio, positions } = view;
  const width = box.right - box.left, height = view.overview.bottom - view.overview.top;
  const picture = canvas.ownerDocument.createElement("canvas");
  picture.width = Math.max(1, Math.round(width * ratio));
  picture.height = Math.max(1, Math.round(height * ratio));
  const context = picture.getContext("2d");
  context.scale(ratio, ratio);
  const [start, end] = state.horizontal.domain;
  const x = (at) => ((at - start) / (end - start || 1)) * width;
  const y = vertical(state.whole, "fit", 4, height - 8);
  const all = {
    from: 0, to: positions.length, positions, box: { left: 0, right: width },
    at: (pixel) => start + (pixel / width) * (end - start),
  };
  context.strokeStyle = colour.trace;
  context.beginPath();
  for (const k of extremes(all, data, width).flat()) {
    context.lineTo(x(positions[k]), Math.min(Math.max(y(data.values[k]), 1), height - 1));
  }
  context.stroke();
  context.strokeStyle = colour.ink;
  context.lineWidth = 1.5;
  for (const [from, to, value, isUsed] of data.levels) {
    context.globalAlpha = isUsed ? 1 : FAINT;
    segment(context, x(state.horizontal.edge(from)), y(value), x(state.horizontal.edge(to)), y(value));
  }
  context.globalAlpha = 1;
  return picture;
}

// The window in the overview, in pixels.
export function windowOf({ horizontal: { domain }, range }, box) {
  const across = (box.right - box.left) / (domain[1] - domain[0] || 1);
  return range.map((at) => box.left + (at - domain[0]) * across);
}
