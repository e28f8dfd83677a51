"""What the service allows, and whom."""

from dataclasses import dataclass

MEBI = 1 << 20


@dataclass(frozen=True)
class Settings:
    """How a service is set up; the defaults are safe for one machine.

    Args:
        local: it listens on loopback alone, so without any token everyone there may do all.
        body: bytes of a request as it arrives.
        unpacked: bytes of a request once decompressed.
        rate: requests a second that one caller may send in the long run.
        burst: requests that one caller may send at once.
        failures: wrong tokens a minute from one address before it has to wait.
        page: rows of one page of an answer, at most.
        rows: rows that the model is asked about in one request, at most.
        look: seconds between two looks at the model's file.
    """

    local: bool = True
    body: int = 16 * MEBI
    unpacked: int = 48 * MEBI
    rate: float = 2000.0
    burst: int = 4000
    failures: int = 60
    page: int = 10_000
    rows: int = 50_000
    look: float = 1.0
