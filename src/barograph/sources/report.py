"""What a load skips, and the report of it: what was read, kept, corrected and skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from barograph.results.wording import plural
from barograph.runtime.errors import ConfigError, DataError

KINDS = ("series", "points", "candidates")
EXAMPLES = 20  # that are kept
SHOWN = 3  # in the report
WIDTH = 60  # characters of a value


class Place(NamedTuple):
    """Where a document was read.

    Attributes:
        file: A path, or a name such as "mongodb://host/db.time_series"; never a credential.
        document: The number of the document, counted from 1; 0 if the file is a single document.
        unit: What is counted: documents, the lines of a text, or the rows of a table.
    """

    file: str
    document: int
    unit: str = "document"

    def __str__(self) -> str:
        """`FILE: document N`."""
        return f"{self.file}: {self.unit} {self.document}" if self.document else self.file


@dataclass(frozen=True, slots=True)
class Skip:
    """A document or a row that cannot be used; a source yields it instead of the document.

    Args:
        place: Where it was read.
        field: The invalid field, dotted ("data.3.value").
        value: The value of the field.
        reason: Why the value cannot be used. Skips are counted by reason, so it is one of a few
            short texts.
        kind: "series", "points" or "candidates". Defaults to the kind of the stream.
    """

    place: Place
    field: str
    value: object
    reason: str
    kind: str = ""

    def __str__(self) -> str:
        """`FILE: document N: field: reason (got VALUE)`."""
        return f"{self.place}: {self.field}: {self.reason} (got {shortened(self.value)})"


def check_share(share: float) -> None:
    """Raise a ConfigError if a number is no share that may be skipped."""
    if not 0 <= share <= 1:
        raise ConfigError(f"max_skipped_share: {share}; allowed: 0 to 1")


def shortened(value: object) -> str:
    """Return the repr of a value, cut to `WIDTH` characters."""
    if isinstance(value, (Mapping, list, tuple)):
        return f"{type(value).__name__} of {len(value)}"
    text = repr(value[:WIDTH] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}..."


@dataclass
class Skipped:
    """The number of skips for one reason, with the first few as examples."""

    count: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)

    def add(self, skip: Skip, count: int = 1) -> None:
        """Add `count` skips, of which `skip` is an example."""
        self.count += count
        if len(self.examples) < EXAMPLES:
            file, number, unit = skip.place
            example = {"file": file, unit: number, "field": skip.field}
            self.examples.append(example | {"value": shortened(skip.value)})


@dataclass
class LoadReport:
    """Counts of a load. It contains no times, so the same input gives the same report.

    Attributes:
        source: The name of the source.
        read: The number of series, points and candidates, before anything is skipped.
        kept: The number of series, points and candidates in the tables.
        skipped: Skips by kind and reason.
        corrected: Corrections by what was corrected.
        labels: The labels of the candidates as read, such as "hidden".
        verdicts: The verdicts of the candidates in the tables.
    """

    source: str
    read: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    skipped: dict[str, dict[str, Skipped]] = field(
        default_factory=lambda: {kind: {} for kind in KINDS}
    )
    corrected: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)

    def skip(self, kind: str, skip: Skip, count: int = 1) -> None:
        """Count `count` skips of a kind."""
        self.skipped[kind].setdefault(skip.reason, Skipped()).add(skip, count)

    def skipped_share(self, kind: str) -> float:
        """Return the share of a kind that was read and skipped."""
        count = sum(entry.count for entry in self.skipped[kind].values())
        return count / max(1, self.read[kind])

    def check_shares(self, kinds: Iterable[str], limit: float) -> None:
        """Raise a DataError if more than a share of one of some kinds was skipped."""
        for kind in kinds:
            share = self.skipped_share(kind)
            if share > limit:
                raise DataError(
                    f"{self.source}: {share:.1%} of {self.read[kind]:,} {kind} are unusable, "
                    f"{limit:.1%} allowed (max_skipped_share): {self.first_skip(kind)}"
                )

    def first_skip(self, kind: str) -> str:
        """Describe the most frequent reason and its first example."""
        reason, entry = max(self.skipped[kind].items(), key=lambda item: item[1].count)
        times = plural(entry.count, "time")
        return f"{reason} ({times}, first {_describe(entry.examples[0])})"

    def skips(self, kind: str) -> list[str]:
        """Describe what was skipped of a kind, one line each, at most 20 for each reason."""
        return [
            f"{_describe(example)}: {reason}"
            for reason, entry in self.skipped[kind].items()
            for example in entry.examples
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the report for JSON, in an order independent of the order of the input."""
        return {
            "source": self.source,
            "read": {kind: self.read[kind] for kind in KINDS},
            "kept": {kind: self.kept[kind] for kind in KINDS},
            "skipped": {
                kind: {
                    reason: {"count": entry.count, "examples": entry.examples[:SHOWN]}
                    for reason, entry in sorted(reasons.items())
                }
                for kind, reasons in self.skipped.items()
            },
            "corrected": dict(sorted(self.corrected.items())),
            "labels": dict(sorted(self.labels.items())),
            "verdicts": dict(sorted(self.verdicts.items())),
        }

    def __str__(self) -> str:
        """The report as text for people."""
        lines = [f"{self.source}:"]
        for kind in KINDS:
            lines.append(f"  {kind:<10} {self.kept[kind]:>12,} of {self.read[kind]:,}")
            for reason, entry in sorted(self.skipped[kind].items()):
                lines.append(f"    {entry.count:,} skipped: {reason}")
                lines.extend(f"      {_describe(example)}" for example in entry.examples[:SHOWN])
        for title, counts in (("corrected", self.corrected), ("verdicts", self.verdicts)):
            items = ", ".join(f"{name}: {count:,}" for name, count in sorted(counts.items()))
            lines.append(f"  {title:<10} {items or 'nothing'}")
        return "\n".join(lines)


def _describe(example: dict[str, Any]) -> str:
    unit = next(name for name in ("document", "line", "row") if name in example)
    place = Place(example["file"], example[unit], unit)
    return f"{place}: {example['field']} = {example['value']}"
