"""What a person waits for in a browser: a series until it is drawn, and each frame of a pan.

`benchmarks/board.py --browser` runs it with a headless Chromium of the system.
"""

import shutil
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from barograph.server.store import Store
from barograph.server.web.app import create_app
from barograph.server.web.model_watch import ModelWatch

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAMS = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")
RUNS = 10  # visits of the page with empty caches, and with full ones
OPENING = 1000  # ms that a window has to open before a visit
SHARES = (1.0, 0.9, 0.5, 0.1)  # of the series that is in view during a pan
FRAMES = 120  # of a pan
LIMITS = {"limit of drawing": "<= 300 ms", "limit of a frame, p95": "<= 16 ms"}
# Milliseconds from the request until the response has ended, and until the chart is drawn, and the
# compressed size of the page.
DRAWN = """() => {
  const [visit] = performance.getEntriesByType("navigation");
  const drawn = performance.getEntriesByName("chart-drawn")[0]?.startTime;
  const { requestStart: start, responseEnd: end, encodedBodySize: size } = visit;
  return drawn ? [end - start, drawn - start, size] : null;
}"""
# Milliseconds to draw each frame of a pan, including the pixels: reading one back waits for them.
PANNED = """async ([share, frames]) => {
  const { drawSeries } = await import("/static/x/chart.js");
  const content = JSON.parse(document.getElementById("series-data").textContent);
  const count = content.values.length;
  const canvas = document.createElement("canvas");
  canvas.className = "chart";
  document.querySelector("main").prepend(canvas);
  const data = {
    ...content, index: null, count, limits: [0, 1],
    changes: content.marks.map((mark) => ({ ...mark, text: "+1.0 %" })),
    label: (k) => ({ name: content.commits[k].slice(0, 8), date: "" }),
  };
  const chart = drawSeries(canvas, data, { isInteractive: true });
  const times = [];
  const span = share * count;
  for (let frame = 0; frame < frames; frame += 1) {
    await new Promise(requestAnimationFrame);
    const began = performance.now(), from = (count - span) * frame / frames;
    chart.setRange([from, from + span], { isMoving: true });
    chart.draw();
    canvas.getContext("2d").getImageData(0, 0, 1, 1);
    times.push(performance.now() - began);
  }
  canvas.remove();
  return times;
}"""


def missing() -> str:
    """Return why nothing can be measured; empty if it can."""
    if find_spec("playwright") is None:
        return "Playwright is not installed"
    return "" if _program() else f"no Chromium is installed: none of {', '.join(PROGRAMS)}"


def measured(
    artifact: Path, url: str, length: int, fill: Callable[[Store], None]
) -> dict[str, Any]:
    """Return the figures of the first series of a store, which `fill` fills.

    Args:
        artifact: Model of the service.
        url: Location of the empty store.
        length: Number of results of the series, for the names of the figures.
        fill: Called with the open store.
    """
    from playwright.sync_api import sync_playwright

    watch = ModelWatch(artifact)
    with Store(url, watch.start().judge) as store:
        fill(store)
        with _serving(create_app(store, watch)) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=_program(), args=list(FLAGS))
            page_url = f"{address}/series/1"
            start, *opening = [_first_visit(browser, page_url) for _ in range(RUNS + 1)]
            first = [_first_visit(browser, page_url, OPENING) for _ in range(RUNS)]
            page = _window(browser)
            later = [_visit(page, page_url) for _ in range(RUNS + 1)][1:]
            frames = {share: page.evaluate(PANNED, [share, FRAMES]) for share in SHARES}
            browser.close()
    answered, drawn, sizes = zip(*later, strict=True)
    at_first, while_opening = ([visit[1] for visit in visits] for visits in (first, opening))
    p95 = {share: statistics.quantiles(times, n=20)[-1] for share, times in frames.items()}
    figures = {
        f"page of {length:,} results, compressed, kB": sizes[0] / 1000,
        f"page of {length:,} results answered, median, ms": statistics.median(answered),
        f"{length:,} results drawn, just started, ms": start[1],
        f"{length:,} results drawn, first visits, median, ms": statistics.median(at_first),
        f"{length:,} results drawn, first visits, slowest of {len(first)}, ms": max(at_first),
        f"{length:,} results drawn, while the window opens, ms": statistics.median(while_opening),
        f"{length:,} results drawn, median, ms": statistics.median(drawn),
        f"{length:,} results drawn, slowest of {len(drawn)}, ms": max(drawn),
        "frame of a pan, p95 of the slowest zoom, ms": max(p95.values()),
    }
    return {name: round(figure, 1) for name, figure in figures.items()} | LIMITS


def _first_visit(browser: "Browser", url: str, pause: int = 0) -> list[float]:
    page = _window(browser)
    page.wait_for_timeout(pause)
    times = _visit(page, url)
    page.close()
    return times


def _window(browser: "Browser") -> "Page":
    """Return a page with caches of its own, which are empty."""
    return browser.new_page(viewport={"width": 1440, "height": 1000})


def _visit(page: "Page", url: str) -> list[float]:
    """Return what `DRAWN` gives for one visit."""
    page.goto(url, wait_until="load")
    times: list[float] = page.wait_for_function(DRAWN).json_value()
    return times


def _program() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def _serving(app: Any) -> Iterator[str]:
    """Run the service in a thread; yield its address once it answers."""
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            if not thread.is_alive():
                sys.exit("the service did not start")
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()
