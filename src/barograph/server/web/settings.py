"""Limits and timings of the service."""

from dataclasses import dataclass

MEBI = 1 << 20


@dataclass(frozen=True)
class Settings:
    """How a service is set up; the defaults are safe for one machine.

    Args:
        local: Whether the service listens on loopback alone, so that callers on this machine need
            no token until there is one.
        max_body: Maximum size of a request body as sent, in bytes.
        max_unpacked: Maximum size of a request body after decompression, in bytes.
        rate: Requests per second of one token, or of one address without a token, in the long run.
            It is below what a service on one core answers, so that it protects the others.
        burst: Requests that one caller may send at once.
        session_hours: How long a person stays signed in.
        allowed_hosts: Names of the service, besides those of this machine, in lower case.
        trusted_proxies: Addresses of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` name
            the client and its scheme.
    """

    local: bool = True
    max_body: int = 16 * MEBI
    max_unpacked: int = 48 * MEBI
    rate: float = 200.0
    burst: int = 2000
    session_hours: float = 12.0
    allowed_hosts: frozenset[str] = frozenset()
    trusted_proxies: frozenset[str] = frozenset()
