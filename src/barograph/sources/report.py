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
        """`FILE: document N: field = VALUE`."""
        return f"{self.place}: {self.field} = {shortened(self.value)}"


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
class LoadReport:
    """Counts of a load. It contains no times, so the same input gives the same report.

    Attributes:
        source: The name of the source.
        read: The number of series, points and candidates, before anything is skipped.
        kept: The number of series, points and candidates in the tables.
        skipped: By kind, the number of skips for each reason.
        examples: The first skips of a kind for a reason.
        corrected: Corrections by what was corrected.
        labels: The labels of the candidates as read, such as "hidden".
        verdicts: The verdicts of the candidates in the tables.
    """

    source: str
    read: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    skipped: dict[str, Counter[str]] = field(
        default_factory=lambda: {kind: Counter() for kind in KINDS}
    )
    examples: dict[tuple[str, str], list[Skip]] = field(default_factory=dict)
    corrected: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)

    def skip(self, kind: str, skip: Skip, count: int = 1) -> None:
        """Count `count` skips of a kind."""
        self.skipped[kind][skip.reason] += count
        examples = self.examples.setdefault((kind, skip.reason), [])
        if len(examples) < EXAMPLES:
            examples.append(skip)

    def skipped_share(self, kind: str) -> float:
        """Return the share of a kind that was read and skipped."""
        return self.skipped[kind].total() / max(1, self.read[kind])

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
        [(reason, count)] = self.skipped[kind].most_common(1)
        return f"{reason} ({plural(count, 'time')}, first {self.examples[kind, reason][0]})"

    def skips(self, kind: str) -> list[str]:
        """Describe what was skipped of a kind, one line each, at most 20 for each reason."""
        of_kind = (self.examples[kind, reason] for reason in self.skipped[kind])
        return [f"{skip}: {skip.reason}" for skips in of_kind for skip in skips]

    def as_dict(self) -> dict[str, Any]:
        """Return the report for JSON, in an order independent of the order of the input."""
        return {
            "source": self.source,
            "read": {kind: self.read[kind] for kind in KINDS},
            "kept": {kind: self.kept[kind] for kind in KINDS},
            "skipped": {
                kind: {
                    reason: {
                        "count": count,
                        "examples": [*map(_entry, self.examples[kind, reason][:SHOWN])],
                    }
                    for reason, count in sorted(reasons.items())
                }
                for kind, reasons in self.skipped.items()
            },
            "corrected": dict(sorted(self.corrected.items())),
            "labels": dict(sorted(self.labels.items())),
            "verdicts": dict(sorted(self.verdicts.items())),
        }

    def __str__(self) -> str:
        """The numbers of what was kept, and why most others were skipped, for people."""
        lines = [f"{self.source}:"]
        for kind in KINDS:
            why = f"; skipped: {self.first_skip(kind)}" if self.skipped[kind] else ""
            lines.append(f"  {kind:<10} {self.kept[kind]:>12,} of {self.read[kind]:,}{why}")
        return "\n".join(lines)


def _entry(skip: Skip) -> dict[str, Any]:
    file, number, unit = skip.place
    return {"file": file, unit: number, "field": skip.field, "value": shortened(skip.value)}
