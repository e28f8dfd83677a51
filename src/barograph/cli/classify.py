"""`barograph classify`: rank the candidates of a source by probability."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barograph.cli.inputs import Inputs, input_options
from barograph.cli.options import echo_json, format_option, model_option
from barograph.results.series import FINAL, Verdict
from barograph.results.wording import place_text, plural, probability_text
from barograph.runtime.compiled import choose
from barograph.runtime.errors import NotEnoughDataError

if TYPE_CHECKING:
    from barograph.models import TriageModel
    from barograph.results.history import History

USE = "label_free"


@click.command(epilog="Example: barograph classify dump --kind mongodump --format json")
@input_options()
@model_option(USE, does="scores candidates")
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
@format_option("text", "json")
def command(inputs: Inputs, model: Path, triaged: bool, limit: int, output: str) -> None:
    """Rank the candidates in FILE by how likely people would call them real.

    If FILE has no candidates, they are found as `detect` finds them, whatever their probability.
    """
    history = inputs.read()
    choose(history.values.size)
    from barograph.models import TriageModel
    from barograph.models.reasons import ReasonText, paragraph

    scorer = TriageModel.load(model, USE) if model.exists() else TriageModel.default(USE)
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
    from barograph.detection.scoring import least_reported, score_candidates
    from barograph.detection.triaged import all_candidates

    candidates = history.candidates
    if len(candidates):
        probability = score_candidates(model, history.values, history.offsets, candidates)
    else:
        candidates, probability = all_candidates(model, history.values, history.offsets)
    least = least_reported(model)
    places = history.offsets[candidates.series] + candidates.index
    columns = (candidates.series, candidates.index, places, candidates.verdict, probability)
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
            *(column.tolist() for column in columns), strict=True
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
    places: list[set[int]] = [set() for _ in range(len(history))]
    for row in every:
        # A candidate that a person called noise bounds no other one.
        is_bound = row in shown or row["verdict"] != Verdict.FALSE_POSITIVE.value
        if row["series"] in numbers and is_bound:
            places[row["series"]].add(row["index"])
    ordered = [sorted(indices) for indices in places]
    explained = explain_change_points(model, history.values, history.offsets, ordered)
    for row in shown:
        number = row["series"]
        reasons = explained[number][ordered[number].index(row["index"])]
        row["name"] = str(history[number].id)
        row["reasons"] = [{"text": reason.text, "contribution": reason.part} for reason in reasons]
