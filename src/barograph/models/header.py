"""The header of a model file: the checks of its entries, and a summary for people."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import zip_longest
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
    if (known := FEATURE_SETS[feature_set]) != columns:
        pairs = enumerate(zip_longest(columns, known), 1)
        number, (stated, expected) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
        raise ArtifactError(
            f"made for other columns of the feature set {feature_set!r}: column {number} is "
            f"{stated!r:.60}, and in this program {expected!r}"
        )
    if not 0 <= threshold <= NEVER:
        raise ArtifactError(f"the threshold must be from 0 to 1, not {threshold}")
    version = read_mapping(header, "versions").get("features", FEATURES_VERSION)
    if version != FEATURES_VERSION:
        raise ArtifactError(
            f"made for version {version!r} of the features; this program has {FEATURES_VERSION!r}"
        )
    return use, feature_set, columns, threshold


def read_mapping(header: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an entry that is a mapping; empty if it is missing."""
    entry = header.get(name, {})
    if not isinstance(entry, dict):
        raise ArtifactError(f"the header's {name!r} must be a mapping, not {entry!r}")
    return entry


def training_summary(card: Mapping[str, Any], metrics: Mapping[str, float]) -> str:
    """Describe in one line what a model learned from, and how well it did on held-out data."""
    trained = [f"{card[name]:,} {name}" for name in ("rows", "series") if name in card]
    trained += [f"profile {card['profile']}"] if "profile" in card else []
    auc = f"; AUC {metrics['auc']:.3f} on held-out rows" if "auc" in metrics else ""
    return f"trained on {', '.join(trained) or 'unknown data'}{auc}"
