"""Results as they are posted to Codespeed: a list of objects, one a result."""

from __future__ import annotations

from collections.abc import Iterator

from barograph.results.fields import FieldError
from barograph.results.series import UNKNOWN_TIME, SeriesId
from barograph.sources.formats.base import Format, InputFile, Judgement, Result
from barograph.sources.formats.records import has_places, records
from barograph.sources.report import Skip

LABELS = ("project", "environment", "executable", "benchmark")


matches = has_places(
    *({f"{top}/commitid", f"{top}/benchmark", f"{top}/result_value"} for top in ("/*", ""))
)


def read(file: InputFile) -> Iterator[Result | Judgement | Skip]:
    """Yield the value of every result."""
    for result in records(file):
        value = result["result_value"]
        if value.value is None:
            yield value.skip(file, "value is missing")
            continue
        project, machine, task, test = (result[key].optional_label() for key in LABELS)
        if not test:
            raise FieldError(result["benchmark"].where, result["benchmark"].value, "is missing")
        unit, direction = result["units"].optional_label(), result.direction(("lessisbetter",))
        dates = (result[key] for key in ("revision_date", "result_date"))
        times = (date.time() for date in dates if date.value != "None")
        time = next((time for time in times if time != UNKNOWN_TIME), UNKNOWN_TIME)
        # Commits of Subversion are numbers.
        commit, branch = (result[key].optional_label() for key in ("commitid", "branch"))
        series = SeriesId(project, machine, task, test, "")
        yield Result(series, value.numeric(), unit, direction, None, commit, time, "", branch)


FORMAT = Format(
    "codespeed", "Codespeed: the JSON that is posted to /result/add/json/", "history", matches, read
)
