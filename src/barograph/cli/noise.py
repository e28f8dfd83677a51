"""`barograph noise`: how much series scatter, and the smallest change that is found in each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli.inputs import Inputs, input_options
from barograph.cli.options import (
    echo,
    false_alarms_setting,
    format_option,
    model_option,
    online_models,
)
from barograph.results.wording import middle_cut, number, printable, unit_text
from barograph.runtime.compiled import choose
from barograph.runtime.errors import NotEnoughDataError

if TYPE_CHECKING:
    from barograph.detection.online.noise import Noise
    from barograph.results.series import Series

WORK = 400  # points that are judged for each series
NAME = 100  # longest name in a line
HEADER = ("series", "level", "scatter", "at once", "after 2", "after 5", "runs to halve it")
ABOUT = "smallest change found in 9 of 10 cases: at once, or within 2 or 5 further results"
ASSUMED = "*"  # after a number of runs that assumes independence


@click.command("noise", epilog="Example: barograph noise results.csv")
@input_options()
@model_option("online", "judges new results")
@format_option("text", "json")
@false_alarms_setting
def noise(inputs: Inputs, model: Path, output: str, false_alarms_per_1000: float) -> None:
    """Print how much the series in FILE scatter, and the smallest change found in each.

    The smallest change is found in 9 of 10 cases: at its commit, or within two or five further
    results. `gate` then answers with a change or a suspect. The series with the largest ones come
    first.
    """
    from barograph.cli.gate import runs_of
    from barograph.detection.online import make_judge
    from barograph.detection.online.noise import Noise, measure_noise

    history = inputs.read()
    choose(WORK * len(history))
    judge = make_judge(online_models(model), false_alarms_per_1000)
    runs = [runs_of(history, number) for number in range(len(history))]
    found = measure_noise(judge, [series.values for series in history], runs)
    if not any(found):
        raise NotEnoughDataError(f"{inputs.name}: no series has 12 results at its current level")
    rows = sorted(zip(history, found, strict=True), key=lambda row: _worst_first(row[1]))
    content = [
        {"series": str(series.id), "unit": series.unit, "points": len(series)}
        | (dict.fromkeys(Noise._fields) if known is None else known._asdict())
        for series, known in rows
    ]
    measured = [(series, known) for series, known in rows if known is not None]
    echo(output, {"series": content}, *_lines(measured, len(rows) - len(measured)))


def _worst_first(found: Noise | None) -> tuple[bool, float]:
    """Return the sort key: the largest percentages first, series without any last."""
    size = None if found is None else found.percent(found.smallest_5)
    return found is None, -math.inf if size is None else -size


def _lines(rows: Sequence[tuple[Series, Noise]], short: int) -> Iterator[str]:
    """Yield a table of the series that were measured, and what its columns mean."""
    cells = [HEADER, *(_cells(*row) for row in rows)]
    first, *others = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for name, *rest in cells:
        padded = (f"{cell:>{width}}" for cell, width in zip(rest, others, strict=True))
        yield "  ".join([f"{name:<{first}}", *padded])
    yield from ("", ABOUT)
    if any(found.share_of_runs is None for _, found in rows):
        yield f"{ASSUMED} if runs of a commit are independent: too few commits have several runs"
    if any(found.halving_runs is None for _, found in rows):
        yield "none: the scatter is between commits, not between their runs"
    note = f", {short:,} with too few results at their level" if short else ""
    yield f"{len(rows) + short:,} series{note}"


def _cells(series: Series, found: Noise) -> tuple[str, ...]:
    """Return the cells of a row."""
    level = f"{number(found.level)} {unit_text(series.unit)}".strip()
    sizes = map(found.text, (found.scatter, *found[-3:]))
    runs = f"{found.halving_runs or 'none'}{ASSUMED if found.share_of_runs is None else ' '}"
    return middle_cut(printable(str(series.id)), NAME), level, *sizes, runs
