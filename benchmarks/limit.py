"""How close the answer on the newest commit comes to the best possible test.

Simulated series get a step at their newest commit. It is found if the answer, or one of those on
the results after it, is a change or a suspect. The limit is the most powerful two-sided test
(Neyman and Pearson 1933), which knows level, noise, place and magnitude of the step. The rate of
false answers is measured on series without a step; the limit and all other methods are set to it.

`previous` compares with the result before in percent, `t` with the last 10 results, `z` with all
results before, and Hunter searches the last 100; several results count by their mean. Reruns follow
one another like results of later commits, so AR(1) noise correlates them, too.

The last table compares the smallest change of `barograph noise`, and a fixed multiple of the
scatter, with the one measured on real histories. `--write` puts all tables into the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from every import cell
from histories import ROOT, SHARED
from newest_commit import PVALUES, QUIET, History, histories
from scipy import stats
from side_by_side import arguments, is_missing, shares, show

from barograph.detection import Hunter
from barograph.detection.online import PendingSeries, make_judge
from barograph.detection.online.budget import DEFAULT_RATE
from barograph.detection.online.noise import FOLLOWING, measure_noise
from barograph.detection.online.views import HISTORY
from barograph.models import OnlineModels
from barograph.results.series import Flags, Floats

PAGE = ROOT / "docs" / "research" / "limit.md"
SIZES = (1.0, 2.0, 3.0, 4.0, 5.0, 10.0)  # standard deviations
BETWEEN = slice(2, 5)  # the sizes from 3 to 5
BEFORE, SINCE = 200, 6  # results before the step, and drawn from it on
NOMINAL = DEFAULT_RATE / 1000
PHI = 0.5  # of AR(1) noise
T3 = 1.0 / np.sqrt(3.0)  # gives the t distribution a deviation of 1
SETTINGS = {"at once": (0, 0), "1 rerun": (1, 0), "2 reruns": (2, 0)}  # reruns, results after
SETTINGS |= {"2 results after": (0, 2), "5 results after": (0, 5)}
HUNTED, PLACES = 100, 5  # results that Hunter sees, and how far from the step it may point
QUIET_CASES = 30  # series without a step for each with one
DRAWN = 200_000  # for the limit under t3 noise
LEVEL = 100.0
VARIANTS = ((30, 1.0), (80, 1.0), (500, 1.0), (200, 0.1), (200, 10.0))  # results, noise in percent
REAL_SIZES = 2.0 ** np.arange(0.0, 8.0, 0.25)  # of steps in real histories, in scatters
CUTS, FEWEST = 24, 10  # quiet commits of each real history

JUDGE = make_judge(OnlineModels.default())


@dataclass(frozen=True)
class Cases:
    """Simulated series that get a step before their last results."""

    kind: str
    noise: Floats  # with a deviation of 1; a row for each series
    before: int = BEFORE  # results before the step
    percent: float = 1.0  # of the level, that a deviation is

    @classmethod
    def draw(
        cls, kind: str, count: int, seed: int, before: int = BEFORE, percent: float = 1.0
    ) -> Cases:
        """Draw series."""
        rng, shape = np.random.default_rng(seed), (count, before + SINCE)
        noise = rng.standard_t(3, shape) * T3 if kind == "t3" else rng.standard_normal(shape)
        if kind == "ar1":
            noise[:, 1:] *= np.sqrt(1.0 - PHI**2)
            for k in range(1, noise.shape[1]):
                noise[:, k] += PHI * noise[:, k - 1]
        return cls(kind, noise, before, percent)

    def values(self, size: float, count: int) -> Floats:
        """Return the series with a step, up or down, and the first results since then."""
        values = self.noise[:, : self.before + count].copy()
        values[::2, self.before :] += size
        values[1::2, self.before :] -= size
        return LEVEL + self.percent * values

    def answered(self, size: float, reruns: int, after: int) -> Flags:
        """Return whether an answer since the step is not quiet."""
        n, pending = self.before, []
        for values in self.values(size, 1 + reruns + after):
            runs = {n: values[n:]} if reruns else {}
            pending.append(PendingSeries(values[: n + 1 + after], n, runs=runs))
        answers = JUDGE.judge(pending).answer.reshape(len(pending), -1)
        found: Flags = (answers != QUIET).any(axis=1)
        return found

    def statistics(self, size: float, count: int) -> dict[str, Floats]:
        """Return what each simple method compares with its threshold."""
        values, n = self.values(size, count), self.before
        known, last, newest = values[:, :n], values[:, n - 10 : n], values[:, n:].mean(axis=1)
        return {
            "z": np.abs(newest - known.mean(axis=1)) / known.std(axis=1),
            "t": np.abs(newest - last.mean(axis=1)) / last.std(axis=1),
            "previous": np.abs(newest / values[:, n - 1] - 1.0),
        }

    def hunted(self, size: float, reruns: int, after: int, pvalue: float) -> float:
        """Return the share of series in which Hunter reports a change near the step."""
        values = self.values(size, 1 + reruns + after)[:, -HUNTED - 1 - reruns - after :]
        if reruns:
            newest = values[:, -1 - reruns :].mean(axis=1, keepdims=True)
            values = np.hstack([values[:, : -1 - reruns], newest])
        offsets = np.arange(len(values) + 1) * values.shape[1]
        found = Hunter(pvalue=pvalue).find_many(values.ravel(), offsets)
        first = values.shape[1] - 1 - after - (PLACES if after else 0)
        return float(np.mean([any(point.index >= first for point in of) for of in found]))


def limit(kind: str, size: float, count: int, rate: float) -> float:
    """Return the power of the best test of a step with a number of results since then."""
    if kind == "t3":
        noise = np.random.default_rng(1).standard_t(3, (DRAWN, count)) * T3

        def ratio(x: Floats) -> Floats:
            logs = [stats.t.logpdf((x - s) / T3, 3).sum(axis=1) for s in (size, -size, 0.0)]
            above: Floats = np.logaddexp(logs[0], logs[1]) - logs[2]
            return above

        return float((ratio(noise + size) > np.quantile(ratio(noise), 1.0 - rate)).mean())
    phi = PHI if kind == "ar1" else 0.0
    clear = size * np.sqrt((1.0 + (count - 1) * (1.0 - phi) ** 2) / (1.0 - phi**2))
    threshold = stats.norm.isf(rate / 2.0)
    return float(stats.norm.sf(threshold - clear) + stats.norm.cdf(-threshold - clear))


def rivals(
    quiet: Cases, stepped: Cases, reruns: int, after: int, rate: float
) -> Iterator[tuple[str, str]]:
    """Yield the power of each other method at a rate, by size of step."""
    count = 1 + reruns + after
    none = quiet.statistics(0.0, count)
    found = [stepped.statistics(size, count) for size in SIZES]
    for method, values in none.items():
        least = np.quantile(values, 1.0 - rate)
        yield method, shares((of_size[method] > least).mean() for of_size in found)
    few = Cases(quiet.kind, quiet.noise[: 3 * len(stepped.noise)])
    pvalue = next((p for p in PVALUES if few.hunted(0.0, reruns, after, p) <= rate), PVALUES[-1])
    yield "Hunter", shares(stepped.hunted(size, reruns, after, pvalue) for size in SIZES)


def measured(
    quiet: Cases, stepped: Cases, reruns: int = 0, after: int = 0
) -> tuple[float, dict[str, Any]]:
    """Return the rate of false answers, and the power beside the limits at it and at 3 in 1,000."""
    missing = quiet.answered(0.0, reruns, after)
    rate = max(float(missing.sum()), 0.5) / missing.size  # half a series if there is none
    found = [float(stepped.answered(size, reruns, after).mean()) for size in SIZES]
    row: dict[str, Any] = {"false in 1,000": round(1000 * rate, 2), "Barograph": shares(found)}
    for name, given in (("limit", rate), ("limit at 3", NOMINAL)):
        best = [limit(stepped.kind, size, 1 + reruns + after, given) for size in SIZES]
        row |= {name: shares(best), f"of the {name}": shares(np.divide(found, best)[BETWEEN])}
    return rate, row


def of_limit(count: int) -> Iterator[dict[str, Any]]:
    """Yield the power of all methods, for each kind of noise and number of results."""
    for seed, kind in enumerate(("gaussian", "t3", "ar1")):
        quiet = Cases.draw(kind, QUIET_CASES * count, seed)
        stepped = Cases.draw(kind, count, 10 + seed)
        for setting, (reruns, after) in SETTINGS.items():
            rate, row = measured(quiet, stepped, reruns, after)
            others = rivals(quiet, stepped, reruns, after, rate)
            yield {"noise": kind, "results": setting} | row | dict(others)


def of_history(count: int) -> Iterator[dict[str, Any]]:
    """Yield the power at once after Gaussian noise, by the results before and the noise."""
    for before, percent in ((BEFORE, 1.0), *VARIANTS):
        quiet = Cases.draw("gaussian", QUIET_CASES * count, 20, before, percent)
        _, row = measured(quiet, Cases.draw("gaussian", count, 21, before, percent))
        yield {"results before": before, "noise": f"{percent:g} % of the level"} | row


def of_real(every: Sequence[History]) -> Iterator[dict[str, Any]]:
    """Yield how predicted and measured smallest changes of real histories compare."""
    rng = np.random.default_rng(3)
    known: list[Floats] = []
    for series in every:
        quiet = series.quiet[series.quiet >= BEFORE // 2]
        commits = rng.choice(quiet, min(CUTS, quiet.size), False).tolist()
        before = [series.results[max(0, commit - HISTORY) : commit] for commit in commits]
        rows = []
        noises = measure_noise(JUDGE, before)
        for k, (values, noise) in enumerate(zip(before, noises, strict=True)):
            if noise is None or not noise.scatter or None in noise[-3:]:
                continue
            steps = REAL_SIZES[:, None] * noise.scatter * (-1) ** k
            after = series.results[commits[k] : commits[k] + SINCE] + steps
            pending = [PendingSeries(np.append(values, row), values.size) for row in after]
            found = JUDGE.judge(pending).answer.reshape(REAL_SIZES.size, SINCE) != QUIET
            missed = ~np.logical_or.accumulate(found, axis=1)[:, FOLLOWING]
            # The sizes from which all larger ones are found; the true one is between two sizes.
            places = np.where(missed, np.arange(1, REAL_SIZES.size + 1)[:, None], 0).max(axis=0)
            sizes = 2.0 ** (0.25 * places - 0.125)
            rows.append([sizes * noise.scatter / np.array(noise[-3:], dtype=float), sizes])
        if len(rows) >= FEWEST:
            known.append(np.quantile(rows, 0.9, axis=0))  # by method and further results
    for method, column in np.ndindex(2, len(FOLLOWING)):
        ratios = np.array([ratio[method, column] for ratio in known])
        middle = float(np.median(ratios))
        away = np.abs(np.log(ratios / (middle if method else 1.0)))
        yield {
            "predicted by": ("`barograph noise`", "a multiple of the scatter")[method],
            "further results": FOLLOWING[column],
            "series": len(ratios),
            "measured / predicted": round(middle, 2),
            "within 25 %": f"{100 * np.mean(away < np.log(1.25)):.0f} %",
            "median error": f"{100 * np.expm1(np.median(away)):.0f} %",
        }


def write(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Put the tables into the page, each between its marker and the next end."""
    text = PAGE.read_text(encoding="utf-8")
    for name, rows in tables.items():
        lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
        lines += ["| " + " | ".join(map(cell, row.values())) + " |" for row in rows]
        before, mark, rest = text.partition(f"<!-- {name} -->")
        text = "\n".join([before + mark, *lines, rest[rest.index("<!-- end -->") :]])
    PAGE.write_text(text, encoding="utf-8")


def main() -> None:
    """Run the benchmark."""
    parser = arguments(str(__doc__))
    parser.add_argument("--cases", type=int, default=1000, help="Steps of each size.")
    parser.add_argument("--series", type=int, default=25, help="Most real series of each data set.")
    parser.add_argument("--write", action="store_true", help="Write the tables into the page.")
    options = parser.parse_args()
    tables = {"power": [*of_limit(options.cases)], "history": [*of_history(options.cases)]}
    if not is_missing(SHARED, "smallest changes of real histories", options.output):
        tables["smallest"] = [*of_real([*histories(options.series)])]
    if options.write:
        write(tables)
    show("the newest commit beside the best test", tables.pop("power"), options.output, **tables)


if __name__ == "__main__":
    main()
