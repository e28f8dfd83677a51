import tracemalloc
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bson import Decimal128, Int64

from barograph.results.series import Verdict
from barograph.runtime.errors import ConfigError, DataError
from barograph.sources import Document, Place, Skip, loader, open_source, read_source
from barograph.sources.loader import Files
from tests.sources.documents import (
    START,
    Memory,
    change_point,
    identity,
    load,
    loaded,
    point,
    series,
    triaged,
    write_dump,
)

DIRECTIONS = "-1, 0, 1, lower_is_better, higher_is_better or unknown"


def test_load_keeps_a_series_and_its_candidate(tmp_path: Path) -> None:
    history, report = loaded(tmp_path / "out", [series()], [change_point()])

    assert len(history) == 1
    assert history.ids[0].args == (("thread_level", "16"),)
    assert history.values_of(0).tolist() == [100.0, 101.0, 102.0, 103.0, 104.0]
    assert history.orders.tolist() == [0, 10, 20, 30, 40]
    assert list(history.commits)[2] == f"{20:040x}"
    assert history.times[1] == (START.timestamp() + 36_000) * 1000
    candidates = history.candidates
    assert (candidates.series[0], candidates.index[0], candidates.orders[0]) == (0, 2, 20)
    assert candidates.commits[0] == f"{20:040x}"
    assert candidates.verdict[0] == Verdict.TRUE_POSITIVE
    assert candidates.triaged_on[0] - candidates.calculated_on[0] == 86_400_000
    assert candidates.algorithms[0] == "e_divisive_means 2"
    assert report.kept == {"series": 1, "points": 5, "candidates": 1}


def naive(order: int, value: object = 1.5, **fields: object) -> dict[str, Any]:
    """Return a point whose time has no zone, as BSON is decoded."""
    when = {"commit_date": datetime(2020, 1, 1, order % 24)}
    return point(0, value) | when | {"order": order, "commit": f"{order:x}"} | fields


DATES = [datetime(2020, 1, 1, hour, 0, 0, 123_000) for hour in range(3)]


@pytest.mark.parametrize(
    ("data", "is_plain"),
    [
        ([naive(1), naive(2, 5), naive(7, 2.5)], True),
        ([naive(k, commit_date=date) for k, date in enumerate(DATES)], True),
        ([naive(Int64(-5), Int64(3)), naive(Int64(4)), naive(5, commit="")], True),
        ([naive(2), naive(1)], False),
        ([naive(1), naive(1, 3.0), naive(2)], False),
        ([naive(1), naive(2, float("nan"))], False),
        ([naive(1), naive(2, True)], False),
        ([naive(1), naive(2, commit=5)], False),
        ([naive(1), naive(2, commit=None)], False),
        ([naive(1), naive(2, commit_date=None)], False),
        ([naive(1), naive(2, commit_date=START)], False),
        ([naive(1), naive(2) | {"order": 2.0}], False),
        ([naive(1), naive(Int64(-(2**63)))], False),
        ([naive(Int64(-(2**63))), naive(1)], False),
        ([naive(1), naive(Int64(2**63 - 1))], False),
        ([{"value": 1.0}, naive(1)], False),
        ([naive(1), "no point"], False),
        ([], False),
    ],
)
def test_plain_columns_are_those_of_single_points(
    monkeypatch: pytest.MonkeyPatch, data: list[Any], is_plain: bool
) -> None:
    assert (loader._plain_columns(data) is not None) == is_plain
    source = Memory([series(), series("other", data=data)], [])
    history, report = read_source(source, max_skipped_share=1.0)
    monkeypatch.setattr(loader, "_plain_columns", lambda _: None)
    other, again = read_source(source, max_skipped_share=1.0)
    assert report.as_dict() == again.as_dict()
    assert list(history.commits) == list(other.commits)
    for name in ("orders", "values", "times", "offsets"):
        actual, expected = getattr(history, name), getattr(other, name)
        assert (actual.dtype, actual.tolist()) == (expected.dtype, expected.tolist())


def test_memory_of_a_load_is_less_than_the_dump(tmp_path: Path) -> None:
    documents = (
        series(f"test{number}", data=[naive(order, float(order)) for order in range(500)])
        for number in range(40)
    )
    write_dump(tmp_path / "dump", documents, [])
    size = sum(path.stat().st_size for path in (tmp_path / "dump").glob("*.bson"))
    tracemalloc.start()
    try:
        history, _ = read_source(open_source("mongodump", str(tmp_path / "dump")))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert history.values.size == 20_000
    assert peak < 0.6 * size


def test_load_writes_an_empty_table_without_candidates(tmp_path: Path) -> None:
    history, _ = loaded(tmp_path, [series()])
    assert len(history.candidates) == 0


@pytest.mark.parametrize("name", [*identity(), "updateFailures"])
def test_load_accepts_missing_fields(tmp_path: Path, name: str) -> None:
    document = series()
    document.pop(name)
    info = {key: value for key, value in identity().items() if key != name}
    history, report = loaded(tmp_path, [document], [change_point(time_series_info=info)])
    assert report.kept["candidates"] == 1
    if name != "args" and name in identity():
        assert getattr(history.ids[0], name) == ""


def test_commit_may_be_a_number_and_a_point_with_another_value_is_skipped(tmp_path: Path) -> None:
    data = [point(1, commit=5), point(2, commit=["x"]), point(3, commit="")]
    history, report = loaded(tmp_path, [series(data=data)])
    assert list(history.commits) == ["5", ""]
    assert report.skipped["points"] == {"not a text": 1}


@pytest.mark.parametrize("value", [16, 16.0, "16"])
def test_numbers_of_any_type_are_equal_arguments(tmp_path: Path, value: object) -> None:
    info = identity(thread_level=value)
    _, report = loaded(tmp_path, [series()], [change_point(time_series_info=info)])
    assert report.kept["candidates"] == 1


def test_order_of_arguments_does_not_matter(tmp_path: Path) -> None:
    documents = [series(args={"b": 1, "a": True})]
    info = identity(a=True, b="1")
    history, report = loaded(tmp_path, documents, [change_point(time_series_info=info)])
    assert report.kept["candidates"] == 1
    assert history.ids[0].args_json == '{"a": "true", "b": "1"}'


def test_candidate_may_have_its_identity_at_the_top_level(tmp_path: Path) -> None:
    candidate = {**change_point(), **identity()}
    del candidate["time_series_info"]
    _, report = loaded(tmp_path, [series()], [candidate])
    assert report.kept["candidates"] == 1


def test_points_out_of_order_are_sorted(tmp_path: Path) -> None:
    data = [point(order, value=float(order)) for order in (3, 1, 2, 5, 4)]
    history, _ = loaded(tmp_path, [series(data=data)])
    assert history.values_of(0).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert list(history.commits) == [f"{order:040x}" for order in (1, 2, 3, 4, 5)]


def test_last_of_duplicate_points_is_kept(tmp_path: Path) -> None:
    data = [point(1, value=1.0), point(2, value=7.0), point(2, value=8.0), point(1, value=1.0)]
    history, report = loaded(tmp_path, [series(data=data)])
    assert history.values_of(0).tolist() == [1.0, 8.0]
    assert report.corrected["duplicate points, the last kept"] == 2


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "value is not finite"),
        (float("inf"), "value is not finite"),
        (float("-inf"), "value is not finite"),
        (10**400, "value is not finite"),
        ("1.5", "value is not a number"),
        (True, "value is not a number"),
        ({}, "value is not a number"),
        (None, "value is missing"),
    ],
)
def test_point_without_a_usable_value_is_skipped(
    tmp_path: Path, value: object, reason: str
) -> None:
    document = series()
    document["data"][3]["value"] = value
    history, report = loaded(tmp_path, [series("other"), document])
    assert history.orders.tolist() == [0, 10, 20, 30, 40, 0, 10, 20, 40]
    assert report.skipped["points"] == {reason: 1}
    [skip] = report.examples["points", reason]
    assert (*skip.place[:2], skip.field) == ("series", 2, "data.3.value")


@pytest.mark.parametrize("order", ["7", 1.5, True, 2**70, None])
def test_point_without_a_usable_order_is_skipped(tmp_path: Path, order: object) -> None:
    document = series()
    document["data"][0]["order"] = order
    history, report = loaded(tmp_path, [document])
    assert history.orders.tolist() == [10, 20, 30, 40]
    assert report.skipped["points"].total() == 1


def test_time_comes_from_the_commit_or_else_the_build(tmp_path: Path) -> None:
    data = [point(1), point(2, commit_date=None), point(3, commit_date="soon")]
    data.append({"order": 4, "value": 1.0})
    data.append(point(5, commit_date="2020-01-01T02:00:00+02:00"))
    history, report = loaded(tmp_path, [series(data=data)])
    none = int(np.iinfo(np.int64).min)
    hour, start = 3_600_000, int(START.timestamp()) * 1000
    assert history.times.tolist() == [start + hour, start + 3 * hour, none, start]
    [skip] = report.examples["points", "not a date, or a number of milliseconds since 1970"]
    assert (skip.field, skip.value) == ("data.2.commit_date", "soon")


def test_integers_of_any_type_are_orders_and_values(tmp_path: Path) -> None:
    data = [{"order": 1.0, "value": 3}, {"order": 2, "value": 2.5}]
    history, _ = loaded(tmp_path, [series(data=data)])
    assert history.orders.tolist() == [1, 2]
    assert history.values.tolist() == [3.0, 2.5]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"data": None}, "data is not a list"),
        ({"data": "x"}, "data is not a list"),
        ({"data": []}, "no usable point"),
        ({"data": [7, "x"]}, "no usable point"),
        ({"args": [1]}, "args is not a JSON object"),
        ({"test": ["a"]}, "not a text"),
        ({"test": "\ud800"}, "not valid text"),
        ({"direction": 2}, f"direction is not {DIRECTIONS}"),
        ({"direction": "sideways"}, f"direction is not {DIRECTIONS}"),
        (dict.fromkeys(identity(), None), "no identity"),
    ],
)
def test_series_with_a_wrong_schema_is_skipped(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    history, report = loaded(tmp_path, [series("good"), series(**changes)])
    assert len(history) == 1
    assert report.skipped["series"] == {reason: 1}
    assert report.read["points"] == report.kept["points"] + report.skipped["points"].total()


def test_second_series_of_an_identity_is_skipped(tmp_path: Path) -> None:
    second = series("a", count=3)
    history, report = loaded(tmp_path, [series("a"), second, series("b")])
    assert [name.test for name in history.ids] == ["a", "b"]
    assert history.offsets.tolist() == [0, 5, 10]
    assert report.skipped["series"] == {"an earlier series has the same identity": 1}
    assert report.read["points"] - report.kept["points"] == 3


def test_direction_is_kept(tmp_path: Path) -> None:
    history, _ = loaded(tmp_path, [series("a", direction=-1), series("b"), series(direction="up")])
    assert history.directions.tolist() == [-1, 0, 1]


@pytest.mark.parametrize(
    ("label", "verdict"),
    [
        ("true_positive", Verdict.TRUE_POSITIVE),
        ("false_positive", Verdict.FALSE_POSITIVE),
        ("not_triaged", Verdict.NOT_TRIAGED),
        ("under_investigation", Verdict.UNDER_INVESTIGATION),
        ("untriaged", Verdict.NOT_TRIAGED),
        ("acknowledged", Verdict.TRUE_POSITIVE),
        ("hidden", Verdict.FALSE_POSITIVE),
        ("unsure", Verdict.UNSURE),
        ("real", Verdict.TRUE_POSITIVE),
        ("noise", Verdict.FALSE_POSITIVE),
        (None, Verdict.NOT_TRIAGED),
    ],
)
def test_old_and_new_labels_become_verdicts(
    tmp_path: Path, label: str | None, verdict: Verdict
) -> None:
    candidate = change_point(triage={"triage_status": label})
    history, report = loaded(tmp_path, [series()], [candidate])
    assert history.candidates.verdict.tolist() == [verdict]
    assert report.verdicts == {verdict: 1}
    assert report.labels == {label or "none": 1}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"triage": {"triage_status": "maybe"}}, "unknown label"),
        ({"triage": {"triage_status": 1}}, "unknown label"),
        ({"triage": "true_positive"}, "not a document"),
        ({"time_series_info": identity("none")}, "no such series"),
        ({"time_series_info": 3}, "not a document"),
        ({"time_series_info": {}}, "no identity"),
        ({"order": 21, "commit": None}, "no such point in its series"),
        ({"order": 21, "commit": "?"}, "no such point in its series"),
        ({"order": None, "commit": None}, "neither order nor commit"),
        ({"order": "x"}, "order is not a whole number"),
        ({"commit": [5]}, "not a text"),
        ({"order": 0}, "the first point of its series"),
    ],
)
def test_unusable_candidate_is_skipped(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    candidates = [change_point(order=30), {**change_point(), **changes}]
    history, report = loaded(tmp_path, [series()], candidates)
    assert history.candidates.index.tolist() == [3]
    (only,) = report.skipped["candidates"]
    assert only.startswith(reason)
    [skip] = report.examples["candidates", only]
    assert skip.place[:2] == ("candidates", 2)


@pytest.mark.parametrize("order", [None, 21])
def test_candidate_without_an_order_is_placed_by_commit(tmp_path: Path, order: int | None) -> None:
    candidate = change_point(order=order or 0, commit=f"{30:040x}")
    candidate["order"] = order
    history, report = loaded(tmp_path, [series()], [candidate])
    candidates = history.candidates
    assert (candidates.index[0], candidates.orders[0]) == (3, 30)
    assert report.corrected["candidates placed by their commit"] == 1


def test_candidate_is_placed_by_order_if_its_commit_differs(tmp_path: Path) -> None:
    history, report = loaded(tmp_path, [series()], [change_point(order=20, commit="else")])
    candidates = history.candidates
    assert (candidates.index[0], candidates.commits[0]) == (2, f"{20:040x}")
    assert report.corrected["candidates placed by order, whose commit is another"] == 1


def test_final_verdict_is_preferred_at_one_point(tmp_path: Path) -> None:
    statuses = [("not_triaged", 40), ("true_positive", 31), ("false_positive", 33)]
    candidates = [change_point(triage=triaged(status, day)) for status, day in statuses]
    history, report = loaded(tmp_path, [series()], candidates)
    assert history.candidates.verdict.tolist() == ["false_positive"]
    assert report.corrected["duplicate candidates, one kept"] == 2
    assert report.verdicts == {"false_positive": 1}


@pytest.mark.parametrize("field", ["calculated_on", "document"])
def test_later_of_equal_verdicts_is_kept(tmp_path: Path, field: str) -> None:
    first = change_point(triage=triaged("true_positive"), algorithm="first")
    last = {**first, "algorithm": "last"}
    if field == "calculated_on":
        first["calculated_on"] = START + timedelta(days=50)
    history, _ = loaded(tmp_path, [series()], [first, last])
    kept = "first" if field == "calculated_on" else "last"
    assert list(history.candidates.algorithms) == [kept]


def test_later_triaged_is_preferred_to_later_calculated(tmp_path: Path) -> None:
    later = START + timedelta(days=50)
    candidates = [
        change_point(triage=triaged("true_positive", 33)),
        change_point(triage=triaged("false_positive", 32), calculated_on=later),
    ]
    history, _ = loaded(tmp_path, [series()], candidates)
    assert history.candidates.verdict.tolist() == ["true_positive"]


def test_load_refuses_too_many_unusable_points(tmp_path: Path) -> None:
    document = series()
    document["data"][2]["value"] = float("nan")
    message = (
        r"memory: 20\.0% of 5 points are unusable, 10\.0% allowed.*series: document 1: data\.2"
    )
    with pytest.raises(DataError, match=message):
        loaded(tmp_path / "out", [document], share=0.1)
    assert list(tmp_path.iterdir()) == []
    loaded(tmp_path / "out", [document], share=0.2)


def test_load_refuses_too_many_unknown_labels(tmp_path: Path) -> None:
    candidate = change_point(triage=triaged("maybe"))
    with pytest.raises(DataError, match=r"candidates are unusable.*triage_status = 'maybe'"):
        loaded(tmp_path, [series()], [candidate], share=0.5)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_max_skipped_share_must_be_between_0_and_1(tmp_path: Path, share: float) -> None:
    with pytest.raises(ConfigError, match="max_skipped_share"):
        loaded(tmp_path, [series()], share=share)
    with pytest.raises(ConfigError, match="max_skipped_share"):
        read_source(Files("results.csv"), max_skipped_share=share)


def test_load_refuses_an_empty_source(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="memory: contains no time series"):
        loaded(tmp_path, [])


class Breaking(Memory):
    """A source that breaks off in the middle of the change points."""

    def change_points(self) -> Iterator[Document | Skip]:
        yield Document(Place("candidates", 1), change_point())
        raise DataError("candidates: document 2: broken off")


def test_error_leaves_the_older_tables_unchanged(tmp_path: Path) -> None:
    loaded(tmp_path / "out", [series("old")], [change_point("old")])
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(DataError, match="broken off"):
        load(Breaking([series()]), tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_skips_of_the_source_are_counted(tmp_path: Path) -> None:
    class Skipping(Memory):
        def time_series(self) -> Iterator[Document | Skip]:
            yield from super().time_series()
            yield Skip(Place("series", 2), "row", "x", "too short")

    report = load(Skipping([series()]), tmp_path, max_skipped_share=0.5)
    assert report.skipped["series"] == {"too short": 1}


def test_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        loaded(tmp_path / name, [series("x"), series("y")], [change_point("y")])
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_decimal_that_is_not_a_number_is_skipped(tmp_path: Path) -> None:
    odd = [point(n, Decimal128(text)) for n, text in enumerate(("1.5", "NaN", "sNaN", "1E400"))]
    history, report = loaded(tmp_path / "out", [series(data=odd)])
    assert history.values.tolist() == [1.5]
    assert report.skipped["points"]["value is not finite"] == 3
