"""A trained model as the batch path and the service use it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.errors import ArtifactError, DataError
from barograph.features import FEATURE_SETS, FEATURES_VERSION
from barograph.models import artifact, calibration
from barograph.models.artifact import SHORT
from barograph.models.calibration import Calibration, calibrate
from barograph.models.checks import Arrays
from barograph.models.conformal import Conformal
from barograph.models.kinds import Flat, flattened, kind_named
from barograph.models.threshold import NEVER, choose
from barograph.models.versions import versions
from barograph.parallel import map_threads, row_ranges
from barograph.series import Floats, require_finite

USES = ("adaptive", "label_free", "online", "confirm")
# The files that models are released as, and the uses in each.
FILES: Mapping[str, tuple[str, ...]] = {
    "adaptive": ("adaptive",),
    "label_free": ("label_free",),
    "online": ("online", "confirm"),
}
DEFAULTS = "defaults"  # the folder of this package that holds the shipped models
CALIBRATION = "calibration"  # what the last part of the reasons is called
TABLES = ("tails", "alarm_thresholds")  # of a card: numbers that a detector decides by


@dataclass(frozen=True)
class TriageModel:
    """Says how likely a person would call a candidate real, from a row of features."""

    use: str
    feature_set: str
    columns: tuple[str, ...]
    threshold: float
    flat: Flat
    card: Mapping[str, Any] = field(default_factory=dict)
    calibration: Calibration | None = None
    conformal: Conformal | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    data_hash: str | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        fitted: Any,
        use: str,
        feature_set: str,
        *,
        truth: npt.ArrayLike,
        score: npt.ArrayLike,
        goal: str = "accuracy",
        method: str | None = "sigmoid",
        **facts: Any,
    ) -> TriageModel:
        """Make a model of a fitted classifier, and of held-out points all that needs such.

        Args:
            fitted: A classifier of the catalogue, fitted to the columns of the feature set.
            use: One of USES.
            feature_set: One of FEATURE_SETS.
            truth: The verdicts of points that took no part in the fit that scored them.
            score: The uncalibrated probability of a real change at each.
            goal: What the threshold is chosen for.
            method: How the probability is calibrated, or None.
            **facts: What else the header keeps: card, data_hash, metrics.
        """
        raw = np.asarray(score, dtype=np.float64)
        made = calibrate(truth, raw, method) if method is not None else None
        return cls(
            use=use,
            feature_set=feature_set,
            columns=FEATURE_SETS[feature_set],
            threshold=choose(truth, raw if made is None else made(raw), goal),
            flat=flattened(fitted),
            calibration=made,
            conformal=Conformal.fit(truth, raw),
            versions=versions(),
            **facts,
        )

    @classmethod
    def default(cls, use: str) -> TriageModel:
        """Load the model that is shipped for a use, trained on simulated histories."""
        if use not in USES:
            raise ArtifactError(f"no default model is made for the use {use!r}; uses: {USES}")
        shipped = resources.files("barograph.models").joinpath(DEFAULTS, file_of(use))
        if not shipped.is_file():
            raise ArtifactError(
                f"this installation ships no default model for the use {use!r}: {shipped} is "
                "missing; train one with the pipeline and load it by its path"
            )
        with resources.as_file(shipped) as path:
            return cls.load(path, use)

    @classmethod
    def load(cls, path: str | Path, use: str | None = None) -> TriageModel:
        """Load a safe artifact; refuse any other file.

        Args:
            path: The file.
            use: What the model must be made for. Needed where a file holds models for several uses.

        Raises:
            ArtifactError: It is not a model file, or holds no such model.
        """
        models = load_models(path)
        if use is None and len(models) == 1:
            return next(iter(models.values()))
        if use is None:
            raise ArtifactError(f"{path}: holds models for the uses {', '.join(models)}; name one")
        if use not in models:
            raise ArtifactError(
                f"{path}: made for the use {', '.join(map(repr, models))}; needed is {use!r}"
            )
        return models[use]

    @classmethod
    def from_content(cls, header: Mapping[str, Any], arrays: Arrays) -> TriageModel:
        """Make a model of what `content` returned; refuse one that this program cannot serve."""
        use, feature_set, columns, threshold = _expected(header)
        made = header.get("calibration")
        return cls(
            use=use,
            feature_set=feature_set,
            columns=columns,
            threshold=threshold,
            flat=kind_named(header.get("kind")).from_arrays(arrays, len(columns)),
            card=_mapping(header, "card"),
            calibration=calibration.from_arrays(made, arrays),
            conformal=Conformal.from_arrays(arrays) if header.get("conformal") else None,
            versions=_mapping(header, "versions"),
            data_hash=header.get("data_hash"),
            metrics=_mapping(header, "metrics"),
        )

    def save(self, path: str | Path) -> None:
        """Write the safe artifact, whole or not at all."""
        artifact.write(path, *self.content())

    def content(self) -> artifact.Content:
        """Return the header and the arrays of the artifact."""
        made = {
            "versions": dict(self.versions),
            "data_hash": self.data_hash,
            "metrics": dict(self.metrics),
            "card": dict(self.card),
        }
        return self._told() | made, self._arrays()

    @cached_property
    def version(self) -> str:
        """What decisions are signed with: another where anything differs that an answer needs."""
        features = self.versions.get("features", FEATURES_VERSION)
        tables = {name: self.card.get(name) for name in TABLES}
        return artifact.seal(self._told() | tables | {"features": features}, self._arrays())[:SHORT]

    def _told(self) -> dict[str, Any]:
        """What the header says of how the model answers."""
        return {
            "use": self.use,
            "feature_set": self.feature_set,
            "columns": list(self.columns),
            "threshold": self.threshold,
            "kind": self.flat.kind,
            "calibration": calibration.method_of(self.calibration),
            "conformal": self.conformal is not None,
        }

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays = self.flat.arrays()
        for extra in (self.calibration, self.conformal):
            arrays |= extra.arrays() if extra is not None else {}
        return arrays

    def predict_proba(self, matrix: npt.ArrayLike, *, threads: int = 1) -> Floats:
        """Return the probability of noise and of a real change for each row.

        Args:
            matrix: A row of features for each candidate, in the order of `columns`.
            threads: How many parts of a long table are answered at once.
        """
        raw = self._raw(self._rows(matrix), threads)
        if self.calibration is None:
            return raw
        real = self.calibration(raw[:, 1])
        return np.column_stack([1.0 - real, real])

    def predict(self, matrix: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return 1 where the probability of a real change reaches the threshold."""
        return (self.predict_proba(matrix)[:, 1] >= self.threshold).astype(np.int64)

    def answers(self, matrix: npt.ArrayLike, coverage: float = 0.9) -> npt.NDArray[np.int64]:
        """Return 0, 1, or `UNSURE` where a person should look, with the stated coverage."""
        if self.conformal is None:
            raise ArtifactError(
                f"the model for the use {self.use!r} keeps no held-out scores: it can give "
                "probabilities, but no answers with a stated coverage"
            )
        # Strangeness is measured before calibration, which was fitted on the same points.
        return self.conformal.answers(self._raw(self._rows(matrix), 1)[:, 1], coverage)

    @property
    def reason_names(self) -> tuple[str, ...]:
        """What the parts of `reasons` belong to: the columns, then the calibration if any."""
        return self.columns if self.calibration is None else (*self.columns, CALIBRATION)

    def reasons(self, matrix: npt.ArrayLike) -> tuple[float, Floats]:
        """Return a base, and what each feature adds to it: together the probability of real.

        For trees these are the changes along the decision paths (Saabas), for linear models the
        terms; what was log-odds is turned into probability in the same proportions. What the
        calibration changes is the last part.
        """
        rows = self._rows(matrix)
        base, parts = self.flat.parts(rows)
        if self.calibration is None:
            return base, parts
        raw = self._raw(rows, 1)[:, 1]
        return base, np.column_stack([parts, self.calibration(raw) - raw])

    def check_table(
        self, names: Collection[str], feature_sets: Collection[str], version: str | None
    ) -> None:
        """Refuse a feature table of other sets or another version, or without the model's columns.

        Args:
            names: The table's columns; others beside the model's are not looked at.
            feature_sets: The sets that the table says it holds.
            version: The version of the features that it says it was built with.
        """
        if self.feature_set not in feature_sets:
            raise DataError(
                f"the table holds the feature sets {sorted(feature_sets)}; the model for the "
                f"use {self.use!r} expects {self.feature_set!r}"
            )
        expected = self.versions.get("features", version)
        if version != expected:
            raise DataError(
                f"the table was built with version {version} of the features; the model for the "
                f"use {self.use!r} expects {expected}"
            )
        missing = [name for name in self.columns if name not in names]
        if missing:
            raise DataError(f"the table misses the columns {missing} of {self.feature_set}")

    def _raw(self, rows: Floats, threads: int) -> Floats:
        if threads <= 1 or rows.shape[0] <= 1:
            return self.flat.predict_proba(rows)
        ranges = row_ranges(rows.shape[0], threads, smallest=1, parts=1)
        parts = map_threads(
            lambda part: self.flat.predict_proba(rows[part]), ranges, threads=threads
        )
        return np.concatenate(parts)

    def _rows(self, matrix: npt.ArrayLike) -> Floats:
        rows = np.asarray(matrix, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.columns):
            raise ValueError(
                f"expected rows of {len(self.columns)} features {self.columns}, got {rows.shape}"
            )
        require_finite(rows, "matrix", self.columns)
        return rows


def file_of(use: str) -> str:
    """Return the name of the file that holds the model of a use."""
    return next(f"{name}.baro" for name, uses in FILES.items() if use in uses)


def load_models(path: str | Path) -> dict[str, TriageModel]:
    """Load all models of a file, by use; refuse a file of any other kind."""
    header, arrays = artifact.read(path)
    try:
        models = [TriageModel.from_content(*content) for content in artifact.unpack(header, arrays)]
    except ArtifactError as error:
        raise ArtifactError(f"{path}: {error}") from error
    return {model.use: model for model in sorted(models, key=lambda one: USES.index(one.use))}


def save_models(path: str | Path, models: Sequence[TriageModel]) -> None:
    """Write the models of different uses into one file, whole or not at all."""
    if len(models) == 1:
        models[0].save(path)
        return
    artifact.write(path, *artifact.pack({model.use: model.content() for model in models}))


def _expected(header: Mapping[str, Any]) -> tuple[str, str, tuple[str, ...], float]:
    """Return use, feature set, columns and threshold of a header that this program can serve."""
    try:
        use, feature_set = str(header["use"]), str(header["feature_set"])
        columns = tuple(map(str, header["columns"]))
        threshold = float(header["threshold"])
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"the header lacks or garbles {error}") from error
    if use not in USES:
        raise ArtifactError(f"made for the use {use!r}; known uses: {USES}")
    if FEATURE_SETS.get(feature_set) != columns:
        raise ArtifactError(
            f"made for the columns {columns} of the feature set {feature_set!r}; "
            f"this program computes {FEATURE_SETS.get(feature_set)}"
        )
    if not 0 <= threshold <= NEVER:
        raise ArtifactError(f"the threshold {threshold} lies outside 0 to 1")
    made = _mapping(header, "versions").get("features", FEATURES_VERSION)
    if made != FEATURES_VERSION:
        raise ArtifactError(
            f"made for version {made!r} of the features; this program computes {FEATURES_VERSION!r}"
        )
    return use, feature_set, columns, threshold


def _mapping(header: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = header.get(name, {})
    if not isinstance(found, dict):
        raise ArtifactError(f"the header's {name!r} is {found!r}; expected names with values")
    return found
