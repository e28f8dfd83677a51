"""The kinds of classifiers in a model file, and how a fitted classifier becomes one of them.

Forests and boosted trees are arrays (`trees`). All others are scikit-learn's own objects, as skops
writes them without pickle: only the types in TYPES are loaded, so that no code of a file is ever
run. The numbers in an object are checked by scikit-learn alone.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from barograph.models.artifact import EPOCH, Arrays, check_size, typed_array
from barograph.models.trees import Boosted, Forest
from barograph.results.series import Floats
from barograph.runtime.errors import ArtifactError, BarographError, ConfigError
from barograph.runtime.extras import needed

# Those that skops does not load unless it is told to.
TRUSTED = (
    "barograph.models.classifiers.LogisticByRow",
    "barograph.models.stacked.StackedTriage",
    "barograph.models.voting.VotingTriage",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
)
TYPES = frozenset(
    {
        *TRUSTED,
        *(f"builtins.{name}" for name in ("bytearray", "dict", "list", "str", "tuple")),
        *("numpy.float64", "numpy.int64", "numpy.ndarray"),
        "sklearn.calibration.CalibratedClassifierCV",
        "sklearn.dummy.DummyClassifier",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.svm._classes.SVC",
    }
)
CONTENT = "estimator"  # the array with the bytes that skops writes
SCHEMA = "schema.json"  # the description of the object in these bytes ...
ADDRESS = re.compile(r'(?<="__id__": )\d+')  # ... which identifies objects
FILE = re.compile(r'(?<="file": ")[^"]+(?=")')  # ... and names their files


@dataclass(frozen=True)
class Estimator:
    """A fitted classifier of scikit-learn.

    Attributes:
        content: The bytes that skops writes for it, the same for equal classifiers.
        model: The classifier.
    """

    kind: ClassVar[str] = "estimator"
    content: npt.NDArray[np.uint8]
    model: Any

    @classmethod
    def of(cls, fitted: Any) -> Estimator:
        """Take a fitted classifier.

        Raises:
            ConfigError: A model file cannot hold it.
        """
        with needed("a model file with this classifier"):
            from skops.io import dumps
        name = type(fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted).__name__
        try:
            content = np.frombuffer(_canonical(dumps(fitted)), dtype=np.uint8)
            return cls.from_arrays({CONTENT: content}, int(fitted.n_features_in_))
        except ArtifactError as error:
            raise ConfigError(f"a model file cannot hold this {name}: {error}") from error

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the probability of noise and of a real change for each row."""
        probability: Floats = self.model.predict_proba(matrix)
        return probability

    def parts(self, matrix: Floats) -> tuple[float, Floats]:  # noqa: ARG002 - as of trees
        """Raise a ConfigError: only trees give reasons."""
        raise ConfigError(
            "only forests and boosted trees give reasons for their probabilities; this model is a "
            f"{type(self.model).__name__} of scikit-learn"
        )

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in a model file."""
        return {CONTENT: self.content}

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> Estimator:
        """Restore the classifier from the arrays of a file.

        Raises:
            ArtifactError: It holds another type, is damaged, or does not fit the columns.
            ConfigError: A package that it needs is not installed.
        """
        content = typed_array(arrays, CONTENT, np.uint8, 1)
        with needed("this model"):
            from skops.io import loads
        try:
            _check_types(content.tobytes())
            with needed("this model"):
                model = loads(content.tobytes(), trusted=TRUSTED)
            shape = model.predict_proba(np.zeros((1, columns))).shape
            classes = model.classes_.tolist()
        except BarographError:
            raise
        except Exception as error:  # whatever libraries raise for numbers that do not fit
            reason = str(error).partition("\n")[0]
            raise ArtifactError(f"array {CONTENT!r} cannot be used: {reason}") from error
        if shape != (1, 2) or classes != [0, 1]:
            raise ArtifactError(f"array {CONTENT!r}: the classes are {classes}, not [0, 1]")
        return cls(content, model)


# A fitted classifier of two classes, as a model uses it.
FittedClassifier = Boosted | Estimator | Forest
KINDS: Mapping[str, type[FittedClassifier]] = {
    each.kind: each for each in (Boosted, Estimator, Forest)
}


def from_fitted(fitted: Any) -> FittedClassifier:
    """Return a fitted classifier of the catalogue in the form that models use and save.

    Raises:
        ConfigError: A model file cannot hold the classifier, or its classes are not 0 and 1.
    """
    if isinstance(fitted, FittedClassifier):
        return fitted
    if not np.array_equal(fitted.classes_, [0, 1]):
        raise ConfigError(f"the classes must be 0 and 1, not {fitted.classes_}")
    steps = [step for _, step in fitted.steps] if hasattr(fitted, "steps") else [fitted]
    name = type(steps[-1]).__name__  # importing the classes would be slow
    if len(steps) == 1 and name in ("RandomForestClassifier", "ExtraTreesClassifier"):
        return Forest.of(steps[0])
    if len(steps) == 1 and name == "XGBClassifier":
        return Boosted.of(steps[0])
    return Estimator.of(fitted)


def from_arrays(kind: object, arrays: Arrays, columns: int) -> FittedClassifier:
    """Restore a classifier of a kind from the arrays of a file.

    Raises:
        ArtifactError: The kind is unknown, or an array is missing or invalid.
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise ArtifactError(
            f"unknown kind of model {kind!r}; known kinds: {sorted(KINDS)}. If an earlier version "
            "saved it, train the model again with this version"
        )
    return KINDS[kind].from_arrays(arrays, columns)


def _check_types(content: bytes) -> None:
    """Check the size and the types of an object before it is loaded."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        check_size(f"array {CONTENT!r}", archive)
        unknown = sorted(set(_types(json.loads(archive.read(SCHEMA)))) - TYPES)
    if unknown:
        raise ArtifactError(f"array {CONTENT!r} holds the type {unknown[0]}, which is not allowed")


def _canonical(content: bytes) -> bytes:
    """Replace addresses, random names and times in what skops writes by numbers and one date."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    schema, known = entries[SCHEMA].decode(), dict[str, str]()
    schema = ADDRESS.sub(lambda match: known.setdefault(match[0], str(len(known))), schema)
    names = dict.fromkeys(FILE.findall(schema))
    numbered = {name: f"{k}{PurePath(name).suffix}" for k, name in enumerate(names)}
    schema = FILE.sub(lambda match: numbered[match[0]], schema)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo(SCHEMA, EPOCH), schema)
        for old, new in numbered.items():
            archive.writestr(zipfile.ZipInfo(new, EPOCH), entries[old])
    return buffer.getvalue()


def _types(state: Any) -> Iterator[str]:
    """Yield the names of all types in a description by skops."""
    if isinstance(state, dict):
        if "__class__" in state:
            yield f"{state['__module__']}.{state['__class__']}"
        state = list(state.values())
    if isinstance(state, list):
        for part in state:
            yield from _types(part)
