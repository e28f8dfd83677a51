"""Reasons are sentences about what the features measure, the most decisive first."""

import numpy as np
import pytest

from barograph.detection.scoring import explain_change_points
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.models import TriageModel
from barograph.models.reasons import (
    FACETS,
    Facet,
    FeatureRow,
    ReasonText,
    explain,
    paragraph,
    sentences,
)
from barograph.results.series import Floats

QUIET: Floats = np.random.default_rng(4).normal(100.0, 1.0, 90)


def shifted(by: float, at: int = 50, until: int | None = None) -> Floats:
    values = QUIET.copy()
    values[at:until] += by
    return values


def reasons_at(values: Floats, at: int) -> list[ReasonText]:
    model = TriageModel.default("label_free")
    [[change]] = explain_change_points(model, values, np.array([0, values.size]), [[at]])
    return change


@pytest.mark.parametrize(("by", "moved"), [(8.0, "rose"), (-8.0, "fell")])
def test_a_clear_step_is_explained_by_its_size_and_how_long_it_stayed(
    by: float, moved: str
) -> None:
    first = reasons_at(shifted(by), 50)[0]
    assert first.text.startswith(f"The level {moved} by ")
    assert first.text.endswith(" noise units and stayed for 40 points.")
    assert first.part is not None
    assert first.part > 0.2


def test_reasons_against_a_change_are_named_as_such() -> None:
    result = reasons_at(QUIET, 50)
    assert result[0].part is not None
    assert result[0].part < 0
    assert f"Against a real change: {result[0].text}" in paragraph(result)


@pytest.mark.parametrize("name", [*FEATURE_SETS])
def test_every_column_of_every_feature_set_has_a_sentence(name: str) -> None:
    values = shifted(5.0)
    [row] = feature_matrix(values, [0], [50], [55], name).tolist()
    columns = FEATURE_SETS[name]
    facets = {column: f for f in FACETS for column in f.columns}
    for k, column in enumerate(columns):
        for value in (row[k], 0.0, -0.4, 1.0):
            result = dict(zip(columns, row, strict=True)) | {column: value}
            text = facets[column].text(FeatureRow(result), column) if column in facets else ""
            assert text.endswith(".") or column not in facets
            assert "nan" not in text


def test_every_column_of_the_model_of_candidates_has_a_facet() -> None:
    assert {*FEATURE_SETS["contrast"]} == {column for f in FACETS for column in f.columns}


def test_facets_with_small_contributions_are_left_out() -> None:
    facets = [Facet(name, (name,), lambda _row, column: f"{column}.") for name in "abc"]
    row = FeatureRow({}, {"a": 0.004, "b": -0.5, "c": 0.1})
    assert sentences(facets, row) == [ReasonText("b.", -0.5), ReasonText("c.", 0.1)]


def test_sentence_that_two_facets_share_is_said_once() -> None:
    facets = [
        Facet(name, (name,), lambda _row, column: "Shared." if column != "c" else "Own.")
        for name in "abc"
    ]
    row = FeatureRow({}, {"a": 0.25, "b": 0.5, "c": 0.625})
    assert sentences(facets, row) == [ReasonText("Shared.", 0.75), ReasonText("Own.", 0.625)]


def test_step_and_duration_are_two_sentences_where_they_disagree() -> None:
    values = {"step_over_noise": np.log1p(5.0), "hold_before": 3.0, "hold_after": np.log1p(2.0)}
    facets = [Facet(f.name, f.columns[:1], f.text) for f in FACETS if f.name in ("step", "hold")]
    row = FeatureRow(values, {"step_over_noise": 0.4, "hold_after": -0.3})
    assert [reason.text for reason in sentences(facets, row)] == [
        "The level moved by 5.0 noise units.",
        "The new level held for 2 points.",
    ]


@pytest.mark.parametrize(
    ("facet", "column", "before", "after", "text"),
    [
        ("past", "hold_before", 0, 5, "The last results before the change are nearer to the"),
        ("hold", "hold_shortest", 0, 5, "The last results before the change are nearer to the"),
        ("hold", "hold_shortest", 5, 0, "The first results after the change are nearer to the"),
        ("past", "hold_before", 1, 5, "The level before the change had held for 1 point."),
    ],
)
def test_a_level_that_does_not_hold_is_not_said_to_hold_for_no_points(
    facet: str, column: str, before: int, after: int, text: str
) -> None:
    row = FeatureRow({"hold_before": np.log1p(before), "hold_after": np.log1p(after)})
    [chosen] = [known for known in FACETS if known.name == facet]
    assert chosen.text(row, column).startswith(text)


def test_a_model_without_contributions_still_describes_the_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from barograph.runtime.errors import ConfigError

    def refuse(*_: object) -> None:
        raise ConfigError("no reasons")

    model = TriageModel.default("label_free")
    monkeypatch.setattr(TriageModel, "reasons", refuse)
    rows = feature_matrix(shifted(8.0), [0], [50], [90], model.feature_set)
    [actual] = explain(model, rows)
    assert actual[0].part is None
    assert actual[0].text.startswith("The level moved by ")
