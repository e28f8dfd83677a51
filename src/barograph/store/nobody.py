"""Stands where a judge is needed, for processes that decide nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from barograph.errors import ConfigError


@dataclass(frozen=True)
class Nobody:
    """Refuses to judge."""

    version: str = "none"
    threshold: float = 1.0
    history: int = 2

    def judge(self, stretches: Sequence[object]) -> Any:
        """Decide nothing."""
        raise ConfigError(f"nothing decides here: {len(stretches)} series are not judged")
