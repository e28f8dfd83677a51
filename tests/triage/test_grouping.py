from barograph.triage.grouping import PlacedCandidate, by_commit


def placed(
    number: int, order: int, hazard: float | None = 0.1, project: str = "p"
) -> PlacedCandidate:
    return PlacedCandidate(number, project, order, f"c{order}", hazard, 0.5)


def test_candidates_of_one_project_and_commit_form_a_group() -> None:
    groups = by_commit(
        [placed(1, 7), placed(2, 9, -0.9), placed(3, 9, 0.2), placed(4, 9, project="q")]
    )
    assert [(g.project, g.commit, [one.id for one in g.members]) for g in groups] == [
        ("p", "c9", [2, 3]),
        ("q", "c9", [4]),
        ("p", "c7", [1]),
    ]
    assert groups[0].hazard == -0.9


def test_reach_joins_neighbouring_commits() -> None:
    found = [placed(1, 1), placed(2, 3), placed(3, 3, None), placed(4, 8)]
    [late, early] = by_commit(found, reach=2)
    assert (early.first, early.last, early.commit) == (1, 3, "c3")
    assert [one.id for one in early.members] == [1, 2, 3]
    assert late.first == 8


def test_no_candidates_form_no_group() -> None:
    assert by_commit([]) == []
