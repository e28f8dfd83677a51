"""What measured values do without any commit: noise around the level, and a level that wanders.

Everything here is in units of the series' sd.
"""

import numpy as np

from barograph.compiled import kernel
from barograph.series import Floats
from barograph.sources.simulator.platforms import Character, Platform


@kernel
def _autoregress(shocks: Floats, phi: float) -> Floats:
    out = np.empty_like(shocks)
    previous = shocks[0] if shocks.size else 0.0
    keep = np.sqrt(1.0 - phi * phi)
    for i in range(shocks.size):
        if i > 0:
            previous = phi * previous + keep * shocks[i]
        out[i] = previous
    return out


def noise(character: Character, length: int, rng: np.random.Generator) -> Floats:
    """Draw what a person would not call a change: heavy tails, memory, unsteady spread, modes."""
    heavy = np.isfinite(character.df)
    shocks = rng.standard_t(character.df, length) if heavy else rng.standard_normal(length)
    if character.phi:
        shocks = _autoregress(shocks, character.phi)
    if character.log_sd_step:
        walk = np.cumsum(rng.normal(0.0, character.log_sd_step, length))
        shocks = shocks * np.exp(np.clip(walk, -1.5, 1.5))
    if character.mode_offset and character.mode_dwell is None:
        shocks = shocks + character.mode_offset * (rng.random(length) < character.mode_share)
    return shocks


def wander(character: Character, length: int, rng: np.random.Generator) -> Floats:
    """Draw the slow path of the level: drift, slow modes, season."""
    path = np.zeros(length)
    if character.drift:
        path += np.cumsum(rng.normal(0.0, character.drift, length))
    if character.mode_dwell is not None:
        path += character.mode_offset * slow_modes(character.mode_dwell, length, rng)
    if character.season:
        phase = rng.uniform(0.0, 2 * np.pi)
        path += character.season * np.sin(2 * np.pi * np.arange(length) / character.period + phase)
    return path


def slow_modes(dwell: tuple[float, float], length: int, rng: np.random.Generator) -> Floats:
    """Draw a path of zeros and ones that stays in either for `dwell` points in the mean."""
    turns = np.arange(2 * length) % 2 ^ int(rng.integers(2))
    stays = rng.geometric(1.0 / np.asarray(dwell)[turns])
    return np.repeat(turns, np.minimum(stays, length))[:length].astype(np.float64)


def spread_changes(platform: Platform, length: int, rng: np.random.Generator) -> Floats:
    """Draw the factor on the noise where a platform's spread changes, for good or for a while."""
    factor = np.ones(length)
    for _ in range(rng.poisson(platform.variance_changes * length)):
        start = int(rng.integers(length))
        lasting = rng.random() < 0.6
        stop = length if lasting else start + int(rng.integers(5, 60))
        factor[start:stop] *= np.exp(rng.normal(0.0, 0.9))
    return factor


def spikes(platform: Platform, length: int, worse: int, rng: np.random.Generator) -> Floats:
    """Draw lone outliers, most of them to the worse side, with a median of eight sd."""
    hit = rng.random(length) < platform.spikes
    size = 8.0 * np.exp(rng.normal(0.0, 0.7, length))
    side = np.where(rng.random(length) < 0.85, worse, -worse)
    spike: Floats = hit * size * side
    return spike
