"""The feature tables between `characterise` and the stages that learn from them or judge."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from barograph.errors import ConfigError, DataError, NotEnoughDataError
from barograph.features import FEATURE_SETS, FEATURES_VERSION
from barograph.features.bauer import CHANGES, DIFFERENCES
from barograph.features.families import Derived
from barograph.features.subseries import WIDEST, Policy
from barograph.models.triage import TriageModel
from barograph.series import FINAL, Floats, Ints, Verdict

FOLDER = Path("data/processed")
KEYS = ("candidate", "series", "identity", "index", "commit", "verdict", "decided")
CONFIRM = tuple(f"label_free:w{width}" for width in range(1, WIDEST + 1))
# Which bounds each use sees: `online` judges the newest point alone, before any later result;
# `confirm` judges a point that 1 to 10 others have followed.
POLICIES: dict[str, tuple[str, ...]] = {
    "adaptive": ("adaptive",),
    "label_free": ("label_free",),
    "online": ("label_free:w0",),
    "confirm": CONFIRM,
}


@dataclass(frozen=True)
class Labelled:
    """The triaged candidates of a feature table: what models learn from."""

    matrix: Floats
    truth: Ints  # 1 where a person said true positive
    series: Ints
    identities: Ints  # what names a series in every data set
    commits: npt.NDArray[np.object_]
    candidates: Ints
    decided: Ints  # when the person said it, milliseconds since 1970

    @cached_property
    def digest(self) -> bytes:
        """The SHA-256 over what a model would learn from these rows."""
        shape = f"{self.matrix.dtype}{self.matrix.shape}".encode()
        return hashlib.sha256(shape + self.matrix.tobytes() + self.truth.tobytes()).digest()


def path_of(policy: Policy) -> Path:
    """Return where the table of a policy lies."""
    return FOLDER / f"{str(policy).replace(':', '_')}.parquet"


def stamped(frame: pd.DataFrame) -> pd.DataFrame:
    """Let a table say which feature sets it holds, of which version: Parquet keeps that too."""
    names = set(frame.columns)
    held = [name for name in FEATURE_SETS if names.issuperset(_sources(name))]
    frame.attrs = {"feature_sets": held, "features_version": FEATURES_VERSION}
    return frame


def read(policy: str, root: Path = Path()) -> pd.DataFrame:
    """Read the table of one policy of bounds, by its name."""
    path = root / path_of(Policy.named(policy))
    if not path.is_file():
        known = sorted(p.stem for p in path.parent.glob("*.parquet"))
        raise DataError(f"{path}: no such feature table; there are {known}")
    frame = pd.read_parquet(path)
    made = frame.attrs.get("features_version")
    if made != FEATURES_VERSION:
        raise DataError(
            f"{path}: built with version {made!r} of the features; this program computes "
            f"{FEATURES_VERSION!r}: run the stage `characterise` again"
        )
    return frame


def read_for(use: str, root: Path = Path()) -> pd.DataFrame:
    """Read what a model of one use learns from; for `confirm` all windows, one below the other."""
    return pd.concat([read(policy, root) for policy in POLICIES[use]], ignore_index=True)


def columns(frame: pd.DataFrame, feature_set: str) -> Floats:
    """Return the columns of a feature set, in its order."""
    if feature_set not in FEATURE_SETS:
        raise ConfigError(f"no feature set {feature_set!r}; there are {sorted(FEATURE_SETS)}")
    derived, sources = _derived(feature_set), list(_sources(feature_set))
    missing = [name for name in sources if name not in frame.columns]
    if missing:
        raise DataError(f"the feature table misses the columns {missing} of {feature_set}")
    found = frame[sources].to_numpy(dtype=np.float64)
    return derived.columns(found) if derived else found


def judged_by(model: TriageModel, frame: pd.DataFrame) -> Floats:
    """Return the rows that a model judges; refuse a table of other features than it was taught."""
    held = frame.attrs.get("feature_sets", ())
    names = {column for feature_set in held for column in FEATURE_SETS.get(feature_set, ())}
    model.check_table(names, held, frame.attrs.get("features_version"))
    return columns(frame, model.feature_set)


def _derived(feature_set: str) -> Derived | None:
    """What follows element by element from other columns need not lie on the disk."""
    names = FEATURE_SETS[feature_set]
    return next((one for one in (DIFFERENCES, CHANGES) if one.names == names), None)


def _sources(feature_set: str) -> tuple[str, ...]:
    derived = _derived(feature_set)
    return derived.sources if derived else FEATURE_SETS[feature_set]


def labelled(frame: pd.DataFrame, feature_set: str) -> Labelled:
    """Return what models learn from: the rows that people decided."""
    decided = triaged(frame)
    truth = (decided["verdict"] == Verdict.TRUE_POSITIVE.value).to_numpy().astype(np.int64)
    if np.unique(truth).size < 2:
        raise NotEnoughDataError(
            f"{truth.size} triaged points, {truth.sum()} of them true: both kinds are needed"
        )
    return Labelled(
        matrix=columns(decided, feature_set),
        truth=truth,
        series=decided["series"].to_numpy(dtype=np.int64),
        identities=decided["identity"].to_numpy(dtype=np.int64),
        commits=decided["commit"].to_numpy(dtype=object),
        candidates=decided["candidate"].to_numpy(dtype=np.int64),
        decided=decided["decided"].to_numpy(dtype=np.int64),
    )


def triaged(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that people decided."""
    return frame[frame["verdict"].isin(FINAL)]


def untriaged(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that still wait for a person."""
    return frame.drop(triaged(frame).index)
