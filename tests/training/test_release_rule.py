"""A retraining releases what is better beyond chance on verdicts that neither model has seen."""

import shlex
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from barograph.features import FEATURE_SETS
from barograph.learning import registry
from barograph.learning import release as releasing
from barograph.learning.comparison import CROSS_FIT, Comparison
from barograph.learning.online.pair import BESIDE, Lesson
from barograph.learning.protocols import stable_split
from barograph.learning.registry import Index, put_in_service
from barograph.learning.release import Evidence, ReleaseParams
from barograph.models.triage import FILES, TriageModel, save_models
from barograph.results.series import Flags, Floats
from tests.service.models import FEATURES, small_model

USE = "label_free"
SERIES, COMMITS = 300, 300
IDENTITY = np.repeat(np.arange(SERIES), COMMITS)
COMMIT = np.tile(np.arange(COMMITS), SERIES).astype(str)
GENERATOR = np.random.default_rng(5)
TRUTH = GENERATOR.integers(0, 2, IDENTITY.size)
SHARP, AS_SHARP, DULL = (
    np.clip(0.5 + 0.2 * (TRUTH - 0.5) + GENERATOR.normal(0.0, sd, TRUTH.size), 0.0, 1.0)
    for sd in (0.08, 0.08, 0.25)
)
PARAMS = ReleaseParams(0.5, 200, 1)
CHAMPION = ("former",)


@dataclass(frozen=True)
class Scored:
    """A model whose probabilities are a column of the features."""

    column: int
    card: dict[str, Any] = field(default_factory=lambda: {"held_out_seed": 1})
    use: str = USE
    feature_set: str = FEATURES
    threshold: float = 0.5
    metrics: dict[str, float] = field(default_factory=dict)

    def predict_proba(self, matrix: Floats) -> Floats:
        return np.column_stack([1 - matrix[:, self.column], matrix[:, self.column]])


def frame(new: Floats, old: Floats, rows: Flags | None = None) -> pd.DataFrame:
    """Return candidates with verdicts that two models give these probabilities."""
    features = dict.fromkeys(FEATURE_SETS[FEATURES], 0.0)
    first, second = list(features)[:2]
    verdicts = np.where(TRUTH == 1, "true_positive", "false_positive")
    names = {"series": IDENTITY, "identity": IDENTITY, "commit": COMMIT, "verdict": verdicts}
    numbers = {"candidate": np.arange(TRUTH.size), "decided": -1}
    table = pd.DataFrame({**names, **numbers, **features, first: new, second: old})
    return table if rows is None else table[rows]


def nothing_learned() -> Lesson:
    raise AssertionError("only a comparison of two pairs needs this")


def decide(
    table: pd.DataFrame,
    champion: Scored | None = None,
    card: dict[str, Any] | None = None,
    *,
    must_gain: bool = True,
) -> Any:
    """Decide on a new model beside a champion, or beside the built-in model."""
    index = Index(USE) if champion is None else Index(USE, CHAMPION)
    twin: Any = Scored(0, {"held_out_seed": 1} | (card or {}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TriageModel, "default", lambda _: Scored(1, {}))
        patch.setattr(TriageModel, "load", lambda *_: champion)
        evidence = Evidence(PARAMS, nothing_learned, lambda _: table, must_gain=must_gain)
        return releasing.decide({USE: twin}, index, evidence)


def held_out(seed: int) -> Flags:
    """Return the rows whose series and commit are both held out."""
    rows = np.zeros(TRUTH.size, dtype=np.bool_)
    rows[stable_split(IDENTITY, COMMIT, seed).test] = True
    return rows


def test_model_that_is_clearly_better_is_released() -> None:
    decision = decide(frame(SHARP, DULL))
    assert decision["promoted"]
    facts = decision["uses"][USE]
    assert facts["real"] + facts["noise"] == held_out(1).sum()
    assert 0 < facts["low"] < facts["difference"] < facts["high"]
    assert decision["why"] == (
        f"better than the built-in model: gain {facts['difference']:+.3f} (90 % interval "
        f"{facts['low']:+.3f} to {facts['high']:+.3f}) in AUC on {held_out(1).sum():,} verdicts"
    )


@pytest.mark.parametrize("new", [AS_SHARP, SHARP])
def test_model_that_may_be_as_good_is_released_by_the_pipeline_alone(new: Floats) -> None:
    decision = decide(frame(new, SHARP))
    assert not decision["promoted"]
    assert decision["why"].startswith(
        "the interval of its gain over the built-in model includes 0: "
    )
    assert decide(frame(new, SHARP), must_gain=False)["promoted"]


def test_worse_model_is_kept_out() -> None:
    decision = decide(frame(DULL, SHARP))
    assert not decision["promoted"]
    assert decision["why"].startswith("worse than the built-in model: gain -0.")
    assert not decide(frame(DULL, SHARP), must_gain=False)["promoted"]


def test_nothing_is_released_without_verdicts() -> None:
    decision = decide(frame(SHARP, DULL).assign(verdict="not_triaged"))
    assert not decision["promoted"]
    assert "0 triaged points" in decision["why"]


def test_gain_in_few_series_may_be_chance() -> None:
    few = np.isin(IDENTITY, np.unique(IDENTITY[held_out(1)])[:4])
    decision = decide(frame(SHARP, DULL, few))
    assert not decision["promoted"]
    assert decision["why"].startswith("too few series to tell, 4 of 5: gain +0.")


def test_verdict_counts_once_however_many_windows_its_candidate_has() -> None:
    candidate = 2 * (np.arange(TRUTH.size) // 20) + TRUTH
    facts = decide(frame(SHARP, DULL).assign(candidate=candidate))["uses"][USE]
    for name, kind in (("real", 1), ("noise", 0)):
        rows = held_out(1) & (kind == TRUTH)
        assert facts[name] == np.unique(candidate[rows]).size < rows.sum()


def test_rows_that_the_champion_learned_from_do_not_count() -> None:
    unseen = held_out(2)
    champion = Scored(1, {"held_out_seed": 2})
    old = np.where(unseen, DULL, TRUTH)  # it knows by heart what it learned from
    decision = decide(frame(SHARP, old), champion)
    facts = decision["uses"][USE]
    assert facts["real"] + facts["noise"] == (unseen & held_out(1)).sum()
    assert decision["promoted"]
    assert decision["why"].startswith("better than the champion: gain +0.")
    seen_by_both = frame(SHARP, old, ~unseen)
    assert "0 held-out verdicts" in decide(seen_by_both, champion)["why"]


def test_champion_that_does_not_say_what_it_saw_is_kept() -> None:
    decision = decide(frame(SHARP, DULL), Scored(1, {}))
    assert not decision["promoted"]
    assert "the card does not name the seed of its held-out verdicts" in decision["why"]


def known(difference: float) -> dict[str, Any]:
    """Return the facts of a comparison with the built-in model on scarce verdicts."""
    gain = Comparison(difference, difference - 0.03, difference + 0.03, 1.0, 40)
    return {CROSS_FIT: {"real": 20, "noise": 20, **gain._asdict()}}


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        (
            0.04,
            None,
            "better than the built-in model: gain +0.040 (90 % interval +0.010 to",
        ),
        (0.09, 0.02, "better than the champion: gain +0.070 (90 % interval +0.028 to +0.112)"),
        (0.05, 0.02, "the interval of its gain over the champion includes 0: gain +0.030"),
        (0.02, 0.09, "worse than the champion: gain -0.070"),
    ],
)
def test_while_verdicts_are_scarce_gains_over_the_built_in_model_are_compared(
    new: float, old: float | None, why: str
) -> None:
    champion = None if old is None else Scored(1, known(old))
    decision = decide(frame(SHARP, DULL), champion, known(new))
    assert decision["why"].startswith(why)
    assert decision["promoted"] == why.startswith("better")


@pytest.mark.parametrize("served", ["data/release", "a team/models"])
def test_champion_that_cannot_be_compared_is_named_with_the_way_out(
    served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BAROGRAPH_MLFLOW", "off")
    folders = Path(served)
    model = small_model(0, USE)
    save_models(Path("new.baro"), [model])
    index = Index.read(USE, folders)
    digest = index.keep(Path("new.baro"), Path("new.baro"))
    put_in_service([index.promoted(digest, {"promoted": True})], folders)
    index = Index.read(USE, folders)
    (index.folder(digest) / registry.TWIN).write_bytes(b"no model")
    twins, evidence = {USE: model}, Evidence(PARAMS, nothing_learned, lambda _: frame(SHARP, DULL))
    decision = releasing.decide(twins, index, evidence)
    assert not decision["promoted"]
    sentence, _, command = decision["why"].partition("; to return to the model before it: ")
    assert sentence.startswith(f"it cannot be compared with the champion, {served}/{USE}.baro: ")
    assert "not a model file" in sentence
    monkeypatch.setattr(sys, "argv", shlex.split(command)[2:])
    releasing.main()
    assert Index.read(USE, folders).champion is None
    assert releasing.decide(twins, index, replace(evidence, must_gain=False))["promoted"]


def pair(low: float, labels: str) -> dict[str, TriageModel]:
    gain = Comparison(0.1, low, 0.2, 1.0, 30)
    beside = {"labels": labels, "changes": 120, **gain._asdict()}
    return {use: replace(small_model(0, use), card={BESIDE: beside}) for use in FILES["online"]}


@pytest.mark.parametrize(
    ("low", "labels", "why"),
    [
        (
            0.02,
            "verdicts",
            "better than the built-in pair: gain +0.100 (90 % interval +0.020",
        ),
        (
            0.0,
            "verdicts",
            "the interval of its gain over the built-in pair includes 0: ",
        ),
        (0.02, "hindsight", "fewer than 100 confirmed changes"),
    ],
)
def test_pair_is_released_by_what_people_confirmed(low: float, labels: str, why: str) -> None:
    decision = releasing.decide(
        pair(low, labels), Index("online"), Evidence(PARAMS, nothing_learned)
    )
    assert decision["why"].startswith(why)
    assert decision["promoted"] == why.startswith("better")
