"""The default detector: candidates and ends of pulses, scored and reported."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from barograph.detection import EDivisive, Hunter, Triaged
from barograph.detection.base import Detector, RawChangePoint
from barograph.detection.triaged import all_candidates
from barograph.models import TriageModel
from barograph.results.series import ChangePoint, Floats, Ints
from barograph.runtime.errors import ConfigError

SEEDS = range(6)
Change = Callable[[Floats], None]
MODEL = TriageModel.default("label_free")


def series(change: Change, seed: int, size: int = 300) -> Floats:
    values = np.random.default_rng(seed).normal(100.0, 1.0, size)
    change(values)
    return values


def step(values: Floats) -> None:
    values[150:] *= 1.1


def with_points(places: list[int], factor: float) -> Change:
    def change(values: Floats) -> None:
        step(values)
        values[places] *= factor

    return change


def detected(values: Floats, detector: Triaged | None = None) -> list[int]:
    return [point.index for point in (detector or Triaged()).detect(values)]


@pytest.mark.parametrize("seed", SEEDS)
def test_early_outlier_does_not_hide_a_step(seed: int) -> None:
    assert detected(series(with_points([1], 20.0), seed)) == [150]


@pytest.mark.parametrize("factor", [0.1, 2.0, 50.0])
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_jump_at_the_newest_results_does_not_hide_a_step(
    seed: int, size: int, factor: float
) -> None:
    def newest(values: Floats) -> None:
        step(values)
        values[-size:] *= factor

    new = [298] if size == 2 else []  # a single result may be a spike
    assert detected(series(newest, seed)) == [150, *new]


@pytest.mark.parametrize("factor", [0.02, 50.0])
@pytest.mark.parametrize("lasting", [7, 9, 11])
@pytest.mark.parametrize("seed", SEEDS[:3])
def test_large_step_soon_after_the_start_or_near_the_end_has_no_twin_and_hides_no_step(
    seed: int, lasting: int, factor: float
) -> None:
    def first(values: Floats) -> None:
        step(values)
        values[:lasting] *= factor

    def last(values: Floats) -> None:
        values[-lasting:] *= factor

    assert detected(series(first, seed)) == [lasting, 150]
    assert detected(series(last, seed)) == [300 - lasting]


@pytest.mark.parametrize("part", [slice(0, 60), slice(240, 300), slice(40, 80)])
@pytest.mark.parametrize("seed", SEEDS)
def test_level_many_times_as_high_does_not_hide_a_step(seed: int, part: slice) -> None:
    def change(values: Floats) -> None:
        step(values)
        values[part] *= 40.0

    edges = {part.start, part.stop} - {0, 300}
    assert detected(series(change, seed)) == sorted({150, *edges})


@pytest.mark.parametrize("factor", [0.1, 10.0, 80.0])
@pytest.mark.parametrize("size", [3, 5, 8])
@pytest.mark.parametrize("seed", SEEDS[:3])
def test_pulse_is_found_with_begin_and_end(seed: int, size: int, factor: float) -> None:
    def pulse(values: Floats) -> None:
        values[150 : 150 + size] *= factor

    assert detected(series(pulse, seed)) == [150, 150 + size]


@pytest.mark.parametrize("lasting", [14, 18, 24])
@pytest.mark.parametrize("seed", SEEDS)
def test_level_that_lasts_for_a_few_points_of_a_long_series_is_found(
    seed: int, lasting: int
) -> None:
    def regression(values: Floats) -> None:
        values[300 : 300 + lasting] += 6.0

    begin, end = detected(series(regression, seed, 600))
    assert abs(begin - 300) <= 1
    assert abs(end - 300 - lasting) <= 1


@pytest.mark.parametrize("seed", SEEDS)
def test_large_pulse_does_not_hide_a_small_step_nearby(seed: int) -> None:
    def both(values: Floats) -> None:
        values[150:] += 6.0
        values[170:178] *= 80.0

    assert detected(series(both, seed)) == [150, 170, 178]


@pytest.mark.parametrize("places", [[60], [60, 61], [60, 140, 230]])
@pytest.mark.parametrize("seed", SEEDS)
def test_spikes_a_thousand_times_the_level_do_not_hide_a_step(seed: int, places: list[int]) -> None:
    assert detected(series(with_points(places, 1000.0), seed)) == [150]


@pytest.mark.parametrize("places", [[151, 153, 156], [152, 155, 158], [144, 147, 149]])
@pytest.mark.parametrize("seed", SEEDS)
def test_three_spikes_around_a_step_do_not_shift_it(seed: int, places: list[int]) -> None:
    assert detected(series(with_points(places, 10.0), seed)) == [150]


@pytest.mark.parametrize("seed", SEEDS)
def test_spikes_alone_are_not_reported(seed: int) -> None:
    def spikes(values: Floats) -> None:
        values[[40, 90, 200]] *= 10.0

    assert detected(series(spikes, seed)) == []


def probability_of(index: int, points: list[ChangePoint]) -> float:
    return next(p.probability for p in points if p.index == index and p.probability is not None)


@pytest.mark.parametrize("seed", SEEDS)
def test_probability_of_a_step_does_not_depend_on_a_pulse_nearby(seed: int) -> None:
    def pulse(values: Floats) -> None:
        values[150:] += 6.0
        values[165:170] *= 10.0

    values = series(pulse, seed)
    without = series(lambda values: np.add(values, np.arange(300) // 150 * 6.0, out=values), seed)
    with_both_ends = Triaged(min_probability=0.0).detect(values)
    assert {150, 165, 170} <= {point.index for point in with_both_ends}
    alone = probability_of(150, Triaged(min_probability=0.0).detect(without))
    assert probability_of(150, with_both_ends) == pytest.approx(alone, abs=0.05)
    assert alone > 0.9


def test_of_two_candidates_for_one_change_one_is_reported() -> None:
    values = np.random.default_rng(0).normal(100.0, 1.0, 300)
    values[150:] += 20.0
    values[150:153] -= [15.0, 8.0, 3.0]
    everything = Triaged(EDivisive(min_size=1, pvalue=0.5, permutations=9), min_probability=0.0)
    near = [place for place in detected(values, everything) if 140 <= place <= 160]
    assert len(near) == 1
    assert near[0] in range(150, 154)


def test_change_points_have_probability_and_the_regions_between_those_reported() -> None:
    (point,) = Triaged().detect(series(step, 0))
    assert point.probability is not None
    assert point.statistic == pytest.approx(np.log(point.probability / (1 - point.probability)))
    assert point.pvalue is not None
    assert (point.before.count, point.after.count) == (150, 150)


def test_detectors_are_equal_if_the_versions_of_their_models_are() -> None:
    again, other = TriageModel.default("label_free"), replace(MODEL, threshold=0.25)
    assert Triaged(model=MODEL) == Triaged(model=again)
    assert Triaged(model=MODEL) != Triaged(model=other)
    assert MODEL.version != MODEL
    assert len({MODEL, again, other}) == 2


def test_number_replaces_the_reporting_rule() -> None:
    values = series(step, 0)
    some, most = (Triaged(min_probability=p).detect(values) for p in (0.5, 0.0))
    assert [p.index for p in most if p.probability is not None and p.probability >= 0.5] == [
        p.index for p in some
    ]
    assert Triaged(min_probability=1.0).detect(values) == []


def test_many_series_together_equal_each_alone() -> None:
    parts = [series(with_points([20, 21, 22], 10.0), seed, 160 + seed) for seed in SEEDS]
    parts.insert(2, np.empty(0))
    parts.append(np.ones(4))
    offsets = np.cumsum([0, *(part.size for part in parts)])
    together = Triaged().find_many(np.concatenate(parts), offsets)
    alone = [Triaged().detect(part) for part in parts]
    key = [[(p.index, p.probability) for p in item] for item in together]
    assert key == [[(p.index, p.probability) for p in item] for item in alone]
    assert sum(map(len, key)) > 6


def test_kernels_are_not_compiled_again_for_read_only_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values, find_many = series(step, 1), Hunter.find_many
    values.setflags(write=False)
    writable = []

    def spy(self: Hunter, values: Floats, offsets: Ints) -> list[list[RawChangePoint]]:
        writable.append(values.flags.writeable)
        return find_many(self, values, offsets)

    monkeypatch.setattr(Hunter, "find_many", spy)
    candidates, _ = all_candidates(MODEL, values, np.array([0, values.size]))
    assert 150 in candidates.index
    assert writable
    assert all(writable)


def test_candidates_come_from_the_given_detector() -> None:
    values = series(step, 1)
    detector = Triaged(Hunter(), model=MODEL)
    assert detected(values, detector) == [150]
    assert detector.shortest == Hunter().shortest


def test_of_the_candidates_of_two_detectors_near_each_other_the_first_is_kept() -> None:
    @dataclass(frozen=True)
    class At(Detector):
        places: tuple[int, ...] = ()
        shortest = 4

        def find(self, values: Floats) -> list[RawChangePoint]:
            return [RawChangePoint(i, 0.0) for i in self.places if i < values.size]

    both = Triaged((At(places=(10, 30)), At(places=(5, 16, 24, 27, 35))))
    assert found(both, [40]) == [[10, 16, 24, 30]]
    assert found(both, [40, 3]) == [[10, 16, 24, 30], []]
    assert found(replace(both, apart=10**12), [40]) == [[10, 30]]


def found(detector: Triaged, sizes: list[int]) -> list[list[int]]:
    """Return the candidates in series of some lengths."""
    offsets = np.cumsum([0, *sizes])
    searched, _ = detector.propose(np.ones(sum(sizes)), offsets)
    return [[point.index for point in points] for points in searched]


@pytest.mark.parametrize("wrong", [("hunter",), [Hunter()], "hunter", None, ()])
def test_what_is_no_detector_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="it must be a detector, or a tuple of detectors"):
        Triaged(candidates=wrong)
    with pytest.raises(ConfigError, match="apart is -1: it must be at least 0"):
        Triaged(apart=-1)


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"min_probability is 1\.5: it must be from 0 to 1"):
        Triaged(min_probability=1.5)
    with pytest.raises(ConfigError, match=r"the use 'online'.*for the use 'label_free'"):
        Triaged(model=replace(MODEL, use="online"))


def counts(seed: int, tiny: int = 40) -> Floats:
    """An instruction count with many lasting steps of at most half a percent, and one of 10 %."""
    rng = np.random.default_rng(seed)
    moves = np.zeros(400)
    places = rng.choice(np.arange(1, 400), tiny, replace=False)
    moves[places] = rng.uniform(-0.005, 0.005, tiny)
    moves[200] += 0.1
    return np.rint(1e9 * np.exp(np.cumsum(moves)))


def test_tiny_steps_of_counts_are_not_reported_by_the_dozen() -> None:
    places_by_seed = [[p.index for p in Triaged().detect(counts(seed))] for seed in range(8)]
    assert np.mean([200 in places for places in places_by_seed]) > 0.8
    assert np.mean([len(places) for places in places_by_seed]) < 4.0
    assert max(len(places) for places in places_by_seed) < 8
