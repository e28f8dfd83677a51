from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.detection import StepCluster, StepFit, cluster_steps
from barograph.detection.stepfit import (
    BEST,
    ClusterSettings,
    Status,
    best_step,
    coalesce,
    shapes,
)
from barograph.results.series import Floats
from barograph.runtime.errors import ConfigError, DataError

NAN = float("nan")
THREE = ClusterSettings(k=3)
COMMITS = np.arange(60)


def plain_shape(trace: Floats, floor: float) -> Floats:
    """Fill forward, centre, divide: with numpy, one trace at a time."""
    known = np.flatnonzero(~np.isnan(trace))
    if not known.size:
        return np.zeros(trace.size)
    places = [
        known[max(int(np.searchsorted(known, t, side="right")) - 1, 0)] for t in range(trace.size)
    ]
    filled = trace[places]
    level, sd = np.abs(filled).mean(), filled.std()
    centred: Floats = filled - filled.mean()
    width = sd if sd > floor * level else level
    return centred / width if width else centred


@settings(derandomize=True, deadline=None)
@given(
    trace=st.lists(st.sampled_from([NAN, 0.0, 1.0, 1.0005, 2.0, -3.0]), min_size=2, max_size=12),
    floor=st.sampled_from([0.0, 1e-3, 0.5]),
)
def test_a_shape_is_filled_forward_centred_and_divided(trace: list[float], floor: float) -> None:
    values = np.array(trace)
    np.testing.assert_allclose(
        shapes(values.reshape(1, -1), floor)[0], plain_shape(values, floor), atol=1e-9
    )


def test_a_trace_below_the_floor_stays_nearly_flat() -> None:
    noise = np.random.default_rng(0).standard_normal((1, 100))
    assert np.abs(shapes(1000.0 + 0.01 * noise, 1e-3)).max() < 1e-4
    assert shapes(1000.0 + 10.0 * noise, 1e-3).std() == pytest.approx(1.0)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(-20, 20).map(float), min_size=2, max_size=15))
def test_the_best_step_has_the_least_error(values: list[float]) -> None:
    shape = np.array(values)
    errors = [
        ((shape[:i] - shape[:i].mean()) ** 2).sum() + ((shape[i:] - shape[i:].mean()) ** 2).sum()
        for i in range(1, shape.size)
    ]
    step = best_step(shape, 0.0)
    assert step.fit == pytest.approx(min(errors) / shape.size, abs=1e-9)
    assert step.height == pytest.approx(shape[step.turn :].mean() - shape[: step.turn].mean())


def test_one_trace_with_one_clear_step() -> None:
    noise = np.random.default_rng(2).standard_normal(200)
    values = 100 + 0.1 * noise
    values[120:] += 10.0
    (point,) = StepFit().detect(values)
    assert point.index == 120
    assert point.statistic > 150


def test_a_long_trace_is_looked_at_again_and_again() -> None:
    values = 100 + 0.05 * np.random.default_rng(3).standard_normal(900)
    values[200:] += 10.0
    values[640:] -= 10.0
    assert [point.index for point in StepFit().detect(values)] == [200, 640]


# Clusters.


def traces(seed: int, *, size: int = 30, length: int = 60) -> Floats:
    """Three groups: a step up at 20, a step down at 40, and noise."""
    noise = np.random.default_rng(seed).standard_normal((3 * size, length))
    matrix: Floats = 50.0 + 0.2 * noise
    matrix[:size, 20:] += 5.0
    matrix[size : 2 * size, 40:] -= 5.0
    return matrix


def test_steps_that_traces_have_in_common_are_found() -> None:
    up, down = sorted(cluster_steps(traces(0), settings=THREE), key=lambda cluster: cluster.index)
    assert (up.index, down.index) == (20, 40)
    assert set(up.members) == set(range(30))
    assert set(down.members) == set(range(30, 60))
    assert up.regression > 150
    assert down.regression < -150
    assert up.regression == pytest.approx(up.step / max(up.fit, 1e-3))
    settings = ClusterSettings(k=3, floor=0.0)
    bare = min(cluster_steps(traces(0), settings=settings), key=lambda cluster: cluster.index)
    assert bare.regression == pytest.approx(bare.step / bare.fit)
    assert (up.status, up.current) == (Status.NEW, True)


def test_members_come_nearest_first() -> None:
    matrix = traces(1)
    for cluster in cluster_steps(matrix, settings=THREE):
        rows = [int(str(name)) for name in cluster.members]
        shaped = shapes(matrix[rows], 1e-3)
        distances = ((shaped - shaped.mean(axis=0)) ** 2).sum(axis=1)
        assert np.all(np.diff(distances) > -1e-9)
        np.testing.assert_allclose(cluster.centroid, shaped.mean(axis=0), atol=1e-9)


def test_the_same_traces_give_the_same_clusters() -> None:
    settings = ClusterSettings(k=5)
    once, again = (cluster_steps(traces(2), settings=settings) for _ in range(2))
    assert [cluster.members for cluster in once] == [cluster.members for cluster in again]
    assert [cluster.regression for cluster in once] == [cluster.regression for cluster in again]


def test_missing_commits_do_not_hide_a_step() -> None:
    matrix = traces(3)
    gaps = np.random.default_rng(4).random(matrix.shape) < 0.1
    gaps[:, 19:21] = False
    matrix[gaps] = NAN
    assert 20 in [cluster.index for cluster in cluster_steps(matrix, settings=THREE)]


def test_a_trace_without_values_takes_part_in_nothing() -> None:
    matrix = traces(5)
    matrix[7] = NAN
    clusters = cluster_steps(matrix, settings=THREE)
    assert 7 not in {name for cluster in clusters for name in cluster.members}


def cluster(members: range, status: Status = Status.NEW) -> StepCluster:
    names: tuple[Hashable, ...] = tuple(members)
    return StepCluster(names, np.zeros(4), 2, 2, 1.0, 0.001, 1000.0, status)


def test_a_cluster_that_holds_the_best_twenty_of_a_known_one_is_that_one() -> None:
    known = cluster(range(100), Status.IGNORED)
    assert coalesce([cluster(range(BEST))], [known], COMMITS)[0].status is Status.IGNORED
    assert len(coalesce([cluster(range(BEST))], [known], COMMITS)) == 1
    missing_one = coalesce([cluster(range(1, 100))], [known], COMMITS)
    assert [(c.status, c.current) for c in missing_one] == [
        (Status.NEW, True),
        (Status.IGNORED, False),
    ]


def test_a_known_cluster_of_fewer_must_be_held_whole() -> None:
    known = cluster(range(5), Status.REGRESSION)
    assert coalesce([cluster(range(9))], [known], COMMITS)[0].status is Status.REGRESSION
    assert coalesce([cluster(range(4))], [known], COMMITS)[0].status is Status.NEW


def test_statuses_are_kept_across_runs() -> None:
    names = [f"trace {number}" for number in range(90)]
    first = cluster_steps(traces(6), names, settings=THREE)
    judged = [replace(c, status=Status.IGNORED if c.index == 20 else c.status) for c in first]
    grown = np.hstack([traces(6), traces(7)[:, -5:]])[:, 5:]
    grown[:30, -5:] = traces(8)[:30, -5:]
    second = coalesce(cluster_steps(grown, names, settings=THREE), judged, COMMITS)
    assert {c.index: c.status for c in second} == {15: Status.IGNORED, 35: Status.NEW}
    searched = cluster_steps(traces(9)[60:], names[60:], settings=THREE)
    quiet = coalesce(searched, second, COMMITS)
    assert [(c.status, c.current) for c in quiet if c.index == 15] == [(Status.IGNORED, False)]
    back = coalesce(cluster_steps(grown, names, settings=THREE), quiet, COMMITS)
    assert {c.index: (c.status, c.current) for c in back}[15] == (Status.IGNORED, True)


def test_little_or_nothing_has_no_clusters() -> None:
    assert cluster_steps([]) == []
    assert cluster_steps([[1.0, 2.0, 3.0]]) == []
    assert cluster_steps(np.ones((5, 50))) == []
    assert cluster_steps(np.full((2, 9), NAN)) == []


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([1.0, 2.0], "the traces must be rows of finite numbers or NaN"),
        ([["x", "y"]], "the traces must be rows of numbers of equal length"),
        ([[1.0, 2.0, float("inf"), 1.0]], "the traces must be rows of finite numbers or NaN"),
    ],
)
def test_traces_that_are_none_are_refused(bad: object, words: str) -> None:
    with pytest.raises(DataError, match=words):
        cluster_steps(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("names", [["a"], ["a", "a"]])
def test_each_trace_needs_a_name_of_its_own(names: list[str]) -> None:
    with pytest.raises(DataError, match="for 2 traces: each needs its own"):
        cluster_steps(np.ones((2, 9)), names)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"k": 0}, "k is 0: it must be at least 1"),
        ({"cutoff": 0.0}, "cutoff is 0.0: it must be positive and finite"),
        ({"span": 3}, "span is 3: it must be at least 4 commits"),
        ({"min_members": 0}, "min_members is 0: it must be at least 1"),
        ({"floor": -1.0}, "floor is -1.0: it must be 0 or more, and finite"),
    ],
)
def test_a_setting_out_of_range_is_named(parameters: dict[str, float], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ClusterSettings(**parameters)  # type: ignore[arg-type]


def moved(count: int, members: int, step: float, first: int, seed: int) -> Floats:
    """Return traces of 250 commits, of which the first ones step."""
    matrix = np.random.default_rng(seed).normal(100.0, 1.0, (count, 250))
    matrix[:members, first:] += step
    return matrix


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("count", "members", "step"), [(20, 10, 4.0), (40, 25, 3.0), (200, 50, -3.0)]
)
def test_few_series_with_a_common_step_are_one_cluster(
    count: int, members: int, step: float, seed: int
) -> None:
    [cluster] = cluster_steps(moved(count, members, step, 125, seed))
    assert {*cluster.members} == set(range(members))
    assert abs(cluster.index - 125) <= 1
    assert (cluster.step > 0) == (step > 0)


@pytest.mark.parametrize("tails", [3.0, 1e9])
@pytest.mark.parametrize("count", [20, 200])
def test_noise_has_no_cluster(count: int, tails: float) -> None:
    random = np.random.default_rng(5)
    assert not any(cluster_steps(random.standard_t(tails, (count, 250))) for _ in range(5))


def test_only_the_newest_commits_are_searched() -> None:
    matrix = moved(40, 25, 5.0, 60, 0)
    assert cluster_steps(matrix, settings=ClusterSettings(span=150)) == []
    orders = np.arange(250) * 10
    [cluster] = cluster_steps(matrix, orders=orders, settings=ClusterSettings(span=200))
    assert (cluster.index, cluster.order) == (60, 600)


@pytest.mark.parametrize(
    ("step", "place", "is_same"), [(5.0, 122, True), (5.0, 160, False), (-5.0, 120, False)]
)
def test_ignored_cluster_swallows_no_other_step_of_the_same_traces(
    step: float, place: int, is_same: bool
) -> None:
    orders = np.arange(1000, 1250)
    [first] = cluster_steps(moved(40, 25, 5.0, 120, 1), orders=orders)
    ignored = replace(first, status=Status.IGNORED, key=7)
    found = cluster_steps(moved(40, 25, step, place, 2), orders=orders)
    clusters = coalesce(found, [ignored], orders)
    current = next(cluster for cluster in clusters if cluster.current)
    assert (current.status, current.key) == ((Status.IGNORED, 7) if is_same else (Status.NEW, None))
    assert len(clusters) == (1 if is_same else 2)
