"""Exports of Perfherder (Treeherder): performance data and alerts, whose statuses are verdicts.

Read are the answers of `performance/data`, `performance/summary`, `performance/signatures` and
`performance/alertsummary`, alone, in one file under any keys, or as the files of a folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from barograph.errors import DataError
from barograph.series import Direction, SeriesId, Verdict
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.base import (
    Format,
    InputFile,
    Judgement,
    Result,
    Sample,
)
from barograph.sources.formats.dates import time_ms
from barograph.sources.formats.nodes import array, at, label, mapping, optional_text, skipped
from barograph.sources.formats.numbers import number
from barograph.sources.formats.outline import json_files, json_samples, outline

KEYS = {"signature_hash", "signature_id", "prev_push_revision"}
DEPTH = 6  # levels below which nothing is looked for
REAL, NOISE = Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE
# A person who calls an alert downstream or reassigns it says that the change is real, but that
# another push caused it.
DOWNSTREAM, REASSIGNED = 1, 2
STATUSES = {
    0: Verdict.NOT_TRIAGED,
    DOWNSTREAM: REAL,
    REASSIGNED: REAL,
    3: NOISE,  # invalid
    4: REAL,  # acknowledged
}
# Statuses of a summary that decide alerts without a status of their own.
SUMMARY_STATUSES = {3: NOISE, 5: Verdict.UNDER_INVESTIGATION}
NAMES = {"untriaged": 0, "downstream": 1, "reassigned": 2, "invalid": 3, "acknowledged": 4}


def matches(sample: Sample) -> bool:
    """Whether a file, or one of the first files of a folder, is an export."""
    if sample.path is not None and sample.is_folder:
        return any(matches(inner) for inner in json_samples(sample.path))
    return any(place.rpartition("/")[2] in KEYS for place in outline(sample))


def read(file: InputFile) -> Iterator[Result | Judgement | Skip]:
    """Yield all data points, then the verdicts on alerts."""
    export = _Export(file)
    if file.content is not None:
        export.collect(file.json(), "")
    elif file.path is not None:
        for path in json_files(file.path):
            name = path.relative_to(file.path).as_posix()
            export.collect(InputFile.inside(path, f"{file.name}/{name}").json(), name)
    if not export.points and not export.summaries:
        raise DataError(f"{file.name}: holds neither performance data nor alerts")
    yield from export.results()
    yield from export.judgements()


@dataclass
class _Export:
    """What an export holds; signatures are merged by their number from all places."""

    file: InputFile
    signatures: dict[str, dict[str, Any]] = field(default_factory=dict)
    points: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    summaries: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    ids: dict[str, tuple[SeriesId, Direction, str]] = field(default_factory=dict)

    def collect(self, value: object, where: str, level: int = 0) -> None:
        """Find signatures, data points and alert summaries at any place of the JSON."""
        if level > DEPTH:
            return
        if isinstance(value, list):
            for index, item in enumerate(value):
                self.collect(item, f"{where}[{index}]", level + 1)
        elif isinstance(value, dict):
            if "signature_id" in value and "value" in value:
                signature = label(value["signature_id"], f"{where}.signature_id")
                self.points.append((where, signature, value))
            elif "alerts" in value:
                self._summary(value, where)
            elif "signature_id" in value and "data" in value:
                self._series(value, where)
            elif "signature_hash" in value and "suite" in value:
                number_of = value.get("id", where.rpartition(".")[2])
                self._describe(label(number_of, f"{where}.id"), value)
            else:
                for key, item in value.items():
                    self.collect(item, at(where, key), level + 1)

    def _describe(self, signature: str, about: Mapping[str, Any]) -> None:
        """Add what is known about a signature."""
        known = self.signatures.setdefault(signature, {})
        known.update({key: value for key, value in about.items() if value not in (None, "", [])})

    def _series(self, value: dict[str, Any], where: str) -> None:
        """Add a signature with its data, as `performance/summary` answers."""
        signature = label(value["signature_id"], f"{where}.signature_id")
        data = array(value["data"], f"{where}.data")
        self._describe(signature, {key: item for key, item in value.items() if key != "data"})
        for index, item in enumerate(data):
            here = f"{where}.data[{index}]"
            self.points.append((here, signature, mapping(item, here)))

    def _summary(self, value: dict[str, Any], where: str) -> None:
        """Add a summary of alerts, and the signatures in it."""
        number_of = label(value.get("id", where), f"{where}.id")
        self.summaries[number_of] = (where, value)
        for key in ("alerts", "related_alerts"):
            for index, item in enumerate(array(value.get(key) or [], f"{where}.{key}")):
                here = f"{where}.{key}[{index}]"
                about = mapping(
                    mapping(item, here).get("series_signature"), f"{here}.series_signature"
                )
                signature = label(about.get("id"), f"{here}.series_signature.id")
                repository = value.get("repository")
                self._describe(signature, dict(about) | {"repository_name": repository})

    def results(self) -> Iterator[Result | Skip]:
        """Yield the data points; several jobs of one push are runs."""
        for where, signature, point in self.points:
            value = point.get("value")
            if value is None:
                yield skipped(self.file, f"{where}.value", value, "value is missing")
                continue
            series, direction, unit = self._identity(signature, point)
            revision = point.get("revision", point.get("push__revision"))
            job = point.get("job_id")
            yield Result(
                series,
                number(value, f"{where}.value"),
                where,
                unit,
                direction,
                None,
                optional_text(revision, f"{where}.revision"),
                time_ms(point.get("push_timestamp"), f"{where}.push_timestamp"),
                "" if job is None else label(job, f"{where}.job_id"),
            )

    def judgements(self) -> Iterator[Judgement]:
        """Yield a verdict for each alert; alerts of the same change count once."""
        seen = set()
        for where, summary in self.summaries.values():
            for key in ("alerts", "related_alerts"):
                for index, alert in enumerate(summary.get(key) or []):
                    here = f"{where}.{key}[{index}]"
                    number_of = label(alert.get("id", here), f"{here}.id")
                    if number_of in seen:
                        continue
                    seen.add(number_of)
                    yield self._judgement(alert, summary, here)

    def _judgement(self, alert: dict[str, Any], summary: dict[str, Any], where: str) -> Judgement:
        status = _status(alert.get("status"), f"{where}.status")
        verdict = STATUSES[status]
        if status == 0:
            overall = summary.get("status")
            verdict = SUMMARY_STATUSES.get(overall, verdict) if type(overall) is int else verdict
        if status == REASSIGNED:  # the summary that it now belongs to has the right push
            summary = self._related(alert, summary)
        series, _direction, _unit = self._identity(
            label(alert["series_signature"]["id"], where), {}
        )
        return Judgement(
            series,
            verdict,
            where,
            None,
            optional_text(summary.get("revision"), f"{where}: revision"),
            time_ms(summary.get("push_timestamp"), f"{where}: push_timestamp"),
        )

    def _related(self, alert: dict[str, Any], summary: dict[str, Any]) -> dict[str, Any]:
        """Return the summary that an alert was reassigned to, if the export has it."""
        related = alert.get("related_summary_id")
        return self.summaries.get(str(related), ("", summary))[1]

    def _identity(
        self, signature: str, point: Mapping[str, Any]
    ) -> tuple[SeriesId, Direction, str]:
        """Return the identity, the direction and the unit of a signature."""
        known = self.ids.get(signature)
        if known is None:
            about = self.signatures.get(signature, {})
            known = self.ids[signature] = _described(signature, about, point)
        return known


def _described(
    signature: str, about: Mapping[str, Any], point: Mapping[str, Any]
) -> tuple[SeriesId, Direction, str]:
    """Return the identity, the direction and the unit that a description says."""
    where = f"signature {signature}"
    if "suite" not in about:
        name = optional_text(point.get("signature_hash"), f"{where}: signature_hash") or signature
        return SeriesId("", "", "", name, ""), Direction.UNKNOWN, ""
    keys = ("repository_name", "suite", "test")
    project, suite, test = (optional_text(about.get(key), f"{where}: {key}") for key in keys)
    platform = about.get("machine_platform", about.get("platform"))
    variant = optional_text(platform, f"{where}: platform")
    args = []
    options = about.get("extra_options")
    if options is not None:
        words = options if isinstance(options, list) else [options]
        args.append(("options", " ".join(label(word, f"{where}: extra_options") for word in words)))
    application = optional_text(about.get("application"), f"{where}: application")
    args += [("application", application)] if application else []
    lower = about.get("lower_is_better", True)  # left out where true
    direction = Direction.LOWER_IS_BETTER if lower else Direction.HIGHER_IS_BETTER
    unit = optional_text(about.get("measurement_unit"), f"{where}: measurement_unit")
    return SeriesId(project, variant, suite, test, "", tuple(args)), direction, unit


def _status(value: object, where: str) -> int:
    """Return the number of an alert's status; exports to tables write the name."""
    if value is None:
        return 0
    if isinstance(value, str):
        value = NAMES.get(value.strip().lower(), value)
    if type(value) is int and value in STATUSES:
        return value
    raise FieldError(where, value, "is not a status of an alert (0 to 4)")


TITLE = "Perfherder: exported performance data and alert summaries, as JSON files or a folder"
FORMAT = Format("perfherder", TITLE, "history", matches, read)
