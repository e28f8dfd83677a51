"""Each family of noise has its property."""

import dataclasses

import numpy as np

from barograph.results.series import Floats
from barograph.simulator.noise import (
    Character,
    Platform,
    noise,
    slow_modes,
    spikes,
    spread_changes,
    wander,
)
from barograph.simulator.profiles import LONG

N = 4000
PLATFORM = Platform.draw(LONG, np.random.default_rng(0))


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def lag_one(x: Floats) -> float:
    return float(np.corrcoef(x[1:], x[:-1])[0, 1])


def kurtosis(x: Floats) -> float:
    z = (x - x.mean()) / x.std()
    return float((z**4).mean())


def test_plain_noise_is_white_with_unit_spread() -> None:
    x = noise(Character(cv=0.01), N, rng())
    assert abs(lag_one(x)) < 0.05
    assert abs(x.std() - 1.0) < 0.05


def test_autocorrelated_noise_remembers_and_keeps_its_spread() -> None:
    x = noise(Character(cv=0.01, phi=0.8), N, rng())
    assert 0.75 < lag_one(x) < 0.85
    assert abs(x.std() - 1.0) < 0.1


def test_autoregression_matches_its_definition() -> None:
    shocks = noise(Character(cv=0.01), 50, rng())
    expected = [shocks[0]]
    for shock in shocks[1:]:
        expected.append(0.8 * expected[-1] + np.sqrt(1 - 0.8 * 0.8) * shock)
    assert np.allclose(noise(Character(cv=0.01, phi=0.8), 50, rng()), expected, rtol=1e-12)


def test_heavy_tailed_noise_has_outliers() -> None:
    assert kurtosis(noise(Character(cv=0.01, df=2.5), N, rng())) > 6.0


def test_heteroscedastic_noise_has_calm_and_rough_stretches() -> None:
    x = noise(Character(cv=0.01, log_sd_step=0.1), N, rng())
    spreads = x.reshape(40, -1).std(axis=1)
    assert spreads.max() > 4 * spreads.min()


def test_bimodal_noise_has_a_valley_between_its_modes() -> None:
    x = noise(Character(cv=0.01, mode_offset=10.0, mode_share=0.3), N, rng())
    assert 0.25 < np.mean(x > 5.0) < 0.35
    assert np.mean(np.abs(x - 5.0) < 1.0) < 0.01


def test_slow_modes_last_as_long_as_their_dwell() -> None:
    path = slow_modes((10.0, 40.0), 20_000, rng())
    assert set(np.unique(path)) == {0.0, 1.0}
    assert 0.7 < path.mean() < 0.9
    assert 600 < np.count_nonzero(np.diff(path)) < 1000


def test_drift_wanders_and_season_returns() -> None:
    drift = wander(Character(cv=0.01, drift=0.3), N, rng())
    assert np.abs(np.diff(drift)).max() < 2.0
    assert np.ptp(drift) > 5.0
    season = wander(Character(cv=0.01, season=1.0, period=100), 400, rng())
    assert np.allclose(season[:300], season[100:], atol=1e-9)
    assert np.all(wander(Character(cv=0.01), 10, rng()) == 0.0)


def test_spread_changes_have_the_rate_of_the_platform() -> None:
    often = dataclasses.replace(PLATFORM, variance_changes=0.02)
    factor = spread_changes(often, N, rng())
    assert 80 < np.count_nonzero(np.diff(factor)) < 200
    never = dataclasses.replace(PLATFORM, variance_changes=0.0)
    assert np.all(spread_changes(never, N, rng()) == 1.0)


def test_spikes_are_rare_large_and_mostly_worse() -> None:
    x = spikes(dataclasses.replace(PLATFORM, spikes=0.03), 20_000, -1, rng())
    hit = x[x != 0.0]
    assert 500 < hit.size < 700
    assert 7.0 < np.median(np.abs(hit)) < 9.0
    assert 0.8 < np.mean(hit < 0) < 0.9


def test_characters_draw_every_family() -> None:
    draws = rng()
    drawn = [Character.draw(Platform.draw(LONG, draws), draws) for _ in range(300)]
    assert any(c.log_normal for c in drawn)
    assert any(c.mode_dwell is not None for c in drawn)
    assert any(c.mode_offset and c.mode_dwell is None for c in drawn)
    for field in ("phi", "drift", "log_sd_step", "grid", "season"):
        share = np.mean([getattr(c, field) != 0.0 for c in drawn])
        assert 0.05 < share < 0.8, field
    assert any(np.isfinite(c.df) for c in drawn)
