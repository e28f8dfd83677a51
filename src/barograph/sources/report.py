"""What a load read, kept, put right and left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from barograph.sources.contract import Skip, shortened

KINDS = ("series", "points", "candidates")
EXAMPLES = 3


@dataclass
class Skipped:
    """How often one reason came up, and where first."""

    count: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)

    def add(self, skip: Skip, count: int = 1) -> None:
        """Count, and keep the first few as examples."""
        self.count += count
        if len(self.examples) < EXAMPLES:
            file, document = skip.place
            value = shortened(skip.value)
            example = {"file": file, "document": document, "field": skip.field, "value": value}
            self.examples.append(example)


@dataclass
class LoadReport:
    """Counts only, no times: the same input gives the same report."""

    source: str
    read: Counter[str] = field(default_factory=Counter)  # by kind, before anything is left out
    kept: Counter[str] = field(default_factory=Counter)  # by kind
    skipped: dict[str, dict[str, Skipped]] = field(
        default_factory=lambda: {kind: {} for kind in KINDS}
    )
    put_right: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)  # as read: "hidden", ...
    verdicts: Counter[str] = field(default_factory=Counter)  # as kept

    @property
    def series(self) -> int:
        """How many series the table holds."""
        return self.kept["series"]

    @property
    def points(self) -> int:
        """How many points the table holds."""
        return self.kept["points"]

    @property
    def candidates(self) -> int:
        """How many candidates the table holds."""
        return self.kept["candidates"]

    def skip(self, kind: str, skip: Skip, count: int = 1) -> None:
        """Count something that was left out."""
        self.skipped[kind].setdefault(skip.reason, Skipped()).add(skip, count)

    def skipped_share(self, kind: str) -> float:
        """The share of what was read that was left out."""
        count = sum(entry.count for entry in self.skipped[kind].values())
        return count / max(1, self.read[kind])

    def first_skip(self, kind: str) -> str:
        """The commonest reason with its first example, for a message."""
        reason, entry = max(self.skipped[kind].items(), key=lambda item: item[1].count)
        return f"{reason} ({entry.count} times, first {_told(entry.examples[0])})"

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON, in an order that does not depend on the input's."""
        return {
            "source": self.source,
            "read": {kind: self.read[kind] for kind in KINDS},
            "kept": {kind: self.kept[kind] for kind in KINDS},
            "skipped": {
                kind: {reason: asdict(entry) for reason, entry in sorted(reasons.items())}
                for kind, reasons in self.skipped.items()
            },
            "put_right": dict(sorted(self.put_right.items())),
            "labels": dict(sorted(self.labels.items())),
            "verdicts": dict(sorted(self.verdicts.items())),
        }

    def __str__(self) -> str:
        """A page for people."""
        lines = [f"{self.source}:"]
        for kind in KINDS:
            lines.append(f"  {kind:<10} {self.kept[kind]:>12,} of {self.read[kind]:,}")
            for reason, entry in sorted(self.skipped[kind].items()):
                lines.append(f"    {entry.count:,} skipped: {reason}")
                lines.extend(f"      {_told(example)}" for example in entry.examples)
        for title, counts in (("put right", self.put_right), ("verdicts", self.verdicts)):
            told = ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))
            lines.append(f"  {title:<10} {told or 'nothing'}")
        return "\n".join(lines)


def _told(example: dict[str, Any]) -> str:
    place = f"{example['file']}: document {example['document']}"
    return f"{place}: {example['field']} = {example['value']}"
