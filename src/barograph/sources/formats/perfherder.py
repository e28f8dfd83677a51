"""Exports of Perfherder (Treeherder), and logs with lines PERFHERDER_DATA.

An export holds performance data and alerts, whose statuses are verdicts. Read are the answers of
`performance/data`, `performance/summary`, `performance/signatures` and
`performance/alertsummary`, alone, in one file under any keys, or as the files of a folder.

A log, or the JSON of one of its lines, is one run:

    PERFHERDER_DATA: {"framework": {"name": "talos"}, "suites": [{"name": "tp5", "value": 210.5,
        "subtests": [{"name": "bbc.co.uk", "value": 190.2, "unit": "ms"}]}]}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from barograph.results.fields import FieldError
from barograph.results.series import Direction, SeriesId, Verdict
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import Format, InputFile, Judgement, Result
from barograph.sources.formats.content import inner_files
from barograph.sources.formats.json_text import decode_json
from barograph.sources.formats.nodes import Node, also_in_folder
from barograph.sources.report import Skip

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
MARKER = b"PERFHERDER_DATA:"
LINE = re.compile(r"PERFHERDER_DATA:\s*(\{.*\})")
NAMES = {"untriaged": 0, "downstream": 1, "reassigned": 2, "invalid": 3, "acknowledged": 4}


@also_in_folder
def matches(file: InputFile) -> bool:
    """Whether a file is an export."""
    return any(place.rpartition("/")[2] in KEYS for place in file.places)


def read(file: InputFile) -> Iterator[Result | Judgement | Skip]:
    """Yield all data points, then the verdicts on alerts."""
    export = _Export(file)
    for inner in inner_files(file) if file.folder else [file]:
        name = inner.name.removeprefix(f"{file.name}/") if file.folder else ""
        export.collect(Node(inner.json(), name))
    if not export.points and not export.summaries:
        raise DataError(f"{file.name}: holds neither performance data nor alerts")
    yield from export.results()
    yield from export.judgements()


@dataclass
class _Export:
    """What an export holds; signatures are merged by their number from all places."""

    file: InputFile
    signatures: dict[str, dict[str, Any]] = field(default_factory=dict)
    points: list[tuple[str, Node]] = field(default_factory=list)
    summaries: dict[str, Node] = field(default_factory=dict)
    ids: dict[str, tuple[SeriesId, Direction, str]] = field(default_factory=dict)

    def collect(self, node: Node, level: int = 0) -> None:
        """Find signatures, data points and alert summaries at any place of the JSON."""
        value = node.value
        if level > DEPTH:
            return
        if isinstance(value, list):
            for entry in node.entries():
                self.collect(entry, level + 1)
        elif isinstance(value, dict):
            if "signature_id" in value and "value" in value:
                self.points.append((node["signature_id"].label(), node))
            elif "alerts" in value:
                self._summary(node)
            elif "signature_id" in value and "data" in value:  # as `performance/summary` answers
                signature = node["signature_id"].label()
                self.points += [(signature, point) for point in node["data"].entries()]
                self._describe(signature, {k: v for k, v in value.items() if k != "data"})
            elif "signature_hash" in value and "suite" in value:
                number = node["id"].label() if "id" in value else node.where.rpartition(".")[2]
                self._describe(number, value)
            else:
                for key, item in value.items():
                    self.collect(Node(item, node, key), level + 1)

    def _describe(self, signature: str, about: Mapping[str, Any]) -> None:
        """Add what is known about a signature."""
        known = self.signatures.setdefault(signature, {})
        known.update({key: value for key, value in about.items() if value not in (None, "", [])})

    def _summary(self, summary: Node) -> None:
        """Add a summary of alerts, and the signatures in it."""
        number = summary["id"].label() if "id" in summary else summary.where
        self.summaries[number] = summary
        repository = summary["repository"].value
        for alert in _alerts(summary):
            about = alert["series_signature"]
            described = about.mapping() | {"repository_name": repository}
            self._describe(about["id"].label(), described)

    def results(self) -> Iterator[Result | Skip]:
        """Yield the data points; several jobs of one push are runs."""
        for signature, point in self.points:
            value = point["value"]
            if value.value is None:
                yield value.skip(self.file, "value is missing")
                continue
            series, direction, unit = self._identity(signature, point.mapping())
            commit = point["revision" if "revision" in point else "push__revision"].optional_text()
            time, run = point["push_timestamp"].time(), point["job_id"].optional_label()
            yield Result(series, value.number(), unit, direction, None, commit, time, run)

    def judgements(self) -> Iterator[Judgement]:
        """Yield a verdict for each alert; alerts of the same change count once."""
        seen = set()
        for summary in self.summaries.values():
            for alert in _alerts(summary):
                number = alert["id"].label() if "id" in alert else alert.where
                if number in seen:
                    continue
                seen.add(number)
                yield self._judgement(alert, summary)

    def _judgement(self, alert: Node, summary: Node) -> Judgement:
        status = _status(alert["status"])
        verdict = STATUSES[status]
        if status == 0:
            overall = summary["status"].value
            verdict = SUMMARY_STATUSES.get(overall, verdict) if type(overall) is int else verdict
        if status == REASSIGNED:  # the summary that it now belongs to has the right push
            summary = self.summaries.get(str(alert["related_summary_id"].value), summary)
        series, _direction, _unit = self._identity(alert["series_signature"]["id"].label(), {})
        commit, time = summary["revision"].optional_text(), summary["push_timestamp"].time()
        return Judgement(series, verdict, alert.where, None, commit, time)

    def _identity(
        self, signature: str, point: Mapping[str, Any]
    ) -> tuple[SeriesId, Direction, str]:
        """Return the identity, the direction and the unit of a signature."""
        known = self.ids.get(signature)
        if known is None:
            about = self.signatures.get(signature, {})
            known = self.ids[signature] = _described(signature, about, point)
        return known


def _alerts(summary: Node) -> Iterator[Node]:
    for key in ("alerts", "related_alerts"):
        yield from summary.get(key, []).entries()


def _described(
    signature: str, about: Mapping[str, Any], point: Mapping[str, Any]
) -> tuple[SeriesId, Direction, str]:
    """Return the identity, the direction and the unit that a description says."""
    described = Node(about, f"signature {signature}: ")
    if "suite" not in about:
        name = Node(point, described.where)["signature_hash"].optional_text() or signature
        return SeriesId("", "", "", name, ""), Direction.UNKNOWN, ""
    keys = ("repository_name", "suite", "test", "application", "measurement_unit")
    project, suite, test, application, unit = (described[key].optional_text() for key in keys)
    variant = described.first(("machine_platform", "platform")).optional_text()
    args = []
    options = described["extra_options"]
    if options.value is not None:
        words = options.entries() if isinstance(options.value, list) else [options]
        args.append(("options", " ".join(word.label() for word in words)))
    args += [("application", application)] if application else []
    lower = about.get("lower_is_better", True)  # left out where true
    direction = Direction.LOWER_IS_BETTER if lower else Direction.HIGHER_IS_BETTER
    return SeriesId(project, variant, suite, test, "", tuple(args)), direction, unit


def _status(status: Node) -> int:
    """Return the number of an alert's status; exports to tables write the name."""
    value = 0 if status.value is None else status.value
    if isinstance(value, str):
        value = NAMES.get(value.strip().lower(), value)
    if type(value) is int and value in STATUSES:
        return value
    raise FieldError(status.where, status.value, "is not a status of an alert (0 to 4)")


TITLE = "Perfherder: exported performance data and alert summaries, as JSON files or a folder"
FORMAT = Format("perfherder", TITLE, "history", matches, read)


def matches_log(file: InputFile) -> bool:
    """Whether a file is a log with such a line, or the JSON of one."""
    if {"/framework/name", "/suites"} <= file.places:
        return True
    return not file.is_json and MARKER in (file.content or b"")


def read_log(file: InputFile) -> Iterator[Result | Judgement | Skip]:
    """Yield the values of all suites and subtests of all lines."""
    content = (file.content or b"").decode("utf-8-sig", "replace")
    has_line = False
    line, start = 1, 0
    for match in LINE.finditer(content):
        line += content.count("\n", start, match.start())
        start, has_line = match.start(), True
        data = decode_json(match[1], f"{file.name} line {line}")
        yield from _artifact(file, Node(data, f"line {line}: "))
    if not has_line:
        if MARKER.decode() in content:
            raise DataError(f"{file.name}: no JSON object after PERFHERDER_DATA:")
        yield from _artifact(file, Node(file.json()))


def _artifact(file: InputFile, artifact: Node) -> Iterator[Result | Skip]:
    """Yield the values of one artifact."""
    framework = artifact.get("framework", {})["name"].optional_text()
    application = artifact.get("application", {})["name"].optional_text()
    for suite in artifact["suites"].entries():
        name, args = suite["name"].text(), _args(suite, application)
        if suite["value"].value is not None:
            yield _result(suite, SeriesId(framework, "", name, "", "", args), suite)
        for subtest in suite.get("subtests", []).entries():
            test = subtest["name"].text()
            if subtest["value"].value is None and not subtest["replicates"].value:
                yield subtest["value"].skip(file, "value is missing")
                continue
            yield _result(subtest, SeriesId(framework, "", name, test, "", args), suite)


def _args(suite: Node, application: str) -> tuple[tuple[str, str], ...]:
    """Return what distinguishes suites of one name: their options, and the application."""
    options = [option.label() for option in suite.get("extraOptions", []).entries()]
    args = [("options", " ".join(options))] if options else []
    return (*args, *([("application", application)] if application else []))


def _result(item: Node, series: SeriesId, suite: Node) -> Result:
    """Return the value of a suite or a subtest; without one, the median of its replicates."""
    value = item["value"]
    if value.value is None:
        value.value = median(each.number() for each in item["replicates"].entries())
    unit = (item if "unit" in item else suite)["unit"].optional_text()
    lower = item.value.get("lowerIsBetter", suite.value.get("lowerIsBetter", True))  # as defined
    direction = Direction.LOWER_IS_BETTER if lower else Direction.HIGHER_IS_BETTER
    return Result(series, value.number(), unit, direction)


LOG_TITLE = "Perfherder: a log with PERFHERDER_DATA lines, or perfherder-data.json"
LOG = Format("perfherder-log", LOG_TITLE, "run", matches_log, read_log)
