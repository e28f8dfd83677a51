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
//   levels   [[start, end, value], ...]
//   changes  [{ index, text, effect, probability }, ...], effect is "worse", "better" or "changed"
//   label    (k) => { name, date }: commit and day of the k-th drawn result, both may be ""
//
// Colours and fonts are those of the CSS variables of tokens.css. Keys: left and right move by a
// result, [ and ] by a change, Home and End go to the ends, Escape hides the readout.

const COLOURS = [
  "ink", "ink-2", "ink-3", "trace", "grid", "line", "sheet", "worse", "better", "changed",
];
const LANE = 34, AXIS = 22, TEXT = 12, LIKELY = 0.5;

export function drawSeries(canvas, data, options = {}) {
  const state = { chosen: -1, frame: 0, size: options.size };
  const draw = (size) => {
    state.size = size ?? state.size;
    paint(canvas, data, state.chosen, state.size);
  };
  const later = () => {
    cancelAnimationFrame(state.frame);
    state.frame = requestAnimationFrame(() => draw());
  };
  const choose = (k) => {
    state.chosen = k;
    if (options.readout) options.readout.textContent = k < 0 ? "" : readout(data, k);
    later();
  };
  const listeners = {
    pointermove: (event) => choose(nearest(canvas, data, event.offsetX)),
    pointerleave: () => choose(-1),
    blur: () => choose(-1),
    keydown: (event) => {
      const k = moved(data, state.chosen, event.key);
      if (k === null || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      choose(k);
    },
  };
  for (const [name, listener] of Object.entries(listeners)) canvas.addEventListener(name, listener);
  const sizes = new ResizeObserver(([{ contentRect }]) => {
    state.size = contentRect;
    if (canvas.width) later();
  });
  sizes.observe(canvas);
  draw();
  return {
    draw,
    choose,
    release() { cancelAnimationFrame(state.frame); canvas.width = canvas.height = 0; },
    destroy() {
      sizes.disconnect();
      for (const [name, listener] of Object.entries(listeners)) {
        canvas.removeEventListener(name, listener);
      }
    },
  };
}

// Draws the levels of a series over its pale trace, without axes. `from` is the first result of the
// level to colour.
export function drawSparkline(canvas, data, from, effect, size) {
  const view = prepare(canvas, data, { left: 1, right: 1, top: 3, bottom: 3 }, size);
  if (!view) return;
  const { context, colour } = view;
  context.strokeStyle = colour.trace;
  context.lineWidth = 1;
  context.globalAlpha = 0.75;
  context.beginPath();
  for (let k = 0; k < data.values.length; k += 1) {
    context.lineTo(view.x(place(data, k)), view.y(clipped(data, data.values[k])));
  }
  context.stroke();
  context.globalAlpha = 1;
  for (const [start, end, value] of data.levels) {
    level(view, start, end, value, start === from ? colour[effect] : colour.ink, 1.75);
  }
}

// Numbers as the command line prints them.
export function format(value) {
  const size = Math.abs(value);
  const digits = size >= 1000 && size < 1e9
    ? { maximumFractionDigits: 0 }
    : { maximumSignificantDigits: 4 };
  if (size && (size >= 1e9 || size < 1e-4)) return value.toPrecision(4).replace("-", "\u2212");
  return value.toLocaleString("en", digits).replace("-", "\u2212");
}

function place(data, k) { return data.index ? data.index[k] : k; }

function clipped(data, value) {
  return Math.min(Math.max(value, data.limits[0]), data.limits[1]);
}

function readout(data, k) {
  const at = place(data, k);
  const own = data.levels.find(([start, end]) => at >= start && at < end);
  const { name, date } = data.label(k);
  return [
    format(data.values[k]),
    own ? `level ${format(own[2])}` : "",
    name,
    date,
    `result ${(at + 1).toLocaleString("en")} of ${data.count.toLocaleString("en")}`,
  ].filter(Boolean).join(" \u00b7 ");
}

function moved(data, chosen, key) {
  const last = data.values.length - 1;
  if (key === "ArrowLeft") return chosen < 0 ? last : Math.max(chosen - 1, 0);
  if (key === "ArrowRight") return chosen < 0 ? 0 : Math.min(chosen + 1, last);
  if (key === "Home") return 0;
  if (key === "End") return last;
  if (key === "Escape") return -1;
  if (key !== "[" && key !== "]") return null;
  const at = chosen < 0 ? (key === "]" ? -1 : data.count) : place(data, chosen);
  const ahead = data.changes.map((change) => change.index)
    .filter((index) => (key === "]" ? index > at : index < at));
  if (!ahead.length) return chosen;
  return closest(data, key === "]" ? Math.min(...ahead) : Math.max(...ahead));
}

function closest(data, at) {
  let low = 0, high = data.values.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (place(data, middle) <= at) low = middle; else high = middle;
  }
  return at - place(data, low) <= place(data, high) - at ? low : high;
}

function nearest(canvas, data, offset) {
  const { left, right } = margins(data);
  const width = canvas.clientWidth - left - right;
  return closest(data, Math.round(((offset - left) / width) * data.count - 0.5));
}

function margins(data) {
  const widest = Math.max(...data.limits.map((value) => format(value).length));
  return { left: Math.max(36, widest * 7 + 12), right: 4, top: LANE, bottom: AXIS };
}

// Sizes the canvas for the screen, and returns the scales and the colours.
function prepare(canvas, data, { left, right, top, bottom }, size) {
  const { width, height } = size ?? canvas.getBoundingClientRect();
  if (width <= left + right || height <= top + bottom) return null;
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const [low, high] = data.limits;
  const inner = { width: width - left - right, height: height - top - bottom };
  return {
    context, width, height, left, right, top, bottom,
    colour: palette(canvas),
    x: (at) => left + ((at + 0.5) / data.count) * inner.width,
    edge: (at) => left + (at / data.count) * inner.width,
    y: (value) => top + (1 - (value - low) / (high - low || 1)) * inner.height,
  };
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
    const found = { font: getComputedStyle(page.body).fontFamily };
    for (const name of COLOURS) {
      probe.style.color = `var(--${name})`;
      found[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    palettes.set(theme, found);
  }
  return palettes.get(theme);
}

function paint(canvas, data, chosen, size) {
  const view = prepare(canvas, data, margins(data), size);
  if (!view) return;
  view.context.font = `${TEXT}px ${view.colour.font}`;
  axes(view, data);
  lines(view, data);
  dots(view, data);
  levels(view, data);
  labels(view, data);
  if (chosen >= 0) cursor(view, data, chosen);
}

// Round steps, so that about `count` of them cover the range.
function steps(low, high, count) {
  const rough = (high - low) / count;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * unit).find((s) => s >= rough * 0.999);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
    found.push(Math.abs(value) < step * 1e-9 ? 0 : value);
  }
  return found;
}

function axes(view, data) {
  const { context, colour, left, width, right, height, bottom } = view;
  context.lineWidth = 1;
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const value of steps(...data.limits, 4)) {
    const y = Math.round(view.y(value)) + 0.5;
    context.strokeStyle = colour.grid;
    segment(context, left, y, width - right, y);
    context.fillStyle = colour["ink-3"];
    context.fillText(format(value), left - 8, y);
  }
  context.strokeStyle = colour.line;
  segment(context, left, height - bottom + 0.5, width - right, height - bottom + 0.5);
  context.textBaseline = "alphabetic";
  const many = Math.max(2, Math.floor((width - left) / 150));
  for (let k = 0; k <= many; k += 1) {
    const drawn = Math.round((k / many) * (data.values.length - 1));
    const { date } = data.label(drawn);
    const text = date || (place(data, drawn) + 1).toLocaleString("en");
    context.textAlign = k === 0 ? "left" : k === many ? "right" : "center";
    const x = k === 0 ? left : k === many ? width - right : view.x(place(data, drawn));
    context.fillText(text, x, height - 6);
    if (data.values.length < 2) break;
  }
}

function lines(view, data) {
  const { context, colour } = view;
  context.setLineDash([2, 3]);
  context.strokeStyle = colour["ink-3"];
  for (const change of data.changes) {
    const x = Math.round(view.edge(change.index)) + 0.5;
    segment(context, x, view.top - 10, x, view.height - view.bottom);
  }
  context.setLineDash([]);
}

function dots(view, data) {
  const { context, colour } = view;
  const many = data.values.length;
  const radius = Math.min(2, Math.max(1, 26 / Math.sqrt(many)));
  context.fillStyle = context.strokeStyle = colour.trace;
  context.globalAlpha = many > 300 ? 0.7 : 0.95;
  context.beginPath();
  const beyond = [];
  for (let k = 0; k < many; k += 1) {
    const value = data.values[k], x = view.x(place(data, k));
    if (value < data.limits[0] || value > data.limits[1]) {
      beyond.push([x, value > data.limits[1]]);
    } else {
      const y = view.y(value);
      context.moveTo(x + radius, y);
      context.arc(x, y, radius, 0, 2 * Math.PI);
    }
  }
  context.fill();
  context.globalAlpha = 1;
  for (const [x, above] of beyond) {
    const tip = above ? view.top + 1 : view.height - view.bottom - 1, base = above ? 6 : -6;
    context.beginPath();
    context.moveTo(x, tip);
    context.lineTo(x - 3.5, tip + base);
    context.lineTo(x + 3.5, tip + base);
    context.closePath();
    context.stroke();
  }
}

function levels(view, data) {
  const { context, colour } = view;
  const effects = new Map(data.changes.map((change) => [change.index, change.effect]));
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  for (const [start, end, value] of data.levels) {
    const effect = effects.get(start);
    level(view, start, end, value, effect ? colour[effect] : colour.ink, effect ? 2.25 : 1.5);
    const text = format(value), room = view.edge(end) - view.edge(start);
    if (context.measureText(text).width + 8 > room) continue;
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeStyle = colour.sheet;
    const x = view.edge(start) + 5, y = view.y(value) - 5;
    context.strokeText(text, x, y);
    context.fillStyle = colour["ink-2"];
    context.fillText(text, x, y);
  }
}

function level(view, start, end, value, style, width) {
  const { context } = view;
  context.strokeStyle = style;
  context.lineWidth = width;
  segment(context, view.edge(start), view.y(value), view.edge(end), view.y(value));
}

// Every change has its mark; a label only where there is room, the likeliest and newest first.
function labels(view, data) {
  const { context, colour, width, right } = view;
  const taken = [];
  const y = view.top - 16;
  for (const change of data.changes) {
    const x = view.edge(change.index);
    taken.push([x - 8, x + 8]);
    mark(context, x, y, colour[change.effect], colour.sheet, (change.probability ?? 1) >= LIKELY);
  }
  const ranked = [...data.changes].sort(
    (a, b) => (b.probability ?? 1) - (a.probability ?? 1) || b.index - a.index,
  );
  context.textBaseline = "middle";
  for (const change of ranked) {
    const x = view.edge(change.index), size = context.measureText(change.text).width;
    const sides = [[x + 10, x + 10 + size], [x - 10 - size, x - 10]];
    const free = sides.find(([a, b]) => a > view.left - 30 && b < width - right
      && taken.every(([c, d]) => b + 6 < c || a - 6 > d || (c === x - 8 && d === x + 8)));
    if (!free) continue;
    taken.push(free);
    context.textAlign = "left";
    context.fillStyle = colour[change.effect];
    context.fillText(change.text, free[0], y + 0.5);
  }
}

function mark(context, x, y, style, paper, likely) {
  context.beginPath();
  context.arc(x, y, 4.25, 0, 2 * Math.PI);
  context.fillStyle = likely ? style : paper;
  context.strokeStyle = style;
  context.lineWidth = 1.75;
  context.fill();
  context.stroke();
}

function cursor(view, data, chosen) {
  const { context, colour } = view;
  const x = view.x(place(data, chosen)), y = view.y(clipped(data, data.values[chosen]));
  context.strokeStyle = colour["ink-3"];
  context.lineWidth = 1;
  segment(context, Math.round(x) + 0.5, view.top, Math.round(x) + 0.5, view.height - view.bottom);
  context.beginPath();
  context.arc(x, y, 3.5, 0, 2 * Math.PI);
  context.fillStyle = colour.ink;
  context.fill();
}

function segment(context, a, b, c, d) {
  context.beginPath();
  context.moveTo(a, b);
  context.lineTo(c, d);
  context.stroke();
}
