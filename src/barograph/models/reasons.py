"""Why a model gives a candidate its probability, in sentences.

The contributions of the features are summed by facet, and the facets that contribute most are
named. `facets` has the sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from barograph.models.facets import HOLD, NEWEST_FACETS, STEP, STEP_FACETS, Facet, FeatureRow
from barograph.models.triage import TriageModel
from barograph.results.series import Floats
from barograph.results.sizes import Size
from barograph.runtime.errors import ConfigError

LIMIT = 3
SMALL = 0.05  # a facet with less than this share of the largest contribution is not named


class ReasonText(NamedTuple):
    """A reason in words.

    Attributes:
        text: A sentence.
        part: What it adds to the probability of a real change, negative if it speaks against one;
            None if the model gives no contributions.
    """

    text: str
    part: float | None


def explain(
    model: TriageModel,
    rows: Floats,
    *,
    sizes: Sequence[Size | None] | None = None,
    limit: int = LIMIT,
) -> list[list[ReasonText]]:
    """Return the main reasons for the probability of each candidate, the most decisive first.

    Args:
        model: The model that scored the candidates.
        rows: One row of features per candidate, in the order of the model's columns.
        sizes: The size of each candidate, if they are known.
        limit: Maximum number of reasons of a candidate.

    Example:
        >>> from barograph.features import feature_matrix
        >>> model = TriageModel.default("label_free")
        >>> values = [10.0, 10.1, 9.9] * 10 + [12.0, 12.1, 11.9] * 10
        >>> rows = feature_matrix(values, [0], [30], [60], model.feature_set)
        >>> [reasons] = explain(model, rows, sizes=[Size(10.0, 12.0)])
        >>> reasons[0].text
        'The level rose by 13.5 noise units and stayed for 30 points.'
    """
    if not rows.shape[0]:
        return []
    try:
        parts = model.reasons(rows)[1].tolist()
    except ConfigError:  # the classifier is not a sum over features
        parts = [[] for _ in range(rows.shape[0])]
    facets = _facets_of(model.columns)
    return [
        sentences(
            facets,
            FeatureRow(
                dict(zip(model.columns, values, strict=True)),
                dict(zip(model.columns, contributions, strict=False)),
                size,
            ),
            limit,
        )
        for values, contributions, size in zip(
            rows.tolist(), parts, sizes or [None] * rows.shape[0], strict=True
        )
    ]


def paragraph(reasons: Sequence[ReasonText]) -> str:
    """Return reasons as one text: those for a real change, then those against it.

    Example:
        >>> paragraph([ReasonText("The new level held for 2 points.", -0.1)])
        'Against a real change: The new level held for 2 points.'
    """
    against = [reason.text for reason in reasons if reason.part is not None and reason.part < 0]
    text = [reason.text for reason in reasons if reason.text not in against]
    return " ".join([*text, *(["Against a real change:"] if against else []), *against])


def sentences(facets: Sequence[Facet], row: FeatureRow, limit: int = LIMIT) -> list[ReasonText]:
    """Return what the facets of a row say that contribute most, the most decisive first."""
    if not row.parts:
        return _worded([(f, f.text(row, f.columns[0]), None) for f in facets[:limit]])
    totals = sorted(((row.total(f.columns), f) for f in facets), key=lambda item: -abs(item[0]))
    least = SMALL * abs(totals[0][0]) if totals else 0.0
    named = [(total, f) for total, f in totals[:limit] if total and abs(total) >= least]
    return _once(_worded([(f, f.text(row, row.leading(f.columns)), total) for total, f in named]))


def _once(reasons: Sequence[ReasonText]) -> list[ReasonText]:
    """Return each sentence once, with the sum of its parts: facets may share one."""
    parts: dict[str, float] = {}
    for text, part in reasons:
        parts[text] = parts.get(text, 0.0) + (part or 0.0)
    known = [ReasonText(text, part) for text, part in parts.items()]
    return sorted(known, key=lambda reason: -abs(reason.part or 0.0))


def _worded(items: Sequence[tuple[Facet, str, float | None]]) -> list[ReasonText]:
    """Return the sentences; how far the level moved and how long it stayed are one sentence."""
    by_name = {facet.name: (text, part) for facet, text, part in items}
    step, hold = by_name.get(STEP), by_name.get(HOLD)
    prefix = "The new level held for "
    if step is None or hold is None or "," in step[0] or not hold[0].startswith(prefix):
        return [ReasonText(text, part) for _, text, part in items]
    if (step[1] or 0.0) * (hold[1] or 0.0) < 0:
        return [ReasonText(text, part) for _, text, part in items]
    joined = f"{step[0][:-1]} and stayed for {hold[0].removeprefix(prefix)}"
    part = None if step[1] is None or hold[1] is None else step[1] + hold[1]
    rest = [(f, text, total) for f, text, total in items if f.name not in (STEP, HOLD)]
    explained = [ReasonText(joined, part), *(ReasonText(text, total) for _, text, total in rest)]
    return sorted(explained, key=lambda reason: -abs(reason.part or 0.0))


@lru_cache
def _facets_of(columns: tuple[str, ...]) -> tuple[Facet, ...]:
    """Return the facets of a model; a column that has none becomes one of its own."""
    facets, remaining = [], dict.fromkeys(columns)
    for facet in (*STEP_FACETS, *NEWEST_FACETS):
        names = tuple(name for name in facet.columns if name in remaining)
        if names:
            facets.append(Facet(facet.name, names, facet.text))
            for name in names:
                del remaining[name]
    return (*facets, *(Facet(name, (name,), _plain) for name in remaining))


def _plain(row: FeatureRow, name: str) -> str:
    return f"{name.replace('_', ' ').capitalize()} is {row.values[name]:.3g}."
