"""`barograph serve`: start the HTTP service."""

from __future__ import annotations

import ipaddress
import logging
import math
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli.clusters import configured_settings
from barograph.cli.config import NAME, current_config
from barograph.cli.detectors import DEFAULT_DETECTOR, DETECTORS, make_detector
from barograph.cli.models import read_params
from barograph.cli.options import (
    RELEASED,
    false_alarms_setting,
    model_option,
    online_models,
    open_store,
    parameters_of,
    refuse_given,
    require_named_model,
    setting,
    store_option,
    with_parameters,
)
from barograph.runtime.errors import ConfigError
from barograph.runtime.extras import needed
from barograph.server.web.settings import Settings

if TYPE_CHECKING:
    from barograph.server.store import Store
    from barograph.server.web.background import WorkerConfig
    from barograph.server.web.model_watch import ModelWatch

BURST = 10  # seconds of the rate that may come at once
FILLING = (
    "filling a temporary store with simulated results; the first time, this compiles numeric code, "
    "which takes up to a minute"
)
LEVELS = ("debug", "info", "warning", "error")


def _ip_address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise ConfigError(
            f"--trusted-proxy: {text!r:.60} is not an IP address such as 10.0.0.2 or ::1"
        ) from None


@click.command("serve", epilog="Example: barograph serve --port 8000 --store results.db")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port to listen on; 0 for any free port.",
)
@click.option(
    "--demo",
    is_flag=True,
    help="Serve a temporary store with simulated results, which is deleted at the end.",
)
@click.option(
    "--allowed-host",
    multiple=True,
    metavar="NAME",
    help="Host name under which the service is reached, such as that of its proxy. Repeatable.",
)
@click.option(
    "--trusted-proxy",
    multiple=True,
    metavar="ADDRESS",
    callback=lambda _context, _option, texts: tuple(map(_ip_address, texts)),
    help="IP address of a reverse proxy. Its X-Forwarded-For and X-Forwarded-Proto headers are "
    "trusted. Repeatable.",
)
@store_option
@model_option("online")
@click.option(
    "--log-level",
    type=click.Choice(LEVELS),
    default="info",
    show_default=True,
    help="Lowest level of log messages.",
)
@setting(
    "label-free",
    type=click.Path(path_type=Path),
    callback=require_named_model,
    default=RELEASED / "label_free.baro",
    help="Model that scores candidates.",
)
@with_parameters(parameters_of(Settings, "rate", "session_hours", table=""))
@false_alarms_setting
def serve(
    host: str,
    port: int,
    demo: bool,
    allowed_host: tuple[str, ...],
    trusted_proxy: tuple[str, ...],
    url: str,
    model: Path,
    log_level: str,
    label_free: Path,
    rate: float,
    session_hours: float,
    false_alarms_per_1000: float,
) -> None:
    """Accept results over HTTP, judge and store them.

    Without a token the service serves this machine only; `barograph token add` creates one. A new
    model file at the same path is used without a restart.
    """
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=log_level.upper(), format=form)
    logging.getLogger("numba").setLevel(logging.WARNING)
    with needed("the service", "service"):
        import barograph.server.web.app  # noqa: F401 - what is missing is said before anything starts
        from barograph.server.web.auth import is_loopback
        from barograph.server.web.background import WorkerConfig
        from barograph.server.web.model_watch import ModelWatch
    from barograph.cli.demo import demo_folder, demo_params, fill
    from barograph.detection.online import make_judge
    from barograph.server.triage.patterns import set_patterns

    settings = Settings(
        local=is_loopback(host),
        session_hours=session_hours,
        allowed_hosts=frozenset(name.lower() for name in (host, *allowed_host)),
        trusted_proxies=frozenset(trusted_proxy),
        rate=rate,
        burst=math.ceil(BURST * rate),
    )
    params = read_params  # called in the process that learns
    method, name = make_detector(DEFAULT_DETECTOR), DETECTORS[DEFAULT_DETECTOR]
    with ExitStack() as stack:
        if demo:
            refuse_given(("url", "model"), "--demo has a store and models of its own")
            folder = stack.enter_context(demo_folder())
            url, params = str(folder / "demo.db"), partial(demo_params)
            model, label_free = (folder / "release" / path.name for path in (model, label_free))
        watch = ModelWatch(model, false_alarms_per_1000)
        store = stack.enter_context(open_store(url))
        if patterns := current_config().patterns:  # kinds that they do not name stay
            store.write(lambda connection: set_patterns(connection, patterns, NAME))
        _check_tokens(store, host, local=settings.local)
        shape = configured_settings()
        worker = WorkerConfig(url, method, name, label_free, cluster_settings=shape, params=params)
        if demo:
            click.echo(FILLING, err=True)
            store.judge = make_judge(online_models(model), false_alarms_per_1000)
            fill(store, method, name)
        _listen(host, port, store, watch, settings, worker)
    if watch.failure is not None:
        raise watch.failure


def _listen(
    host: str, port: int, store: Store, watch: ModelWatch, settings: Settings, config: WorkerConfig
) -> None:
    """Serve a store until the process is asked to end.

    Raises:
        ConfigError: The address is not free.
    """
    from barograph.server.web.app import create_app
    from barograph.server.web.background import BackgroundWorker
    from barograph.server.web.retraining import Retraining
    from barograph.server.web.server import address, make_server, run_server

    def stop() -> None:
        server.should_exit = True

    def listening(place: str) -> None:
        kept = "a database" if "://" in config.url else config.url  # a URL may hold a password
        ready = "/ready answers 200 once the model is loaded"
        click.echo(f"serving {place} from {kept}; {ready}", err=True)

    worker = BackgroundWorker(config)
    retraining = None if config.path is None else Retraining(store, config, config.path.parent)
    app = create_app(store, watch, settings, worker, stop, retraining)
    server = make_server(app, host, port, listening)
    if not run_server(server):
        raise ConfigError(f"cannot listen on {address(host, port)}; see the log")


def _check_tokens(store: Store, host: str, *, local: bool) -> None:
    from barograph.server.store import tokens

    with store.read() as connection:
        if tokens.every(connection):
            return
    if not local:
        raise ConfigError(
            f"--host {host}: without a token the service only listens on this machine; create one "
            "with: barograph token add NAME --scope ingest"
        )
    click.echo("no token exists: every process of this machine has full access", err=True)
