"""How candidates are grouped by their cause, and how groups are sorted."""

from collections.abc import Sequence
from typing import Any

import pytest

from barograph.results.series import SeriesId
from barograph.server.triage.grouping import QueueEntry, by_cause, sorted_groups


def entry(number: int, order: int, last_before: int | None = None, **more: Any) -> QueueEntry:
    name = more.pop("test", f"test{number}")
    identity = SeriesId(more.pop("project", "p"), "linux", "task", name, "ops")
    fields: dict[str, Any] = {
        "version": 0,
        "series": number,
        "identity": identity,
        "name": str(identity),
        "kind": "",
        "commit": f"c{order}",
        "effect": "worse",
        "hazard": 0.1,
        "probability": 0.5,
        "detected_on": None,
        "verdict": "not_triaged",
        "present": True,
    }
    before = order - 1 if last_before is None else last_before
    return QueueEntry(id=number, order=order, last_before=before, **(fields | more))


def numbers(groups: Sequence[Any]) -> list[list[int]]:
    return [[member.id for member in group.members] for group in groups]


def test_candidates_whose_ranges_share_a_commit_form_a_group() -> None:
    groups = by_cause([entry(1, 5, 4), entry(2, 7, 3), entry(3, 9, 5), entry(4, 9, 8)])
    assert numbers(groups) == [[1, 2], [3, 4]]
    assert [(group.last_before, group.order, group.commit) for group in groups] == [
        (4, 5, "c5"),
        (8, 9, "c9"),
    ]


def test_no_group_holds_two_projects_directions_or_kinds() -> None:
    groups = by_cause(
        [
            entry(1, 5),
            entry(2, 5, project="q"),
            entry(3, 5, effect="better"),
            entry(4, 5, kind="canary"),
        ]
    )
    assert sorted(numbers(groups)) == [[1], [2], [3], [4]]


def test_members_stand_by_expected_hazard() -> None:
    [group] = by_cause(
        [
            entry(1, 5, hazard=0.9, probability=0.1),
            entry(2, 5, hazard=0.3, probability=0.9),
            entry(3, 5, hazard=None),
        ]
    )
    assert numbers([group]) == [[2, 1, 3]]


def test_regressions_come_first_and_the_groups_of_a_commit_stay_together() -> None:
    groups = by_cause(
        [
            entry(1, 5, hazard=0.2),
            entry(2, 5, hazard=-0.9, effect="better"),
            entry(3, 9, hazard=0.5),
            entry(4, 12, hazard=-0.8, effect="better"),
        ]
    )
    assert numbers(sorted_groups(groups)) == [[3], [1], [2], [4]]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("hazard", [3, 1, 2]),
        ("change", [2, 3, 1]),
        ("probability", [1, 2, 3]),
        ("-probability", [3, 2, 1]),
        ("age", [2, 3, 1]),
        ("name", [1, 2, 3]),
        ("commit", [3, 2, 1]),
    ],
)
def test_each_column_sorts(sort: str, expected: list[int]) -> None:
    groups = by_cause(
        [
            entry(1, 5, hazard=0.1, probability=0.9, detected_on=1),
            entry(2, 7, hazard=-0.9, probability=0.5, detected_on=3, effect="better"),
            entry(3, 9, hazard=0.4, probability=0.1, detected_on=2),
        ]
    )
    assert [group.worst.id for group in sorted_groups(groups, sort)] == expected
