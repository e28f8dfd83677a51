"""Simulated histories with their truth: what a new user trains on before having verdicts."""

from barograph.sources.simulator.people import (
    Crowd,
    mark_chances,
    mark_probability,
    step_and_noise,
    survey,
)
from barograph.sources.simulator.profiles import LONG, PROFILES, SHORT, Profile
from barograph.sources.simulator.projects import Project, commit_hash, project
from barograph.sources.simulator.triage import Habits, Judged, judge
from barograph.sources.simulator.world import SimulatedSeries, World

__all__ = [
    "LONG",
    "PROFILES",
    "SHORT",
    "Crowd",
    "Habits",
    "Judged",
    "Profile",
    "Project",
    "SimulatedSeries",
    "World",
    "commit_hash",
    "judge",
    "mark_chances",
    "mark_probability",
    "project",
    "step_and_noise",
    "survey",
]
