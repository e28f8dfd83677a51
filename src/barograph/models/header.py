"""The header of a model file: the checks of its entries."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from barograph.features import FEATURE_SETS, FEATURES_VERSION
from barograph.models.threshold import NEVER
from barograph.runtime.errors import ArtifactError


def read_inputs(
    header: Mapping[str, Any], uses: Collection[str]
) -> tuple[str, str, tuple[str, ...], float]:
    """Return use, feature set, columns and threshold, if this program knows them.

    Args:
        header: The header of a model.
        uses: The allowed uses.

    Raises:
        ArtifactError: An entry is missing or invalid, or made for another version.
    """
    try:
        use, feature_set = str(header["use"]), str(header["feature_set"])
        columns = tuple(map(str, header["columns"]))
        threshold = float(header["threshold"])
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"missing or invalid in the header: {error}") from error
    if use not in uses:
        raise ArtifactError(f"unknown use {use!r}; known uses: {uses}")
    if feature_set not in FEATURE_SETS:
        raise ArtifactError(
            f"unknown feature set {feature_set!r:.60}; this program has {list(FEATURE_SETS)}"
        )
    version = header.get("versions", {}).get("features", FEATURES_VERSION)
    if version != FEATURES_VERSION or columns != FEATURE_SETS[feature_set]:
        raise ArtifactError(
            f"made for other columns of the feature set {feature_set!r}, version {version!r} of "
            f"the features; this program has version {FEATURES_VERSION!r}: train the model again"
        )
    if not 0 <= threshold <= NEVER:
        raise ArtifactError(f"the threshold must be from 0 to 1, not {threshold}")
    return use, feature_set, columns, threshold
