"""Feature matrices: equality with single pairs, threads, and errors."""

import re
import subprocess
import sys
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest

from barograph.features import (
    FEATURE_SETS,
    characteristics,
    contrast_context,
    contrasts,
    deltas,
    distance,
    feature_matrix,
)
from barograph.features.families import FAMILIES, Family, families_of
from barograph.results.series import Floats, Ints


def candidates(count: int, seed: int = 0) -> tuple[Floats, Ints, Ints, Ints]:
    """Return sides of 1 to 130 values from noise, a random walk, steps and constants."""
    rng = np.random.default_rng(seed)
    parts = [
        rng.normal(100.0, 1.0, 400),
        np.cumsum(rng.normal(size=400)),
        np.repeat(rng.integers(0, 3, 40), 10).astype(float),
        np.full(100, 5.0),
        rng.normal(size=300) * 1e305,
        rng.normal(size=300) * 1e-310,
        1.0 + rng.integers(0, 9, 100) * 2.0**-52,
    ]
    values = np.concatenate(parts)
    sizes = rng.integers(1, 131, (2, count))
    starts = rng.integers(0, values.size - 260, count)
    return values, starts, starts + sizes[0], starts + sizes.sum(axis=0)


def test_rows_equal_single_pairs_to_the_bit() -> None:
    values, starts, splits, ends = candidates(150)
    matrix = feature_matrix(values, starts, splits, ends, "full", threads=1)
    for row, start, split, end in zip(matrix, starts, splits, ends, strict=True):
        pre, after = values[start:split], values[split:end]
        single = characteristics(pre, after) | deltas(pre, after) | contrasts(pre, after)
        single["distance"] = distance(single)
        assert dict(zip(FEATURE_SETS["full"], row.tolist(), strict=True)) == single
    assert np.isfinite(matrix).all()


def test_context_is_passed_to_the_contrasts() -> None:
    values, starts, splits, ends = candidates(20)
    nothing = np.zeros_like(starts)
    context = contrast_context(values, starts, splits, ends, nothing, nothing + values.size)
    matrix = feature_matrix(values, starts, splits, ends, "contrast", context=context)
    for i, (start, split, end) in enumerate(zip(starts, splits, ends, strict=True)):
        single = contrasts(values[start:split], values[split:end], context[i])
        assert matrix[i].tolist() == list(single.values())


# The package of `tsfeatures` has a test of its own.
@pytest.mark.parametrize("feature_set", [name for name in FEATURE_SETS if name != "tsfeatures"])
def test_matrix_does_not_depend_on_threads(feature_set: str) -> None:
    data = candidates(700)
    alone = feature_matrix(*data, feature_set, threads=1)
    assert alone.shape == (700, len(FEATURE_SETS[feature_set]))
    for threads in (2, 5):
        assert feature_matrix(*data, feature_set, threads=threads).tobytes() == alone.tobytes()


def test_differences_and_changes_follow_from_the_characteristics() -> None:
    data = candidates(100)
    pre, after = np.split(feature_matrix(*data, "bauer8"), 2, axis=1)
    assert (feature_matrix(*data, "difference8") == after - pre).all()
    change = feature_matrix(*data, "change8")
    usual = (pre != 0) & (np.abs(after - pre) < 1000 * np.abs(pre))
    assert np.allclose(change[usual], ((after - pre)[usual] / np.abs(pre[usual])), rtol=1e-15)
    assert (change[after == pre] == 0.0).all()
    rest = ~usual & (after != pre)
    assert (change[rest] == 1000.0 * np.sign(after - pre)[rest]).all()


def test_matrix_without_candidates_has_no_rows() -> None:
    none = np.array([], dtype=np.int64)
    assert feature_matrix([1.0, 2.0], none, none, none).shape == (0, 16)


def test_matrix_accepts_any_array_type() -> None:
    values = np.arange(40.0) % 7
    expected = feature_matrix(values, [0], [20], [40])
    frozen = values.copy()
    frozen.flags.writeable = False
    for same in (frozen, values.astype(np.float32), values.astype(int), np.repeat(values, 2)[::2]):
        assert (feature_matrix(same, [0], [20], [40]) == expected).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_set": "bauer10"}, "unknown feature set 'bauer10'; known: bauer8, bauer9"),
        (
            {"context": [[1.0], [2.0]]},
            "context has the shape (2, 1); it must have one row per candidate: 1",
        ),
        ({"context": [[1.0, np.nan]]}, "context[0, 1] is nan"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        feature_matrix([1.0, 2.0], [0], [1], [2], **options)  # type: ignore[arg-type]


def test_bad_value_is_named_by_its_index() -> None:
    with pytest.raises(ValueError, match=re.escape("values[3] is nan; every value must be finite")):
        feature_matrix([1.0, 2.0, 3.0, np.nan], [0, 0], [1, 2], [2, 4])


def test_a_family_is_imported_when_a_set_with_it_is_first_used() -> None:
    code = (
        "import sys\n"
        "from barograph.features import FEATURE_SETS, feature_matrix\n"
        "def families():\n"
        "    rooms = {name.split('.')[2] for name in sys.modules if name.count('.') > 1\n"
        "             and name.startswith('barograph.features.')}\n"
        "    return sorted(rooms - {'families', 'subseries'})\n"
        "print(*FEATURE_SETS, families())\n"
        "feature_matrix([1.0, 2.0, 5.0], [0], [2], [3], 'online')\n"
        "print(families(), 'leznik' in families())\n"
        "FEATURE_SETS['leznik']\n"
        "print('leznik' in families())\n"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    first, second, third = done.stdout.splitlines()
    assert first == f"{' '.join(FAMILIES)} []"
    assert second == "['contrast', 'regime'] False"
    assert third == "True"


def test_a_family_is_registered_by_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("barograph.features.peaks")

    def rows(values: Floats, _: Ints, splits: Ints, ends: Ints, __: Floats, out: Floats) -> None:
        out[:, 0] = [values[a:b].max() for a, b in zip(splits, ends, strict=True)]

    vars(module)["FAMILY"] = Family(("peak",), rows)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(cast("dict[str, Any]", FAMILIES), "peaks", ("peaks.FAMILY",))
    assert FEATURE_SETS["peaks"] == ("peak",)
    result = feature_matrix([1.0, 2.0, 5.0, 3.0], [0, 0], [1, 3], [3, 4], "peaks")
    assert result.tolist() == [[5.0], [3.0]]
    families_of.cache_clear()
