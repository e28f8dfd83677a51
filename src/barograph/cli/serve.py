"""`barograph serve`: the service, with no configuration at all."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli.detect import DETECTORS, by_name, detector_option
from barograph.cli.looks import second_look_options
from barograph.cli.stores import make_folder, model_option, store_option
from barograph.errors import ConfigError

if TYPE_CHECKING:
    from barograph.detection.online import SecondLookConfig

LOG_PAGES = 65_536  # 128 MB, should the process behind the requests ever fail to write them back
LEVELS = ("debug", "info", "warning", "error")


@click.command(epilog="Example: barograph serve --port 8000 --store results.db")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@store_option
@model_option("online")
@second_look_options(on=True)
@model_option("label_free", "--label-free", "Scores the candidates")
@detector_option("Looks again at the series whose points changed.")
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True)
def command(
    host: str,
    port: int,
    url: str,
    model: Path,
    again: SecondLookConfig | None,
    label_free: Path,
    detector: str,
    log_level: str,
) -> None:
    """Take results over HTTP, decide on them, and keep them.

    Without any token only this machine is served; `barograph token add` makes one. Another model
    at the same place is taken up without a restart.
    """
    try:
        import uvicorn

        from barograph.service import (
            BackgroundWorker,
            ModelWatch,
            Settings,
            WorkerConfig,
            create_app,
        )
        from barograph.service.auth import is_loopback
        from barograph.service.middleware import Protocol
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"the service needs {error.name}: pip install 'barograph[service]'"
        ) from None
    from barograph.store import Store

    logging.basicConfig(
        level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    for chatty in ("alembic", "numba"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    # A request waits for the interpreter, where others compute, a tenth as long as usual.
    sys.setswitchinterval(0.0005)
    # It decides, and so is compiled, before anyone can ask: the first answer is a quick one.
    watch = ModelWatch(model, again)
    first = watch.start()
    make_folder(url)
    with Store(url, first.judge, log=LOG_PAGES) as store:
        local = is_loopback(host)
        _check_tokens(store, host, local=local)
        config = WorkerConfig(url, by_name(detector), DETECTORS[detector], label_free)
        app = create_app(store, watch, Settings(local=local), BackgroundWorker(config))
        try:
            uvicorn.run(
                app,
                http=Protocol,
                host=host,
                port=port,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # who asks is who connects
                timeout_graceful_shutdown=10,
            )
        except SystemExit as left:  # its own codes mean something else here
            if left.code:
                raise ConfigError(f"cannot listen at {host}:{port}; the log says why") from None


def _check_tokens(store: object, host: str, *, local: bool) -> None:
    from barograph.store import Store, tokens

    assert isinstance(store, Store)  # noqa: S101 - only imported when needed
    with store.read() as connection:
        if tokens.every(connection):
            return
    if not local:
        raise ConfigError(
            f"--host {host}: without any token the service listens on this machine alone; make "
            "one with: barograph token add NAME --scope ingest"
        )
    click.echo("no token is set: this machine alone is served, and may do everything", err=True)
