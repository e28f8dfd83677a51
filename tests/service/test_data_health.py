"""The health of the data, from results that the built-in model judged."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from barograph.server.store import Store
from barograph.server.web.app import create_app
from barograph.server.web.model_watch import ModelWatch
from tests.service.conftest import HERE, refresh_loop
from tests.service.samples import POINTS, steps

HOUR = 3_600_000
RESULTS = 60
SPIKE = 130.0


@pytest.fixture
def service(tmp_path: Path) -> Iterator[TestClient]:
    watch = ModelWatch(None)
    with (
        Store(str(tmp_path / "store.db"), watch.start().judge) as store,
        TestClient(create_app(store, watch), HERE, client=("127.0.0.1", 50000)) as client,
    ):
        yield client


def sent(test: str, *, hours_ago: int = 0, newest: float | None = None) -> list[dict[str, Any]]:
    """Hourly results of a quiet series."""
    values = np.random.default_rng(1).normal(100.0, 1.0, RESULTS).tolist()
    last = int(time.time() * 1000) - hours_ago * HOUR
    return [
        {
            "project": "db",
            "test": test,
            "measurement": "seconds",
            "direction": -1,
            "order": order,
            "commit": f"c{order}",
            "value": value,
            "time": last - (RESULTS - 1 - order) * HOUR,
        }
        for order, value in enumerate([*values[:-1], values[-1] if newest is None else newest])
    ]


def health(client: TestClient) -> dict[str, Any]:
    refresh_loop(client).run_once(clusters=False)
    answer: dict[str, Any] = client.get("/api/v1/data-health").json()
    return answer


def test_silent_series_has_the_gap_that_it_was_expected_to_keep(service: TestClient) -> None:
    service.post(POINTS, json=[*sent("alive"), *sent("silent", hours_ago=7)])
    data = health(service)
    [silent] = data["series"]
    assert silent["name"] == "db/silent/seconds"
    assert silent["expected"] == HOUR
    assert 7 * HOUR <= data["now"] - silent["last"] < 8 * HOUR
    assert data["pipelines"] == []
    assert (data["counts"]["watched"], data["counts"]["silent"]) == (2, 1)
    page = " ".join(service.get("/data-health").text.split())
    assert "Some data is missing" in page
    assert "60 min" in page
    service.post(POINTS, json=sent("silent")[-1] | {"order": RESULTS, "commit": "back"})
    assert health(service)["series"] == []


def test_page_with_too_few_results_does_not_claim_health(service: TestClient) -> None:
    service.post(POINTS, json=sent("new")[:2])
    health(service)
    page = service.get("/data-health").text
    assert "No series is watched yet" in page
    assert "All watched series" not in page


def test_suspect_waits_until_its_rerun_has_come(service: TestClient) -> None:
    service.post(POINTS, json=[*sent("quiet"), *sent("slow", newest=SPIKE)])
    [suspect] = health(service)["suspects"]
    assert suspect["name"] == "db/slow/seconds"
    assert (suspect["order"], suspect["reruns"]) == (RESULTS - 1, 1)
    page = " ".join(service.get("/data-health").text.split())
    assert "Suspects that wait for a rerun" in page
    assert "1</span> <span>suspect waits for a rerun" in page
    newest = sent("slow", newest=SPIKE)[-1]
    service.post(POINTS, json=newest | {"run": "2"})
    assert health(service)["suspects"] == []


def test_one_series_with_too_few_results_is_named_in_the_singular(service: TestClient) -> None:
    service.post(POINTS, json=[*sent("alive"), *sent("new")[:2]])
    health(service)
    assert "1 has too few results to be watched" in service.get("/data-health").text


def test_rejected_results_are_counted_by_reason(service: TestClient) -> None:
    quiet = sent("quiet")
    service.post(POINTS, json=quiet)
    for _ in range(2):
        service.post(POINTS, json=[quiet[0] | {"commit": "other"}, quiet[1] | {"value": None}])
    rejected = health(service)["rejected"]
    assert sorted(rejection["results"] for rejection in rejected) == [2, 2]
    reasons = " ".join(rejection["reason"] for rejection in rejected)
    assert "value" in reasons
    assert "commit" in reasons
    assert "4</span> <span>results rejected" in " ".join(service.get("/data-health").text.split())


def test_lag_lasts_until_the_background_work_is_done(service: TestClient) -> None:
    service.post(POINTS, json=[*sent("a"), *sent("b")])
    time.sleep(0.05)
    waiting = service.get("/api/v1/data-health").json()
    assert waiting["waiting"] == 2
    assert waiting["lag"] >= 50
    done = health(service)
    assert (done["waiting"], done["lag"]) == (0, 0)


def test_data_health_counts_rejections(client: TestClient) -> None:
    client.post(POINTS, json=[*steps("a"), {"test": "a", "order": 1}, {"test": "a", "order": 2}])
    [answer] = client.get("/api/v1/data-health").json()["rejected"]
    assert answer["results"] == 2
    assert "value" in answer["reason"]
