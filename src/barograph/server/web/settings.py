"""Limits and timings of the service and of its connections."""

from dataclasses import dataclass

MEBI = 1 << 20
KEPT_FILES = 160  # of the store, of libraries and of the log


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
        failures: Wrong tokens per minute from one address before it has to wait.
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
    failures: int = 60
    session_hours: float = 12.0
    allowed_hosts: frozenset[str] = frozenset()
    trusted_proxies: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ConnectionLimits:
    """What one connection, one address and all connections may use.

    Args:
        max_head: Maximum size of a request line with its headers, in bytes.
        head_seconds: Time for a head to arrive completely.
        body_seconds: Time for a body to arrive completely.
        answer_seconds: Time in which the other side must read something of an answer.
        total: Maximum number of connections; fewer if the process may open fewer files.
        per_address: Maximum number of connections from one address.
        reserved: Further connections that may only ask for the health of the service.
        trusted_proxies: Addresses that may have any number of connections.
    """

    max_head: int = 65_536
    head_seconds: float = 10.0
    body_seconds: float = 120.0
    answer_seconds: float = 120.0
    total: int = 2000
    per_address: int = 100
    reserved: int = 16
    trusted_proxies: frozenset[str] = frozenset()

    @property
    def allowed(self) -> int:
        """The number of connections that the process has files for, at most `total`."""
        try:
            import resource
        except ModuleNotFoundError:  # Windows has no such limit
            return self.total
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files == resource.RLIM_INFINITY:
            return self.total
        return max(1, min(self.total, files - KEPT_FILES - self.reserved))
