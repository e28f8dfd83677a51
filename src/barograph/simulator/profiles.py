"""Profiles of three kinds of worlds: long histories, short clean ones, and shared CI runners."""

import zlib
from dataclasses import dataclass

Span = tuple[float, float]
Shares = tuple[float, ...]
# The families of noise. A profile has the share of series with each; platforms vary it.
FAMILIES = (
    *("log_normal", "autocorrelated", "heavy_tailed", "drifting"),
    *("heteroscedastic", "bimodal", "quantised", "seasonal"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runners:
    """What shared CI runners add to a world; docs/simulator.md describes every field.

    Sizes are factors of the level unless the name says otherwise.
    """

    modes: float = 0.3
    mode_size: Span = (1.01, 1.4)
    modality_changes: float = 0.1
    slow_spans_per_100: Span = (0.02, 0.3)
    slow_length: Span = (5, 60)
    slow_size: Span = (1.02, 1.6)
    first_outliers: float = 0.2
    first_size: Span = (1.5, 30)
    pulses_per_100: Span = (0.01, 0.6)
    pulse_single: float = 0.7
    pulse_length: Span = (2, 8)
    pulse_size: Span = (1.5, 80)
    jumps_per_100: float = 0.06
    jump_size: Span = (1.5, 100)
    jump_length: Span = (2, 60)
    stays_above_2: float = 0.71
    stays_above_10: float = 0.85
    exact: float = 0.12
    exact_cv: Span = (1e-9, 1e-4)
    tiny_per_100: Span = (0.3, 8)
    tiny_percent: Span = (0.002, 0.5)
    repeated: float = 0.3
    repeats: Span = (1, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What all platforms of a world have in common; docs/simulator.md describes every field.

    The defaults are those of `long`. A pair is the range that a platform, a series or an event
    draws from. `sd` is the noise of the series and CV its ratio to the level. Rates are per point
    unless the name says otherwise.
    """

    name: str = "long"
    commits: int = 1400
    hours_between_commits: float = 7.0
    length: Span = (190, 900)
    run_share: Span = (0.7, 1.0)
    outages_per_100: float = 0.15
    measurements: tuple[tuple[str, int], ...] = (
        ("elapsed_time", -1),
        ("cpu_time", -1),
        ("cpu_service_time", -1),
    )
    log10_level: Span = (-2.0, 5.0)
    cv: Span = (0.002, 0.10)
    cv_spread: float = 0.5
    families: Shares = (0.5, 0.6, 0.45, 0.4, 0.35, 0.25, 0.2, 0.15)
    steps_per_100: Span = (0.25, 0.9)
    small_share: float = 0.0
    small_scale: float = 0.3
    relative_share: float = 0.4
    relative_scale: float = 0.03
    relative_spread: float = 0.8
    relative_df: float = 3.0
    sd_scale: float = 2.0
    sd_spread: float = 1.1
    reverts_per_100: Span = (0.02, 0.6)
    revert_length: Span = (2, 60)
    revert_boost: float = 1.5
    ramps_per_300: float = 0.15
    ramp_length: Span = (10, 120)
    variance_changes_per_300: Span = (0.05, 0.5)
    spikes: Span = (0.0005, 0.03)
    runners: Runners | None = None

    @property
    def key(self) -> int:
        """A number for the name, used to separate streams of random numbers."""
        return zlib.crc32(self.name.encode())


LONG = Profile()

SHORT = Profile(
    name="short",
    commits=120,
    hours_between_commits=9.0,
    length=(18, 60),
    run_share=(0.5, 0.9),
    outages_per_100=0.3,
    measurements=(
        ("ops_per_sec", 1),
        ("ops_per_sec", 1),
        ("Latency50thPercentile", -1),
        ("Latency95thPercentile", -1),
    ),
    log10_level=(0.0, 5.0),
    cv=(0.001, 0.015),
    families=(0.5, 0.4, 0.35, 0.0, 0.1, 0.4, 0.1, 0.0),
    steps_per_100=(0.25, 0.75),
    small_share=0.2,
    relative_share=0.3,
    relative_scale=0.2,
    sd_scale=12.0,
    sd_spread=1.0,
    reverts_per_100=(0.5, 3.0),
    revert_length=(2, 30),
    ramps_per_300=0.0,
    variance_changes_per_300=(0.05, 4.0),
    spikes=(0.0005, 0.01),
)

CI = Profile(
    name="ci",
    commits=900,
    hours_between_commits=5.0,
    length=(60, 700),
    run_share=(0.5, 1.0),
    outages_per_100=0.3,
    measurements=(("time", -1), ("throughput", 1), ("memory", -1)),
    log10_level=(-3.0, 6.0),
    cv=(0.002, 0.08),
    families=(0.5, 0.4, 0.5, 0.25, 0.25, 0.15, 0.3, 0.1),
    steps_per_100=(0.15, 0.6),
    small_share=0.1,
    relative_share=0.5,
    relative_scale=0.05,
    sd_scale=3.0,
    sd_spread=1.0,
    reverts_per_100=(0.02, 0.4),
    revert_length=(2, 40),
    ramps_per_300=0.2,
    ramp_length=(10, 200),
    variance_changes_per_300=(0.1, 1.5),
    spikes=(0.0005, 0.02),
    runners=Runners(),
)

PROFILES = (LONG, SHORT, CI)
