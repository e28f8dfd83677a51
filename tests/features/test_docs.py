"""docs/features.md lists every feature set and characteristic."""

import re

from barograph.features import FEATURE_SETS
from barograph.features.bauer import EIGHT
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")


def test_every_set_is_listed_with_its_size() -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", PAGE, flags=re.MULTILINE))
    assert listed == {name: str(len(columns)) for name, columns in FEATURE_SETS.items()}


def test_every_characteristic_has_a_section() -> None:
    sections = re.findall(r"^### ([a-z_]+)$", PAGE, flags=re.MULTILINE)
    assert sorted(sections) == sorted((*EIGHT, "hurst"))
