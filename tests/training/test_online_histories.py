"""Whole histories become what the online pair learns from: own by verdict, simulated by marks."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from barograph.detection.online import make_judge
from barograph.learning import candidates, tables
from barograph.learning.continued import TREES
from barograph.learning.online import histories, pair
from barograph.learning.online.histories import Simulated
from barograph.learning.registry import card
from barograph.models.trees import Boosted
from barograph.models.triage import FILES, OnlineModels, TriageModel
from barograph.pipeline import characterise, load, report, simulate, subseries, train
from barograph.pipeline.params import parameters
from barograph.results.history import History
from barograph.results.series import Verdict
from barograph.results.texts import Texts
from barograph.runtime.errors import ConfigError, NotEnoughDataError

SETS = "online: bauer8, confirm: bauer8"
PAIR = "online: online, confirm: confirm"


@pytest.fixture
def history(project: Path) -> History:
    return History.read(project / "data/interim")


def test_own_histories_leave_out_points_near_undecided_candidates(history: History) -> None:
    truth = histories.histories_of(history, 10**6, 0).truth
    index = history.candidates.index
    verdicts = history.candidates.verdict
    place = history.offsets[:-1] + index  # one candidate a series
    assert truth.changes.tolist() == place[verdicts == Verdict.TRUE_POSITIVE].tolist()
    wrong, open_ = place[verdicts == Verdict.FALSE_POSITIVE], place[verdicts == Verdict.NOT_TRIAGED]
    assert truth.quiet[wrong].all()
    assert not truth.quiet[open_].any()
    assert truth.quiet[open_ + 6].all()
    np.testing.assert_array_equal(truth.values, history.values)


def test_commits_that_are_unknown_are_named_by_their_order(history: History) -> None:
    unnamed = Texts.unknown(history.values.size)
    rows = replace(history.candidates, commits=Texts.unknown(len(history.candidates)))
    history = replace(history, commits=unnamed, candidates=rows)
    table = histories.histories_of(history, 10**6, 0)
    assert table.commits.tolist() == [f"order {order}" for order in history.orders]
    assert table.held_out(7).any()
    labelled = tables.keys_of(history)
    places = history.offsets[labelled["series"]] + labelled["index"]
    assert labelled["commit"].tolist() == table.commits[places].tolist()


def test_unsure_verdicts_are_never_labelled_in_hindsight(history: History) -> None:
    verdicts = history.candidates.verdict.astype("U32")
    unseen = np.flatnonzero(verdicts == Verdict.NOT_TRIAGED)
    verdicts[unseen] = Verdict.UNSURE.value
    unsure = replace(history, candidates=replace(history.candidates, verdict=verdicts))
    truth = histories.histories_of(unsure, 10**6, 0, hindsight=True).truth
    place = (history.offsets[:-1] + history.candidates.index)[unseen]
    assert not truth.quiet[place].any()
    assert not set(place.tolist()) & set(truth.changes.tolist())


def test_own_histories_label_undecided_candidates_by_hindsight(history: History) -> None:
    truth = histories.histories_of(history, 10**6, 0, hindsight=True).truth
    place = history.offsets[:-1] + history.candidates.index
    verdicts = history.candidates.verdict
    assert set(place[verdicts == Verdict.TRUE_POSITIVE]) <= set(truth.changes.tolist())
    assert truth.quiet[place[verdicts == Verdict.FALSE_POSITIVE]].all()
    # Every second of the series that nobody looked at has a step, and the others have none.
    open_ = np.flatnonzero(verdicts == Verdict.NOT_TRIAGED)
    stepped = np.isin(open_, truth.series[truth.changes])
    assert stepped[open_ % 2 == 0].mean() > 0.8
    assert stepped[open_ % 2 == 1].mean() < 0.2


def test_own_histories_prefer_series_with_verdicts_within_the_limit(
    history: History,
) -> None:
    length = int(history.offsets[1])
    known = histories.histories_of(history, 100 * length, 3)
    assert known.truth.groups.size == 100
    # The last 20 series have no verdict.
    assert set(known.identities) == set(history.identities()[:100])
    few = histories.histories_of(history, 7 * length + 3, 3)
    assert few.commits.size == few.truth.values.size == 7 * length
    with pytest.raises(NotEnoughDataError, match="no series fits into 5 points"):
        histories.histories_of(history, 5, 3)


def test_held_out_points_cover_held_out_candidates(history: History) -> None:
    subseries.main()
    characterise.main()
    rows = tables.labelled(tables.read_for("online"), "bauer8")
    draw = candidates.held_out_seed(rows, 1)
    split = candidates.held_out(rows, 1)
    known = histories.histories_of(history, 10**6, 0)
    held_out = known.held_out(draw)
    place = history.offsets[rows.series] + history.candidates.index[rows.candidates]
    assert held_out[place[split.test]].all()
    assert not held_out[place[split.train]].any()
    held = np.unique(known.identities[held_out])
    assert (
        not known.truth.without(held_out).judged[np.isin(known.identities, held) & held_out].any()
    )


def test_simulated_histories_equal_those_of_the_stage(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (project / "params.yaml").read_text()
    (project / "params.yaml").write_text(
        text.replace("tiny:", "tiny:\n  simulate: {seed: 5, long_series: 3, short_series: 4}")
        + "simulate: {}\n"
        + "load: {kind: mongodump, location: data/raw/simulated/dump, max_skipped_share: 0.0}\n"
    )
    monkeypatch.setattr(report, "FOLDER", Path("data/reports"))
    simulate.main()
    load.main()
    loaded = History.read("data/interim")
    made = Simulated(5, 3, 4).histories()
    np.testing.assert_array_equal(made.truth.values, loaded.values)
    assert made.commits.tolist() == [commit or None for commit in loaded.commits]
    owners = np.repeat(loaded.identities(), np.diff(loaded.offsets))
    np.testing.assert_array_equal(made.identities, owners)
    assert np.unique(made.truth.groups).size == 2  # one project of each kind


def test_attentive_people_are_those_that_the_shipped_pair_learned_from() -> None:
    truth = Simulated(2022, 6, 20, people="attentive").histories().truth
    # As the code that trained it drew them; the data hash of the pair is of 1,800 and 3,000 series.
    assert truth.changes.tolist() == [
        *(955, 2198, 2838, 2910, 3163, 3455, 3546, 3557, 3566, 3610, 3760, 3843, 4026, 4034)
    ]
    varied = Simulated(2022, 6, 20).histories().truth
    np.testing.assert_array_equal(truth.values, varied.values)
    assert truth.disputed.size < varied.disputed.size


@pytest.fixture
def taught(project: Path) -> Path:
    """A project whose online pair learns from whole histories."""
    params = project / "params.yaml"
    text = params.read_text().replace(SETS, PAIR).replace("windows: [bauer8]", "windows: [confirm]")
    simulated = "simulated: {seed: 3, long_series: 6, short_series: 0}\n  calibration:"
    params.write_text(text.replace("trees: 8", "trees: 12").replace("calibration:", simulated))
    subseries.main()
    characterise.main()
    return params


def test_pair_holds_everything_a_detector_needs(taught: Path) -> None:
    from barograph.detection import OnlineDetector

    train.main()
    models = OnlineModels.load(train.FOLDER / "online.baro")
    online, confirm = models.newest, models.confirm
    twin = TriageModel.load(train.TWINS / "online.baro", "online")
    assert twin.classifier.arrays().keys() == online.classifier.arrays().keys()
    assert online.metrics["auc"] > 0.9
    assert online.card["histories"] == "own"
    assert confirm is not None
    assert make_judge(models).version == f"{online.version}+{confirm.version}"
    assert "tails" not in card(online)
    assert isinstance(online.classifier, Boosted)
    detector = OnlineDetector(online, confirm)
    values = History.read("data/interim").values_of(0)
    alarms = [k for k, value in enumerate(values) if detector.update(value).is_change]
    assert min(alarms) in range(15, 21)
    assert taught.is_file()


def test_pair_continues_the_built_in_one(taught: Path, history: History) -> None:
    rows = {use: tables.labelled(tables.read_for(use), use) for use in FILES["online"]}
    params = parameters(candidates.TrainParams, "train")
    trained = dict(pair.train_pair(history, rows, params, "tiny"))
    for use, item in trained.items():
        start, model = TriageModel.default(use).classifier, item.model.classifier
        assert isinstance(start, Boosted)
        assert isinstance(model, Boosted)
        assert model.roots.tolist()[: start.roots.size] == start.roots.tolist()
        assert model.roots.size == start.roots.size + TREES
    card, shipped = trained["confirm"].model.card, TriageModel.default("confirm").card
    for entry in ("alarm_weights", "suspect_lead"):
        assert card[entry] == shipped[entry]
    taught.write_text(taught.read_text().replace("long_series: 6", "series: 6"))
    with pytest.raises(ConfigError, match=r"train\.simulated: .*series"):
        dict(pair.train_pair(history, rows, parameters(candidates.TrainParams, "train"), "tiny"))


def test_lesson_has_hindsight_only_where_verdicts_are_scarce(
    taught: Path, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tables.labelled(tables.read_for("online"), "online")
    enough = pair.lesson(history, rows, parameters(candidates.TrainParams, "train"))
    assert (enough.labels, enough.judge_labels) == ("verdicts",) * 2
    taught.write_text(taught.read_text().replace("calibration:", "enough: 101\n  calibration:"))
    params = parameters(candidates.TrainParams, "train")
    scarce = pair.lesson(history, rows, params)
    assert scarce.labels == pair.HINDSIGHT
    # Fifty true verdicts are too few to compare pairs by, unless fewer are asked for.
    assert scarce.judge_labels == "hindsight"
    assert scarce.judge.changes.size > enough.judge.changes.size == 50
    monkeypatch.setattr(pair, "COMPARABLE", 50)
    judged = pair.lesson(history, rows, params)
    assert judged.judge_labels == "verdicts"
    assert judged.judge.changes.tolist() == enough.judge.changes.tolist()
    assert judged.histories.truth.changes.tolist() == scarce.judge.changes.tolist()


def test_params_refuse_unknown_histories(taught: Path) -> None:
    taught.write_text(taught.read_text().replace("calibration:", "histories: hers\n  calibration:"))
    with pytest.raises(ConfigError, match="histories is 'hers'; allowed: own"):
        parameters(candidates.TrainParams, "train")
