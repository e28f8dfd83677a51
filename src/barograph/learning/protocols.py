"""Three protocols to hold out verdicts, which the tables report together.

Points of one commit or of one series are near copies of each other, so the papers' random splits
leak. `grouped` measures the quality on new series and commits, `forward` on later months.
"""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barograph.results.series import Floats, Ints
from barograph.runtime.errors import NotEnoughDataError

PROTOCOLS = ("random", "grouped", "forward")
TEST_SHARE = 0.2
VALIDATION_SHARE = 0.1
CUTS = 10
LEAST = 3  # verdicts of each class to learn from: an SVM is calibrated on three folds


class Split(NamedTuple):
    """Row numbers of the parts for training, for choosing the threshold, and for scoring."""

    train: Ints
    validation: Ints
    test: Ints


def random_splits(rows: int, repetitions: int, seed: int) -> Iterator[Split]:
    """Yield the papers' protocol: 80/20, a tenth of the 80 for validation (Bauer et al., 3.2)."""
    for generator in _generators(seed, repetitions):
        order = generator.permutation(rows)
        cut = round(rows * TEST_SHARE)
        yield _validated(order[cut:], order[:cut], generator)


def grouped_splits(
    series: npt.ArrayLike, commits: npt.ArrayLike, repetitions: int, seed: int
) -> Iterator[Split]:
    """Yield splits that share no series and no commit between train and test.

    A fifth of the series and a fifth of the commits are drawn. Rows with both drawn are the test
    part, rows with neither are the training part, and the others are left out.
    """
    owner, change = numbered(series), numbered(commits)
    for generator in _generators(seed, repetitions):
        held_series = generator.random(owner.max() + 1) < TEST_SHARE
        held_commits = generator.random(change.max() + 1) < TEST_SHARE
        in_test = held_series[owner] & held_commits[change]
        in_train = ~held_series[owner] & ~held_commits[change]
        yield _validated(np.flatnonzero(in_train), np.flatnonzero(in_test), generator)


def stable_split(identities: npt.ArrayLike, commits: npt.ArrayLike, seed: int) -> Split:
    """Hold out the same series and commits every time, however the history grows.

    Whether a series or a commit is held out depends only on its name, so a model of last month and
    a model of today can be compared on rows that neither has seen. A tenth of the other series is
    the validation part.

    Args:
        identities: The name of each row's series, the same in every data set.
        commits: The name of each row's commit.
        seed: Another seed holds out another part.
    """
    series, commit = hashed(identities, f"series {seed}"), hashed(commits, f"commit {seed}")
    in_test = (series < TEST_SHARE) & (commit < TEST_SHARE)
    learned = (series >= TEST_SHARE) & (commit >= TEST_SHARE)
    chosen = series < TEST_SHARE + (1 - TEST_SHARE) * VALIDATION_SHARE
    parts = (learned & ~chosen, learned & chosen, in_test)
    return Split(*(np.flatnonzero(part) for part in parts))


def forward_splits(decided: npt.ArrayLike, seed: int, cuts: int = CUTS) -> Iterator[Split]:
    """Yield splits forward in time: train on earlier decisions, test on the next part.

    The decisions are cut in the order of their dates into `cuts + 1` parts. Each part but the first
    is the test part of a model trained on all parts before it. Equal dates stay together.
    """
    when = np.asarray(decided, dtype=np.int64)
    if when.size <= cuts:
        raise NotEnoughDataError(f"{when.size} verdicts cannot be cut into {cuts + 1} parts")
    last = np.arange(1, cuts + 2) * when.size // (cuts + 1) - 1
    dates = np.sort(when)[last]
    for generator, start, end in zip(_generators(seed, cuts), dates, dates[1:], strict=False):
        test = np.flatnonzero((when > start) & (when <= end))
        yield _validated(np.flatnonzero(when <= start), test, generator)


def folds_by_group(
    truth: Ints, groups: npt.ArrayLike, folds: int, seed: int
) -> list[tuple[Ints, Ints]]:
    """Return the rows to learn from and the rows to judge of each fold; no group is divided.

    Raises:
        NotEnoughDataError: There are too few groups, or too few rows of a class to learn from.
    """
    from sklearn.model_selection import StratifiedGroupKFold  # slow to import

    names = np.asarray(groups)
    if np.unique(truth).size < 2:
        raise NotEnoughDataError(f"{truth.size} verdicts of one class only; both are needed")
    count = np.unique(names).size
    if count < folds:
        raise NotEnoughDataError(f"{count} groups cannot be divided into {folds} folds")
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    parts = list(splitter.split(truth, truth, names))
    for number, (train, _) in enumerate(parts):
        if min(np.bincount(truth[train], minlength=2)) < LEAST:
            raise NotEnoughDataError(
                f"without fold {number} of {folds}, fewer than {LEAST} verdicts of a class are left"
            )
    return parts


def is_usable(split: Split, truth: Ints) -> bool:
    """Return whether every classifier can learn from the split, and whether it can be judged."""
    train, test = (np.bincount(truth[part], minlength=2) for part in (split.train, split.test))
    return min(train) >= LEAST and min(test) > 0 and split.validation.size > 0


def _generators(seed: int, count: int) -> Iterator[np.random.Generator]:
    for child in np.random.SeedSequence(seed).spawn(count):
        yield np.random.default_rng(child)


def _validated(train: Ints, test: Ints, generator: np.random.Generator) -> Split:
    order = generator.permutation(train)
    cut = round(order.size * VALIDATION_SHARE)
    return Split(np.sort(order[cut:]), np.sort(order[:cut]), np.sort(test))


def hashed(names: npt.ArrayLike, salt: str) -> Floats:
    """Return a fixed number for each name, from 0 to below 1.

    Args:
        names: Names, possibly several times.
        salt: Another salt gives other numbers.
    """
    unique, position = np.unique(np.asarray(names), return_inverse=True)
    digests = [hashlib.blake2b(f"{salt}:{n}".encode(), digest_size=8).digest() for n in unique]
    numbers = np.frombuffer(b"".join(digests), dtype="<u8") / 2.0**64
    drawn: Floats = numbers[position]
    return drawn


def numbered(labels: npt.ArrayLike) -> Ints:
    """Return a number from 0 for each label, the same for equal ones."""
    return np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int64)
