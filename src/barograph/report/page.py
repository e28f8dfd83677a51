"""A report: one page with the changes of a history, without any request to the network."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING, Any

from barograph import __version__
from barograph.report.changes import EFFECTS, Findings, ReportedChange
from barograph.report.javascript import bundle
from barograph.report.packing import ChartData
from barograph.results.series import UNKNOWN_TIME, Series
from barograph.results.wording import (
    BETTER,
    CHANGED,
    TREND,
    WORSE,
    change_text,
    middle_cut,
    number,
    place_text,
    plural,
    printable,
    probability_text,
    typeset,
    unit_text,
)

if TYPE_CHECKING:
    from jinja2 import Template

TITLE = "Barograph report"
NAME, REST, HEADING = 72, 120, 200  # longest names in the table and in a heading
SEPARATOR = " \u00b7 "
SUSPECT = "suspect"
FILTERS = {WORSE: "Worse", CHANGED: "Direction unknown", TREND: "Trend", BETTER: "Better"}


@dataclass(frozen=True)
class Report:
    """The contents of a report.

    Args:
        findings: The changes.
        title: What the report is about, shown above the result.
        command: The command that made it; empty for none.
        note: What was searched for, as a sentence.
        suspects: The names of the series whose newest result is a suspect, each with a sentence.
    """

    findings: Findings
    title: str = TITLE
    command: str = ""
    note: str = ""
    suspects: Sequence[tuple[str, str]] = ()

    def html(self) -> str:
        """Return the page.

        Example:
            >>> import numpy as np
            >>> from barograph.results.series import Series, SeriesId
            >>> series = Series(SeriesId("", "", "", "insert", ""), np.arange(9), np.ones(9))
            >>> "0 of 1 series changed" in Report(Findings([series], [[]])).html()
            True
        """
        files = _assets()
        style, script = files["tokens.css"] + files["report.css"], bundle("report.js", files)
        data = ChartData(len(self.findings.changed))
        for k in self.findings.changed:
            data.add(self.findings.series[k], self.findings.changes[k])
        # Only these two pieces of code may run, and nothing may be requested.
        policy = (
            f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
            "base-uri 'none'; form-action 'none'"
        )
        from markupsafe import Markup

        return _template().render(
            page=self,
            policy=policy,
            style=Markup(style),  # noqa: S704 - files of this package
            script=Markup(script),  # noqa: S704
            data=Markup(data.json()),  # noqa: S704 - the JSON has no < and no &
            version=__version__,
        )

    @property
    def made(self) -> str:
        """When the report was made."""
        return f"{datetime.now(UTC):%-d %B %Y, %H:%M} UTC"

    @property
    def changed_text(self) -> str:
        """How many changes there are, and in how many series."""
        findings = self.findings
        series = f"{len(findings.changed):,} of {len(findings.series):,} series"
        count = len(findings.worst_first)
        return f"{plural(count, 'change')} in {series}" if count else f"{series} changed"

    @property
    def counts(self) -> list[tuple[str, str]]:
        """The number of changes of each effect in words, with the effect."""
        counted = [(self.findings.count(effect), effect) for effect in EFFECTS]
        counts = [(_counted(count, effect), effect) for count, effect in counted if count]
        return [*counts, *([(plural(len(self.suspects), SUSPECT), SUSPECT)] * bool(self.suspects))]

    @property
    def headline(self) -> str:
        """The result as one line of plain text."""
        return ": ".join(filter(None, [self.changed_text, ", ".join(t for t, _ in self.counts)]))

    @property
    def summary(self) -> str:
        """What did not change, and what was searched for."""
        quiet, short = len(self.findings.quiet), len(self.findings.too_short)
        parts = [f"{quiet:,} did not change." if quiet else ""]
        if short:
            parts.append(f"{short:,} {'have' if short > 1 else 'has'} too few results to search.")
        return " ".join(filter(None, [*parts, self.note]))

    @property
    def has_probability(self) -> bool:
        """Whether a model scored the changes."""
        return any(c.point.probability is not None for c in self.findings.worst_first)

    @property
    def filters(self) -> list[tuple[str, str]]:
        """The filters that separate the changes; none if all have one effect."""
        present = [effect for effect in EFFECTS if self.findings.count(effect)]
        return [("all", "All"), *((e, FILTERS[e]) for e in present)] if len(present) > 1 else []

    @cached_property
    def _card_of(self) -> dict[int, int]:
        return {number_: card for card, number_ in enumerate(self.findings.changed)}

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table: one for each change, the worst first."""
        return [self._row(change) for change in self.findings.rows]

    def _row(self, change: ReportedChange) -> dict[str, Any]:
        series = self.findings.series[change.series]
        name, rest = names_of(series)
        kind = self.findings.kind_text(change.series)
        rest = SEPARATOR.join(filter(None, [kind, rest]))
        named = " ".join(f"{other.commit} {other.subject}" for other in (change, *change.switches))
        full = printable(f"{series.id} {named}")
        probability = change.point.probability
        is_cut = len(name) > NAME or len(rest) > REST
        return {
            "card": self._card_of[change.series],
            "index": change.point.index,
            "effect": change.effect,
            "name": middle_cut(name, NAME),
            "rest": middle_cut(rest, REST),
            "switches": change.switch_text,
            "text": full.lower() if is_cut or change.subject or change.switches else "",
            "change": typeset(change_text(change.size.percent)),
            "percent": round(min(change.size.percent, 1e9), 4),
            "probability": 0 if probability is None else round(probability, 4),
            "real": "" if probability is None else probability_text(probability),
            "commit": middle_cut(place_text(change.commit, change.order), 16),
            "time": change.order if change.time == UNKNOWN_TIME else change.time // 1000,
        }

    @property
    def cards(self) -> Iterator[dict[str, Any]]:
        """A card for each series that changed, in the order of their worst changes."""
        for number_ in self.findings.changed:
            series, changes = self.findings.series[number_], self.findings.changes[number_]
            name, rest = names_of(series)
            way = series.direction.name.lower().replace("_", " ") if series.direction else ""
            kind = self.findings.kind_text(number_)
            about = SEPARATOR.join(filter(None, [kind, rest, way, plural(len(series), "result")]))
            words = ", ".join(f"{change_text(c.size.percent)} {c.effect}" for c in changes[-5:])
            yield {
                "name": middle_cut(name, HEADING),
                "about": middle_cut(about, HEADING),
                "label": f"Chart of {plural(len(series), 'result')} with "
                f"{plural(len(changes), 'change')}: {typeset(words)}. Left and right read results.",
                "changes": [
                    _described(c, series.unit) for c in reversed(self.findings.listed[number_])
                ],
            }

    @property
    def others(self) -> list[tuple[str, list[str]]]:
        """The series without a card, in groups that are folded."""
        groups = {
            "did not change": self.findings.quiet,
            "with too few results to search": self.findings.too_short,
        }
        return [
            (
                f"{len(numbers):,} series {title}",
                [middle_cut(printable(str(self.findings.series[k].id)), NAME) for k in numbers],
            )
            for title, numbers in groups.items()
            if numbers
        ]


def _counted(count: int, effect: str) -> str:
    if effect == TREND:
        return plural(count, TREND)
    return f"{count:,} {'of unknown direction' if effect == CHANGED else effect}"


def names_of(series: Series) -> tuple[str, str]:
    """Return what people call a series, and the rest of its identity."""
    labels = series.id.labels
    test = labels.pop("test") or labels["measurement"]
    rest = [labels[key] for key in ("measurement", "task", "variant", "project")]
    args = [f"{key}={value}" for key, value in series.id.args]
    parts = [part for part in [*args, *rest] if part and part != test]
    return printable(test or "series"), printable(SEPARATOR.join(parts))


def _described(change: ReportedChange, unit: str) -> dict[str, str]:
    before, after = (typeset(number(level)) for level in change.size[:2])
    probability = change.point.probability
    place, when = change.where
    against = [r.text for r in change.reasons if r.part is not None and r.part < 0]
    reasons = [r.text for r in change.reasons if r.text not in against]
    switches = f"{change.switch_text}." if change.switches else ""
    if against:
        reasons.append("Against: " + " ".join(against))
    return {
        "effect": change.effect,
        "change": typeset(change_text(change.size.percent)),
        "real": "" if probability is None else probability_text(probability),
        "levels": f"{before} \u2192 {after} {unit_text(unit)}".rstrip(),
        "place": f"at {', '.join(filter(None, [middle_cut(place, 64), when]))}.",
        "subject": middle_cut(printable(change.subject), HEADING),
        "why": " ".join(filter(None, [switches, typeset(" ".join(reasons))])),
    }


@lru_cache(maxsize=1)
def _template() -> Template:
    from jinja2 import Environment

    source = resources.files("barograph.report").joinpath("templates", "report.html")
    environment = Environment(autoescape=True, trim_blocks=False)
    return environment.from_string(source.read_text(encoding="utf-8"))


def _assets() -> dict[str, str]:
    """Return the styles and scripts of the report by name."""
    folder = resources.files("barograph.report").joinpath("static")
    return {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}


def _hash(code: str) -> str:
    return f"sha256-{b64encode(sha256(code.encode()).digest()).decode()}"
