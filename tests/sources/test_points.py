"""Batches of documents become columns; a batch reads the same as its documents one by one."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from barograph.sources import Document, LoadReport, Place
from barograph.sources.base import SeriesColumns
from barograph.sources.fields import time_of
from barograph.sources.points import columns_of, read_series
from tests.sources.documents import point, series


def documents(*fields: dict[str, Any]) -> list[Document]:
    return [Document(Place("f", number), value) for number, value in enumerate(fields, 1)]


def test_columns_of_reads_valid_documents_at_once() -> None:
    (columns,) = columns_of(documents(series("a"), series("b", count=2), series("c")))
    assert isinstance(columns, SeriesColumns)
    assert [identity.test for identity in columns.ids] == ["a", "b", "c"]
    assert columns.counts.tolist() == [5, 2, 5]
    assert columns.orders.tolist() == [0, 10, 20, 30, 40, 0, 10, 0, 10, 20, 30, 40]


def test_columns_of_separates_an_invalid_document() -> None:
    batch = documents(*(series(name) for name in "abcdefgh"))
    batch[2].fields["data"].reverse()
    items = list(columns_of(batch))
    assert [item for item in items if isinstance(item, Document)] == [batch[2]]
    firsts = [item.first for item in items if isinstance(item, SeriesColumns)]
    assert firsts == [1, 4, 5]


@pytest.mark.parametrize(
    "changes",
    [
        {"order": True},
        {"order": 2**70},
        {"order": -(2**63)},
        {"order": 2**53 + 1},
        {"order": -(2**53) - 1},
        {"value": "1"},
        {"value": True},
        {"value": float("nan")},
        {"value": None},
        {"commit": ""},
        {"commit": 5},
        {"commit": "\ud800"},
        {"commit_date": None},
        {"commit_date": "2020-01-01"},
    ],
)
def test_columns_of_leaves_unusual_points_to_the_reader(changes: dict[str, Any]) -> None:
    fields = series(data=[{**point(1), **changes}])
    assert list(columns_of(documents(fields))) == documents(fields)


def test_columns_of_reads_integers_missing_commits_and_zones() -> None:
    dates = [
        datetime(1, 1, 1),
        datetime(1960, 1, 1, 1, 1, 1, 1),
        datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    ]
    data = [point(n, n, commit=None, commit_date=date) for n, date in enumerate(dates)]
    (columns,) = columns_of(documents(series(data=data)))
    assert isinstance(columns, SeriesColumns)
    assert columns.times.tolist() == [time_of(date, "") for date in dates]
    assert columns.values.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert list(columns.commits) == [""] * 4


def test_read_series_reads_point_by_point_what_columns_of_leaves() -> None:
    fields = series(data=[point(2), point(1, "x"), point(0)])
    (document,) = columns_of(documents(fields))
    assert isinstance(document, Document)
    report = LoadReport("s")
    columns = read_series(document, report)
    assert columns is not None
    np.testing.assert_array_equal(columns.orders, [0, 2])
    assert report.read["points"] == 3
    assert report.corrected["points out of order, sorted"] == 1
    assert report.skipped_share("points") == pytest.approx(1 / 3)
