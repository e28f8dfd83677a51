"""Which hosts the service answers for: a guard against pages of other sites and DNS rebinding.

A name that an attacker controls can point to this machine, so a page of theirs would be of one
origin with the service. Therefore the service knows its own names. An address cannot be pointed
elsewhere, so any address is accepted, unless the service trusts all callers of this machine.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from urllib.parse import urlsplit

from fastapi import Request

from barograph.service.responses import ApiError
from barograph.service.settings import Settings


def check_host(request: Request, settings: Settings) -> None:
    """Refuse a request for a host that is not this service, or from a page of another site.

    Raises:
        ApiError: The Host header is unknown (421), or the Origin is another site (403).
    """
    host = request.headers.get("host", "")
    name = host_name(request)
    if not _is_known(name, settings):
        message = f"Host: {host!r:.60} is not this service; --allowed-host adds a name"
        raise ApiError(421, message)
    origin = request.headers.get("origin")
    if origin is not None and not _is_own(origin, host, settings):
        raise ApiError(403, "pages of another site may not use this service")


def host_name(request: Request) -> str:
    """Return the name or address in the Host header, without the port."""
    return _hostname(f"//{request.headers.get('host', '')}")


def _is_known(name: str, settings: Settings) -> bool:
    if is_loopback(name) or name in settings.allowed_hosts:
        return True
    return not settings.local and _is_address(name)


def _is_own(origin: str, host: str, settings: Settings) -> bool:
    """Return whether an Origin is that of a page of this service.

    A proxy may replace the Host header, so the names of `allowed_hosts` count too.
    """
    try:
        parts = urlsplit(origin)
        same = parts.netloc.lower() == host.lower() and parts.scheme in ("http", "https")
        return same or (parts.hostname or "") in settings.allowed_hosts
    except ValueError:
        return False


def _hostname(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


@lru_cache(64)
def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@lru_cache(64)
def is_loopback(host: str) -> bool:
    """Return whether a host is this machine and reachable from it alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
