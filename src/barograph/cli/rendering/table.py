"""The answers as CSV: a row for each answer on a series, with a header."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from barograph.cli.answers import JobAnswer, SeriesAnswer
from barograph.cli.rendering.words import unjudged

COLUMNS = (
    *("kind", "series", "fails", "way", "percent", "probability", "order", "commit", "begins"),
    *("begins_commit", "runs", "reruns", "baseline_size", "reason", "suppressed", "suspect_reason"),
)


def rows(job: JobAnswer) -> Iterator[list[Any]]:
    """Yield the rows; series that were not judged have a row with their kind alone."""
    for answer in job.answers:
        yield _row(answer, job.kind_of(answer) or "quiet", fails=job.fails(answer))
    for name, kind in unjudged(job).items():
        yield [kind, encodable(name), *[""] * (len(COLUMNS) - 2)]


def _row(answer: SeriesAnswer, kind: str, *, fails: bool) -> list[Any]:
    first = (kind, encodable(answer.series), "yes" if fails else "no")
    values = [getattr(answer, name) for name in COLUMNS[len(first) :]]
    return [*first, *("" if _is_unknown(value) else value for value in values)]


def encodable(name: str) -> str:
    """Return a name that UTF-8 can hold: lone surrogates become question marks."""
    return name.encode("utf-8", "replace").decode()


def _is_unknown(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
