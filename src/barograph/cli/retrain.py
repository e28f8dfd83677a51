"""`barograph retrain`: learn from the verdicts in the store, and release what is better."""

from __future__ import annotations

from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli.options import RELEASED, echo_json, format_option, open_existing, store_option
from barograph.runtime.extras import needed

if TYPE_CHECKING:
    from collections.abc import Callable

    from barograph.learning.retrain import Retrained, RetrainParams
    from barograph.server.store import Store

BUILT_IN = "retrain.yaml"
PRIOR = "prior"  # the profile of the simulated history


@click.command(epilog="Example: barograph retrain --store ci.db --dry-run")
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
def command(
    url: str,
    release_to: Path,
    path: Path | None,
    print_params: bool,
    dry_run: bool,
    output: str,
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
    _require_xgboost()  # first, because its extra has all that is imported next
    from barograph.learning.retrain import STEPS, retrain
    from barograph.runtime.parallel import Progress
    from barograph.server.store.export import read_all

    params = read_params(path)
    show = Progress("retrain", STEPS)
    with open_existing(url) as store:
        with store.read() as connection:
            history, _ = read_all(connection)
        learn = partial(retrain, history, params, release_to, dry_run=dry_run, step=show.update)
        result = learn() if dry_run else _released(store, release_to, learn)
    if output == "json":
        released = [str(release_to / f"{name}.baro") for name in result.challengers]
        echo_json(result.to_json() | {"released": released, "dry_run": dry_run})
        return
    for line in result.lines():
        click.echo(line)
    if dry_run:
        click.echo("dry run: nothing was written")
    elif result.challengers:
        names = ", ".join(f"{name}.baro" for name in result.challengers)
        click.echo(
            f"released to {release_to}: {names}; a service using this folder loads them by itself"
        )
    else:
        click.echo("nothing was released")


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


def _require_xgboost() -> None:
    with needed("retrain"):
        import xgboost  # noqa: F401


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
            parameters(TrainParams, "train", file, None),
            parameters(TuneParams, "tune", file, None),
            parameters(ReleaseParams, "release", file, None),
            parameters(SimulateParams, "simulate", file, PRIOR),
            profile_name(file),
        )
