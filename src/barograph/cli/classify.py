"""`barograph classify`: rank the candidates of a source by probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barograph.cli.inputs import Inputs, input_options
from barograph.cli.options import F, echo_json, format_option, model_option, setting, with_options
from barograph.results.series import FINAL, Verdict
from barograph.results.wording import place_text, plural, probability_text
from barograph.runtime.compiled import choose
from barograph.runtime.errors import NotEnoughDataError

if TYPE_CHECKING:
    import pyarrow as pa

    from barograph.models import TriageModel
    from barograph.results.history import History

USE = "label_free"
SERIES = 200  # of one part: small enough to spread, large enough to be worth a call


def bulk_options(use: str, does: str) -> Callable[[F], F]:
    """Add the parameters of a command that scores a whole data set."""
    out = click.option(
        "--out",
        metavar="FOLDER",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder to write the complete table to, as CSV and Parquet.",
    )
    scheduler = setting(
        "scheduler",
        help="Address of a Dask scheduler to run on; its workers must see the same files.",
    )
    options = [input_options(), model_option(use, does=does), out, scheduler]
    return lambda function: with_options(function, [*options, format_option("text", "json")])


def score_parts(
    function: Callable[..., pa.Table], folder: str, *arguments: Any, scheduler: str | None
) -> pa.Table:
    """Call a function for every part of a data set, and join the tables in order.

    Args:
        function: Returns the table of a `HistoryPart`.
        folder: The folder of the data set.
        *arguments: Other arguments of the function.
        scheduler: Address of a Dask scheduler; None for processes of this machine.
    """
    import pyarrow as pa

    from barograph.detection.bulk import history_parts
    from barograph.runtime.parallel import map_parallel

    calls = [(part, *arguments) for part in history_parts(folder, SERIES)]
    return pa.concat_tables(map_parallel(function, calls, "scoring", scheduler=scheduler))


@click.command(epilog="Example: barograph classify dump --kind mongodump --format json")
@bulk_options(USE, "scores candidates")
@click.option(
    "--all",
    "triaged",
    is_flag=True,
    help="Include candidates that already have a verdict. By default they are left out.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Maximum number of candidates to show.",
)
def command(
    inputs: Inputs,
    model: Path,
    triaged: bool,
    limit: int,
    scheduler: str | None,
    out: Path | None,
    output: str,
) -> None:
    """Rank the candidates in FILE by how likely people would call them real.

    If FILE has no candidates, they are found as `detect` finds them, whatever their
    probability. A folder of the three tables is scored in parts, as is everything with --out.
    """
    in_parts = inputs.is_tables or scheduler is not None or out is not None
    history = None if in_parts else inputs.read()
    if history is not None:
        choose(history.values.size)
    from barograph.models import TriageModel
    from barograph.models.reasons import ReasonText, paragraph

    scorer = TriageModel.load(model, USE) if model.exists() else TriageModel.default(USE)
    if history is None:
        every, history = _in_parts(inputs, model, triaged, scheduler, out)
    else:
        every = _rank(history, scorer, triaged=triaged)
    if not every:
        missing = "no candidate without a verdict" if len(history.candidates) else "no change point"
        raise NotEnoughDataError(f"{inputs.name}: {missing}")
    shown = every[:limit]
    _add_reasons(history, scorer, shown, every)
    real = sum(row["real"] for row in every)
    if output == "json":
        echo_json({"total": len(every), "real": real, "candidates": shown})
        return
    for row in shown:
        place = place_text(row["commit"] or "", row["order"])
        click.echo(f"{probability_text(row['probability']):>5} real  {place}  {row['name']}")
        texts = [ReasonText(reason["text"], reason["contribution"]) for reason in row["reasons"]]
        click.echo(f"            {paragraph(texts)}")
    verb = "is" if real == 1 else "are"
    click.echo(f"{real:,} of {plural(len(every), 'candidate')} {verb} probably real")


def _rank(history: History, model: TriageModel, *, triaged: bool) -> list[dict[str, Any]]:
    """Return a row for each candidate of a history, the most probable first.

    Candidates are found with `Triaged` if the history has none. Those with a verdict are included
    if `triaged`.
    """
    from barograph.detection.scoring import ReportingRule, score_candidates
    from barograph.detection.triaged import all_candidates

    candidates = history.candidates
    if len(candidates):
        probability = score_candidates(model, history.values, history.offsets, candidates)
    else:
        candidates, probability = all_candidates(model, history.values, history.offsets)
    least = ReportingRule.of(model).min_probability
    places = history.offsets[candidates.series] + candidates.index
    rows = [
        {
            "series": series,
            "index": index,
            "order": int(history.orders[place]),
            "commit": history.commits[place] or None,
            "verdict": verdict,
            "probability": likely,
            "real": likely >= least,
        }
        for series, index, place, verdict, likely in zip(
            candidates.series.tolist(),
            candidates.index.tolist(),
            places.tolist(),
            candidates.verdict.tolist(),
            probability.tolist(),
            strict=True,
        )
        if triaged or verdict not in FINAL
    ]
    return sorted(rows, key=lambda row: (-row["probability"], row["series"], row["index"]))


def _add_reasons(
    history: History,
    model: TriageModel,
    shown: Sequence[dict[str, Any]],
    every: Sequence[dict[str, Any]],
) -> None:
    """Add the name of the series and the reasons to the rows that are shown.

    It takes every row, because the candidates of a series bound each other.
    """
    from barograph.detection.scoring import explain_change_points

    numbers = {row["series"] for row in shown}
    places: list[list[int]] = [[] for _ in range(len(history))]
    for row in every:
        # A candidate that a person called noise bounds no other one.
        if row["series"] in numbers and (
            row in shown or row["verdict"] != Verdict.FALSE_POSITIVE.value
        ):
            places[row["series"]].append(row["index"])
    places = [sorted(set(indices)) for indices in places]
    explained = explain_change_points(model, history.values, history.offsets, places)
    for row in shown:
        number = row["series"]
        reasons = explained[number][places[number].index(row["index"])]
        row["name"] = str(history[number].id)
        row["reasons"] = [{"text": reason.text, "contribution": reason.part} for reason in reasons]


def _in_parts(
    inputs: Inputs, model: Path, triaged: bool, scheduler: str | None, out: Path | None
) -> tuple[list[dict[str, Any]], History]:
    """Score the tables of a folder in parts, and return the rows with the history."""
    from barograph.detection.bulk import score_part
    from barograph.results.history import History

    path = str(model.resolve()) if model.exists() else ""
    with inputs.tables() as folder:
        history = History.read(folder)
        score = partial(score_part, triaged=triaged, proposed=not len(history.candidates))
        table = score_parts(score, folder, path, USE, scheduler=scheduler)
    table = table.sort_by([("probability", "descending"), ("series", "ascending")])
    if out is not None:
        _write(table, out)
    return table.to_pylist(), history


def _write(table: pa.Table, folder: Path) -> None:
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    from barograph.runtime.files import whole

    with whole(folder / "classified.csv") as draft:
        pacsv.write_csv(table, str(draft))
    with whole(folder / "classified.parquet") as draft:
        pq.write_table(table, draft, compression="zstd")
