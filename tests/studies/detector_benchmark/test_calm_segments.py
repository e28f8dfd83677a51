import numpy as np
import pytest

from barograph.studies.detector_benchmark.calm_segments import (
    CALM,
    Carrier,
    calmest,
    carriers,
    unrest,
)

NOISE = np.random.default_rng(0).standard_normal(400)
STEPPED = NOISE + np.repeat([0.0, 8.0, 8.0, 8.0], 100)


def test_unrest_of_noise_follows_kolmogorov() -> None:
    generator = np.random.default_rng(1)
    calm = [unrest(generator.standard_normal(200)) < 1.358 for _ in range(500)]
    assert 0.92 < np.mean(calm) < 0.985
    assert unrest(STEPPED[:200]) > 5
    assert unrest(np.ones(50)) == 0.0


def test_the_calmest_stretch_has_no_step() -> None:
    found = calmest(Carrier("one", STEPPED), 100)
    assert found is not None
    start = int(np.argmin(np.abs(STEPPED - found.values[0])))
    assert start == 0 or start >= 100
    assert found.values.size == 100
    assert unrest(found.values) < CALM


def test_times_belong_to_the_stretch() -> None:
    found = calmest(Carrier("one", STEPPED, np.arange(400.0)), 100)
    assert found is not None
    assert found.times is not None
    np.testing.assert_array_equal(STEPPED[found.times.astype(int)], found.values)


def test_no_stretch_where_none_is_calm() -> None:
    drift = Carrier("drift", np.arange(400.0) + NOISE)
    constant = Carrier("constant", np.ones(400))
    short = Carrier("short", NOISE[:50])
    assert calmest(drift, 100) is None
    assert calmest(constant, 100) is None
    assert calmest(short, 100) is None
    assert carriers([drift, constant, short], 100, 9) == []


def test_no_stretch_over_what_people_marked() -> None:
    assert calmest(Carrier("one", NOISE), 400) is not None
    assert calmest(Carrier("one", NOISE), 400, marked=[200]) is None


@pytest.mark.parametrize("most", [1, 2, 3])
def test_as_many_carriers_as_asked_for(most: int) -> None:
    histories = [Carrier(str(k), NOISE[k:]) for k in range(3)]
    assert [carrier.series for carrier in carriers(histories, 100, most)] == ["0", "1", "2"][:most]
