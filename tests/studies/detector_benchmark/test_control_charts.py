"""Bounds per trace and the Western Electric rules, rule by rule."""

import numpy as np
import pytest

from barograph.results.series import Floats
from barograph.runtime.errors import ConfigError
from barograph.studies.control_charts import BOUNDS, WESTERN_ELECTRIC, ControlChart

QUIET = [-1.0, 1.0] * 10  # mean 0
UNIT = float(np.std(QUIET, ddof=1))


def found(later: list[float], rule: int | None = None) -> list[int]:
    """Return the change points after the quiet results, by one rule or all."""
    rules = WESTERN_ELECTRIC if rule is None else (WESTERN_ELECTRIC[rule - 1],)
    values = np.array(QUIET + [UNIT * z for z in later])
    return [point.index - len(QUIET) for point in ControlChart(rules).detect(values)]


@pytest.mark.parametrize(
    ("rule", "later", "places"),
    [
        (1, [0.5, 3.1], [1]),
        (1, [2.9, -2.9], []),
        (2, [2.1, 0.0, 2.1], [0]),
        (2, [2.1, 0.0, -2.1, 0.0], []),
        (2, [2.1, 0.0, 0.0, 2.1], []),
        (3, [0.0, 1.1, 1.1, 0.0, 1.1, 1.1], [1]),
        (3, [1.1, 1.1, 0.0, 0.0, 1.1, 1.1], []),
        (4, [-0.1] * 8, [0]),
        (4, [-0.1] * 7 + [0.1], []),
    ],
)
def test_each_rule(rule: int, later: list[float], places: list[int]) -> None:
    assert found(later, rule) == places
    mirrored = [-z for z in later]
    assert found(mirrored, rule) == places


def test_the_earliest_alarm_of_any_rule_counts() -> None:
    assert found([0.5, 2.2, 2.2, 5.0]) == [1]
    assert found([0.5] * 3 + [4.0]) == [3]


def test_bounds_are_placed_anew_after_an_alarm() -> None:
    values = np.array([*QUIET, *(np.array(QUIET) + 50.0), *(np.array(QUIET) + 100.0)])
    assert [p.index for p in ControlChart(BOUNDS).detect(values)] == [20, 40]
    single = np.array([*QUIET, 50.0, *QUIET, *QUIET])
    # One result triggers an alarm, and the bounds placed on it hide everything up to 20 results.
    assert [p.index for p in ControlChart(BOUNDS).detect(single)] == [20]


def test_a_constant_baseline_alarms_at_any_other_value() -> None:
    values: Floats = np.array([5.0] * 22 + [5.1] * 3)
    assert [p.index for p in ControlChart(BOUNDS).detect(values)] == [22]
    assert ControlChart().detect(np.full(60, 5.0)) == []


def test_quiet_results_rarely_break_the_bounds() -> None:
    values = np.random.default_rng(1).normal(size=3000)
    bounds, rules = (len(ControlChart(rule).detect(values)) for rule in (BOUNDS, WESTERN_ELECTRIC))
    assert 0 < bounds < rules < 100


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="learned is 1: it must be at least 2 points"):
        ControlChart(learned=1)
