"""Download what a URL names: a Graphite render query, or a result file on a web server.

Only the host of the URL is contacted. Credentials and queries never appear in messages.
"""

from __future__ import annotations

import base64
import http.client
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from barograph.runtime.errors import SourceError
from barograph.sources.formats.urls import shown_url

TIMEOUT = 30.0  # seconds without an answer
DEADLINE = 300.0  # seconds in all
LIMIT = 512 * 2**20  # bytes
CHUNK = 2**20


def download(url: str) -> bytes:
    """Return the body of the answer to a GET request.

    Args:
        url: A URL of http or https; may hold a user and a password.

    Raises:
        SourceError: The server cannot be reached, answers with an error, redirects to another
            host, or sends more than `LIMIT` bytes.
    """
    shown = shown_url(url)
    try:
        opener = urllib.request.build_opener(_SameHost())
        with opener.open(_request(url), timeout=TIMEOUT) as response:
            return _body(response, shown)
    except urllib.error.HTTPError as error:
        error.close()
        raise SourceError(f"{shown}: the server answers {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise SourceError(f"{shown}: cannot be reached: {error.reason}") from None
    except TimeoutError:
        raise SourceError(f"{shown}: no answer within {TIMEOUT:g} s") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        kind = type(error).__name__  # the text may hold the URL with its credentials
        raise SourceError(f"{shown}: cannot be read ({kind})") from None


def _request(url: str) -> urllib.request.Request:
    """Return the request, with the credentials of the URL in a header."""
    parts = urlsplit(url)
    if parts.scheme.lower() not in ("http", "https"):
        raise ValueError("neither http nor https")
    _user, sign, host = parts.netloc.rpartition("@")
    bare = urlunsplit((parts.scheme, host, parts.path, parts.query, ""))
    request = urllib.request.Request(bare, headers={"User-Agent": "barograph"})  # noqa: S310
    if sign:
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        token = base64.b64encode(pair.encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {token}")
    return request


def _body(response: Any, shown: str) -> bytes:
    """Return the body, read in pieces so that neither size nor time is unlimited."""
    chunks = []
    size, started = 0, time.monotonic()
    while chunk := response.read(CHUNK):
        size += len(chunk)
        chunks.append(chunk)
        if size > LIMIT:
            raise SourceError(f"{shown}: more than {LIMIT >> 20} MiB")
        if time.monotonic() - started > DEADLINE:
            raise SourceError(f"{shown}: not complete after {DEADLINE:g} s")
    return b"".join(chunks)


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follows redirects only to the host that was asked for."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        """Return the request for the new URL.

        Raises:
            SourceError: It names another host.
        """
        if urlsplit(newurl).hostname != urlsplit(req.full_url).hostname:
            fp.close()
            raise SourceError(f"{shown_url(req.full_url)}: redirects to another host")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
