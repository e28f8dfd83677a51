"""Results as the collector gives them to what comes after it, without files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from barograph.results.repeats import Results
from barograph.results.series import SeriesId
from barograph.sources.formats.base import Format, InputFile, ReadOptions, Result
from barograph.sources.formats.read import Collector

Kind = Literal["history", "run", "table"]


def result(value: float = 1.0, test: str = "a", **stated: Any) -> Result:
    """Return a result of a test, with what else a file says about it."""
    return Result(SeriesId("", "", "", test, ""), value, **stated)


def collected(
    *files: Sequence[Result],
    kinds: Sequence[Kind] = (),
    options: ReadOptions | None = None,
) -> Results:
    """Return the results of some files, which hold histories unless `kinds` says otherwise."""
    collector = Collector(options or ReadOptions(), "all")
    for k, results in enumerate(files):
        kind: Kind = kinds[k] if kinds else "history"
        name = "tables" if kind == "table" else "made"
        is_run: Literal["history", "run"] = "run" if kind == "run" else "history"
        form = Format(name, "", is_run, lambda _: True, lambda _, iterated=results: iter(iterated))  # type: ignore[misc]
        collector.add(InputFile(f"file{k}", None, b""), form)
    return collector.finish()
