"""The feature tables of the candidates: built from a history, and read for learning.

There is one table for each policy of bounds. A row is a candidate: keys, verdict and features. A
table says which feature sets it holds, and of which version of the features.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from barograph.features import FEATURE_SETS, FEATURES_VERSION, feature_matrix, series_context
from barograph.features.bauer import CHANGES, DIFFERENCES
from barograph.features.families import Derived
from barograph.features.subseries import WIDEST, Policy, SubSeries, subseries
from barograph.results.history import History
from barograph.results.series import FINAL, UNKNOWN_TIME, Flags, Floats, Ints, Verdict
from barograph.runtime.errors import DataError, NotEnoughDataError

FOLDER = Path("data/processed")
# The bounds that each use sees: `online` judges the newest point, before any later result;
# `confirm` judges a point that 1 to 10 others have followed.
POLICIES: dict[str, tuple[str, ...]] = {
    "adaptive": ("adaptive",),
    "label_free": ("label_free",),
    "online": ("label_free:w0",),
    "confirm": tuple(f"label_free:w{width}" for width in range(1, WIDEST + 1)),
}

FrameReader = Callable[[str], pd.DataFrame]  # returns what a model of one use learns from
# These sets follow the current regime by themselves: their Pre is the whole past.
WHOLE_PAST = frozenset({"online", "confirm"})


@dataclass(frozen=True)
class Labelled:
    """The triaged candidates of a feature table: what models learn from.

    Attributes:
        matrix: The features, one row for each candidate.
        truth: 1 where a person said true positive.
        series: Number of the series.
        identities: Names the series in every data set.
        commits: The commit of each candidate.
        candidates: Number of the candidate.
        decided: When the verdict was given, in milliseconds since 1970.
    """

    matrix: Floats
    truth: Ints
    series: Ints
    identities: Ints
    commits: npt.NDArray[np.object_]
    candidates: Ints
    decided: Ints

    @property
    def data_hash(self) -> str:
        """The hash of what a model would learn from these rows, in hex digits."""
        shape = f"{self.matrix.dtype}{self.matrix.shape}".encode()
        digest = hashlib.sha256(shape + self.matrix.tobytes() + self.truth.tobytes()).digest()
        return hashlib.sha256(digest).hexdigest()

    def verdicts(self, rows: Flags | Ints) -> dict[str, int]:
        """Count the verdicts of some rows by kind; each window of a candidate is a row."""
        candidates, truth = self.candidates[rows], self.truth[rows]
        kinds = {"real": 1, "noise": 0}
        return {name: np.unique(candidates[truth == kind]).size for name, kind in kinds.items()}


def frames_of(history: History, feature_sets: Mapping[str, Sequence[str]]) -> FrameReader:
    """Return the feature tables of the candidates that people looked at, without writing them.

    Args:
        history: The values, and the candidates with their verdicts.
        feature_sets: The feature sets of each use.
    """
    keys = keys_of(history)
    is_seen = (keys["verdict"] != Verdict.NOT_TRIAGED.value).to_numpy()

    @cache
    def frame(use: str) -> pd.DataFrame:
        edges = bounds_table(history, map(Policy.named, POLICIES[use]))
        edges = edges[is_seen[edges["candidate"]]]
        parts = [part for _, part in edges.groupby("policy", sort=False)]
        tables = [build(history, part, feature_sets[use], keys) for part in parts or [edges]]
        return pd.concat(tables, ignore_index=True)

    return frame


def bounds_table(history: History, policies: Iterable[Policy]) -> pd.DataFrame:
    """Return one row for each policy and candidate.

    Args:
        history: The series and their candidates.
        policies: The policies of the bounds.

    Returns:
        The columns policy, candidate, start, split and end: places in the values of the history.
    """
    frames = []
    for policy in policies:
        edges = subseries(policy, history.offsets, history.candidates)
        frame = pd.DataFrame(dict(zip(("start", "split", "end"), edges, strict=True)))
        frame.insert(0, "policy", str(policy))
        frame.insert(1, "candidate", np.arange(len(frame)))
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def build(
    history: History, bounds: pd.DataFrame, feature_sets: Sequence[str], keys: pd.DataFrame
) -> pd.DataFrame:
    """Return the table of one policy: the keys of the candidates and their features.

    Args:
        history: The values.
        bounds: The columns candidate, policy, start, split and end.
        feature_sets: The sets that the table holds.
        keys: What `keys_of` returns.
    """
    rows = keys.iloc[bounds["candidate"].to_numpy()].reset_index(drop=True)
    features = features_of(history.values, history.offsets, bounds, feature_sets)
    return joined(rows, pd.DataFrame(features))


def features_of(
    values: Floats, offsets: Ints, bounds: pd.DataFrame, feature_sets: Sequence[str]
) -> dict[str, Floats]:
    """Return the features of candidates of some series by name, one for each row of the bounds."""
    pair = SubSeries(*(bounds[name].to_numpy(np.int64) for name in ("start", "split", "end")))
    series = np.searchsorted(offsets, pair.splits, side="right") - 1
    firsts = offsets[series]
    # In a window, nothing that comes later is known yet.
    windowed = [Policy.named(name).width is not None for name in bounds["policy"]]
    lasts = np.where(windowed, pair.ends, offsets[series + 1])
    features: dict[str, Floats] = {}
    for name in feature_sets:
        if features.keys() >= set(FEATURE_SETS[name]):  # part of a larger set
            continue
        edges = pair._replace(starts=firsts) if name in WHOLE_PAST else pair
        context = series_context(name, values, edges, firsts, lasts)
        matrix = feature_matrix(values, *edges, name, context=context)
        features |= dict(zip(FEATURE_SETS[name], matrix.T, strict=True))
    return features


def joined(rows: pd.DataFrame, features: pd.DataFrame) -> pd.DataFrame:
    """Return the table of a policy from the keys of its candidates and their features."""
    frame = pd.concat([rows, features], axis=1)
    names = set(frame.columns)
    held = [name for name in FEATURE_SETS if names.issuperset(_sources(name))]
    # Parquet keeps what a table says of itself.
    frame.attrs = {"feature_sets": held, "features_version": FEATURES_VERSION}
    return frame


def keys_of(history: History) -> pd.DataFrame:
    """Return what a feature table says about each candidate besides its features."""
    table = history.candidates
    names = np.array([str(series) for series in history.ids], dtype=object)
    places = history.commit_names(history.offsets[table.series] + table.index)
    commits = [c or place for c, place in zip(table.commits, places, strict=True)]
    is_dated = table.triaged_on != UNKNOWN_TIME
    return pd.DataFrame(
        {
            "candidate": np.arange(len(table)),
            "name": names[table.series],
            "series": table.series,
            "identity": history.identities()[table.series],
            "index": table.index,
            "commit": pd.Series(commits, dtype="str"),
            "verdict": pd.Series(table.verdict, dtype="str"),
            "decided": np.where(is_dated, table.triaged_on, -1),
        }
    )


def path_of(policy: Policy) -> Path:
    """Return the path of the table of a policy."""
    return FOLDER / f"{str(policy).replace(':', '_')}.parquet"


def read(policy: str, root: Path = Path()) -> pd.DataFrame:
    """Read the table of a policy, by its name.

    Raises:
        DataError: There is no such table, or it was built with another version of the features.
    """
    path = root / path_of(Policy.named(policy))
    if not path.is_file():
        known = sorted(p.stem for p in path.parent.glob("*.parquet"))
        raise DataError(f"{path}: no such feature table; there are {known}")
    frame = pd.read_parquet(path)
    version = frame.attrs.get("features_version")
    if version != FEATURES_VERSION:
        raise DataError(
            f"{path}: built with version {version!r} of the features; this program computes "
            f"{FEATURES_VERSION!r}: run the stage `characterise` again"
        )
    return frame


def read_for(use: str, root: Path = Path()) -> pd.DataFrame:
    """Read what a model of one use learns from; for `confirm`, the tables of all windows."""
    return pd.concat([read(policy, root) for policy in POLICIES[use]], ignore_index=True)


def columns(frame: pd.DataFrame, feature_set: str) -> Floats:
    """Return the columns of a feature set, in its order."""
    derived, sources = _derived(feature_set), list(_sources(feature_set))
    missing = [name for name in sources if name not in frame.columns]
    if missing:
        raise DataError(f"the feature table misses the columns {missing} of {feature_set}")
    matrix = frame[sources].to_numpy(dtype=np.float64)
    return derived.columns(matrix) if derived else matrix


def _derived(feature_set: str) -> Derived | None:
    """Return how a set follows from other columns; such a set is not stored."""
    names = FEATURE_SETS[feature_set]
    return next((family for family in (DIFFERENCES, CHANGES) if family.names == names), None)


def _sources(feature_set: str) -> tuple[str, ...]:
    derived = _derived(feature_set)
    return derived.sources if derived else FEATURE_SETS[feature_set]


def labelled(frame: pd.DataFrame, feature_set: str, *, disputed_as_noise: bool = False) -> Labelled:
    """Return what models learn from: the rows that people decided.

    Args:
        frame: What `read_for` returns.
        feature_set: The columns to learn from.
        disputed_as_noise: Whether candidates under investigation count as decided, and not real.

    Raises:
        NotEnoughDataError: They are all of one class.
    """
    disputed = [Verdict.UNDER_INVESTIGATION.value] if disputed_as_noise else []
    decided = frame[frame["verdict"].isin([*FINAL, *disputed])]
    truth = (decided["verdict"] == Verdict.TRUE_POSITIVE.value).to_numpy().astype(np.int64)
    if np.unique(truth).size < 2:
        raise NotEnoughDataError(
            f"{truth.size} triaged points, {truth.sum()} of them true: both kinds are needed"
        )
    names = ("series", "identity", "candidate", "decided")
    series, identities, numbers, dates = (decided[name].to_numpy(np.int64) for name in names)
    commits = decided["commit"].to_numpy(dtype=object)
    matrix = columns(decided, feature_set)
    return Labelled(matrix, truth, series, identities, commits, numbers, dates)
