"""What a URL says, without the modules that download it: importing those takes 0.1 s."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit


def is_url(location: str) -> bool:
    """Whether a location is a URL that `download` reads.

    Example:
        >>> is_url("https://graphite.example/render?target=a.b"), is_url("results.csv")
        (True, False)
    """
    return location.lower().startswith(("http://", "https://"))


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
