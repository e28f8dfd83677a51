"""Histories of many owners without a label: what the built-in pair learns from, in hindsight.

Series of one owner are related, and a few owners publish most of the series. So each owner of a
pool has the same weight, unless its series are short; and groups of related series are never split
between learning and judging.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from barograph.learning.online.hindsight import truth_in_hindsight
from barograph.learning.online.histories import Simulated
from barograph.learning.online.learn import Learned, Prior, boosted, learn
from barograph.learning.online.truth import Marked, Truth
from barograph.learning.protocols import numbered
from barograph.results.series import Flags, Floats, Ints

SHORTEST = 40  # values of a series
FULL = 3_000  # values from which on an owner has its full weight
UNLICENSED = ("none stated", "other")  # how the licences begin that allow no learning
CONTROL = "control: one fixed build"  # in the names of series that change with the machine alone
# Chosen with the weights of the windows on owners that no figure is reported of.
PRIOR = Simulated(seed=4711, long_series=400, short_series=0)
PRIOR_WEIGHT = 2.0
NEWEST_PRIOR_WEIGHT = 10.0  # so that a step in a series of low noise stays one
WEIGHTS = {0: 0.5, 2: 1.0, 5: 3.0}
LEAD = -0.4
TREES, DEPTH, LEAST = 400, 5, 10
# Series in which each value follows the last and nothing changes; hindsight sees changes there.
WANDERING, WANDERING_LENGTH, WANDERING_WEIGHT = 200, 300, 0.15
FOLLOWS = 0.2, 0.8  # how much a value follows the last

Names = npt.NDArray[np.str_]


@dataclass(frozen=True)
class Unlabelled:
    """Series one after the other; series k owns values[offsets[k]:offsets[k + 1]].

    Attributes:
        values: All values, in the order of the commits.
        offsets: Where each series begins, and the end of the last.
        owners: The owner of each series, in lower case.
        groups: The group of related series that each belongs to.
        runners: Where each series was measured, as far as its project says.
        may_teach: Whether a series may be learned from.
        controls: Whether a series measures one fixed build.
    """

    values: Floats
    offsets: Ints
    owners: Names
    groups: Names
    runners: Names
    may_teach: Flags
    controls: Flags

    @classmethod
    def of(cls, table: pd.DataFrame) -> Unlabelled:
        """Return the series of a table that are long enough and not constant.

        Args:
            table: Rows with the columns `series`, `value`, `owner`, `group`, `runner`,
                `may_teach` and `is_control`, each series in the order of its commits.
        """
        table = table[np.isfinite(table["value"])]
        groups = table.groupby("series", sort=False, dropna=False, observed=True)["value"]
        keep = (groups.transform("size") >= SHORTEST) & (groups.transform(np.ptp) > 0)
        table = table[keep].sort_values("series", kind="stable")
        heads = np.flatnonzero(table["series"].to_numpy() != table["series"].shift().to_numpy())
        first = table.iloc[heads]
        return cls(
            table["value"].to_numpy(np.float64),
            np.append(heads, len(table)).astype(np.int64),
            first["owner"].to_numpy(np.str_),
            first["group"].to_numpy(np.str_),
            first["runner"].to_numpy(np.str_),
            first["may_teach"].to_numpy(np.bool_),
            first["is_control"].to_numpy(np.bool_),
        )

    def __len__(self) -> int:
        """Return the number of series."""
        return self.owners.size

    def part(self, chosen: Flags) -> Unlabelled:
        """Return some of the series."""
        sizes = np.diff(self.offsets)
        return Unlabelled(
            self.values[np.repeat(chosen, sizes)],
            np.concatenate([[0], np.cumsum(sizes[chosen])]),
            self.owners[chosen],
            self.groups[chosen],
            self.runners[chosen],
            self.may_teach[chosen],
            self.controls[chosen],
        )

    def weights(self) -> Floats:
        """Return the weight of a value of each series: equal sums of all owners, 1 in all."""
        sizes, owner = np.diff(self.offsets), numbered(self.owners)
        weights = 1.0 / np.maximum(np.bincount(owner, sizes), FULL)[owner]
        result: Floats = weights / (weights * sizes).sum()
        return result


def read_pool(folder: Path) -> Unlabelled:
    """Read the histories of public projects.

    Args:
        folder: It has the files pool.parquet and projects.csv.
    """
    keys = ["project", "machine", "series", "order"]
    table = pd.read_parquet(folder / "pool.parquet", columns=[*keys, "value"])
    projects = pd.read_csv(folder / "projects.csv").set_index("project").fillna("")
    table = table.sort_values(keys, kind="stable")
    licence = table["project"].map(projects["licence"]).astype(str)
    owner = table["project"].str.split("/").str[0].str.lower()
    control = table["series"].str.contains(CONTROL, regex=False)
    facts: dict[str, Any] = {
        "series": table.groupby(keys[:3], sort=False, dropna=False, observed=True).ngroup(),
        "owner": owner,
        "group": owner,
        "runner": table["project"].map(projects["runner"]),
        "may_teach": ~(licence.str.startswith(UNLICENSED) | control),
        "is_control": control,
    }
    return Unlabelled.of(table.assign(**facts))


def read_marked_values(folder: Path) -> Unlabelled:
    """Read histories that people marked, without the marks: all of one owner.

    Args:
        folder: It has the files series.parquet and series_meta.csv.
    """
    meta = pd.read_csv(folder / "series_meta.csv", dtype={"series_id": str})
    table = pd.read_parquet(folder / "series.parquet", columns=["series_id", "idx", "mean"])
    table = table.sort_values(["series_id", "idx"], kind="stable")
    groups = meta.set_index("series_id")["group"]
    group = f"{folder.name} " + table["series_id"].astype(str).map(groups).astype(str)
    facts: dict[str, Any] = {"owner": folder.name, "group": group, "runner": ""}
    facts |= {"may_teach": True, "is_control": False}
    return Unlabelled.of(
        table.rename(columns={"series_id": "series", "mean": "value"}).assign(**facts)
    )


def _with_wandering(simulated: Marked, seed: int) -> Truth:
    """Return simulated histories, then quiet ones whose values follow the last."""
    from scipy.signal import lfilter  # slow to import

    rng = np.random.default_rng(seed)
    shocks = rng.normal(size=(WANDERING, 2 * WANDERING_LENGTH))
    series = zip(rng.uniform(*FOLLOWS, WANDERING), shocks, strict=True)
    # The first half only lets the noise settle.
    quiet = [100.0 + lfilter([1.0], [1.0, -p], e)[WANDERING_LENGTH:] for p, e in series]
    ends = simulated.offsets[-1] + WANDERING_LENGTH * np.arange(1, WANDERING + 1)
    groups = simulated.groups.max() + np.arange(1, WANDERING + 1)
    truth = Truth.of(
        Marked(
            np.concatenate([simulated.values, *quiet]),  # noqa: PD011 - not a data frame
            np.concatenate([simulated.offsets, ends]),
            (*simulated.marks, *[((),)] * WANDERING),
            np.concatenate([simulated.groups, groups]),
        )
    )
    weight = np.repeat([1.0, WANDERING_WEIGHT], [len(simulated), WANDERING])
    return replace(truth, weight=weight)


def teach(pools: Sequence[Unlabelled], seed: int = 0) -> Learned:
    """Learn a pair from the series that may be learned from, and from simulated ones.

    Args:
        pools: Each has the same weight in all.
        seed: Seed of all that is drawn.
    """
    pools = [pool.part(pool.may_teach) for pool in pools]
    values = np.concatenate([pool.values for pool in pools])  # noqa: PD011 - not a data frame
    sizes = np.concatenate([np.diff(pool.offsets) for pool in pools])
    groups = numbered(np.concatenate([pool.groups for pool in pools]))
    weight = np.concatenate([pool.weights() for pool in pools]) * values.size / len(pools)
    none = np.empty(0, dtype=np.int64)
    label = partial(truth_in_hindsight, true=none, false=none, undecided=none)
    truth = replace(label(values, np.cumsum([0, *sizes]), groups), weight=weight)
    make = partial(boosted, trees=TREES, depth=DEPTH, least=LEAST)
    prior = Prior(_with_wandering(PRIOR.marked(), seed), PRIOR_WEIGHT, NEWEST_PRIOR_WEIGHT)
    return learn(truth, prior=prior, make=make, weights=WEIGHTS, lead=LEAD, seed=seed)
