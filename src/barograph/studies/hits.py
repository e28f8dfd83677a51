"""A detector's change points by the verdicts they hit (Leznik et al. 2022, Tables 6 and 7)."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barograph.evaluation.matching import pairs
from barograph.series import Verdict


class Hits(NamedTuple):
    """How many candidates of each verdict were found, of how many, and what nobody annotated."""

    found: dict[Verdict, int]
    candidates: dict[Verdict, int]
    not_annotated: int

    @property
    def sensitivity(self) -> float:
        """The share of the true positives that were found."""
        return self._rate(Verdict.TRUE_POSITIVE)

    @property
    def specificity(self) -> float:
        """The share of the false positives that were left alone."""
        return 1.0 - self._rate(Verdict.FALSE_POSITIVE)

    @property
    def accuracy(self) -> float:
        """The share of the decided candidates that were judged rightly.

        Table 7 prints the predictive values 4691/6801 and 6231/8530 under the names of sensitivity
        and specificity; these three come from the counts.
        """
        false = Verdict.FALSE_POSITIVE
        right = self.found[Verdict.TRUE_POSITIVE] + self.candidates[false] - self.found[false]
        decided = sum(self.candidates[verdict] for verdict in Verdict if verdict.is_final)
        return right / decided if decided else float("nan")

    def _rate(self, verdict: Verdict) -> float:
        of = self.candidates[verdict]
        return self.found[verdict] / of if of else float("nan")


def hits(series: Iterable[tuple[Iterable[int], Mapping[int, Verdict]]], margin: int = 0) -> Hits:
    """Sort what was found in many series by the verdict it hits.

    Args:
        series: for each, the found indices and the verdict of every candidate by its index.
        margin: how many points a found index may lie from a candidate; one hits one.
    """
    found = dict.fromkeys(Verdict, 0)
    candidates = dict.fromkeys(Verdict, 0)
    not_annotated = 0
    for indices, verdicts in series:
        points = set(indices)
        matched = pairs(points, verdicts, margin)
        not_annotated += len(points) - len(matched)
        for verdict in verdicts.values():
            candidates[verdict] += 1
        for _, candidate in matched:
            found[verdicts[candidate]] += 1
    return Hits(found, candidates, not_annotated)
