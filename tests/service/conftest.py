"""A service over an empty store, with a small model."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from barograph.detection import Hunter
from barograph.detection.online import make_judge
from barograph.models import OnlineModels
from barograph.server.store import Limits, Store, tokens
from barograph.server.store.tokens import Scope
from barograph.server.web.app import create_app
from barograph.server.web.background import RefreshLoop, WorkerConfig
from barograph.server.web.model_watch import ModelWatch, trials
from barograph.server.web.settings import Settings
from tests.service.models import small_pair

Start = Callable[..., TestClient]
HERE = "http://127.0.0.1"


def judge_trials(models: OnlineModels) -> None:
    """Judge as a service does before it uses models."""
    judge = make_judge(models)
    for trial in trials():
        judge.judge(trial)


@pytest.fixture(scope="session", autouse=True)
def compiled_kernels() -> None:
    """Compile what a service computes with: a cold one is not ready for some seconds."""
    judge_trials(OnlineModels.default())
    judge_trials(small_pair())


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    path = tmp_path / "online.baro"
    small_pair().save(path)
    return path


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    """Where the store is; modules that ask much of it take the fixture `url` instead."""
    return str(tmp_path / "store.db")


@pytest.fixture
def start(store_url: str, artifact: Path) -> Iterator[Start]:
    """Starts a service; every one of a test has the same store."""
    with ExitStack() as stack:

        def started(settings: Settings | None = None, limits: Limits | None = None) -> TestClient:
            watch = ModelWatch(artifact)
            judge = watch.start().judge
            store = stack.enter_context(Store(store_url, judge, limits=limits))
            app = create_app(store, watch, settings)
            client = TestClient(
                app, HERE, raise_server_exceptions=False, client=("127.0.0.1", 50000)
            )
            return stack.enter_context(client)

        yield started


@pytest.fixture
def client(start: Start) -> TestClient:
    return start()


def app_of(client: TestClient) -> FastAPI:
    assert isinstance(client.app, FastAPI)
    return client.app


def store_of(client: TestClient) -> Store:
    store = app_of(client).state.context.store
    assert isinstance(store, Store)
    return store


def refresh_loop(client: TestClient) -> RefreshLoop:
    """The refresh of candidates, in this process."""
    return RefreshLoop(store_of(client), WorkerConfig("", Hunter(), "Hunter", None))


def make_token(client: TestClient, *scopes: Scope) -> dict[str, str]:
    """The header that a holder of these scopes sends."""
    name = "-".join(scopes)
    secret = store_of(client).write(lambda c: tokens.create(c, name, scopes, "test"))
    app_of(client).state.context.auth.forget()
    return {"Authorization": f"Bearer {secret}"}
