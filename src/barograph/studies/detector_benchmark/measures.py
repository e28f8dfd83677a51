"""The measures of the tables, each a numerator and a denominator a case."""

from functools import partial

from barograph.evaluation.matching import count, rand_index
from barograph.studies.detector_benchmark.answers import Answer, Measure
from barograph.studies.detector_benchmark.cases import Case

MARGIN = 5
MARGINS = (0, 1, 2, 3, 5, 8, 10, 15, 20)


def scores(margin: int = MARGIN) -> dict[str, Measure]:
    """Return what the first table prints, by its columns' names."""
    return {
        "F1": partial(f1, margin=margin),
        "Rand as printed": partial(printed_rand, margin=margin),
        "Rand": rand,
        "precision": partial(precision, margin=margin),
        "recall": partial(recall, margin=margin),
        "false alarms per 1000": partial(false_alarms, margin=margin),
    }


def f1(answer: Answer, _: Case, margin: int) -> tuple[float, float]:
    """The mean of the F1 of the series, as in Table 3 of Fleming et al. 2023."""
    return count(*answer, margin).f1, 1.0


def printed_rand(answer: Answer, _: Case, margin: int) -> tuple[float, float]:
    """The mean of what Fleming et al. print as Rand index, TP / (TP + FP + FN)."""
    return count(*answer, margin).printed_rand, 1.0


def rand(answer: Answer, case: Case) -> tuple[float, float]:
    """The mean of the true Rand index of the segmentations."""
    return rand_index(*answer, case.size), 1.0


def precision(answer: Answer, _: Case, margin: int) -> tuple[float, float]:
    """The share of all alarms that are true."""
    counts = count(*answer, margin)
    return float(counts.tp), float(counts.tp + counts.fp)


def recall(answer: Answer, _: Case, margin: int) -> tuple[float, float]:
    """The share of all changes that are found."""
    counts = count(*answer, margin)
    return float(counts.tp), float(counts.tp + counts.fn)


def false_alarms(answer: Answer, case: Case, margin: int) -> tuple[float, float]:
    """False alarms per thousand points."""
    return float(count(*answer, margin).fp), case.size / 1000
