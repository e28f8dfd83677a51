"""`barograph init`: write a commented configuration."""

from __future__ import annotations

from pathlib import Path

import click

from barograph.cli.config import NAME
from barograph.runtime.errors import ConfigError
from barograph.runtime.files import whole

TEMPLATE = """\
# Barograph's configuration. Commands look for this file in the current folder and above, up to
# the root of the repository.
# Options on the command line override it; docs/cli.md lists all keys.

[input]
# The files that commands read by default: paths, globs, or folders.
# files = ["benchmarks/history.csv"]
# Format of the files, by default recognised by their content. `barograph formats` lists all.
# kind = "pytest-benchmark"
# Names of columns in your tables, and what they are in Barograph.
# map = { name = "test", sha = "commit" }
# Columns with values, if a table has a column for each metric.
# value-columns = ["p50_ms", "p99_ms"]

[direction]
# Which way is better, if neither the file nor its unit states it. The first match counts.
# "*/throughput" = "higher"
# "*" = "lower"

[gate]
# Minimum change that counts, in percent of the level before.
# min-change = 0.5
# Minimum number of earlier results.
# min-history = 5
# What fails a job: regression, suspect or any.
# fail-on = "regression"

[detect]
# Minimum probability of a reported change point. By default the rule in the model file decides.
# min-probability = 0.8

[score]
# store = "barograph.db"

[patterns]
# Names of series, without the quotes of printed names; * stands for any text. No code change moves
# a canary: if it moves, the machine has changed.
# canary = ["canary/*"]
# Series to look at last.
# low_priority = ["*/startup"]
# Series that are reported, but never fail a job.
# informational = ["experimental/*"]

# An accepted regression: it is reported, but fails no job until the suppression expires.
# [[suppress]]
# series = "db/insert/*"
# reason = "checksums are on since 2.4, agreed on 2026-11-02"
# expires = 2027-01-31
"""


@click.command(epilog="Example: barograph init && $EDITOR barograph.toml")
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))
def command(folder: Path) -> None:
    """Write a commented barograph.toml to FOLDER, by default the current one."""
    path = folder / NAME
    if path.exists():
        raise ConfigError(f"{path}: exists already; delete it first to replace it")
    folder.mkdir(parents=True, exist_ok=True)
    with whole(path) as draft:
        draft.write_text(TEMPLATE, encoding="utf-8")
    click.echo(f"{path} written")
