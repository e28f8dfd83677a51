"""The contrasts as plain formulas: slow and simple."""

import math

import numpy as np

from barograph.results.series import Floats


def over(part: float, unit: float) -> float:
    return math.copysign(math.log1p(abs(part) / unit), part)


def noise(*sides: Floats) -> float:
    rest = np.concatenate([side - np.median(side) for side in sides])
    return max(
        float(np.median(np.abs(rest))) / 0.6744897501960817,
        0.5 * math.sqrt(rest @ rest / rest.size),
    )


def cliff(left: Floats, right: Floats) -> float:
    return float(np.sign(right[:, None] - left).mean())


def moves(x: Floats) -> float:
    gauss = 0.6744897501960817 * math.sqrt(2)
    return float(np.median(np.abs(np.diff(x)))) / gauss if x.size > 1 else 0.0


def lag1(x: Floats) -> float:
    d = x - x.mean()
    return float(d[1:] @ d[:-1] / (d @ d)) if np.ptp(x) > 0 else 0.0


def rise(x: Floats) -> float:
    return float(np.polyfit(np.arange(x.size), x, 1)[0] * (x.size - 1)) if x.size > 1 else 0.0


def bimodality(x: Floats) -> float:
    x, least = np.sort(x), max(2, x.size // 10)
    if x.size < 4 or np.ptp(x) == 0:
        return 0.0
    cuts = range(least, x.size - least + 1)
    within = min(x[:k].var() * k + x[k:].var() * (x.size - k) for k in cuts)
    return float(1 - within / (x.var() * x.size))


def held(level: Floats, middle: float) -> int:
    """Return the number of values above the middle before four in a row are not."""
    beyond = level <= middle
    for i in range(level.size - 3):
        if beyond[i : i + 4].all():
            return i
    return level.size


def plain_contrasts(series: Floats, start: int, split: int, end: int) -> dict[str, float]:
    """Return all contrasts of a candidate with an upward step."""
    x = series / np.abs(series).max()
    pre, after = x[start:split], x[split:end]
    middle = float(np.median(pre) + np.median(after)) / 2
    return of_sides(pre, after) | of_series(x, pre, after) | of_widths(x, split, middle)


def of_sides(pre: Floats, after: Floats) -> dict[str, float]:
    low, high = float(np.median(pre)), float(np.median(after))
    step, n = high - low, noise(pre, after)
    both = np.concatenate((pre - low, after - high))
    level = (abs(low) + abs(high)) / 2
    jump = float(after[0] - pre[-1])
    near, far = pre[-12:], after[:12]
    return {
        "step_over_noise": over(step, n),
        "step_t": over(step * math.sqrt(pre.size * after.size / both.size), n),
        "cohen_d": over(abs(after.mean() - pre.mean()), math.sqrt(both @ both / both.size)),
        "rank_separation": abs(cliff(pre, after)),
        "spread_change": abs(math.log(noise(pre) / noise(after))),
        "step_relative": over(step, level),
        "noise_relative": over(n, level),
        "jump_over_moves": over(jump, max(moves(pre), moves(after))),
        "jump_share": jump / (step + n),
        "pre_length": math.log(pre.size),
        "after_length": math.log(after.size),
        "pre_lag1": lag1(pre),
        "pre_slope": rise(pre) / (step + n),
        "after_slope": rise(after) / (step + n),
        "bimodality": bimodality(np.concatenate((pre, after))),
        "pre_tail": over(np.abs(pre - low).max(), n),
        "after_tail": over(np.abs(after - high).max(), n),
        "step_12": over(np.median(far) - np.median(near), noise(near, far) + 0.1 * n),
    }


def extent(x: Floats) -> float:
    return float(np.quantile(x, 0.995) - np.quantile(x, 0.005))


def of_series(x: Floats, pre: Floats, after: Floats) -> dict[str, float]:
    step, n = float(np.median(after) - np.median(pre)), noise(pre, after)
    return {
        "step_of_range": over(step, extent(x)),
        "noise_of_range": over(n, extent(x)),
        "step_over_series_moves": over(step, moves(x)),
        "moves_over_noise": over(moves(x), n),
        "moves_of_range": over(moves(x), extent(x)),
        "series_lag1": lag1(x),
        "series_bimodality": bimodality(x),
    }


def of_widths(x: Floats, split: int, middle: float) -> dict[str, float]:
    """Return what compares stretches on both sides of the split, of fixed and of held widths."""

    def compared(before: int, after: int) -> tuple[float, float, float]:
        left, right = x[max(0, split - before) : split], x[split : split + after]
        shift = float(np.median(right) - np.median(left))
        step = over(shift, noise(left, right) + 0.1 * moves(x))
        return step, over(shift, extent(x)), cliff(left, right)

    result = {
        "points_before": math.log(split),
        "points_behind": math.log(x.size - split),
    }
    for width in (6, 12, 25, 50, 100):
        names = f"wide_step_{width}", f"wide_share_{width}", f"wide_rank_{width}"
        result |= dict(zip(names, compared(width, width), strict=True))
    later, earlier = held(x[split:], middle), held(-x[:split][::-1], -middle)
    step, share, _ = compared(min(40, max(1, earlier)), min(40, max(1, later)))
    return result | {
        "hold_before": math.log1p(earlier),
        "hold_after": math.log1p(later),
        "hold_shortest": math.log1p(min(earlier, later)),
        "hold_step": step,
        "hold_share": share,
    }
