// Draws a series of results on a canvas: dots, levels, change points, and a readout.
//
//   const chart = drawSeries(canvas, data, { readout });
//   chart.draw();      // again, after the theme changed
//   chart.release();   // frees the memory of the picture; draw() brings it back
//
// draw() takes the size of the canvas, { width, height }, where it is known: asking the browser in
// the middle of other changes makes it lay out the page again.
//
// `data` has
//   values   the results that are drawn, in order
//   index    the place of each in the whole series; null if every result is drawn
//   count    the number of results of the whole series
//   limits   [low, high] of the vertical axis; results beyond are drawn at its edge
//   levels   [[start, end, value, whether a change was measured with it], ...]
//   changes  [{ index, text, effect, probability }, ...], effect is "worse", "better", "changed" or "trend"
//   slow     [["drift" or "noise", begin, end, before, after], ...], may be missing
//   label    (k) => { name, date }: commit and day of the k-th drawn result, both may be ""
// and may have `unit`, that of the values, and if every result is drawn,
//   times               milliseconds since 1970, null where unknown
//   low, high           the least and the largest run of each commit
//   outliers, suspects  indices of results
//   ranges              [[last before, first after], ...] of undecided changes
//   tickets             [{ index, key }, ...]
//   changes[].state     "unprocessed", "real", "noise", "moved" or "withdrawn"
//
// Above the plot are { rows } of marks, 1 or 2. With { isInteractive: true } the chart zooms and pans,
// and has an overview and two rows. It calls onView({ from, to, axis, scale }) after a change of the
// view, where `from` and `to` are indices, onRead(k) with the result that is read, -1 for none,
// onSelect(k) with the result that was clicked or reached by a key, and onMark(change) with the change
// whose mark was clicked.
//
// Colours and fonts are those of the CSS variables of tokens.css. Keys: left and right move by a
// result, Home and End go to the ends, Escape hides the readout. + - 0 zoom an interactive chart, whose
// page handles [ and ]; in others these two move by a change.
import { paint, prepare } from "./canvas.js";
import { keyed, listen, shifted } from "./gestures.js";
import { FAINT, ROW, segment } from "./layers.js";
import { firstAt, fit, format, horizontal, measured, nearestTo, place, resolution } from "./scales.js";

export function drawSeries(canvas, data, options = {}) {
  return new SeriesChart(canvas, data, options);
}

class SeriesChart {
  constructor(canvas, data, options) {
    const { isInteractive = false, rows = isInteractive ? 2 : 1, view = {} } = options;
    Object.assign(this, { canvas, data, options, isInteractive, brush: null, last: null, frame: 0 });
    if (isInteractive) data.special = new Set([...data.outliers ?? [], ...data.suspects ?? []]);
    const across = horizontal(data, view.axis ?? "commits");
    this.state = {
      chosen: -1, selected: null, size: options.size, axis: across.axis, scale: view.scale ?? "fit",
      horizontal: across, range: [...across.domain], rows,
      hasOverview: isInteractive, limits: data.limits, whole: data.limits,
    };
    if (isInteractive) {
      this.state.whole = fit(data, [0, data.values.length], "fit");
      this.setRange(this.#rangeOf(view.from, view.to), { isQuiet: true });
    }
    this.gestures = isInteractive ? listen(canvas, this) : null;
    this.#listen();
    this.draw();
  }

  draw(size) {
    this.state.size = size ?? this.state.size;
    this.last = paint(this.canvas, this.data, this.state) ?? this.last;
    if (this.brush && this.last) this.#paintBrush();
  }

  later() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  view() { return this.last; }

  // Reads a result; -1 reads none.
  choose(k) {
    const { options, data } = this;
    this.state.chosen = k;
    if (options.readout) options.readout.textContent = k < 0 ? "" : readout(data, k);
    options.onRead?.(k);
    this.later();
  }

  // Marks a change as the one that the page is about.
  select(change) {
    this.state.selected = change;
    this.later();
  }

  // Brings a result into sight, and reads it.
  reveal(k) {
    const { range, horizontal: { positions, domain } } = this.state;
    const at = positions[k], span = range[1] - range[0];
    if (at < range[0] || at > range[1]) {
      this.setRange(shifted([at - span / 2, at + span / 2], 0, domain));
    }
    this.choose(k);
  }

  setRange([start, end], { isMoving = false, isQuiet = false } = {}) {
    const { horizontal: { domain, tightest, positions }, scale } = this.state;
    const least = Math.min(tightest, domain[1] - domain[0]);
    const span = Math.min(Math.max(end - start, least), domain[1] - domain[0]);
    const middle = (start + end) / 2;
    this.state.range = shifted(
      [Math.max(middle - span / 2, domain[0]), Math.max(middle - span / 2, domain[0]) + span],
      0, domain,
    );
    // While a hand moves the view, the vertical axis stands still.
    if (!isMoving) {
      const [from, to] = this.state.range.map((at) => firstAt(positions, at));
      this.state.limits = fit(this.data, [from, Math.max(to, from + 1)], scale);
    }
    if (isQuiet) return;
    this.later();
    if (!isMoving) this.options.onView?.(this.shown());
  }

  zoom(factor, about) {
    const [start, end] = this.state.range, { chosen, horizontal: { positions } } = this.state;
    const centre = about ?? (chosen >= 0 ? positions[chosen] : (start + end) / 2);
    this.setRange([centre - (centre - start) * factor, centre + (end - centre) * factor]);
  }

  showAll() { this.setRange(this.state.horizontal.domain); }

  // Shows the last results.
  showLast(count) {
    const { positions, domain, edge } = this.state.horizontal;
    this.setRange([edge(Math.max(positions.length - count, 0)), domain[1]]);
  }

  setAxis(axis) {
    const { from, to } = this.shown();
    this.state.horizontal = horizontal(this.data, axis);
    this.state.axis = axis;
    this.setRange(this.#rangeOf(from, to));
  }

  setScale(scale) {
    this.state.scale = scale;
    this.setRange(this.state.range);
  }

  // First and last index in sight; null at the ends of the series.
  shown() {
    const { range, horizontal: { positions, domain }, axis, scale } = this.state;
    const from = range[0] <= domain[0] ? null : Math.min(firstAt(positions, range[0]), positions.length - 1);
    const to = range[1] >= domain[1] ? null : Math.max(firstAt(positions, range[1]) - 1, 0);
    return { from, to, axis, scale };
  }

  setBrush(range, scale) {
    this.brush = range && { range, scale };
    this.later();
  }

  click(x, y) {
    const view = this.last;
    if (!view) return;
    const change = this.#markAt(x, y);
    if (change) this.options.onMark?.(change);
    else if (this.#isInPlot(y)) this.#pick(nearestTo(view.positions, view.at(x)));
  }

  // The next change before or after what is read.
  nextChange(isForward) {
    const { data, state: { chosen } } = this;
    const at = chosen < 0 ? (isForward ? -1 : data.count) : place(data, chosen);
    const ahead = data.changes.map((change) => change.index)
      .filter((index) => (isForward ? index > at : index < at));
    if (!ahead.length) return chosen;
    const index = isForward ? Math.min(...ahead) : Math.max(...ahead);
    const nearest = nearestTo(this.state.horizontal.positions, this.state.horizontal.edge(index) + 1e-9);
    return data.index ? nearest : index;
  }

  // The picture as a PNG, twice as fine as the screen shows it.
  toBlob(title, size = { width: 1200, height: 480 }) {
    const picture = this.canvas.ownerDocument.createElement("canvas");
    const state = { ...this.state, chosen: -1, hasOverview: false, size };
    paint(picture, this.data, state, { size, ratio: 2, title });
    return new Promise((resolve) => { picture.toBlob(resolve, "image/png"); });
  }

  release() {
    cancelAnimationFrame(this.frame);
    this.canvas.width = this.canvas.height = 0;
  }

  destroy() {
    this.gestures?.stop();
    this.sizes.disconnect();
    for (const [name, listener] of Object.entries(this.listeners)) {
      this.canvas.removeEventListener(name, listener);
    }
  }

  #rangeOf(from, to) {
    const { positions, domain, edge } = this.state.horizontal, last = positions.length - 1;
    return [
      from === null || from === undefined ? domain[0] : edge(Math.min(Math.max(from, 0), last)),
      to === null || to === undefined ? domain[1] : edge(Math.min(Math.max(to, 0), last) + 1),
    ];
  }

  #listen() {
    this.listeners = {
      pointermove: (event) => this.#hover(event),
      pointerleave: () => { if (this.canvas.ownerDocument.activeElement !== this.canvas) this.choose(-1); },
      blur: () => this.choose(-1),
      keydown: (event) => this.#key(event),
    };
    for (const [name, listener] of Object.entries(this.listeners)) {
      this.canvas.addEventListener(name, listener);
    }
    this.sizes = new ResizeObserver(([{ contentRect }]) => {
      this.state.size = contentRect;
      if (this.canvas.width) this.later();
    });
    this.sizes.observe(this.canvas);
  }

  #hover(event) {
    const view = this.last;
    if (!view || this.gestures?.isDragging()) return;
    const change = this.#markAt(event.offsetX, event.offsetY);
    this.canvas.title = change ? this.#described(change) : "";
    this.canvas.style.cursor = change && this.options.onMark ? "pointer" : "";
    if (this.#isInPlot(event.offsetY)) this.choose(nearestTo(view.positions, view.at(event.offsetX)));
  }

  #isInPlot(y) {
    const { overview } = this.last;
    return this.data.values.length > 0 && !(overview && y >= overview.top - 4);
  }

  // The change whose mark is at a place in the lane.
  #markAt(x, y) {
    const { glyphs, lane } = this.last;
    return glyphs.find((glyph) => Math.abs(glyph.x - x) < 10 && Math.abs(lane + glyph.row * ROW - y) < 10)?.change;
  }

  #described({ text, index }) {
    const { name } = this.data.index ? { name: "" } : this.data.label(index);
    return [text, name].filter(Boolean).join(" at ");
  }

  // Reads a result that a person chose.
  #pick(k) {
    this.reveal(k);
    this.options.onSelect?.(k);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const zooms = { "+": 0.5, "=": 0.5, "-": 2 }, isBracket = event.key === "[" || event.key === "]";
    if (isBracket && this.isInteractive) return;
    let k = keyed(this, this.data, event.key);
    if (isBracket) k = this.nextChange(event.key === "]");
    else if (k === null && this.isInteractive && zooms[event.key]) this.zoom(zooms[event.key]);
    else if (k === null && this.isInteractive && event.key === "0") this.showAll();
    else if (k === null) return;
    event.preventDefault();
    event.stopPropagation();
    if (k === -1 && event.key !== "Escape") return;
    if (k !== null) { if (this.isInteractive && k >= 0) this.#pick(k); else this.choose(k); }
  }

  #paintBrush() {
    const { last: view, brush, state } = this, { context, colour, box } = view;
    const [low, high] = brush.scale === "overview" ? state.horizontal.domain : state.range;
    const x = (at) => box.left + ((at - low) / (high - low)) * (box.right - box.left);
    const [a, b] = brush.range.map((at) => Math.min(Math.max(x(at), box.left), box.right));
    const area = brush.scale === "overview" ? view.overview : box;
    context.globalAlpha = 0.14;
    context.fillStyle = colour.ink;
    context.fillRect(a, area.top, b - a, area.bottom - area.top);
    context.globalAlpha = 1;
  }
}

// Draws the levels of a series over its pale trace, without axes. `from` is the first result of the
// level to colour, `at` the place of a dotted line.
export function drawSparkline(canvas, data, from, effect, size, at) {
  const view = prepare(canvas, size);
  if (!view) return;
  const { context, colour, width, height } = view;
  const [low, high] = data.limits;
  const edge = (index) => 1 + (index / data.count) * (width - 2);
  const y = (value) => {
    const inside = Math.min(Math.max(value, low), high);
    return 3 + (1 - (inside - low) / (high - low || 1)) * (height - 6);
  };
  context.strokeStyle = colour.trace;
  context.lineWidth = 1;
  context.globalAlpha = 0.75;
  context.beginPath();
  for (let k = 0; k < data.values.length; k += 1) {
    context.lineTo(edge(place(data, k) + 0.5), y(data.values[k]));
  }
  context.stroke();
  context.globalAlpha = 1;
  if (at !== undefined) {
    context.setLineDash([2, 3]);
    context.strokeStyle = colour["ink-3"];
    const x = Math.round(edge(at)) + 0.5;
    segment(context, x, 0, x, height);
    context.setLineDash([]);
  }
  context.lineWidth = 1.75;
  for (const [start, end, value, isUsed] of data.levels) {
    context.strokeStyle = start === from ? colour[effect] : colour.ink;
    context.globalAlpha = isUsed ? 1 : FAINT;
    segment(context, edge(start), y(value), edge(end), y(value));
  }
  context.globalAlpha = 1;
}

function readout(data, k) {
  const at = place(data, k);
  const level = data.levels.find(([start, end]) => at >= start && at < end);
  const { name, date } = data.label(k), step = resolution(data.limits);
  return [
    measured(data.values[k], data.unit, step),
    level ? `level ${measured(level[2], data.unit, step)}` : "",
    name,
    date,
    `result ${format(at + 1)} of ${format(data.count)}`,
  ].filter(Boolean).join(" \u00b7 ");
}
