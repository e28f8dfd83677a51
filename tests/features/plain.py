"""The characteristics as plain formulas for one side: slow and simple."""

import math

import numpy as np

from barograph.results.series import Floats


def repeated(x: Floats) -> Floats:
    return x if x.size > 2 else np.resize(x, 4)


def width_of(x: Floats) -> int:
    return 10 if x.size > 10 else 2


def normalised(pre: Floats, after: Floats) -> tuple[Floats, Floats]:
    both = np.concatenate((pre, after))
    low, high = both.min(), both.max()
    if len({f"{value:.15g}" for value in both}) == 1:
        return pre, after
    return (pre - low) / (high - low), (after - low) / (high - low)


def tiles(x: Floats) -> Floats:
    """Return the full tiles of the standardised side, one per row."""
    width = width_of(x)
    x = repeated(x)
    differing = x[x != x[0]]
    constant = True
    if differing.size:
        size = np.abs(differing).mean()
        size = size if np.isfinite(size) and size > 2.0**-26 else 1.0
        constant = bool(np.abs(differing - x[0]).mean() / size <= 2.0**-26)
    y = x if constant else (x - x.mean()) / x.std(ddof=1)
    count = y.size // width
    return y[: count * width].reshape(count, width)


def lumpiness(x: Floats) -> float:
    rows = tiles(x)
    return float(rows.var(axis=1, ddof=1).var(ddof=1)) if len(rows) > 1 else 0.0


def stability(x: Floats) -> float:
    rows = tiles(x)
    return float(rows.mean(axis=1).var(ddof=1)) if len(rows) > 1 else 0.0


def crossing_points(x: Floats) -> float:
    x = repeated(x)
    below = x <= np.median(x)
    return float((below[1:] != below[:-1]).sum())


def max_level_shift(x: Floats) -> float:
    width = width_of(x)
    x = repeated(x)
    if x.size < 2 * width:
        return 0.0
    means = np.lib.stride_tricks.sliding_window_view(x, width).mean(axis=1)
    return float(np.abs(means[width:] - means[:-width]).max())


def serial_correlation(x: Floats) -> float:
    lags = width_of(x)
    x = repeated(x)
    c = x - x.mean()
    if not c.any():
        return 1.0
    r = np.array([c[k:] @ c[: c.size - k] / (c @ c) for k in range(1, lags + 1)])
    return float((np.clip(r, -1, 1) ** 2).mean())


def entropy(x: Floats) -> float:
    n = x.size
    if n < 3 or (x == x[0]).all():
        return 1.0
    u = v = (x - x.mean())[::-1]
    errors = [float((v**2).mean())]
    fits = [np.zeros(0)]
    for _ in range(min(n - 1, math.floor(10 * math.log10(n)))):
        ahead, earlier = v[1:], u[:-1]
        k = 2 * (ahead @ earlier) / (ahead @ ahead + earlier @ earlier)
        u, v = earlier - k * ahead, ahead - k * earlier
        fits.append(np.append(fits[-1] - k * fits[-1][::-1], k))
        errors.append(errors[-1] * (1 - k * k))
    if min(errors) <= 0:
        return 1.0
    order = int(np.argmin(n * np.log(errors) + 2 * np.arange(len(errors))))
    frequencies = np.linspace(0, 0.5, math.ceil(n / 2 + 1))
    turns = np.exp(-2j * np.pi * np.outer(frequencies, np.arange(1, order + 1)))
    density = 1 / np.abs(1 - turns @ fits[order]) ** 2
    g = np.concatenate((density[:0:-1], density))
    g = 0.999 * g / g.sum() + 0.001 / g.size
    return float(min(1.0, -(g * np.log(g)).sum() / math.log(n)))


def hurst_objective(x: Floats, d: float) -> float:
    """Return minus the log likelihood from successive partial regressions (Durbin and Levinson)."""
    n = x.size
    phi = np.zeros(0)
    variance = math.gamma(1 - 2 * d) / math.gamma(1 - d) ** 2
    pi = [d]
    for j in range(2, 101):
        pi.append(pi[-1] * (j - 1 - d) / j)
    rows = []
    logs = 0.0
    for k in range(1, n + 1):
        if k <= 100:
            if k > 1:
                m = k - 1
                last = d / (m - d)
                phi = np.append(phi - last * phi[::-1], last)
                variance *= 1 - last**2
            a, share = float(phi @ x[k - 2 :: -1][: k - 1]) if k > 1 else 0.0, 1 - phi.sum()
            logs += math.log(variance)
            rows.append(((x[k - 1] - a) / variance**0.5, share / variance**0.5))
            continue
        a, share = float(np.array(pi[::-1]) @ x[k - 101 : k - 1]), 1 - sum(pi)
        early = x[: k - 101].sum()
        if early != 0:
            w = 100 * pi[-1] * (1 - (100 / k) ** d) / d
            a, share = a + w * early / (k - 101), share - w
        rows.append((x[k - 1] - a, share))
    y, s = np.array(rows).T
    mu = (y @ s) / (s @ s)
    spread = ((y - mu * s) ** 2).sum() / n
    return float((n * (math.log(spread) + 2.8378) + logs) / 2)
