"""Platforms, and what each series takes from the platform that it runs on."""

from dataclasses import dataclass, fields

import numpy as np

from barograph.sources.simulator.profiles import Families, Profile, Span

PERIODS = (7, 14, 30, 100, 250)


def log_uniform(rng: np.random.Generator, span: Span) -> float:
    """Draw so that every factor of the range is as likely as any other."""
    return float(np.exp(rng.uniform(np.log(span[0]), np.log(span[1]))))


@dataclass(frozen=True, slots=True)
class Platform:
    """Where a benchmark runs: how noisy it is, in what manner, and how often things change."""

    profile: Profile
    run_share: float
    cv: float
    families: Families
    steps: float
    reverts: float
    variance_changes: float
    spikes: float

    @classmethod
    def draw(cls, profile: Profile, rng: np.random.Generator) -> "Platform":
        """Draw a platform; it likes each family of noise 0 to 2 times as much as its profile."""
        liked = {
            field.name: min(1.0, getattr(profile.families, field.name) * 2 * rng.beta(1.5, 1.5))
            for field in fields(Families)
        }
        return cls(
            profile=profile,
            run_share=rng.uniform(*profile.run_share),
            cv=log_uniform(rng, profile.cv),
            families=Families(**liked),
            steps=rng.uniform(*profile.steps_per_100) / 100,
            reverts=log_uniform(rng, profile.reverts_per_100) / 100,
            variance_changes=log_uniform(rng, profile.variance_changes_per_300) / 300,
            spikes=log_uniform(rng, profile.spikes),
        )


@dataclass(frozen=True, slots=True)
class Character:
    """The noise of one series; a family that it has not leaves its neutral value."""

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
        """Draw each family by the platform's liking, and then how strong it is."""
        has = {f.name: rng.random() < getattr(platform.families, f.name) for f in fields(Families)}
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
        drawn = {k: v for name, given in strengths.items() if has[name] for k, v in given.items()}
        cv = platform.cv * float(np.exp(rng.normal(0.0, platform.profile.cv_spread)))
        return cls(cv=cv, **drawn)  # type: ignore[arg-type]
