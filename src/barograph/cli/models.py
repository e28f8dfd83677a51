"""Commands that use models or make them: `classify`, `replay` and `retrain`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from barograph.cli.inputs import Inputs, input_options
from barograph.cli.options import (
    LABEL_FREE,
    RELEASED,
    echo,
    false_alarms_setting,
    format_option,
    model_option,
    online_models,
    open_existing,
    store_option,
    triage_model,
)
from barograph.results.series import FINAL, Verdict
from barograph.results.wording import place_text, plural, probability_text
from barograph.runtime.compiled import choose
from barograph.runtime.errors import NotEnoughDataError
from barograph.runtime.extras import needed

if TYPE_CHECKING:
    from barograph.learning.retrain import Retrained, RetrainParams
    from barograph.models import TriageModel
    from barograph.results.history import History
    from barograph.server.store import Store

SERIES = 200  # that one process replays at a time
BUILT_IN = "retrain.yaml"
PRIOR = "prior"  # the profile of the simulated history


@click.command("classify", epilog="Example: barograph classify dump --kind mongodump --format json")
@input_options()
@model_option(LABEL_FREE, does="scores candidates")
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
def classify(inputs: Inputs, model: Path, triaged: bool, limit: int, output: str) -> None:
    """Rank the candidates in FILE by how likely people would call them real.

    If FILE has no candidates, they are found as `detect` finds them, whatever their probability.
    """
    history = inputs.read()
    choose(history.values.size)
    from barograph.models.reasons import ReasonText, paragraph

    scorer = triage_model(model)
    every = _rank(history, scorer, triaged=triaged)
    if not every:
        missing = "no candidate without a verdict" if len(history.candidates) else "no change point"
        raise NotEnoughDataError(f"{inputs.name}: {missing}")
    shown = every[:limit]
    _add_reasons(history, scorer, shown, every)
    real = sum(row["real"] for row in every)
    lines = []
    for row in shown:
        place = place_text(row["commit"] or "", row["order"])
        texts = [ReasonText(reason["text"], reason["contribution"]) for reason in row["reasons"]]
        lines.append(f"{probability_text(row['probability']):>5} real  {place}  {row['name']}")
        lines.append(f"            {paragraph(texts)}")
    verb = "is" if real == 1 else "are"
    total = f"{real:,} of {plural(len(every), 'candidate')} {verb} probably real"
    echo(output, {"total": len(every), "real": real, "candidates": shown}, *lines, total)


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
    columns = {
        "series": candidates.series.tolist(),
        "index": candidates.index.tolist(),
        "order": history.orders[places].tolist(),
        "commit": [commit or None for commit in history.commits[places]],
        "verdict": candidates.verdict.tolist(),
        "probability": probability.tolist(),
        "real": (probability >= least).tolist(),
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    wanted = [row for row in rows if triaged or row["verdict"] not in FINAL]
    return sorted(wanted, key=lambda row: (-row["probability"], row["series"], row["index"]))


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


@click.command(
    "replay", epilog="Example: barograph replay data/interim --out replayed --format json"
)
@input_options()
@model_option("online")
@false_alarms_setting
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write the change points to, as CSV and Parquet.",
)
@format_option("text", "json")
def replay(
    inputs: Inputs, model: Path, false_alarms_per_1000: float, out: Path | None, output: str
) -> None:
    """Judge every commit in FILE as if it were the newest."""
    import pyarrow as pa

    from barograph.learning.replay import (
        alarm_rates,
        change_points_of,
        compare_with_verdicts,
        replay_judge,
        replay_part,
    )
    from barograph.pipeline import report
    from barograph.results.parts import history_parts
    from barograph.runtime.parallel import map_parallel

    judge = replay_judge(online_models(model), false_alarms_per_1000)
    history = inputs.read()
    if not history.values.size:
        raise NotEnoughDataError(f"{inputs.name}: no points")
    with TemporaryDirectory(prefix="barograph-") as folder:
        history.write(folder)
        calls = [(part, judge, 1) for part in history_parts(folder, SERIES)]
        points = pa.concat_tables(map_parallel(replay_part, calls, "scoring"))
    if out is not None:
        change_points = change_points_of(points).to_pandas()
        report.write_csv(out / "found.csv", change_points)
        report.write_parquet(out / "found.parquet", change_points)
    try:
        summary = compare_with_verdicts(history, points)
    except NotEnoughDataError as error:
        click.echo(str(error), err=True)
        summary = alarm_rates(history, points)
    echo(output, summary, *_replayed(summary))


def _replayed(summary: dict[str, Any]) -> Iterator[str]:
    """Yield how many alarms there are and, if people gave both verdicts, how good they are."""
    yield (
        f"{plural(summary['alarms'], 'alarm')} in {plural(summary['points'], 'point')}: "
        f"{summary['alarms_per_thousand']:.2f} per thousand points, "
        f"{summary['alarms_per_series']:.2f} per series"
    )
    found = f"{plural(summary['found'], 'change point')} found"
    if "auc" not in summary:
        yield found
        return
    verdicts = ", ".join(f"{count:,} {name}" for name, count in summary["found_by_verdict"].items())
    yield f"{found}: {verdicts}, {summary['found_without_candidate']:,} without a candidate"
    yield (
        f"AUC {summary['auc']:.3f}, accuracy {summary['accuracy']:.3f}, sensitivity "
        f"{summary['sensitivity']:.3f}, specificity {summary['specificity']:.3f}"
    )
    delay = summary["delay"]
    yield (
        f"true changes with an alarm at once {delay['share_within_0']:.2f}, "
        f"within 2 points {delay['share_within_2']:.2f}, within 5 {delay['share_within_5']:.2f}"
    )


@click.command("retrain", epilog="Example: barograph retrain --store ci.db --dry-run")
@store_option
@click.option(
    "--release-to",
    type=click.Path(file_okay=False, path_type=Path),
    default=RELEASED,
    show_default=True,
    metavar="FOLDER",
    help="Folder to release models to. A folder `registry` next to it keeps all models.",
)
@click.option(
    "--params",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    show_default="those of the profile quick",
    help="Parameters, in the form of params.yaml of the pipeline.",
)
@click.option(
    "--print-params",
    is_flag=True,
    help="Print the built-in parameters as a template for --params, and exit.",
)
@click.option("--dry-run", is_flag=True, help="Learn and compare, but release nothing.")
@format_option("text", "json")
def retrain(
    url: str, release_to: Path, path: Path | None, print_params: bool, dry_run: bool, output: str
) -> None:
    """Learn models from the verdicts in the store, and release those that are better.

    A model for every use is learned from all verdicts, and compared with the released or built-in
    model on verdicts that neither of them has seen. It is released if the 90 % interval of its
    gain lies above 0. A running service that uses the same folder loads a released model by itself.
    """
    if print_params:
        built_in = resources.files("barograph.learning") / BUILT_IN
        click.echo(built_in.read_text(encoding="utf-8"), nl=False)
        return
    with needed("retrain"):  # first, because its extra has all that is imported next
        import xgboost  # noqa: F401
    from barograph.learning import retrain as learning
    from barograph.runtime.parallel import Progress
    from barograph.server.store.export import read_all

    params = read_params(path)
    show = Progress("retrain", learning.STEPS)
    with open_existing(url) as store:
        with store.read() as connection:
            history, _ = read_all(connection)
        learn = partial(
            learning.retrain, history, params, release_to, dry_run=dry_run, step=show.update
        )
        result = learn() if dry_run else _released(store, release_to, learn)
    released = [str(release_to / f"{name}.baro") for name in result.challengers]
    names = ", ".join(f"{name}.baro" for name in result.challengers)
    end = f"released to {release_to}: {names}; a service using this folder loads them by itself"
    if dry_run:
        end = "dry run: nothing was written"
    elif not names:
        end = "nothing was released"
    content = result.to_json() | {"released": released, "dry_run": dry_run}
    echo(output, content, *result.lines(), end)


def _released(store: Store, served: Path, learn: Callable[[], Retrained]) -> Retrained:
    """Do a training, release its models, and note in the store how it ended."""
    from barograph.learning.registry import COMMAND_LINE
    from barograph.learning.release import release_challengers
    from barograph.server.store import retrainings

    number = store.write(lambda connection: retrainings.begin(connection, COMMAND_LINE))
    try:
        result = learn()
    except BaseException as error:
        why = {"why": str(error)}
        store.write(lambda c: retrainings.finish(c, number, retrainings.FAILED, why))
        raise
    store.write(lambda c: retrainings.finish(c, number, retrainings.DONE, result.to_json()))
    if result.challengers:
        release_challengers(served, result.challengers, result.decisions)
        files = [*result.challengers]
        store.write(lambda c: retrainings.note_release(c, number, COMMAND_LINE, files))
    return result


def read_params(path: Path | None = None) -> RetrainParams:
    """Read the parameters of a file, by default the built-in ones."""
    from barograph.learning.candidates import TrainParams
    from barograph.learning.release import ReleaseParams
    from barograph.learning.retrain import RetrainParams
    from barograph.learning.simulation import SimulateParams
    from barograph.learning.tune import TuneParams
    from barograph.pipeline.params import parameters, profile_name

    with resources.as_file(resources.files("barograph.learning") / BUILT_IN) as built_in:
        file = path or built_in
        return RetrainParams(
            train=parameters(TrainParams, "train", file, None),
            tune=parameters(TuneParams, "tune", file, None),
            release=parameters(ReleaseParams, "release", file, None),
            prior=parameters(SimulateParams, "simulate", file, PRIOR),
            profile=profile_name(file),
        )
