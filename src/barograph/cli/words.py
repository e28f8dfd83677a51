"""The words that every format uses for an answer: its size, its place, and why."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from barograph.cli.answers import KINDS, RERUNS, JobAnswer, SeriesAnswer
from barograph.cli.config import current_config
from barograph.results.wording import change_text, place_text, plural, printable

NAMES = 5  # of new or missing series that are listed


def answers_by_kind(job: JobAnswer) -> Iterable[tuple[str, SeriesAnswer]]:
    """Yield every answer that is not plainly quiet with its kind, the worst of each kind first."""
    for kind in KINDS:
        for answer in worst_first(job.of_kind(kind)):
            yield kind, answer


def worst_first(answers: Iterable[SeriesAnswer]) -> list[SeriesAnswer]:
    """Sort answers by size; series that the configuration calls `low_priority` come last."""
    config = current_config()
    return sorted(
        answers,
        key=lambda answer: (config.kind_of(answer.series) == "low_priority", -abs(answer.percent)),
    )


def movement(answer: SeriesAnswer) -> str:
    """Return the change in words, such as `up 19.3 % (worse)`."""
    text = change_text(answer.percent)
    moved = {"+": "up ", "-": "down "}.get(text[0])
    text = f"{moved}{text[1:]}" if moved else text
    return f"{text} ({answer.way})" if answer.direction else text


def sentence(answer: SeriesAnswer) -> str:
    """Return the change in words with its place and what else is known."""
    details = detail(answer)
    return f"{movement(answer)} at {place(answer)}{f'; {details}' if details else ''}"


def place(answer: SeriesAnswer) -> str:
    """Return where a change begins, or the result that an answer is about."""
    if answer.begins is None:
        return place_text(answer.commit, answer.order)
    return place_text(answer.begins_commit, answer.begins)


def detail(answer: SeriesAnswer) -> str:
    """Return what else is known of an answer: when it was seen, how sure it is, what to do."""
    parts = []
    if answer.answer == "change" and answer.begins not in (None, answer.order):
        parts.append(f"seen at {place_text(answer.commit, answer.order)}")
    if answer.answer == "change" and not math.isnan(answer.probability):
        parts.append(f"probability {answer.probability:.2f}")
    if answer.answer == "suspect":
        reason = answer.reason.partition(";")[0]
        parts.append(reason or f"probability {answer.probability:.2f}")
    if answer.answer != "quiet" and not answer.is_certain:
        parts.append("not certain enough for the number of series")
    if answer.suspect_reason == RERUNS:
        parts.append(f"{answer.runs} runs differ")
    if answer.reruns:
        parts.append(answer.rerun_advice)
    if answer.suppressed:
        parts.append(f"suppressed: {answer.suppressed}")
    return "; ".join(parts)


def headline(job: JobAnswer) -> str:
    """Return the numbers of answers of each kind, and of suspects that fail no job, as one line."""
    counts = Counter(map(job.kind_of, job.answers))
    parts = [plural(counts[kind], kind) for kind in ("regression", "suspect", "improvement")]
    passing = sum(not job.fails(answer) for answer in job.of_kind("suspect"))
    if passing:
        parts[1] += f" ({passing:,} {'does' if passing == 1 else 'do'} not fail the job)"
    if counts["suppressed"]:
        parts.append(f"{counts['suppressed']:,} suppressed")
    return ", ".join(parts)


def too_short(job: JobAnswer) -> list[str]:
    """Return the series that are too short to judge; a new one is named as new alone."""
    return [name for name, kind in unjudged(job).items() if kind == "too short"]


def unjudged(job: JobAnswer) -> dict[str, str]:
    """Return why each series that was not judged was not: it is too short, new, or missing."""
    new = frozenset(job.new)
    kinds = {name: "new" if name in new else "too short" for name in job.too_short}
    return kinds | dict.fromkeys(job.missing, "missing")


def coverage(job: JobAnswer) -> str:
    """Return how many series were judged, and how many could not be."""
    parts = [f"{job.judged:,} series judged"]
    named = {"too short to judge": too_short(job), "new": job.new}
    named["without the newest commit"] = job.missing
    parts += [f"{len(names):,} {text}" for text, names in named.items() if names]
    return ", ".join(parts)


def listed(names: Iterable[str]) -> str:
    """Return some names, and how many more there are."""
    every = [printable(name) for name in names]
    rest = f" and {len(every) - NAMES:,} more" if len(every) > NAMES else ""
    return ", ".join(every[:NAMES]) + rest
