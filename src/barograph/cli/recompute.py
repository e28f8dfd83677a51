"""`barograph recompute`: recompute the candidates of every series in the store."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from barograph.cli.detectors import DETECTORS, detector_option, make_detector
from barograph.cli.options import (
    echo_json,
    format_option,
    model_option,
    open_existing,
    store_option,
)
from barograph.results.wording import plural


@click.command(epilog="Example: barograph recompute --store ci.db")
@detector_option("Detection method.")
@model_option("label_free", does="scores candidates")
@store_option
@format_option("text", "json")
def command(detector: str, model: Path, url: str, output: str) -> None:
    """Recompute the change points of every series in the store.

    A candidate that moved keeps its identity and its verdict, and one with a verdict that is no
    longer found is kept.
    """
    from barograph.server.triage.refresh import CandidateRefresher, label_free_model

    scorer = label_free_model(model if model.exists() else None)
    method, name = make_detector(detector), DETECTORS[detector]
    refresher = CandidateRefresher(method, name, scorer)
    with open_existing(url) as store:
        result = refresher.recompute(store)
    if output == "json":
        echo_json(asdict(result) | {"projects": sorted(result.projects)})
        return
    click.echo(
        f"{result.series:,} series: {plural(result.added, 'candidate')} added, "
        f"{result.moved:,} moved, {result.withdrawn:,} withdrawn, {result.returned:,} found again"
    )
    click.echo(
        f"of those with a verdict: {result.processed_moved:,} moved, "
        f"{result.processed_withdrawn:,} withdrawn, {result.processed_returned:,} found again"
    )
