"""Read change point documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barograph.series import SeriesId
from barograph.sources.base import Document
from barograph.sources.fields import FieldError, identity_of, order_of, text_of, verdict_of
from barograph.sources.formats.base import Judgement
from barograph.sources.points import time_or_unknown
from barograph.sources.report import LoadReport, Skip


def read_candidate(
    document: Document, known: Mapping[SeriesId, SeriesId], report: LoadReport
) -> Judgement | None:
    """Read a document; one that cannot be used is counted and returns None.

    Args:
        document: The document.
        known: The identities of all series, each by itself: equal ones take memory once.
        report: Counts what is read and skipped.
    """
    report.read["candidates"] += 1
    place, fields = document
    try:
        series = _series_of(fields, known)
        triage = _mapping(fields.get("triage"), "triage")
        status = triage.get("triage_status")
        verdict = verdict_of(status, "triage.triage_status")
        order = order_of(fields.get("order"), "order")
        commit = text_of(fields.get("commit"), "commit")
        if order is None and commit is None:
            raise FieldError("order", None, "neither order nor commit")
    except FieldError as fault:
        report.skip("candidates", Skip(place, fault.field, fault.value, fault.reason))
        return None
    report.labels["none" if status is None else str(status)] += 1
    return Judgement(
        series,
        verdict,
        "commit" if order is None else "order",
        commit=commit or "",
        order=order,
        algorithm=_algorithm(fields.get("algorithm")),
        calculated_on=time_or_unknown(fields.get("calculated_on"), report),
        triaged_on=time_or_unknown(triage.get("triaged_on"), report),
    )


def _series_of(fields: Mapping[str, Any], known: Mapping[SeriesId, SeriesId]) -> SeriesId:
    """Return the series in `time_series_info`, or in the document itself."""
    info = fields.get("time_series_info")
    if info is None:
        identity = identity_of(fields)
    else:
        identity = identity_of(_mapping(info, "time_series_info"), "time_series_info.")
    if identity not in known:
        raise FieldError("time_series_info", str(identity), "no such series")
    return known[identity]


def _mapping(value: object, field: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise FieldError(field, value, "not a document")
    return value


def _algorithm(value: object) -> str:
    """Return the name and the version, separated by a space."""
    parts = [value.get("name"), value.get("version")] if isinstance(value, Mapping) else [value]
    text = " ".join(str(part) for part in parts if part is not None)
    return text.encode(errors="replace").decode()
