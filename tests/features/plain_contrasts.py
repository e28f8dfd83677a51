"""The contrasts as plain formulas: slow and simple."""

import math

import numpy as np

from barograph.series import Floats


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
    low, high = float(np.median(pre)), float(np.median(after))
    step, n = high - low, noise(pre, after)
    both = np.concatenate((pre - low, after - high))
    level = (abs(low) + abs(high)) / 2
    usual = max(moves(pre), moves(after))
    result = {
        "step_over_noise": over(step, n),
        "step_t": over(step * math.sqrt(pre.size * after.size / (end - start)), n),
        "cohen_d": over(abs(after.mean() - pre.mean()), math.sqrt(both @ both / both.size)),
        "rank_separation": abs(cliff(pre, after)),
        "spread_change": abs(math.log(noise(pre) / noise(after))),
        "step_relative": over(step, level),
        "noise_relative": over(n, level),
        "jump_over_moves": over(after[0] - pre[-1], usual),
        "jump_share": (after[0] - pre[-1]) / (step + n),
        "pre_length": math.log(pre.size),
        "after_length": math.log(after.size),
        "pre_lag1": lag1(pre),
        "pre_slope": rise(pre) / (step + n),
        "after_slope": rise(after) / (step + n),
        "bimodality": bimodality(x[start:end]),
        "pre_tail": over(np.abs(pre - low).max(), n),
        "after_tail": over(np.abs(after - high).max(), n),
        "step_12": over(
            np.median(after[:12]) - np.median(pre[-12:]), noise(pre[-12:], after[:12]) + 0.1 * n
        ),
    }
    extent = float(np.quantile(x, 0.995) - np.quantile(x, 0.005))
    result |= {
        "step_of_range": over(step, extent),
        "noise_of_range": over(n, extent),
        "step_over_series_moves": over(step, moves(x)),
        "moves_over_noise": over(moves(x), n),
        "moves_of_range": over(moves(x), extent),
        "series_lag1": lag1(x),
        "series_bimodality": bimodality(x),
        "points_before": math.log(split),
        "points_behind": math.log(x.size - split),
    }
    for width in (6, 12, 25, 50, 100):
        left, right = x[max(0, split - width) : split], x[split : split + width]
        shift = float(np.median(right) - np.median(left))
        result[f"wide_step_{width}"] = over(shift, noise(left, right) + 0.1 * moves(x))
        result[f"wide_share_{width}"] = over(shift, extent)
        result[f"wide_rank_{width}"] = cliff(left, right)
    middle = (low + high) / 2
    later, earlier = held(x[split:], middle), held(-x[:split][::-1], -middle)
    left = x[split - min(40, max(1, earlier)) : split]
    right = x[split : split + min(40, max(1, later))]
    shift = float(np.median(right) - np.median(left))
    result |= {
        "hold_before": math.log1p(earlier),
        "hold_after": math.log1p(later),
        "hold_shortest": math.log1p(min(earlier, later)),
        "hold_step": over(shift, noise(left, right) + 0.1 * moves(x)),
        "hold_share": over(shift, extent),
    }
    return result
