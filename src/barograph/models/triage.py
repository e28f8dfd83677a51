"""Trained models, as the batch commands and the service use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.features import FEATURE_SETS, FEATURES_VERSION
from barograph.models import artifact, calibration, kinds
from barograph.models.artifact import SHORT, Arrays, read_inputs, versions
from barograph.models.calibration import Calibration, Conformal
from barograph.models.columns import select_columns
from barograph.models.kinds import FittedClassifier
from barograph.results.series import Floats, require_finite
from barograph.runtime.errors import ArtifactError, ConfigError

NEWEST, CONFIRM = "online", "confirm"
USES = ("adaptive", "label_free", NEWEST, CONFIRM)
# The released files, and the uses of the models in each.
FILES: Mapping[str, tuple[str, ...]] = {
    "adaptive": ("adaptive",),
    "label_free": ("label_free",),
    "online": (NEWEST, CONFIRM),
}
DEFAULTS = "defaults"  # the folder of the shipped models in this package
CALIBRATION = "calibration"  # the name of the last part of the reasons
TABLES = (
    "tails",
    "alarm_thresholds",
    "alarm_weights",
)  # long entries of a card that decisions depend on
DECISIVE = (*TABLES, "suspect_lead", "reporting")  # all entries of a card that decisions depend on


@dataclass(frozen=True, repr=False, eq=False)
class TriageModel:
    """Estimates from a row of features how likely a person would call a candidate real.

    A matrix of features is a table with the columns of the model in any order, or an array in the
    order of `columns`. Models are equal if their versions are.

    Attributes:
        use: What the model is for, one of USES.
        feature_set: One of FEATURE_SETS.
        columns: The columns of the feature set.
        threshold: The probability from which `predict` returns 1.
        classifier: The fitted classifier.
        card: What is known about the training, and the numbers in TABLES.
        calibration: Maps the classifier's probability to a calibrated one.
        conformal: Held-out scores for `predict_set`.
        versions: The versions that the model was made with.
        data_hash: The hash of the training data.
        metrics: How the model did on test data.

    Example:
        >>> TriageModel.default("label_free").feature_set
        'contrast'
    """

    use: str
    feature_set: str
    columns: tuple[str, ...]
    threshold: float
    classifier: FittedClassifier
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
        threshold: float | None = None,
        **facts: Any,
    ) -> TriageModel:
        """Make a model from a fitted classifier and held-out points.

        The held-out points calibrate the model, and choose its threshold.

        Args:
            fitted: A classifier of the catalogue, fitted to the columns of the feature set.
            use: One of USES.
            feature_set: One of FEATURE_SETS.
            truth: 1 for the held-out points that a person called real, else 0.
            score: The uncalibrated probability of a real change at each, by a classifier that was
                not fitted to these points.
            goal: The goal of the threshold, see `choose_threshold`.
            method: The method of calibration; None for no calibration.
            threshold: The threshold of a classifier that has one; None to choose it.
            **facts: Further attributes: card, data_hash, metrics.
        """
        raw = np.asarray(score, dtype=np.float64)
        fitted_calibration, chosen = calibration.decision_rule(truth, raw, goal, method, threshold)
        return cls(
            use=use,
            feature_set=feature_set,
            columns=FEATURE_SETS[feature_set],
            threshold=chosen,
            classifier=kinds.from_fitted(fitted),
            calibration=fitted_calibration,
            conformal=Conformal.fit(truth, raw),
            versions=versions(),
            **facts,
        )

    @classmethod
    def default(cls, use: str) -> TriageModel:
        """Load the shipped model for a use, which was trained on simulated histories.

        Args:
            use: One of USES.
        """
        shipped = resources.files("barograph.models").joinpath(DEFAULTS, file_of(use))
        with resources.as_file(shipped) as path:
            return cls.load(path, use)

    @classmethod
    def load(cls, path: str | Path, use: str | None = None) -> TriageModel:
        """Load a model from a file.

        Args:
            path: The file.
            use: The use that the model must be made for. Required if the file has several models.

        Raises:
            ArtifactError: The file is not a model, or was made for another use.
        """
        models = load_models(path, use)
        if use is None and len(models) > 1:
            raise ArtifactError(
                f"{path}: has models for several uses ({', '.join(models)}); choose one"
            )
        return models[use] if use is not None else next(iter(models.values()))

    @classmethod
    def from_content(cls, header: Mapping[str, Any], arrays: Arrays) -> TriageModel:
        """Restore a model from the result of `content`.

        Raises:
            ArtifactError: This program cannot use the model.
        """
        use, feature_set, columns, threshold = read_inputs(header, USES)
        method = header.get("calibration")
        return cls(
            use=use,
            feature_set=feature_set,
            columns=columns,
            threshold=threshold,
            classifier=kinds.from_arrays(header.get("kind"), arrays, len(columns)),
            card=header.get("card", {}),
            calibration=calibration.from_arrays(method, arrays),
            conformal=Conformal.from_arrays(arrays) if header.get("conformal") else None,
            versions=header.get("versions", {}),
            data_hash=header.get("data_hash"),
            metrics=header.get("metrics", {}),
        )

    def save(self, path: str | Path) -> None:
        """Write the model to a file, atomically."""
        artifact.write(path, *self.content())

    def content(self) -> artifact.Content:
        """Return the header and the arrays of the file."""
        facts = {
            "versions": dict(self.versions),
            "data_hash": self.data_hash,
            "metrics": dict(self.metrics),
            "card": dict(self.card),
        }
        return self._description() | facts, self._arrays()

    @cached_property
    def version(self) -> str:
        """A hash of everything that predictions and decisions depend on."""
        features = self.versions.get("features", FEATURES_VERSION)
        tables = {name: self.card[name] for name in DECISIVE if name in self.card}
        content = self._description() | tables | {"features": features}
        return artifact.seal(content, self._arrays())[:SHORT]

    def __eq__(self, other: object) -> bool:
        """Return whether predictions and decisions of both models are the same."""
        if not isinstance(other, TriageModel):
            return NotImplemented
        return self is other or self.version == other.version

    def __hash__(self) -> int:
        """Return the hash of the version."""
        return hash(self.version)

    def __repr__(self) -> str:
        """Return use, version, features, classifier and training in a few lines."""
        classifier = self.card.get("classifier", self.classifier.kind)
        calibrated = "" if self.calibration is None else ", calibrated"
        lines = (
            f"TriageModel(use={self.use!r}, version={self.version!r})",
            f"features {self.feature_set} ({len(self.columns)} columns)",
            f"classifier {classifier}{calibrated}, threshold {self.threshold:.3f}",
            self._training(),
        )
        return "\n  ".join(lines)

    def _training(self) -> str:
        """Describe what the model learned from, and how well it did on held-out data."""
        card = self.card
        trained = [f"{card[name]:,} {name}" for name in ("rows", "series") if name in card]
        trained += [f"profile {card['profile']}"] if "profile" in card else []
        auc = f"; AUC {self.metrics['auc']:.3f} on held-out rows" if "auc" in self.metrics else ""
        return f"trained on {', '.join(trained) or 'unknown data'}{auc}"

    def _description(self) -> dict[str, Any]:
        """Return the part of the header that predictions depend on."""
        return {
            "use": self.use,
            "feature_set": self.feature_set,
            "columns": list(self.columns),
            "threshold": self.threshold,
            "kind": self.classifier.kind,
            "calibration": calibration.method_of(self.calibration),
            "conformal": self.conformal is not None,
        }

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays = self.classifier.arrays()
        for extra in (self.calibration, self.conformal):
            arrays |= extra.arrays() if extra is not None else {}
        return arrays

    def predict_proba(self, matrix: npt.ArrayLike) -> Floats:
        """Return the probability of noise and of a real change for each row.

        Args:
            matrix: One row of features for each candidate; tables are read by column names.

        Returns:
            Two columns: noise, and real.

        Raises:
            DataError: Columns are missing or unknown, or a value is not finite.

        Example:
            >>> model = TriageModel.default("label_free")
            >>> model.predict_proba(np.zeros((3, len(model.columns)))).shape
            (3, 2)
        """
        raw = self.classifier.predict_proba(self._rows(matrix))
        if self.calibration is None:
            return raw
        real = self.calibration(raw[:, 1])
        return np.column_stack([1.0 - real, real])

    def predict(self, matrix: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return 1 where the probability of a real change reaches the threshold."""
        return (self.predict_proba(matrix)[:, 1] >= self.threshold).astype(np.int64)

    def predict_set(self, matrix: npt.ArrayLike, coverage: float = 0.9) -> npt.NDArray[np.int64]:
        """Return 0, 1, or `UNSURE` where a person should decide.

        Args:
            matrix: One row of features for each candidate; tables are read by column names.
            coverage: The minimum probability that 0 or 1 is right or the row is `UNSURE`.

        Raises:
            ArtifactError: The model has no held-out scores.
        """
        if self.conformal is None:
            raise ArtifactError(
                f"the model for the use {self.use!r} has no held-out scores, which prediction sets "
                "need"
            )
        # Uncalibrated, because the calibration was fitted to the same points.
        raw = self.classifier.predict_proba(self._rows(matrix))
        return self.conformal.predict(raw[:, 1], coverage)

    @property
    def reason_names(self) -> tuple[str, ...]:
        """The names of the parts of `reasons`: the columns, then the calibration if any."""
        return self.columns if self.calibration is None else (*self.columns, CALIBRATION)

    def reasons(self, matrix: npt.ArrayLike) -> tuple[float, Floats]:
        """Return a base, and what each feature adds to it; they add up to the probability of real.

        The parts are the changes along the decision paths (Saabas). Parts of log-odds are converted
        to parts of the probability in the same proportions. The last part is the effect of the
        calibration.

        Raises:
            ConfigError: The classifier is neither a forest nor boosted trees.
        """
        rows = self._rows(matrix)
        base, parts = self.classifier.parts(rows)
        if self.calibration is None:
            return base, parts
        raw = self.classifier.predict_proba(rows)[:, 1]
        return base, np.column_stack([parts, self.calibration(raw) - raw])

    def _rows(self, matrix: npt.ArrayLike) -> Floats:
        rows = select_columns(matrix, self.columns, f"the feature set {self.feature_set!r}")
        require_finite(rows, "matrix", self.columns)
        return rows


def file_of(use: str) -> str:
    """Return the name of the released file with the model for a use.

    Raises:
        ConfigError: There is no such use.
    """
    for name, uses in FILES.items():
        if use in uses:
            return f"{name}.baro"
    raise ConfigError(f"unknown use {use!r}; known: {', '.join(USES)}")


def load_models(path: str | Path, use: str | None = None) -> dict[str, TriageModel]:
    """Return all models of a file by use.

    Args:
        path: The file.
        use: A use that must be among them.

    Raises:
        ArtifactError: The file is not a model, or was made for another use.
    """
    header, arrays = artifact.read(path)
    try:
        models = [TriageModel.from_content(*content) for content in artifact.unpack(header, arrays)]
    except ArtifactError as error:
        raise ArtifactError(f"{path}: {error}") from error
    by_use = {model.use: model for model in sorted(models, key=lambda model: USES.index(model.use))}
    if use is not None and use not in by_use:
        raise ArtifactError(f"{path}: made for another use: {', '.join(by_use)}, not {use}")
    return by_use


def save_models(path: str | Path, models: Sequence[TriageModel]) -> None:
    """Write models for different uses to one file, atomically."""
    if len(models) == 1:
        models[0].save(path)
        return
    artifact.write(path, *artifact.pack({model.use: model.content() for model in models}))


@dataclass(frozen=True)
class OnlineModels:
    """The model that judges a point as the newest, and the one that judges it again later.

    Attributes:
        newest: Judges the newest point, before any later result.
        confirm: Judges points that 1 to 10 later ones follow; None in a file of a single model.
    """

    newest: TriageModel
    confirm: TriageModel | None = None

    @classmethod
    def default(cls) -> OnlineModels:
        """Load the models that ship with the package."""
        return cls(TriageModel.default(NEWEST), TriageModel.default(CONFIRM))

    @classmethod
    def load(cls, path: str | Path) -> OnlineModels:
        """Load both models from one file; `confirm` may be missing.

        Raises:
            ArtifactError: The file is not a model, or was made for another use.
        """
        models = load_models(path, NEWEST)
        return cls(models[NEWEST], models.get(CONFIRM))

    @property
    def members(self) -> tuple[TriageModel, ...]:
        """The models that are not None."""
        return (self.newest,) if self.confirm is None else (self.newest, self.confirm)

    def save(self, path: str | Path) -> None:
        """Write both models to one file, atomically."""
        save_models(path, self.members)
