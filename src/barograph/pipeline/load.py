"""Stage `load`: read the source into three tables, and report what was corrected or skipped.

A source without candidates, such as a table of results, gets those of `Triaged`, without verdicts.
"""

import os
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq

from barograph.detection import Triaged
from barograph.detection.triaged import table_of
from barograph.learning.limits import Fraction, Named
from barograph.pipeline import report
from barograph.pipeline.params import parameters, run
from barograph.results.parquet import CANDIDATES_SCHEMA
from barograph.results.parts import HistoryPart, history_parts
from barograph.results.series import as_floats
from barograph.runtime.errors import ConfigError
from barograph.runtime.files import whole
from barograph.runtime.parallel import map_parallel
from barograph.sources import SOURCES, LoadReport, open_source, read_source

FOLDER = Path("data/interim")
STORE = "store"  # the kind that reads Barograph's own store
STORE_VARIABLE = "BAROGRAPH_STORE"
CHUNK = 200  # series whose candidates are found in one call
VARIABLES = {"mongodb": "BAROGRAPH_MONGODB_URI", STORE: STORE_VARIABLE}


@dataclass(frozen=True)
class LoadParams:
    """Which source is read, where it is, and what share of it may be skipped."""

    kind: Annotated[str, Named(lambda: (*SOURCES, STORE))]
    location: str
    max_skipped_share: Fraction
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a password, as dvc.lock and reports copy it, and unknown options of files."""
        if re.search("://.*@", self.location):
            name = VARIABLES.get(self.kind, VARIABLES["mongodb"])
            only = "leave this empty" if self.kind == STORE else "name only the database here"
            raise ConfigError(
                f"load.location: contains a user name or a password; set {name} to the address, "
                f"and {only}"
            )
        if self.kind == "files":
            try:
                open_source(self.kind, self.location, **self.options)
            except (ConfigError, TypeError) as error:
                raise ConfigError(f"load.options: {error}") from None


def main() -> None:
    """Run the stage."""
    params = parameters(LoadParams, "load")
    if params.kind == STORE:
        loaded = load_store(params.location)
    else:
        source = open_source(params.kind, params.location, **params.options)
        history, loaded = read_source(source, max_skipped_share=params.max_skipped_share)
        history.write(FOLDER)
    if not loaded.kept["candidates"]:
        find_candidates(loaded)
    report.write_json(report.FOLDER / "load.json", loaded.as_dict())
    sys.stderr.write(f"{loaded}\n")


def load_store(location: str) -> LoadReport:
    """Write the three tables of a store; return what it has.

    Args:
        location: An SQLite file or the URL of a database; if empty, that of BAROGRAPH_STORE.

    Raises:
        ConfigError: There is no such store.
    """
    from barograph.server.store import Store
    from barograph.server.store.export import export_tables

    url = location or os.environ.get(STORE_VARIABLE, "")
    if not url or ("://" not in url and not Path(url).is_file()):
        raise ConfigError(
            f"load.location: {url!r} is no store; name an SQLite file or a URL, or set "
            f"{STORE_VARIABLE}"
        )
    with Store(url) as store, store.read() as connection:
        counts = Counter(export_tables(connection, FOLDER))
    loaded = LoadReport(location or STORE, read=counts, kept=Counter(counts))
    verdicts = pq.read_table(FOLDER / "candidates.parquet", columns=["verdict"])
    loaded.verdicts.update(verdicts.column("verdict").to_pylist())
    return loaded


def find_candidates(loaded: LoadReport) -> None:
    """Write the candidates that `Triaged` proposes in every series, and count them."""
    calls = [(part,) for part in history_parts(FOLDER, CHUNK)]
    candidates = pa.concat_tables(map_parallel(_candidates, calls, label="find candidates"))
    with whole(FOLDER / "candidates.parquet") as draft:
        pq.write_table(candidates, draft, compression="zstd")
    loaded.read["candidates"] = loaded.kept["candidates"] = candidates.num_rows
    loaded.verdicts.update(candidates.column("verdict").to_pylist())
    loaded.corrected["candidates found, as the source has none"] = candidates.num_rows


def _candidates(part: HistoryPart) -> pa.Table:
    """Return the proposed candidates of a part, with the columns of the table."""
    points, offsets = part.points()
    values = points.column("value").to_numpy()
    found = table_of(Triaged(min_probability=0.0).find_many(as_floats(values), offsets))
    places = points.take(pa.array(offsets[found.series] + found.index))
    columns = {
        **{name: places.column(name) for name in ("series", "order", "commit")},
        "index": pa.array(found.index),
        "verdict": pa.array(found.verdict.tolist(), pa.string()),
        "algorithm": pa.array(["Triaged"] * places.num_rows, pa.string()),
    }
    empty = pa.nulls(places.num_rows)
    table = [columns.get(field.name, empty).cast(field.type) for field in CANDIDATES_SCHEMA]
    return pa.table(table, schema=CANDIDATES_SCHEMA)


if __name__ == "__main__":
    run(main)
