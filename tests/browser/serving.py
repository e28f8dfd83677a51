"""A service in this process, over a store of its own, that a browser can reach."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from barograph.results.series import Verdict
from barograph.server.store import Store
from barograph.server.triage import verdicts
from barograph.server.web.app import create_app
from barograph.server.web.model_watch import ModelWatch
from barograph.server.web.retraining import Retraining
from barograph.server.web.settings import Settings
from tests.service.models import small_pair
from tests.service.servers import in_thread

Fill = Callable[[Store], object]


@dataclass(frozen=True)
class Board:
    """A running service: its URL, without a slash at the end, and its store."""

    url: str
    store: Store

    def decide(self, candidate: int, verdict: Verdict, who: str) -> None:
        """Record the verdict of another person."""
        items = [(candidate, None)]
        self.store.write(lambda c: verdicts.record_batch(c, items, verdict, who))

    def verdicts(self, candidate: int) -> list[tuple[str, str]]:
        """Return verdict and person of all entries on a candidate, the latest last."""
        with self.store.read() as connection:
            entries = verdicts.history(connection, candidate=candidate)
        return [(entry.verdict.word, entry.who) for entry in reversed(entries)]


@contextmanager
def serving(
    folder: Path,
    fill: Fill | None = None,
    settings: Settings | None = None,
    retraining_of: Callable[[Store, Path], Retraining] | None = None,
) -> Iterator[Board]:
    """Start a service on a free port.

    Args:
        folder: Empty folder for the store and the model.
        fill: Called with the open store before the service starts.
        settings: Limits of the service.
        retraining_of: Returns what retrains; without it nothing does.
    """
    artifact = folder / "online.baro"
    small_pair().save(artifact)
    watch = ModelWatch(artifact)
    with Store(str(folder / "store.db"), watch.start().judge) as store:
        if fill is not None:
            fill(store)
        retraining = None if retraining_of is None else retraining_of(store, folder)
        app = create_app(store, watch, settings, retraining=retraining)
        # The browser keeps its connections open, so the server must not wait for their end.
        config = uvicorn.Config(
            app, port=0, log_config=None, access_log=False, timeout_graceful_shutdown=1
        )
        with in_thread(uvicorn.Server(config)) as port:
            yield Board(f"http://127.0.0.1:{port}", store)
