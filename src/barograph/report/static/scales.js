// The axes of a chart: where a result is, which values fit, and which numbers stand beside them.

const FAR = 2, REST = 0.02, MARGIN = 0.1; // as `plotting/panel.py` decides what lies far out

// Numbers as the command line prints them, with more digits if `step` is a difference that they must
// show. Intl would take longer to load than a chart to draw.
export function format(value, step = 0) {
  const size = Math.abs(value);
  const digits = step && size ? Math.min(Math.max(4, Math.ceil(Math.log10(size / step)) + 1), 15) : 4;
  const text = size && (size >= 1e9 || size < 1e-4) ? value.toPrecision(digits).replace(/\.?0*(?=e)/, "")
    : size >= 1000 && digits <= Math.log10(size) + 1 ? even(value) : String(Number(value.toPrecision(digits)));
  return text.replace(/^-?\d+/, (whole) => whole.replace(/\d(?=(\d{3})+$)/g, "$&,")).replaceAll("-", "\u2212");
}

// The nearest whole number; of two, the even one, as Python rounds.
function even(value) {
  const whole = Math.round(value);
  return String(whole % 2 && whole - value === 0.5 ? whole - 1 : whole);
}

// The difference that numbers beside a chart must show.
export function resolution([low, high]) { return (high - low) / 20; }

export function measured(value, unit, step) { return unit ? `${format(value, step)} ${unit}` : format(value, step); }

// Numbers beside an axis: short, because they are round.
export function formatTick(value, step) {
  const size = Math.abs(value), unit = size >= 1e9 || size < 1e4 ? 1 : size >= 1e6 ? 1e6 : 1e3;
  return `${format(value / unit, step / unit)}${{ 1e6: "M", 1e3: "k" }[unit] ?? ""}`;
}

export function day(time) {
  return time === null || time === undefined ? "" : new Date(time).toISOString().slice(0, 10);
}

// Round steps, so that about `count` of them cover the range.
function steps(low, high, count) {
  const rough = (high - low) / count;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * unit).find((s) => s >= rough * 0.999);
  const values = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
    values.push(Math.abs(value) < step * 1e-9 ? 0 : value);
  }
  return values;
}

function logSteps(low, high, count) {
  if (high / low < 8) return steps(low, high, count).filter((value) => value > 0);
  const decades = Math.log10(high / low);
  const multiples = decades > count ? [1] : decades > count / 2 ? [1, 3] : [1, 2, 5];
  const values = [];
  const every = Math.max(1, Math.ceil(decades / (2 * count)));
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += every) {
    for (const multiple of multiples) {
      const value = multiple * 10 ** power;
      if (value >= low && value <= high) values.push(value);
    }
  }
  return values;
}

// The k-th drawn result is result number place(data, k) of the series.
export function place(data, k) { return data.index ? data.index[k] : k; }

// Where results are on the horizontal axis: one after the other, or at their times. A result
// without a time stands between its neighbours.
export function horizontal(data, axis) {
  const size = data.values.length;
  const positions = new Float64Array(size);
  if (axis === "time") spread(data.times, positions);
  else for (let k = 0; k < size; k += 1) positions[k] = place(data, k) + 0.5;
  const first = positions[0] ?? 0, last = positions[size - 1] ?? 1;
  const margin = axis === "time" ? 0.01 * (last - first) || 1 : 0;
  const domain = axis === "time" ? [first - margin, last + margin] : [0, data.count];
  const edge = (at) => {
    if (axis !== "time") return at;
    if (at <= 0 || at >= size) return at <= 0 ? domain[0] : domain[1];
    return (positions[at - 1] + positions[at]) / 2;
  };
  return { axis, positions, domain, edge, tightest: tightest(positions) };
}

// The shortest range that a view may have: eight results.
function tightest(positions) {
  const span = positions.length ? positions[positions.length - 1] - positions[0] : 1;
  return (8 * span) / Math.max(positions.length - 1, 8) || 1;
}

function spread(times, positions) {
  let known = -1;
  for (let k = 0; k <= times.length; k += 1) {
    if (k < times.length && times[k] === null) continue;
    const start = known < 0 ? times[k] : positions[known];
    const end = k < times.length ? Math.max(times[k], start) : start;
    for (let j = known + 1; j <= Math.min(k, times.length - 1); j += 1) {
      positions[j] = known < 0 ? end : start + ((end - start) * (j - known)) / (k - known);
    }
    known = k;
  }
}

// The first drawn result at a position or after it.
export function firstAt(positions, at) {
  let low = 0, high = positions.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (positions[middle] < at) low = middle + 1; else high = middle;
  }
  return low;
}

export function nearestTo(positions, at) {
  const k = firstAt(positions, at);
  if (k === 0) return 0;
  if (k === positions.length) return k - 1;
  return at - positions[k - 1] <= positions[k] - at ? k - 1 : k;
}

// The range of values to draw: all, or all but a few that lie far out.
export function fit(data, [from, to], scale) {
  const shown = data.values.slice(from, to).filter(Number.isFinite);
  if (!shown.length) return data.limits ?? [0, 1];
  const ordered = Float64Array.from(shown).sort();
  const rest = Math.max(1, Math.ceil((REST / 2) * ordered.length));
  const most = ordered.length > 4 * rest ? ordered.subarray(rest, -rest) : ordered;
  let low = most[0], high = most[most.length - 1];
  for (const [start, end, value] of data.levels) {
    if (end > from && start < to) { low = Math.min(low, value); high = Math.max(high, value); }
  }
  const reach = 0.5 * FAR * (high - low);
  if (ordered[0] >= low - reach) [low] = ordered;
  if (ordered[ordered.length - 1] <= high + reach) high = ordered[ordered.length - 1];
  if (scale === "log" && low > 0) {
    const margin = Math.max((high / low) ** MARGIN, 1.01);
    return [low / margin, high * margin];
  }
  const margin = MARGIN * (high - low) || 0.01 * Math.abs(high) || 1;
  if (scale === "zero") return [Math.min(0, low * 1.05), Math.max(0, high + MARGIN * high)];
  return [low - margin, high + margin];
}

export function vertical([low, high], scale, top, height) {
  const map = scale === "log" ? Math.log : (value) => value;
  const bottom = map(low), span = map(high) - bottom || 1;
  return (value) => top + (1 - (map(value) - bottom) / span) * height;
}

export function valueSteps([low, high], scale, height) {
  const count = Math.max(3, Math.round(height / 60));
  return scale === "log" ? logSteps(low, high, count) : steps(low, high, count);
}
