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
from statistics import median
from typing import Any

from barograph.results.fields import FieldError
from barograph.results.series import Direction, SeriesId, Verdict
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import Format, InputFile, Items, Judgement, Result
from barograph.sources.formats.content import inner_files
from barograph.sources.formats.json_text import decode_json
from barograph.sources.formats.nodes import Node, also_in_folder

KEYS = {"signature_hash", "signature_id", "prev_push_revision"}
DEPTH = 6  # levels below which nothing is looked for
NOT_TRIAGED, REASSIGNED = 0, 2
REAL, NOISE = Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE
# A person who calls an alert downstream (1) or reassigns it says that the change is real, but that
# another push caused it. The others are invalid (3) and acknowledged (4).
STATUSES = {NOT_TRIAGED: Verdict.NOT_TRIAGED, 1: REAL, REASSIGNED: REAL, 3: NOISE, 4: REAL}
# Statuses of a summary that decide alerts without a status of their own.
SUMMARY_STATUSES = {3: NOISE, 5: Verdict.UNDER_INVESTIGATION}
MARKER = b"PERFHERDER_DATA:"
LINE = re.compile(r"PERFHERDER_DATA:\s*(\{.*\})")


@also_in_folder
def matches(file: InputFile) -> bool:
    """Whether a file is an export."""
    return any(place.rpartition("/")[2] in KEYS for place in file.places)


def read(file: InputFile) -> Items:
    """Yield all data points, then the verdicts on alerts."""
    export = _Export()
    for inner in inner_files(file) if file.folder else [file]:
        name = inner.name.removeprefix(f"{file.name}/") if file.folder else ""
        export.collect(Node(inner.json(), name))
    if not export.points and not export.summaries:
        raise DataError(f"{file.name}: holds neither performance data nor alerts")
    for signature, point in export.points:  # several jobs of one push are runs
        value = point["value"]
        if value.value is None:
            yield value.skip(file, "value is missing")
            continue
        described = export.described(signature, point.mapping())
        commit = point.first(("revision", "push__revision")).optional_text()
        time, run = point["push_timestamp"].time(), point["job_id"].optional_label()
        yield described._replace(value=value.number(), commit=commit, time=time, run=run)
    yield from export.judgements()


class _Export:
    """What an export holds; signatures are merged by their number from all places."""

    def __init__(self) -> None:
        self.points: list[tuple[str, Node]] = []
        self.summaries: dict[str, Node] = {}
        self._signatures: dict[str, dict[str, Any]] = {}
        self._described: dict[str, Result] = {}

    def collect(self, node: Node, level: int = 0) -> None:
        """Find signatures, data points and alert summaries at any place of the JSON."""
        keys = node.value.keys() if isinstance(node.value, dict) else set()
        if level > DEPTH:
            return
        if keys >= {"signature_id", "value"}:
            self.points.append((node["signature_id"].label(), node))
        elif "alerts" in keys:
            self._add_summary(node)
        elif keys >= {"signature_id", "data"}:  # as `performance/summary` answers
            signature = node["signature_id"].label()
            self.points += [(signature, point) for point in node["data"].entries()]
            self._describe(signature, {k: v for k, v in node.value.items() if k != "data"})
        elif keys >= {"signature_hash", "suite"}:
            number = node["id"].label() if "id" in keys else node.where.rpartition(".")[2]
            self._describe(number, node.value)
        elif isinstance(node.value, list):
            for entry in node.entries():
                self.collect(entry, level + 1)
        else:
            for key in keys:
                self.collect(Node(node.value[key], node, key), level + 1)

    def _describe(self, signature: str, about: Mapping[str, Any]) -> None:
        """Add what is known about a signature."""
        known = self._signatures.setdefault(signature, {})
        known.update({key: value for key, value in about.items() if value not in (None, "", [])})

    def _add_summary(self, summary: Node) -> None:
        """Add a summary of alerts, and the signatures in it."""
        self.summaries[_number(summary)] = summary
        repository = summary["repository"].value
        for alert in _alerts(summary):
            about = alert["series_signature"]
            described = about.mapping() | {"repository_name": repository}
            self._describe(about["id"].label(), described)

    def judgements(self) -> Iterator[Judgement]:
        """Yield a verdict for each alert; alerts of the same change count once."""
        once: dict[str, tuple[Node, Node]] = {}
        for summary in self.summaries.values():
            for alert in _alerts(summary):
                once.setdefault(_number(alert), (alert, summary))
        for alert, summary in once.values():
            status = alert.get("status", NOT_TRIAGED)
            if type(status.value) is not int or status.value not in STATUSES:
                raise FieldError(status.where, status.value, "is not a status of an alert (0 to 4)")
            verdict, overall = STATUSES[status.value], summary["status"].value
            if status.value == NOT_TRIAGED and type(overall) is int:
                verdict = SUMMARY_STATUSES.get(overall, verdict)
            # The summary that a reassigned alert now belongs to has the right push.
            related = str(alert["related_summary_id"].value) if status.value == REASSIGNED else ""
            push = self.summaries.get(related, summary)
            series = self.described(alert["series_signature"]["id"].label(), {}).series
            commit, time = push["revision"].optional_text(), push["push_timestamp"].time()
            yield Judgement(series, verdict, alert.where, None, commit, time)

    def described(self, signature: str, point: Mapping[str, Any]) -> Result:
        """Return the identity, the direction and the unit of a signature, without a value."""
        if signature not in self._described:
            about = self._signatures.get(signature, {})
            self._described[signature] = _described(signature, about, point)
        return self._described[signature]


def _number(node: Node) -> str:
    """Return the number of an alert or a summary, or else its place."""
    return node["id"].label() if "id" in node else node.where


def _alerts(summary: Node) -> Iterator[Node]:
    for key in ("alerts", "related_alerts"):
        yield from summary.get(key, []).entries()


def _described(signature: str, about: Mapping[str, Any], point: Mapping[str, Any]) -> Result:
    """Return the identity, the direction and the unit that a description says."""
    described = Node(about, f"signature {signature}: ")
    if "suite" not in about:
        name = Node(point, described.where)["signature_hash"].optional_text() or signature
        return Result(SeriesId("", "", "", name, ""), 0.0)
    keys = ("repository_name", "suite", "test", "application", "measurement_unit")
    project, suite, test, application, unit = (described[key].optional_text() for key in keys)
    variant = described.first(("machine_platform", "platform")).optional_text()
    options = described.get("extra_options", [])
    if not isinstance(options.value, list):  # all of them in one text
        options = Node([options.value], options.where)
    args = _args(options, application)
    lower = about.get("lower_is_better", True)  # left out where true
    return Result(SeriesId(project, variant, suite, test, "", args), 0.0, unit, _direction(lower))


def _args(options: Node, application: str) -> tuple[tuple[str, str], ...]:
    """Return what distinguishes suites of one name: their options, and the application."""
    words = " ".join(option.label() for option in options.entries())
    pairs = (("options", words), ("application", application))
    return tuple(pair for pair in pairs if pair[1])


def _direction(lower: object) -> Direction:
    return Direction.LOWER_IS_BETTER if lower else Direction.HIGHER_IS_BETTER


TITLE = "Perfherder: exported performance data and alert summaries, as JSON files or a folder"
FORMAT = Format("perfherder", TITLE, "history", matches, read)


def matches_log(file: InputFile) -> bool:
    """Whether a file is a log with such a line, or the JSON of one."""
    if {"/framework/name", "/suites"} <= file.places:
        return True
    return not file.is_json and MARKER in (file.content or b"")


def read_log(file: InputFile) -> Items:
    """Yield the values of all suites and subtests of all lines."""
    content = (file.content or b"").decode("utf-8-sig", "replace")
    if MARKER.decode() not in content:
        yield from _artifact(file, Node(file.json()))
        return
    has_line = False
    for number, text in enumerate(content.split("\n"), 1):
        for match in LINE.finditer(text):
            has_line = True
            data = decode_json(match[1], f"{file.name} line {number}")
            yield from _artifact(file, Node(data, f"line {number}: "))
    if not has_line:
        raise DataError(f"{file.name}: no JSON object after PERFHERDER_DATA:")


def _artifact(file: InputFile, artifact: Node) -> Items:
    """Yield the values of one artifact."""
    framework = artifact.get("framework", {})["name"].optional_text()
    application = artifact.get("application", {})["name"].optional_text()
    for suite in artifact["suites"].entries():
        name, args = suite["name"].text(), _args(suite.get("extraOptions", []), application)
        if suite["value"].value is not None:
            yield _result(suite, SeriesId(framework, "", name, "", "", args), suite)
        for subtest in suite.get("subtests", []).entries():
            test = subtest["name"].text()
            if subtest["value"].value is None and not subtest["replicates"].value:
                yield subtest["value"].skip(file, "value is missing")
            else:
                yield _result(subtest, SeriesId(framework, "", name, test, "", args), suite)


def _result(item: Node, series: SeriesId, suite: Node) -> Result:
    """Return the value of a suite or a subtest; without one, the median of its replicates."""
    value = item["value"]
    if value.value is None:
        value.value = median(each.number() for each in item["replicates"].entries())
    unit = (item if "unit" in item else suite)["unit"].optional_text()
    lower = item.value.get("lowerIsBetter", suite.value.get("lowerIsBetter", True))  # as defined
    return Result(series, value.number(), unit, _direction(lower))


LOG_TITLE = "Perfherder: a log with PERFHERDER_DATA lines, or perfherder-data.json"
LOG = Format("perfherder-log", LOG_TITLE, "run", matches_log, read_log)
