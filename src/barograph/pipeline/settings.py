"""The settings that the stage `tune` found best, on their way to `train`."""

import json
from collections.abc import Mapping
from typing import Any

from barograph.pipeline import report

FOLDER = report.FOLDER / "tune"
TABLE = FOLDER / "tuning.csv"
CHOSEN = FOLDER / "settings.json"

Settings = Mapping[str, Any]


def write(chosen: Mapping[str, Mapping[str, Settings]]) -> None:
    """Keep what was chosen, by use and classifier; nothing stands for the catalogue's settings."""
    report.write_json(CHOSEN, chosen)


def chosen_for(use: str, classifier: str) -> Settings:
    """Return what was chosen; the catalogue's settings where nothing was tuned."""
    if not CHOSEN.is_file():
        return {}
    found: Settings = json.loads(CHOSEN.read_bytes()).get(use, {}).get(classifier, {})
    return found
