// Small plots with one level on each side of a split; each is drawn once it has a size, and again
// when the theme changes.

import { drawSparkline } from "./chart.js";
import { fit } from "./scales.js";

const sketches = new Map();
const seen = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    if (contentRect.width) sketches.get(target)?.(contentRect);
    if (!target.isConnected) { seen.unobserve(target); sketches.delete(target); }
  }
});

// `before` and `after` are the levels, null where unknown; `effect` is the colour of the level
// after the split, which a dotted line shows.
export function sketch(canvas, { values, split, before, after, effect }) {
  const levels = [[0, split, before, true], [split, values.length, after, true]]
    .filter(([start, end, level]) => end > start && level !== null);
  const data = { values, index: null, count: values.length, levels };
  data.limits = fit(data, [0, values.length], "fit");
  sketches.set(canvas, (size) => { if (values.length) drawSparkline(canvas, data, split, effect, size, split); });
  seen.observe(canvas);
}

function redraw() {
  for (const [canvas, draw] of sketches) if (canvas.isConnected) draw(canvas.getBoundingClientRect());
}
document.addEventListener("themechange", redraw);
