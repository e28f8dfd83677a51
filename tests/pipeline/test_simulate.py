"""The stage: one dump, whatever the workers, sound enough to be loaded."""

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from barograph.learning.simulation import CHUNK, SimulateParams, simulate, tasks
from barograph.results.history import History
from barograph.results.series import UNKNOWN_TIME, Verdict
from barograph.simulator.profiles import LONG, SHORT
from barograph.sources import open_source
from tests.sources.documents import load

ROOT = Path(__file__).resolve().parents[2]
SMALL = SimulateParams(seed=4, long_series=CHUNK + 10, short_series=2 * CHUNK)


def run(out: Path, workers: int, params: SimulateParams = SMALL) -> dict[str, int]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAROGRAPH_WORKERS", str(workers))
        return simulate(params, out)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulated")
    run(folder, 1)
    return folder


@pytest.fixture(scope="module")
def history(out: Path) -> History:
    load(open_source("mongodump", str(out / "dump")), out / "interim")
    return History.read(out / "interim")


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "dump").iterdir()}


def test_simulate_gives_same_bytes_with_any_number_of_workers(out: Path, tmp_path: Path) -> None:
    run(tmp_path, 2)
    expected = content(out)
    assert len(expected) == 4
    assert content(tmp_path) == expected


def test_simulate_depends_on_the_seed(out: Path, tmp_path: Path) -> None:
    tiny = dataclasses.replace(SMALL, seed=5, long_series=3, short_series=3)
    run(tmp_path, 1, tiny)
    same = dataclasses.replace(tiny, seed=4)
    run(tmp_path / "same", 1, same)
    first = (tmp_path / "dump" / "time_series.bson").read_bytes()
    assert first != (tmp_path / "same" / "dump" / "time_series.bson").read_bytes()


def test_shipped_models_learn_from_the_profile_as_it_is() -> None:
    document = yaml.safe_load((ROOT / "params.yaml").read_text())
    scales = [document[name]["simulate"]["short_relative_scale"] for name in ("prior", "defaults")]
    assert scales == [SHORT.relative_scale] * 2
    calibrated = SimulateParams(**document["simulate"])
    assert {profile.relative_scale for profile, *_ in tasks(calibrated)} == {
        LONG.relative_scale,
        calibrated.short_relative_scale,
    }
    assert calibrated.short_relative_scale < SHORT.relative_scale


def test_loading_corrects_and_skips_nothing(out: Path, tmp_path: Path) -> None:
    report = load(open_source("mongodump", str(out / "dump")), tmp_path)
    assert report.kept["series"] == SMALL.long_series + SMALL.short_series
    assert not report.corrected
    assert not any(report.skipped.values())


def test_counts_equal_loaded_data(history: History, tmp_path: Path) -> None:
    counts = run(tmp_path, 1)
    assert counts["series"] == len(history)
    assert counts["points"] == history.values.size
    assert counts["candidates"] == len(history.candidates)
    verdicts = history.candidates.verdict.tolist()
    assert {v: verdicts.count(v) for v in Verdict} == {v: counts.get(v, 0) for v in Verdict}


def test_every_verdict_occurs(history: History) -> None:
    verdicts = history.candidates.verdict.tolist()
    # The simulated people always make up their minds.
    result = set(Verdict) - {Verdict.UNSURE}
    shares = {verdict: verdicts.count(verdict) / len(verdicts) for verdict in result}
    assert min(shares.values()) > 0.005
    assert shares[Verdict.NOT_TRIAGED] > 0.3


def test_candidates_are_triaged_after_they_are_calculated(history: History) -> None:
    table = history.candidates
    assert np.all(table.calculated_on > history.times[history.offsets[table.series] + table.index])
    done = table.triaged_on != UNKNOWN_TIME
    assert np.all(table.triaged_on[done] > table.calculated_on[done])
    assert np.array_equal(done, table.verdict != Verdict.NOT_TRIAGED)


def test_some_verdicts_precede_later_candidates(history: History, out: Path) -> None:
    rows = pq.read_table(out / "interim" / "candidates.parquet").to_pandas()
    assert len(rows) == len(history.candidates)
    rows = rows.sort_values(["series", "index"])
    later = rows.groupby("series")["calculated_on"].shift(-1)
    assert (rows["triaged_on"] < later).sum() > 20


def test_tasks_cover_all_series() -> None:
    cut = list(tasks(SMALL))
    assert [(profile.name, start, stop) for profile, _, start, stop in cut] == [
        (LONG.name, 0, 50),
        (LONG.name, 50, 60),
        (SHORT.name, 0, 50),
        (SHORT.name, 50, 100),
    ]
