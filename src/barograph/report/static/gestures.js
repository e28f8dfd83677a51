// Zoom and pan: with the mouse, with two fingers, with the overview, and with the keyboard.
//
// Dragging moves the view; of a whole series, and with Shift, it chooses a range. Turning the wheel
// scrolls the page, as everywhere, and zooms with Ctrl; sideways it pans.
import { windowOf } from "./canvas.js";

const HANDLE = 8;

// `chart` has view() of the last picture, state, setRange(range, { isMoving }) and choose(k).
export function listen(canvas, chart) {
  const fingers = new Map();
  let drag = null;
  const at = (event) => [event.offsetX, event.offsetY];
  const begin = (event) => {
    const view = chart.view();
    if (!view || event.button) return;
    fingers.set(event.pointerId, event.offsetX);
    canvas.setPointerCapture(event.pointerId);
    if (fingers.size === 2) {
      const [a, b] = [...fingers.values()];
      drag = { kind: "pinch", first: [view.at(Math.min(a, b)), view.at(Math.max(a, b))] };
    } else {
      drag = { ...grabbed(chart, view, ...at(event), event.shiftKey), start: event.offsetX, top: event.offsetY };
      drag.range = [...chart.state.range];
    }
  };
  const move = (event) => {
    if (!drag) return;
    fingers.set(event.pointerId, event.offsetX);
    if (drag.kind === "pinch") pinch(chart, drag, [...fingers.values()]);
    else dragged(chart, drag, event.offsetX);
  };
  const end = (event) => {
    fingers.delete(event.pointerId);
    if (!drag) return;
    const distance = Math.hypot(event.offsetX - drag.start, event.offsetY - drag.top);
    const isClick = event.type === "pointerup" && distance < 4; // a finger that scrolls is cancelled
    if (drag.kind === "range") chart.setBrush(null);
    if (isClick) chart.click(...at(event));
    else if (drag.kind !== "range") chart.setRange(chart.state.range);
    else if (drag.chosen) chart.setRange(drag.chosen);
    drag = null;
  };
  const listeners = {
    pointerdown: begin,
    pointermove: move,
    pointerup: end,
    pointercancel: end,
    dblclick: () => chart.showAll(),
    wheel: (event) => wheel(event, chart),
  };
  for (const [name, listener] of Object.entries(listeners)) {
    canvas.addEventListener(name, listener, { passive: false });
  }
  return {
    isDragging: () => drag !== null,
    stop() {
      for (const [name, listener] of Object.entries(listeners)) {
        canvas.removeEventListener(name, listener);
      }
    },
  };
}

// What the pointer took hold of: the plot, the window of the overview or one of its ends.
function grabbed(chart, view, x, y, isShift) {
  const { domain } = chart.state.horizontal, [start, end] = chart.state.range;
  const isWhole = start <= domain[0] && end >= domain[1];
  if (view.overview && y >= view.overview.top - 4) {
    const [a, b] = windowOf(chart.state, view.box);
    if (Math.abs(x - a) < HANDLE) return { kind: "start", scale: "overview" };
    if (Math.abs(x - b) < HANDLE) return { kind: "end", scale: "overview" };
    if (x > a && x < b && !isWhole) return { kind: "window", scale: "overview" };
    return { kind: "range", scale: "overview" };
  }
  return { kind: isShift || isWhole ? "range" : "plot", scale: "plot" };
}

function dragged(chart, drag, x) {
  const view = chart.view(), { domain } = chart.state.horizontal;
  const inner = view.box.right - view.box.left;
  const [low, high] = drag.scale === "overview" ? domain : drag.range;
  const per = (high - low) / inner;
  const here = low + (x - view.box.left) * per, there = low + (drag.start - view.box.left) * per;
  const [start, end] = drag.range;
  if (drag.kind === "range") {
    drag.chosen = [Math.min(here, there), Math.max(here, there)];
    chart.setBrush(drag.chosen, drag.scale);
  } else if (drag.kind === "start") chart.setRange([Math.min(here, end), end], { isMoving: true });
  else if (drag.kind === "end") chart.setRange([start, Math.max(here, start)], { isMoving: true });
  else {
    const by = drag.kind === "plot" ? there - here : here - there;
    chart.setRange(shifted(drag.range, by, domain), { isMoving: true });
  }
}

// Two fingers keep the places that they hold.
function pinch(chart, drag, places) {
  if (places.length !== 2) return;
  const view = chart.view(), [a, b] = [Math.min(...places), Math.max(...places)];
  if (b - a < 8) return;
  const per = (drag.first[1] - drag.first[0]) / (b - a);
  const start = drag.first[0] - (a - view.box.left) * per;
  chart.setRange([start, start + per * (view.box.right - view.box.left)], { isMoving: true });
}

function wheel(event, chart) {
  const view = chart.view();
  if (!view) return;
  const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
  if (!event.ctrlKey && !event.metaKey && !isSideways) return;
  event.preventDefault();
  if (isSideways) {
    const [start, end] = chart.state.range;
    const by = ((end - start) * event.deltaX) / (view.box.right - view.box.left);
    chart.setRange(shifted(chart.state.range, by, chart.state.horizontal.domain));
  } else {
    chart.zoom(Math.exp(Math.min(Math.max(event.deltaY, -120), 120) / 200), view.at(event.offsetX));
  }
}

// A range moved by a distance, as far as the domain allows.
export function shifted([start, end], by, [low, high]) {
  const least = Math.min(low - start, 0), most = Math.max(high - end, 0);
  const moved = Math.min(Math.max(by, least), most);
  return [start + moved, end + moved];
}

// The result or the change that a key leads to; null if the key means something else.
export function keyed(chart, data, key) {
  const { chosen, horizontal: { positions }, range } = chart.state;
  const last = positions.length - 1;
  if (last < 0) return null;
  const inside = (k) => positions[k] >= range[0] && positions[k] <= range[1];
  const start = chosen >= 0 && inside(chosen);
  if (key === "ArrowLeft") return start ? Math.max(chosen - 1, 0) : lastInside(positions, inside);
  if (key === "ArrowRight") return start ? Math.min(chosen + 1, last) : positions.findIndex((_, k) => inside(k));
  if (key === "Home") return 0;
  if (key === "End") return last;
  return key === "Escape" ? -1 : null;
}

function lastInside(positions, inside) {
  let k = positions.length - 1;
  while (k > 0 && !inside(k)) k -= 1;
  return k;
}
