"""Results as senders write them."""

from typing import Any

POINTS = "/api/v1/points"


def result(order: int = 0, value: float = 100.0, **more: Any) -> dict[str, Any]:
    """One result of one series."""
    return {"project": "db", "test": "insert", "order": order, "value": value, **more}


def steps(
    test: str, *, length: int = 30, change: int = 25, by: float = 20.0
) -> list[dict[str, Any]]:
    """A series with a step."""
    values = [100.0 + (k * 7919 % 13) / 13 + (by if k >= change else 0.0) for k in range(length)]
    return [result(k, value, test=test) for k, value in enumerate(values)]
