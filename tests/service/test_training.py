"""The record of the model, work lists, retraining, release and rollback over HTTP."""

import atexit
import errno
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from barograph.detection import Hunter
from barograph.learning.registry import Index, put_in_service, registry_of
from barograph.models.artifact import file_digest
from barograph.results.series import Verdict
from barograph.runtime.errors import ConfigError
from barograph.server.store import Store, retrainings
from barograph.server.store.audit import now
from barograph.server.store.schema import candidates
from barograph.server.store.tokens import Scope
from barograph.server.triage.verdicts import record_batch
from barograph.server.web import retraining as module
from barograph.server.web.app import create_app
from barograph.server.web.background import BackgroundWorker, WorkerConfig
from barograph.server.web.model_watch import ModelWatch
from barograph.server.web.retraining import Retraining, RetrainingProgress
from tests.service.conftest import Start, make_token, refresh_loop, store_of
from tests.service.models import small_model
from tests.service.samples import POINTS, steps
from tests.shared import wait_for

DAY = 86_400_000


def params() -> Any:
    raise ConfigError("no parameters here")


@pytest.fixture
def decided(client: TestClient) -> TestClient:
    """Six series with a candidate each; four have verdicts, one of which contradicts the model."""
    for k in range(6):
        client.post(POINTS, json=steps(f"test{k}", change=15 + k))
    refresh_loop(client).run_once(clusters=False)

    def work(connection: sa.Connection) -> None:
        model = store_of(client).model(connection, "label_free-1", 0.5)
        numbers = connection.scalars(sa.select(candidates.c.id).order_by(candidates.c.id)).all()
        for number, probability in zip(numbers, (0.9, 0.6, 0.3, 0.9, 0.5, 0.6), strict=False):
            row = {"probability": probability, "model": model}
            connection.execute(sa.update(candidates).where(candidates.c.id == number).values(row))
        real, noise = Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE
        for number, verdict in zip(numbers[:4], (real, real, noise, noise), strict=True):
            record_batch(connection, [(number, None)], verdict, "ada", timestamp=now() - DAY)

    store_of(client).write(work)
    return client


def test_record_compares_verdicts_with_earlier_probabilities(decided: TestClient) -> None:
    answer = decided.get("/api/v1/model/record").json()
    recent = answer["recent"]
    assert (recent["agreement"]["hits"], recent["agreement"]["of"]) == (3, 4)
    assert (recent["useful"]["hits"], recent["useful"]["of"]) == (2, 3)
    assert answer["due"]["new"] == 4
    assert not answer["due"]["due"]
    assert len(answer["weeks"]) == 12
    assert {file["name"]: file["number"] for file in answer["files"]}["label_free"] == 0


def test_record_leaves_out_what_was_undone_or_reopened(decided: TestClient) -> None:
    def work(connection: sa.Connection) -> None:
        first = connection.scalar(sa.select(sa.func.min(candidates.c.id)))
        record_batch(connection, [(first, None)], Verdict.UNSURE, "ada")

    store_of(decided).write(work)
    answer = decided.get("/api/v1/model/record").json()
    assert (answer["recent"]["verdicts"], answer["due"]["new"]) == (3, 3)


def test_second_verdict_is_compared_with_the_probability_before_the_first(
    decided: TestClient,
) -> None:
    def work(connection: sa.Connection) -> None:
        first = connection.scalar(sa.select(sa.func.min(candidates.c.id)))
        connection.execute(
            sa.update(candidates).where(candidates.c.id == first).values(probability=0.01)
        )
        record_batch(connection, [(first, None)], Verdict.FALSE_POSITIVE, "bob")

    store_of(decided).write(work)
    useful = decided.get("/api/v1/model/record").json()["recent"]["useful"]
    assert (useful["hits"], useful["of"]) == (1, 3)  # still an alarm, and not useful any more


def test_work_lists_name_doubted_labels_and_open_candidates(decided: TestClient) -> None:
    doubted, informative = decided.get("/api/v1/work-lists").json()["lists"]
    with store_of(decided).read() as connection:
        rows = connection.execute(sa.select(candidates.c.id, candidates.c.verdict)).all()
    verdict = dict(tuple(row) for row in rows)
    assert [verdict[number] for number in doubted["candidates"]] == ["false_positive"]
    assert {verdict[number] for number in informative["candidates"]} == {"not_triaged"}


def test_informative_list_takes_the_most_uncertain_of_a_series_and_of_a_commit(
    client: TestClient,
) -> None:
    for k, change in enumerate((15, 15, 20)):
        client.post(POINTS, json=steps(f"test{k}", change=change))
    refresh_loop(client).run_once(clusters=False)
    certain = {1: 0.9, 2: 0.45, 3: 0.2}

    def work(connection: sa.Connection) -> None:
        for number, probability in certain.items():
            update = sa.update(candidates).where(candidates.c.id == number)
            connection.execute(update.values(probability=probability))

    store_of(client).write(work)
    _, informative = client.get("/api/v1/work-lists").json()["lists"]
    assert informative["candidates"] == [2, 3]  # the first is at the commit of the second


def test_retraining_that_doubts_no_label_leaves_none_in_the_list(decided: TestClient) -> None:
    finished(store_of(decided), {"doubted": []})
    assert decided.get("/api/v1/work-lists").json()["lists"][0]["candidates"] == []


def test_service_without_a_folder_for_models_says_so(client: TestClient) -> None:
    state = client.get("/api/v1/retraining").json()
    assert not state["possible"]
    assert "without a folder for models" in state["why_not"]
    for path in ("retraining", "retraining/cancel"):
        assert client.post(f"/api/v1/{path}").status_code == 409


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/retraining", None),
        ("/api/v1/retraining/cancel", None),
        ("/api/v1/retraining/release", {"id": 1}),
        ("/api/v1/model/rollback", {"name": "label_free"}),
    ],
)
def test_only_administrators_retrain_and_release(
    client: TestClient, path: str, body: dict[str, Any] | None
) -> None:
    triage = make_token(client, Scope.TRIAGE, Scope.READ)
    assert client.post(path, json=body, headers=triage).status_code == 403


@contextmanager
def retraining_client(
    tmp_path: Path, artifact: Path, learned: Callable[[], Any] = params
) -> Iterator[tuple[TestClient, Retraining]]:
    watch = ModelWatch(artifact)
    url = str(tmp_path / "store.db")
    with Store(url, watch.start().judge) as store:
        path = tmp_path / "release" / "label_free.baro"
        config = WorkerConfig(url, Hunter(), "Hunter", path, params=learned)
        retraining = Retraining(store, config, path.parent)
        app = create_app(store, watch, worker=BackgroundWorker(config), retraining=retraining)
        where = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 50000)}
        with TestClient(app, **where) as client:  # type: ignore[arg-type]
            yield client, retraining


def test_failed_retraining_reports_why_and_another_can_start(
    tmp_path: Path, artifact: Path
) -> None:
    with retraining_client(tmp_path, artifact) as (client, retraining):
        started = client.post("/api/v1/retraining")
        assert started.status_code == 202
        assert started.json()["running"]["phases"][0] == "Collect verdicts"
        assert client.post("/api/v1/retraining").status_code == 409
        wait_for(lambda: retraining.progress is None)
        latest = client.get("/api/v1/retraining").json()["latest"]
        assert (latest["state"], latest["why"]) == ("failed", "no parameters here")
        assert client.post("/api/v1/retraining/cancel").status_code == 409
        assert client.post("/api/v1/retraining").status_code == 202


def untidy_params() -> Any:
    """Learn nothing, and leave work for the end of the process."""
    atexit.register(time.sleep, 6000)
    raise ConfigError("no parameters here")


def test_retraining_ends_with_its_result(tmp_path: Path, artifact: Path) -> None:
    with retraining_client(tmp_path, artifact, untidy_params) as (client, retraining):
        assert client.post("/api/v1/retraining").status_code == 202
        wait_for(lambda: retraining.progress is None)
        assert latest_of(store_of(client)) == ("failed", {"why": "no parameters here"})


def waiting_params() -> Any:
    """Learn nothing until the process is ended."""
    threading.Event().wait()


def test_cancelled_retraining_ends_its_process(tmp_path: Path, artifact: Path) -> None:
    with retraining_client(tmp_path, artifact, waiting_params) as (client, retraining):
        assert client.post("/api/v1/retraining").status_code == 202
        assert client.post("/api/v1/retraining/cancel").status_code == 200
        assert retraining.progress is None
        assert client.get("/api/v1/retraining").json()["latest"]["state"] == "cancelled"
        assert client.post("/api/v1/retraining/cancel").status_code == 409


class SlowToStart:
    """Parameters that a process takes a minute to load before it does anything."""

    def __reduce__(self) -> tuple[Any, ...]:
        return time.sleep, (60,)


def test_retraining_that_is_starting_ends_with_the_service(tmp_path: Path, artifact: Path) -> None:
    with retraining_client(tmp_path, artifact, SlowToStart()) as (client, _):  # type: ignore[arg-type]
        store = store_of(client)
        assert client.post("/api/v1/retraining").status_code == 202
    with Store(str(tmp_path / "store.db")) as store:
        assert latest_of(store) == ("cancelled", None)


def latest_of(store: Store) -> tuple[str, dict[str, Any] | None]:
    """Return the state and the result of the latest retraining."""
    with store.read() as connection:
        latest = retrainings.latest(connection)
    assert latest is not None
    return latest.state, latest.result


def test_retraining_whose_process_is_killed_fails_and_another_can_start(
    tmp_path: Path, artifact: Path
) -> None:
    with retraining_client(tmp_path, artifact, waiting_params) as (client, retraining):
        assert client.post("/api/v1/retraining").status_code == 202
        process = retraining._process
        assert process is not None
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        wait_for(lambda: retraining.progress is None)
        latest = client.get("/api/v1/retraining").json()["latest"]
        assert (latest["state"], latest["why"]) == (
            "failed",
            "the process ended with code -9; see the log",
        )
        assert client.post("/api/v1/retraining").status_code == 202
        assert client.post("/api/v1/retraining/cancel").status_code == 200


def test_retraining_of_a_service_that_was_killed_has_failed(tmp_path: Path) -> None:
    with Store(str(tmp_path / "store.db")) as store:
        store.write(lambda connection: retrainings.begin(connection, "ada"))
        assert latest_of(store) == ("running", None)
        Retraining(store, WorkerConfig("", Hunter(), "Hunter", None), tmp_path / "release")
        assert latest_of(store) == ("failed", {"why": "the service ended before it did"})


def challenger(folders: Path, name: str, seed: int) -> str:
    """Register a model file; return its digest."""
    file = registry_of(folders) / f"{seed}.baro"
    file.parent.mkdir(parents=True, exist_ok=True)
    small_model(seed, "label_free").save(file)
    return Index.read(name, folders).keep(file, file)


def finished(store: Store, result: dict[str, Any]) -> int:
    """Note a retraining that is done; return its number."""
    number = store.write(lambda connection: retrainings.begin(connection, "ada"))
    store.write(lambda connection: retrainings.finish(connection, number, "done", result))
    return number


def test_release_puts_challengers_in_service_and_rollback_takes_them_back(
    tmp_path: Path, artifact: Path
) -> None:
    with retraining_client(tmp_path, artifact) as (client, retraining):
        folders, store = retraining.served, store_of(client)
        served = folders / "label_free.baro"
        digests: list[str] = []
        for seed in (1, 2):
            digest = challenger(folders, "label_free", seed)
            before = {"champion": digests[-1]} if digests else {}
            decision = {"promoted": True, "why": "not worse", **before}
            kept = {"promoted": False, "why": "too few verdicts"}
            result = {
                "files": {"label_free": decision, "online": kept},
                "challengers": {"label_free": digest},
            }
            number = finished(store, result)
            answer = client.post("/api/v1/retraining/release", json={"id": number})
            assert answer.json() == {"files": ["label_free"]}
            assert file_digest(served) == digest
            digests.append(digest)
        assert client.post("/api/v1/retraining/release", json={"id": 1}).status_code == 409
        state = client.get("/api/v1/retraining").json()
        assert state["compared"]["released_by"] == "local"
        assert [model["may_release"] for model in state["comparison"]] == [True, False]
        answer = client.post("/api/v1/model/rollback", json={"name": "label_free"})
        assert answer.status_code == 200
        assert file_digest(served) == digests[0]
        assert client.post("/api/v1/retraining/release", json={"id": 2}).status_code == 409
        assert "Roll back to the built-in model" in client.get("/model").text
        answer = client.post("/api/v1/model/rollback", json={"name": "label_free"})
        assert answer.status_code == 200
        assert not served.exists()
        assert "The built-in model scores the queue" in client.get("/model").text
        for name in ("label_free", "nothing"):
            answer = client.post("/api/v1/model/rollback", json={"name": name})
            assert answer.status_code == 409


def test_rollback_in_a_folder_that_cannot_be_written_says_so(
    tmp_path: Path, artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    with retraining_client(tmp_path, artifact) as (client, _):
        monkeypatch.setattr(Path, "mkdir", read_only)
        answer = client.post("/api/v1/model/rollback", json={"name": "label_free"})
        assert answer.status_code == 503
        assert (
            answer.json()["error"]["message"]
            == f"{tmp_path / 'registry'}: {os.strerror(errno.EROFS)}"
        )


def test_comparison_shows_agreement_and_calibration(decided: TestClient) -> None:
    facts: dict[str, Any] = {"real": 30, "noise": 20, "auc": 0.9, "auc_of_other": 0.8}
    facts |= {"low": -0.02, "high": 0.2}
    facts["agreement"] = {"new": 0.9, "old": 0.8, "low": -0.02, "high": 0.2}
    facts["brier"] = {"new": 0.1, "old": 0.2, "low": -0.15, "high": -0.05}
    decision = {"promoted": True, "why": "not worse", "uses": {"label_free": facts}}
    finished(store_of(decided), {"files": {"label_free": decision}, "doubted": []})
    [file] = decided.get("/api/v1/retraining").json()["comparison"]
    outcomes = {measure["measure"]: measure["outcome"] for measure in file["measures"]}
    assert outcomes == {
        "AUC": "not certain",
        "Agreement": "not certain",
        "Brier score (lower is better)": "better",
    }
    page = " ".join(decided.get("/model").text.split())
    assert '80.0 %</td> <td class="num strong">90.0 %</td> <td class="num">+10.0<' in page


def test_release_refuses_a_comparison_with_a_former_champion(
    tmp_path: Path, artifact: Path
) -> None:
    with retraining_client(tmp_path, artifact) as (client, retraining):
        folders, store = retraining.served, store_of(client)
        first, second = (challenger(folders, "label_free", seed) for seed in (1, 2))
        put_in_service([Index.read("label_free", folders).promoted(first, {})], folders)
        result = {
            "files": {"label_free": {"promoted": True, "why": "not worse"}},
            "challengers": {"label_free": second},
        }
        number = finished(store, result)
        answer = client.post("/api/v1/retraining/release", json={"id": number})
        assert answer.status_code == 409
        assert "another model was released" in answer.json()["error"]["message"]


def test_progress_keeps_how_long_each_phase_took() -> None:
    began = RetrainingProgress(1, time.monotonic() - 10)
    later = began.at(2, 1, 4)
    assert later.share == pytest.approx(2.25 / 6)
    assert [round(seconds) for seconds in later.seconds] == [10, 0]


def test_no_phase_took_less_than_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 4.8)
    progress = RetrainingProgress(1, 0.0, phase=2, seconds=(3.7, 1.1))  # in sum 4.800000000000001
    assert str(progress.at(3, 0, 4).seconds) == "(3.7, 1.1, 0.0)"


def test_retraining_needs_xgboost(
    tmp_path: Path, artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with retraining_client(tmp_path, artifact) as (client, _):
        answer = client.post("/api/v1/retraining")
        assert answer.status_code == 409
        assert "pip install '.[train]'" in answer.json()["error"]["message"]


def test_pages_of_the_model_and_of_health_answer(decided: TestClient) -> None:
    page = decided.get("/model").text
    assert "The built-in model scores the queue" in page
    assert "agreed with people on 3 of 4 verdicts" in " ".join(page.split())
    health = decided.get("/data-health").text
    assert "No data is not “no regression”" in health
    assert " style=" not in page + health
    assert "<script>" not in page + health


def test_pages_of_an_empty_store_do_not_claim_health(client: TestClient) -> None:
    page = client.get("/model").text
    assert "it is not known how well it does" in page
    assert "No candidate with a probability got a verdict" in page
    health = client.get("/data-health").text
    assert "No series sends results yet" in health
    assert "All watched series" not in health


def test_pages_without_the_scope_admin_offer_no_retraining(start: Start) -> None:
    client = start()
    read = make_token(client, Scope.READ)
    page = client.get("/model", headers=read).text
    assert "need the scope <code>admin</code>" in page
    assert client.get("/model", headers=make_token(client, Scope.INGEST)).status_code == 403
