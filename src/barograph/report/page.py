"""A report: one page with the changes of a history, without any request to the network.

Its scripts stand in it as one module. So do those of a page of the board: it needs fewer requests.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib import resources
from typing import Any

from jinja2 import Environment

from barograph import __version__
from barograph.report.changes import EFFECTS, SLOW, Findings, ReportedChange
from barograph.report.panel import chart_data
from barograph.results.series import UNKNOWN_TIME
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

IMPORT = re.compile(r'^import (?:({[^}]+}) from )?"\./([a-z_]+\.js)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:(?:async )?function|const|class) (\w+))", re.MULTILINE)
NAME, REST, HEADING = 72, 120, 200  # longest names in the table and in a heading
SEPARATOR = " \u00b7 "
SUSPECT = "suspect"
FILTERS = {WORSE: "Worse", CHANGED: "Direction unknown", TREND: "Trend", BETTER: "Better"}


def report_page(
    findings: Findings, command: str = "", note: str = "", suspects: Sequence[tuple[str, str]] = ()
) -> str:
    """Return the page.

    Args:
        findings: The changes.
        command: The command that made it; empty for none.
        note: What was searched for, as a sentence.
        suspects: The names of the series whose newest result is a suspect, each with a sentence.

    Example:
        >>> import numpy as np
        >>> from barograph.results.series import Series, SeriesId
        >>> series = Series(SeriesId("", "", "", "insert", ""), np.arange(9), np.ones(9))
        >>> "0 of 1 series changed" in report_page(Findings([series], [[]]))
        True
    """
    from markupsafe import Markup

    folder = resources.files("barograph.report")
    files = {file.name: file.read_text("utf-8") for file in folder.joinpath("static").iterdir()}
    style, script = files["tokens.css"] + files["report.css"], bundle("report.js", files)
    changed, worst = findings.changed, findings.worst_first
    count, series = len(worst), f"{len(changed):,} of {len(findings.series):,} series"
    cards = {number_: card for card, number_ in enumerate(changed)}
    present = {effect: n for effect in EFFECTS if (n := findings.count(effect))}
    counts: dict[str, str] = {effect: f"{n:,} {effect}" for effect, n in present.items()}
    if CHANGED in present:
        counts[CHANGED] = f"{present[CHANGED]:,} of unknown direction"
    if TREND in present:
        counts[TREND] = plural(present[TREND], TREND)
    for kind, noun in SLOW.items():
        if found := findings.count_slow(kind):
            counts[kind] = plural(found, noun)
    if suspects:
        counts[SUSPECT] = plural(len(suspects), SUSPECT)
    filters: dict[str, str] = {"all": "All", **{effect: FILTERS[effect] for effect in present}}
    slow = findings.slow or [()] * len(findings.series)
    data = chart_data([(findings.series[k], [*findings.changes[k], *slow[k]]) for k in changed])
    source = folder.joinpath("templates", "report.html").read_text("utf-8")
    template = Environment(autoescape=True).from_string(source)
    return template.render(
        # Only these two pieces of code may run, and nothing may be requested.
        policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'",
        style=Markup(style),  # noqa: S704 - files of this package
        script=Markup(script),  # noqa: S704
        data=Markup(data),  # noqa: S704 - the JSON has no < and no &
        version=__version__,
        made=f"{datetime.now(UTC):%-d %B %Y, %H:%M} UTC",
        command=command,
        suspects=suspects,
        changed=f"{plural(count, 'change')} in {series}" if count else f"{series} changed",
        counts=counts,
        summary=_summary(findings, note),
        filters=filters if len(present) > 1 else {},
        has_probability=any(change.point.probability is not None for change in worst),
        rows=[{"card": cards[c.series], **_row(findings, c)} for c in findings.rows],
        cards=[_card(findings, number_) for number_ in changed],
        others=_others(findings),
    )


def _summary(findings: Findings, note: str) -> str:
    """Return what did not change, and what was searched for."""
    quiet, short = len(findings.quiet), len(findings.too_short)
    parts = [f"{quiet:,} did not change."] * bool(quiet)
    has = "have" if short > 1 else "has"
    parts += [f"{short:,} {has} too few results to search."] * bool(short)
    return " ".join(filter(None, [*parts, note]))


def _names(findings: Findings, number_: int) -> tuple[str, str]:
    """Return what people call a series, and the rest of its identity with its kind."""
    identity = findings.series[number_].id
    labels = identity.labels
    test = labels.pop("test") or labels["measurement"]
    rest = [labels[key] for key in ("measurement", "task", "variant", "project")]
    args = [f"{key}={value}" for key, value in identity.args]
    parts = [part for part in [*args, *rest] if part and part != test]
    kind = findings.kind_of(number_).replace("_", " ")
    shown = [kind, printable(SEPARATOR.join(parts))]
    return printable(test or "series"), SEPARATOR.join(filter(None, shown))


def _row(findings: Findings, change: ReportedChange) -> dict[str, Any]:
    """Return a row of the table."""
    series, probability = findings.series[change.series], change.point.probability
    name, about = _names(findings, change.series)
    named = " ".join(f"{other.commit} {other.subject}" for other in (change, *change.switches))
    full = printable(f"{series.id} {named}")
    is_cut = len(name) > NAME or len(about) > REST
    return {
        "index": change.point.index,
        "effect": change.effect,
        "word": change.word,
        "name": middle_cut(name, NAME),
        "rest": middle_cut(about, REST),
        "note": SEPARATOR.join(filter(None, ["new" * change.point.is_new, change.note])),
        "text": full.lower() if is_cut or change.subject or change.switches else "",
        "change": typeset(change.amount),
        "percent": round(min(change.size.percent, 1e9), 4),
        "probability": 0 if probability is None else round(probability, 4),
        "real": "" if probability is None else probability_text(probability),
        "commit": middle_cut(place_text(change.commit, change.order), 16),
        "time": change.order if change.time == UNKNOWN_TIME else change.time // 1000,
    }


def _card(findings: Findings, number_: int) -> dict[str, Any]:
    """Return the card of a series that changed."""
    series, changes = findings.series[number_], findings.changes[number_]
    name, rest = _names(findings, number_)
    way = series.direction.name.lower().replace("_", " ") if series.direction else ""
    about = SEPARATOR.join(filter(None, [rest, way, plural(len(series), "result")]))
    words = ", ".join(f"{change_text(c.size.percent)} {c.effect}" for c in changes[-5:])
    listed = reversed(findings.listed[number_])
    return {
        "name": middle_cut(name, HEADING),
        "about": middle_cut(about, HEADING),
        "label": f"Chart of {plural(len(series), 'result')} with "
        f"{plural(len(changes), 'change')}: {typeset(words)}. Left and right read results.",
        "changes": [_described(change, series.unit) for change in listed],
    }


def _others(findings: Findings) -> dict[str, list[str]]:
    """Return the names of the series without a card, by the titles of their groups."""
    groups = {
        "did not change": findings.quiet,
        "with too few results to search": findings.too_short,
    }
    return {
        f"{len(numbers):,} series {title}": [
            middle_cut(printable(str(findings.series[k].id)), NAME) for k in numbers
        ]
        for title, numbers in groups.items()
        if numbers
    }


def _described(change: ReportedChange, unit: str) -> dict[str, Any]:
    before, after = (typeset(number(level)) for level in change.size[:2])
    probability = change.point.probability
    place, when = change.where
    against = [r.text for r in change.reasons if r.part is not None and r.part < 0]
    reasons = [r.text for r in change.reasons if r.text not in against]
    reasons += ["Against:", *against] if against else []
    note = f"{change.note}." if change.note else ""
    return {
        "effect": change.effect,
        "word": change.word,
        "change": typeset(change.amount),
        "real": "" if probability is None else probability_text(probability),
        "new": change.point.is_new,
        "levels": f"{before} \u2192 {after} {unit_text(unit)}".rstrip(),
        "place": f"at {', '.join(filter(None, [middle_cut(place, 64), when]))}.",
        "subject": middle_cut(printable(change.subject), HEADING),
        "why": " ".join(filter(None, [note, typeset(" ".join(reasons))])),
    }


def bundle(script: str, files: Mapping[str, str]) -> str:
    r"""Return a script as one module, with all modules that it imports in the order of imports.

    Args:
        script: Name of the script.
        files: The scripts by name. They import by name from the same folder, without circles.

    Returns:
        The module. Each imported module is a constant that holds what it exports.

    Example:
        >>> files = {"a.js": 'import { b as c } from "./b.js";\nc();\n'}
        >>> files["b.js"] = "export function b() {}\n"
        >>> print(bundle("a.js", files), end="")
        const $b = (() => {
        function b() {}
        return { b };
        })();
        const { b: c } = $b;
        c();
    """
    modules: dict[str, str] = {}

    def add(name: str) -> None:
        for _, imported in IMPORT.findall(files[name]):
            if imported not in modules:
                add(imported)
        modules[name] = IMPORT.sub(_bound, files[name])

    add(script)
    parts = [modules.pop(script)]
    for name, text in reversed(modules.items()):
        exports, body = ", ".join(EXPORT.findall(text)), EXPORT.sub("", text)
        parts.append(f"const {_name(name)} = (() => {{\n{body}return {{ {exports} }};\n}})();\n")
    return "".join(reversed(parts))


def _bound(imported: re.Match[str]) -> str:
    """Return the declaration that takes the place of an import."""
    names, module = imported.groups()
    return f"const {names.replace(' as ', ': ')} = {_name(module)};\n" if names else ""


def _name(module: str) -> str:
    return "$" + module.removesuffix(".js")


def _hash(code: str) -> str:
    return f"sha256-{b64encode(sha256(code.encode()).digest()).decode()}"
