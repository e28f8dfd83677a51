"""URLs as locations: a Graphite render query, or a result file on a web server.

Credentials go to the host of the URL only, and neither they nor queries appear in messages.
"""

from __future__ import annotations

import base64
import re
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from barograph.runtime.errors import SourceError

TIMEOUT = 30.0  # seconds without an answer
LIMIT = 256 * 2**20  # bytes


def shown_url(url: str) -> str:
    """Return a URL as messages may show it: without credentials and query.

    Example:
        >>> shown_url("https://me:secret@graphite.example:8080/render?target=a&token=1")
        'https://graphite.example:8080/render'
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        host = f"{host}:{parts.port}" if parts.port else host
    except ValueError:
        return "URL"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def with_json_format(url: str) -> str:
    """Return the URL of a Graphite render query so that the server answers in JSON.

    Other URLs stay as they are.

    Example:
        >>> with_json_format("http://graphite.example/render?target=a.b&format=png")
        'http://graphite.example/render?target=a.b&format=json'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if not parts.path.rstrip("/").endswith("/render"):
        return url
    query = [(k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if k != "format"]
    encoded = urlencode([*query, ("format", "json")], safe="*{},()", quote_via=quote)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, encoded, ""))


def project_of_url(url: str) -> str:
    """Return the project that the address of a repository names, without the host.

    Example:
        >>> project_of_url("https://github.com/acme/parser.git")
        'acme/parser'
    """
    path = re.sub(r"^(?:[a-z+]+://)?(?:[^/@]*@)?[^/:]+[:/](?:\d+/)?", "", url.strip())
    return path.removesuffix("/").removesuffix(".git") or url.strip()


def download(url: str) -> bytes:
    """Return the body of the answer to a GET request.

    Args:
        url: A URL of http or https; may hold a user and a password.

    Raises:
        SourceError: The server cannot be reached, answers with an error, or sends more than
            `LIMIT` bytes.
    """
    import http.client
    import urllib.error
    import urllib.request  # importing it takes 0.1 s

    shown = shown_url(url)
    try:
        parts = urlsplit(url)
        _user, sign, host = parts.netloc.rpartition("@")
        bare = urlunsplit((parts.scheme, host, parts.path, parts.query, ""))
        request = urllib.request.Request(bare, headers={"User-Agent": "barograph"})  # noqa: S310
        if sign:
            pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
            token = base64.b64encode(pair.encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {token}")
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:  # noqa: S310
            content: bytes = response.read(LIMIT + 1)
        if len(content) > LIMIT:
            raise SourceError(f"{shown}: more than {LIMIT >> 20} MiB")
        return content
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
