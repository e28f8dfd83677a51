"""Platforms, and the noise of the series that run on them.

Noise and the wandering of levels are in units of the series' standard deviation.
"""

from dataclasses import dataclass

import numpy as np

from barograph.results.series import Floats
from barograph.simulator.profiles import FAMILIES, Profile, Shares, Span

PERIODS = (7, 14, 30, 100, 250)


def log_uniform(rng: np.random.Generator, span: Span) -> float:
    """Draw from a log-uniform distribution."""
    return float(np.exp(rng.uniform(np.log(span[0]), np.log(span[1]))))


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform that benchmarks run on: its noise, and how often performance changes."""

    profile: Profile
    run_share: float
    cv: float
    families: Shares
    steps: float
    reverts: float
    variance_changes: float
    spikes: float

    @classmethod
    def draw(cls, profile: Profile, rng: np.random.Generator) -> "Platform":
        """Draw a platform; each family of noise is 0 to 2 times as frequent as in its profile."""
        families = [min(1.0, share * 2 * rng.beta(1.5, 1.5)) for share in profile.families]
        return cls(
            profile=profile,
            run_share=rng.uniform(*profile.run_share),
            cv=log_uniform(rng, profile.cv),
            families=tuple(families),
            steps=rng.uniform(*profile.steps_per_100) / 100,
            reverts=log_uniform(rng, profile.reverts_per_100) / 100,
            variance_changes=log_uniform(rng, profile.variance_changes_per_300) / 300,
            spikes=log_uniform(rng, profile.spikes),
        )


@dataclass(frozen=True, slots=True)
class Character:
    """The noise of one series; families that it does not have keep their neutral defaults."""

    cv: float
    log_normal: bool = False
    phi: float = 0.0
    df: float = np.inf
    drift: float = 0.0
    log_sd_step: float = 0.0
    mode_offset: float = 0.0
    mode_share: float = 0.0
    mode_dwell: tuple[float, float] | None = None
    grid: float = 0.0
    season: float = 0.0
    period: int = 7

    @classmethod
    def draw(cls, platform: Platform, rng: np.random.Generator) -> "Character":
        """Draw which families of noise the series has, and how strong they are."""
        has = {
            name: rng.random() < share
            for name, share in zip(FAMILIES, platform.families, strict=True)
        }
        dwell = (log_uniform(rng, (2, 60)), log_uniform(rng, (2, 60)))
        strengths: dict[str, dict[str, object]] = {
            "log_normal": {"log_normal": True},
            "autocorrelated": {"phi": rng.uniform(0.15, 0.9)},
            "heavy_tailed": {"df": rng.uniform(1.8, 6.0)},
            "drifting": {"drift": log_uniform(rng, (0.02, 0.3))},
            "heteroscedastic": {"log_sd_step": rng.uniform(0.02, 0.15)},
            "bimodal": {
                "mode_offset": rng.uniform(1.5, 10.0) * rng.choice((-1, 1)),
                "mode_share": rng.uniform(0.02, 0.5),
                "mode_dwell": dwell if rng.random() < 0.5 else None,
            },
            "quantised": {"grid": log_uniform(rng, (0.3, 5.0))},
            "seasonal": {"season": rng.uniform(0.4, 2.0), "period": int(rng.choice(PERIODS))},
        }
        drawn = {k: v for name, items in strengths.items() if has[name] for k, v in items.items()}
        cv = platform.cv * float(np.exp(rng.normal(0.0, platform.profile.cv_spread)))
        return cls(cv=cv, **drawn)  # type: ignore[arg-type]


def noise(character: Character, length: int, rng: np.random.Generator) -> Floats:
    """Draw noise around the level: heavy tails, autocorrelation, unsteady spread, modes."""
    heavy = np.isfinite(character.df)
    shocks = rng.standard_t(character.df, length) if heavy else rng.standard_normal(length)
    if character.phi:
        from scipy.signal import lfilter  # slow to import

        weights = [np.sqrt(1.0 - character.phi**2)], [1.0, -character.phi]
        rest, _ = lfilter(*weights, shocks[1:], zi=[character.phi * shocks[0]])
        shocks = np.append(shocks[:1], rest)
    if character.log_sd_step:
        walk = np.cumsum(rng.normal(0.0, character.log_sd_step, length))
        shocks = shocks * np.exp(np.clip(walk, -1.5, 1.5))
    if character.mode_offset and character.mode_dwell is None:
        shocks = shocks + character.mode_offset * (rng.random(length) < character.mode_share)
    return shocks


def wander(character: Character, length: int, rng: np.random.Generator) -> Floats:
    """Draw the slow movement of the level: drift, slow modes, season."""
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
    """Draw a path of zeros and ones that stays in each for `dwell` points on average."""
    turns = np.arange(2 * length) % 2 ^ int(rng.integers(2))
    stays = rng.geometric(1.0 / np.asarray(dwell)[turns])
    return np.repeat(turns, np.minimum(stays, length))[:length].astype(np.float64)


def spread_changes(platform: Platform, length: int, rng: np.random.Generator) -> Floats:
    """Draw the factor by which changes of the spread scale the noise, lasting or temporary."""
    factor = np.ones(length)
    for _ in range(rng.poisson(platform.variance_changes * length)):
        start = int(rng.integers(length))
        lasting = rng.random() < 0.6
        stop = length if lasting else start + int(rng.integers(5, 60))
        factor[start:stop] *= np.exp(rng.normal(0.0, 0.9))
    return factor


def spikes(platform: Platform, length: int, worse: int, rng: np.random.Generator) -> Floats:
    """Draw single outliers, mostly to the worse side, with a median size of eight sd."""
    hit = rng.random(length) < platform.spikes
    size = 8.0 * np.exp(rng.normal(0.0, 0.7, length))
    side = np.where(rng.random(length) < 0.85, worse, -worse)
    spike: Floats = hit * size * side
    return spike
