"""The answers as JUnit XML, which most CI servers show as tests: one test case a series."""

from __future__ import annotations

import re
from collections import defaultdict
from xml.etree import ElementTree as ET

from barograph.cli.answers import JobAnswer
from barograph.cli.rendering.words import answers_by_kind, headline, sentence, unjudged

SUITE = "barograph"
SKIPPED = {
    "too short": "too short to judge",
    "new": "new: no earlier results to judge by",
    "missing": "no result of the newest commit",
}
# XML 1.0 has no way to write these, not even as references.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def report(job: JobAnswer) -> str:
    """Return the XML: series that fail the job are failures, those not judged are skipped."""
    lines: dict[str, list[str]] = defaultdict(list)
    failed: dict[str, list[str]] = defaultdict(list)
    for kind, answer in answers_by_kind(job):
        text = f"{kind}: {sentence(answer)}"
        (failed if job.fails(answer) else lines)[answer.series].append(text)
    skipped = {name: SKIPPED[kind] for name, kind in unjudged(job).items()}
    names = [*dict.fromkeys([*(answer.series for answer in job.answers), *skipped])]
    suite = ET.Element(
        "testsuite",
        name=SUITE,
        tests=str(len(names)),
        failures=str(len(failed)),
        errors="0",
        skipped=str(len(skipped)),
    )
    for name in names:
        case = ET.SubElement(suite, "testcase", classname=SUITE, name=valid(name))
        if name in failed:
            failure = ET.SubElement(case, "failure", message=valid(failed[name][0]))
            failure.text = valid("\n".join(failed[name]))
        elif name in skipped:
            ET.SubElement(case, "skipped", message=skipped[name])
        if name in lines:
            ET.SubElement(case, "system-out").text = valid("\n".join(lines[name]))
    ET.SubElement(suite, "system-out").text = valid("\n".join([headline(job), *job.notes]))
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode")


def valid(text: str) -> str:
    r"""Return a text with escapes for characters that XML does not allow.

    Example:
        >>> valid("a" + chr(1))
        'a\\x01'
    """
    return FORBIDDEN.sub(
        lambda match: match[0].encode("unicode_escape", "surrogatepass").decode(), text
    )
