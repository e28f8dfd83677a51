"""Simulated histories with known changes, to train on before there are verdicts."""

from barograph.sources.simulator.people import (
    ATTENTION,
    Crowd,
    mark_chances,
    mark_probability,
    step_and_noise,
    survey,
)
from barograph.sources.simulator.profiles import CI, LONG, PROFILES, SHORT, Profile
from barograph.sources.simulator.projects import Project, Stream, commit_hash, project, stream
from barograph.sources.simulator.triage import (
    Habits,
    TriagedCandidate,
    triage_candidates,
)
from barograph.sources.simulator.world import SimulatedSeries, World

__all__ = [
    "ATTENTION",
    "CI",
    "LONG",
    "PROFILES",
    "SHORT",
    "Crowd",
    "Habits",
    "Profile",
    "Project",
    "SimulatedSeries",
    "Stream",
    "TriagedCandidate",
    "World",
    "commit_hash",
    "mark_chances",
    "mark_probability",
    "project",
    "step_and_noise",
    "stream",
    "survey",
    "triage_candidates",
]
