"""`barograph export`: write the contents of the store as tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from barograph.cli.options import echo_json, format_option, open_existing, store_option
from barograph.runtime.errors import ConfigError

WRITTEN = ("series.parquet", "points.parquet", "candidates.parquet", "runs.parquet", "store")
PROJECT = "dvc.yaml"
OUTPUTS = ("outs", "metrics", "plots")


@click.command(epilog="Example: barograph export data/raw/export")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@store_option
@format_option("text", "json")
def command(folder: Path, url: str, output: str) -> None:
    """Write series, points and candidates to FOLDER, as tables that the pipeline loads.

    The subfolder `store` gets every table of the store, for `barograph import --restore`.
    """
    from barograph.server.store.archive import archive
    from barograph.server.store.export import export_tables

    _refuse_stage_output(folder)
    # One read transaction: results that arrive meanwhile are in neither part.
    with open_existing(url) as store, store.read() as connection:
        counts = export_tables(connection, folder)
        archive(connection, folder)
    if output == "json":
        echo_json(counts)
    else:
        click.echo(", ".join(f"{count:,} {name}" for name, count in counts.items()))


def _refuse_stage_output(folder: Path) -> None:
    """Refuse to write what a stage of a DVC project writes: its next run would delete the files.

    Raises:
        ConfigError: A stage of a `dvc.yaml` in a folder above writes one of the files.
    """
    target = folder.resolve()
    written = [target / name for name in WRITTEN]
    for root in (target, *target.parents):
        for stage, out in _outs(root / PROJECT):
            if any(path == out or path in out.parents or out in path.parents for path in written):
                raise ConfigError(
                    f"{folder}: the stage {stage!r} of {PROJECT} writes {out.relative_to(root)} "
                    "and would replace the export; export to data/raw/export and load it with "
                    "`load: {kind: files, location: data/raw/export}` in params.yaml, or read "
                    "the store itself with `kind: store`"
                )


def _outs(project: Path) -> Iterator[tuple[str, Path]]:
    """Yield every stage of a project with each of its outputs; nothing if the file is not valid."""
    if not project.is_file():
        return
    import yaml

    try:
        stages = yaml.safe_load(project.read_text(encoding="utf-8"))["stages"]
        for name, stage in stages.items():
            home = project.parent / str(stage.get("wdir", "."))
            for kind in OUTPUTS:
                for out in stage.get(kind) or ():
                    path = out if isinstance(out, str) else next(iter(out))
                    if "${" not in path:
                        yield name, (home / path).resolve()
    except (yaml.YAMLError, OSError, UnicodeDecodeError, AttributeError, KeyError, TypeError):
        return
