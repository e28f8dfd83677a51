"""Learn the models of all uses, each with a twin that can be compared with the champion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from barograph.detection import triaged
from barograph.learning import tables
from barograph.learning.candidates import Trained, TrainParams, shipped, train, usable_verdicts
from barograph.learning.online.pair import train_pair
from barograph.learning.reporting import with_rule
from barograph.models.catalogue import takes_weights
from barograph.models.triage import FILES, USES
from barograph.results.history import History
from barograph.runtime.errors import NotEnoughDataError
from barograph.runtime.parallel import map_parallel


@dataclass(frozen=True)
class Material:
    """What models are learned from.

    Attributes:
        history: The series, with the verdicts on their candidates.
        frames: Returns the feature table of a use.
        prior: Returns the simulated rows of a use and a feature set.
        settings: Returns the settings of a use and a classifier that tuning chose.
        profile: The name of the parameters, for the cards.
    """

    history: History
    frames: tables.FrameReader
    prior: Callable[[str, str], tables.Labelled]
    settings: Callable[[str, str], Mapping[str, Any]]
    profile: str


def train_all(params: TrainParams, material: Material) -> Iterator[tuple[str, Trained]]:
    """Learn the models of all uses.

    Where verdicts are scarce, the online models also learn from hindsight. The shipped model stays
    for a use that cannot be learned from the verdicts there are.
    """
    rows = {use: usable_verdicts(use, params, material.frames) for use in USES}
    pair = FILES["online"] if params.learns_histories else ()
    learned = [(use, table) for use, table in rows.items() if use not in pair and table is not None]
    calls = []
    weighs = takes_weights(params.classifier)
    for use, table in learned:
        scarce = weighs and np.unique(table.candidates).size < params.enough
        prior = material.prior(use, params.feature_sets[use]) if scarce else None
        settings = {**material.settings(use, params.classifier), **params.settings}
        calls.append((use, table, prior, params, material.profile, settings))
    results = map_parallel(train, calls, "train")
    for (use, table), trained in zip(learned, results, strict=True):
        yield use, with_rule(trained, table, params) if use == triaged.USE else trained
    for use in USES:
        if use not in pair and rows[use] is None:
            yield use, shipped(use, "too few verdicts")
    if pair:
        yield from _train_pair(rows, params, material)


def _train_pair(
    rows: dict[str, tables.Labelled | None], params: TrainParams, material: Material
) -> Iterator[tuple[str, Trained]]:
    try:
        yield from train_pair(material.history, rows, params, material.profile)
    except NotEnoughDataError as error:
        if rows["online"] is not None:
            raise
        for use in FILES["online"]:
            yield use, shipped(use, str(error))
