"""Parameters are read from params.yaml, and all of them are checked before the first stage."""

import math
import re
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
import yaml

from barograph.pipeline import params
from barograph.pipeline.params import parameters, profile_name
from barograph.runtime.errors import ConfigError

FILES = {"kind": "files", "location": "a.csv", "max_skipped_share": 0.1}
FILES |= {"options": {"metrik": ["x"]}}
ROOT = Path(__file__).resolve().parents[2]
TEXT = """
profile: quick
train: {trees: 100, sets: [bauer8, full]}
quick: {train: {share: 1}}
paper: {train: {trees: 500, share: 0.5, depth: 3}}
"""


@dataclass(frozen=True)
class Train:
    trees: int
    share: float
    sets: tuple[str, ...]
    depth: int | None = None


def write(folder: Path, text: str) -> Path:
    path = folder / "params.yaml"
    path.write_text(text)
    return path


def test_profile_adds_to_common_section(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT)
    assert parameters(Train, "train", path) == Train(100, 1.0, ("bauer8", "full"))
    assert profile_name(path) == "quick"


def test_profile_overrides_common_section(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT.replace("profile: quick", "profile: paper"))
    assert parameters(Train, "train", path) == Train(500, 0.5, ("bauer8", "full"), 3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("trees: 100", "trees: many", r"train\.trees: expected int, got 'many'"),
        ("trees: 100", "trees: true", r"train\.trees: expected int, got True"),
        ("trees: 100", "treees: 100", "train: no parameter 'treees'; did you mean 'trees'?"),
        ("{share: 1}", "{}", "parameter 'share' is missing"),
        ("[bauer8, full]", "bauer8", r"train\.sets: expected a list, got 'bauer8'"),
        ("profile: quick", "profile: slow", r"profile is 'slow', .*; profiles are paper, quick$"),
        ("{trees: 100, sets: [bauer8, full]}", "7", "train must be a mapping, got 7"),
    ],
)
def test_parameters_name_the_wrong_one(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(ConfigError, match=message):
        parameters(Train, "train", write(tmp_path, TEXT.replace(old, new)))


def test_parameters_name_missing_or_broken_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"params\.yaml: no such file"):
        parameters(Train, "train", tmp_path / "params.yaml")
    with pytest.raises(ConfigError, match="not valid YAML"):
        parameters(Train, "train", write(tmp_path, "a: [1"))


def test_params_that_cannot_be_read_are_one_short_line(tmp_path: Path) -> None:
    for content in (b"profile: \xff\xfe\n", b"a: [1,\nb: }", b"[" * 5000, b"- x\n" * 5000):
        (tmp_path / "params.yaml").write_bytes(content)
        with pytest.raises(ConfigError) as caught:
            parameters(Train, "train", tmp_path / "params.yaml")
        text = str(caught.value)
        assert "params.yaml: " in text
        assert "\n" not in text
        assert len(text) <= 300


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped params.yaml in the current folder."""
    monkeypatch.chdir(tmp_path)
    return write(tmp_path, (ROOT / "params.yaml").read_text(encoding="utf-8"))


def change(path: Path, place: str, value: object) -> None:
    """Set a parameter; `place` is the path to it, with dots."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    *parents, name = place.split(".")
    section = document
    for parent in parents:
        section = section.setdefault(parent, {})
    section[name] = value
    path.write_text(yaml.safe_dump(document), encoding="utf-8")


@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_shipped_parameters_pass(shipped: Path, profile: str) -> None:
    change(shipped, "profile", profile)
    params.run(params.check)


def test_every_shipped_parameter_is_known(shipped: Path) -> None:
    document = yaml.safe_load(shipped.read_text(encoding="utf-8"))
    del document["profile"]
    profiles = document.keys() - params.SECTIONS.keys()
    assert profiles == {"quick", "paper", "prior", "defaults"}
    for sections in ({k: document[k] for k in params.SECTIONS}, *map(document.get, profiles)):
        for stage, values in sections.items():
            known = {field.name for field in fields(params.section_class(stage))}
            assert values.keys() <= known


def test_every_stage_reads_the_section_that_is_checked() -> None:
    read = set()
    for path in (ROOT / "src/barograph").glob("*/*.py"):
        calls = re.findall(r"\bparameters\((\w+), \"(\w+)\"", path.read_text(encoding="utf-8"))
        read |= {(stage, kind) for kind, stage in calls}
    assert read == {(stage, kind) for stage, (_, kind) in params.SECTIONS.items()}


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("classify.coverage", 9, "classify.coverage is 9.0; allowed: 0 to 1, without the ends"),
        ("classify.coverage", 1.0, "classify.coverage is 1.0; allowed: 0 to 1, without the ends"),
        ("classify.coverage", math.nan, "classify.coverage is nan; allowed: 0 to 1"),
        ("classify.reasons", -1, "classify.reasons is -1; allowed: at least 0"),
        ("train.seed", "one", "train.seed: expected int, got 'one'"),
        ("train.seed", -1, "train.seed is -1; allowed: 0 to 4294967295"),
        ("train.classifiers", ["xgb"], "train.classifiers is 'xgb'; did you mean 'xgboost'? allow"),
        ("train.classifiers", [], "train.classifiers is empty: name a classifier"),
        (
            "train.classifier",
            "svm",
            "train.classifier is now release.classifier: set that to 'svm'",
        ),
        ("train.calibration", "none", "train.calibration is 'none'; allowed: sigmoid, isotonic"),
        ("train.histories", "mine", "train.histories is 'mine'; allowed: own, simulated"),
        ("train.goal", "alarm:3", "train.goal is 'alarm:3'; unknown threshold goal 'alarm:3'; all"),
        ("train.gaol", "f1", "train: no parameter 'gaol'; did you mean 'goal'? allowed: feature_s"),
        ("train.trees", 0, "train.trees is 0; allowed: at least 1"),
        ("train.prior_weight", math.inf, "train.prior_weight is inf; allowed: at least 0"),
        ("train.feature_sets.online", "onlin", "is 'onlin'; did you mean 'online'? allowed: bau"),
        ("train.feature_sets.offline", "online", "is 'offline'; did you mean 'online'? allowed: a"),
        ("train.simulated.series", 3, "train.simulated: no parameter 'series'; did you mean"),
        ("train.simulated.people", "lazy", "train.simulated.people is 'lazy'; allowed: "),
        ("train.reporting", {"seed": 1}, "train.reporting: parameter 'long_series' is missing"),
        ("train.settings", {"svm": {"model__C": 3}}, "train.settings: svm has no parameter 'mod"),
        ("train.settings", {"model__C": 3}, "train.settings is 'model__C'; allowed: random_forest"),
        ("tune.folds", 0, "tune.folds is 0; allowed: at least 2"),
        ("tune.folds", True, "tune.folds: expected int, got True"),
        ("tune.searches.adaptive", ["voting"], "tune.searches.adaptive is 'voting'; allowed: "),
        ("tune.searches.adaptive", "xgboost", "tune.searches.adaptive: expected a list, got 'xg"),
        ("load.kind", "mongo", "load.kind is 'mongo'; did you mean 'mongodb'? allowed: mongodump"),
        ("load.max_skipped_share", 5, "load.max_skipped_share is 5.0; allowed: 0 to 1"),
        ("load.location", 3, "load.location: expected str, got 3"),
        ("load", FILES, "load.options: source files: no option 'metrik'; options: aggregate, "),
        ("simulate.investigated", 1.5, "simulate.investigated is 1.5; allowed: 0 to 1"),
        ("simulate.window", 1, "simulate.window is 1; allowed: at least 2"),
        ("simulate.short_relative_scale", 0, "short_relative_scale is 0.0; allowed: more than 0"),
        ("characterise.adaptive", ["fll"], "characterise.adaptive is 'fll'; did you mean 'full'?"),
        ("evaluate.policies", ["adaptve"], "evaluate.policies is 'adaptve'; unknown policy"),
        ("evaluate.feature_sets.bauer88", ["svm"], "is 'bauer88'; did you mean 'bauer8'? allowed"),
        ("evaluate.footnote.bauer8", ["forest"], "is 'forest'; did you mean 'random_forest'? all"),
        ("windows.base", "w3", "windows.base is 'w3'; unknown policy 'w3'; known: ['adaptive'"),
        ("audit.listed", 1.5, "audit.listed: expected int, got 1.5"),
        ("replay.method", "algorithm_1", "leave it out, and run the stage algorithm_1 with `dvc"),
        ("statistics.policy", "adaptve", "statistics.policy is 'adaptve'; unknown policy 'adap"),
        ("hybrid.repetitions", 0, "hybrid.repetitions is 0; allowed: at least 1"),
        ("selection.population", 1, "selection.population is 1; allowed: at least 2"),
        ("selection.generations", 0, "selection.generations is 0; allowed: at least 1"),
        ("detectors.lengths", [30, -1], "detectors.lengths is -1; allowed: at least 1"),
        ("release.classifier", "bset", "release.classifier is 'bset'; did you mean 'best'? allowe"),
        ("release.classifier", "logistic", "release.classifier is 'logistic', which train.classi"),
        ("release.least_auc", 50, "release.least_auc is 50.0; allowed: 0 to 1"),
        ("quick.tune.trials", 0, "tune.trials is 0; allowed: at least 1"),
        ("paper.tune.trails", 9, "tune: no parameter 'trails'; did you mean 'trials'? allowed: "),
        ("prior.simulate.people", 0, "simulate.people is 0; allowed: at least 1"),
        ("quick.trian", {"trees": 3}, "quick: no section 'trian'; did you mean 'train'? allowed"),
        ("relase", {"level": 0.1}, "no section 'relase'; did you mean 'release'? allowed: simula"),
        ("tune", 3, "tune must be a mapping, got 3"),
        ("profile", "quikc", "profile is 'quikc', but there is no section of that name; profile"),
        ("profile", "train", "profile is 'train', but there is no section of that name; profile"),
    ],
)
def test_wrong_value_is_refused_before_the_first_stage(
    shipped: Path, place: str, value: object, message: str
) -> None:
    if place.split(".", maxsplit=1)[0] in params.SECTIONS and place.count(".") == 1:
        document = yaml.safe_load(shipped.read_text(encoding="utf-8"))
        document["quick"].get(place.split(".", maxsplit=1)[0], {}).pop(place.split(".")[1], None)
        shipped.write_text(yaml.safe_dump(document), encoding="utf-8")
    change(shipped, place, value)
    with pytest.raises(SystemExit) as left:
        params.run(params.check)
    error = str(left.value)
    assert error.startswith("ConfigError: ")
    assert message in error
    assert "\n" not in error


def test_the_check_before_dvc_needs_a_profile(shipped: Path) -> None:
    shipped.write_text(shipped.read_text().replace("profile: quick\n", ""))
    with pytest.raises(SystemExit, match="profile is None, but there is no section of that name"):
        params.run(params.check)
