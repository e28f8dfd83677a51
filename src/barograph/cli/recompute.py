"""`barograph recompute`: look at every series of the store again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from barograph.cli.detect import DETECTORS, by_name, detector_option
from barograph.cli.histories import output_option
from barograph.cli.stores import model_option, open_existing, store_option


@click.command(epilog="Example: barograph recompute --detector hunter")
@detector_option("Which method, with the parameters it has by default.")
@model_option("label_free", does="Scores the candidates")
@store_option
@output_option
def command(detector: str, model: Path, url: str, output: str) -> None:
    """Find the change points of every series anew.

    One that moved by a few commits stays the same candidate; one with a verdict stays where it is.
    """
    from barograph.triage.refresh import CandidateRefresher, label_free_model

    scorer = label_free_model(model if model.exists() else None)
    with open_existing(url) as store:
        refresher = CandidateRefresher(by_name(detector), DETECTORS[detector], scorer)
        done = refresher.recompute(store)
    if output == "json":
        click.echo(json.dumps(asdict(done) | {"projects": sorted(done.projects)}))
        return
    click.echo(
        f"{done.series} series: {done.added} candidates added, {done.moved} moved, "
        f"{done.withdrawn} withdrawn"
    )
