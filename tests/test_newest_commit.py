"""The benchmark of the newest commit: which commits are quiet, and how answers are counted."""

import newest_commit
import numpy as np
import pytest
from newest_commit import CHANGE, QUIET, SUSPECT, Answers, Cuts, History, quiet_commits, table

from barograph.results.series import Floats
from tests.shared import needs_shared


def noise(seed: int, size: int = 120) -> Floats:
    return 100.0 + np.random.default_rng(seed).standard_normal(size)


def history(name: str, seed: int, *, reported: bool = False) -> History:
    values = noise(seed)
    return History(name, reported, values, quiet_commits(values))


def test_commits_before_and_at_a_step_are_not_quiet() -> None:
    values = noise(1)
    values[70:] += 30.0
    quiet = quiet_commits(values)
    assert set(quiet) <= {*range(40, 65), *range(76, 112)}
    assert {50, 100} <= set(quiet)
    assert quiet_commits(values[:49]).size == 0


def test_spikes_are_quiet() -> None:
    values = noise(2)
    values[60] += 30.0
    assert 60 in quiet_commits(values)


@pytest.fixture(scope="module")
def cuts() -> Cuts:
    return Cuts.draw([history("a", 3), history("a", 4, reported=True), history("b", 5)], 10)


def test_cuts_end_at_quiet_commits_of_each_series(cuts: Cuts) -> None:
    assert len(cuts.commits) == len(cuts.states) == 30
    for series, commits in zip(cuts.histories, cuts.commits, strict=True):
        assert commits in series.quiet


def test_large_jumps_are_found_and_quiet_commits_are_not(cuts: Cuts) -> None:
    jumps, quiet = Answers.on_jumps(cuts, 2.0), Answers.on_quiet(cuts.histories[::10])
    assert jumps.is_found.mean() > 0.9
    assert quiet.is_found.mean() < 0.1
    assert quiet.is_found.size == sum(series.quiet.size for series in cuts.histories[::10])
    assert set(jumps.answer.tolist()) <= {QUIET, SUSPECT, CHANGE}
    assert not (quiet.is_newest & ~quiet.is_found).any()


def test_table_has_each_data_set_in_each_half_and_both_means(cuts: Cuts) -> None:
    count = len(cuts.commits)
    actual = {
        f: np.ones(count, dtype=np.bool_)
        for factor in (1.1, 2.0, 10.0)
        for f in (factor, 1 / factor)
    }
    actual[1.1][:10] = False  # of the first series, which is of the choice half
    false = {"false": np.arange(count) == 0}
    rows = {
        (row["half"], row["data"]): row for row in table("m", cuts, actual, cuts.histories, false)
    }
    assert rows["choice", "a"]["x1.1"] == 50.0
    assert rows["choice", "b"]["x1.1"] == 100.0
    assert rows["choice", "all, by data set"]["x1.1"] == 75.0
    assert rows["choice", "all, by data set"]["false"] == 50.0
    assert rows["whole", "a"]["x1.1"] == 75.0
    assert rows["whole", "all, by commit"]["x1.1"] == pytest.approx(83.3)
    assert rows["reporting", "a"]["false"] == 0.0


@needs_shared
def test_no_repository_is_in_both_halves() -> None:
    names: dict[str, set[bool]] = {}
    for series in newest_commit.histories(2):
        names.setdefault(series.name, set()).add(series.reported)
    assert {frozenset(v) for name, v in names.items() if name != "sap"} == {
        frozenset({False}),
        frozenset({True}),
    }
