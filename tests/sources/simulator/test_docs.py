"""docs/simulator.md describes every parameter with its value."""

from dataclasses import fields
from pathlib import Path

from barograph.learning.simulation import SimulateParams
from barograph.simulator.profiles import CI, FAMILIES, PROFILES, Profile, Runners

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "simulator.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in TEXT.splitlines()]


def row(name: str) -> list[str]:
    (matches,) = [cells[1:] for cells in ROWS if cells and cells[0] == f"`{name}`"]
    return matches


def test_every_parameter_is_described_with_its_default() -> None:
    for field in fields(SimulateParams):
        assert row(field.name)[0] == str(field.default), field.name


def test_every_family_is_described_with_its_shares() -> None:
    for number, name in enumerate(FAMILIES):
        documented = [float(cell) for cell in row(name)[:3]]
        assert documented == [profile.families[number] for profile in PROFILES], name


def test_every_field_of_a_profile_is_described_with_its_numbers() -> None:
    for field in fields(Profile):
        if field.name in ("families", "name", "measurements", "runners"):
            continue
        for documented, profile in zip(row(field.name)[:3], PROFILES, strict=True):
            value = getattr(profile, field.name)
            assert documented == written(value), f"{profile.name}.{field.name}"


def test_every_field_of_the_runners_is_described_with_its_number() -> None:
    for field in fields(Runners):
        assert row(field.name)[0] == written(getattr(CI.runners, field.name)), field.name


def written(value: object) -> str:
    """Return a number, or a range of two, as the tables show it."""
    if not isinstance(value, tuple):
        return f"{value:g}"
    low, high = value
    return f"{low:g} to {high:g}" if low <= 0.0 else f"{low:g}-{high:g}"
