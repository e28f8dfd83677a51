"""A release that is killed with SIGKILL at any write leaves the former set, or one to complete."""

import json
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barograph.cli import main
from barograph.cli import models as command
from barograph.detection import Hunter
from barograph.learning import registry, tables
from barograph.learning import release as releasing
from barograph.learning import retrain as retraining
from barograph.learning.candidates import TrainParams
from barograph.learning.registry import SERVED, Index, put_in_service, registry_of, resume
from barograph.learning.retrain import RetrainParams
from barograph.models.artifact import file_digest
from barograph.models.triage import FILES, TriageModel, load_models, save_models
from barograph.runtime import files as locks
from barograph.runtime.errors import ConfigError, DataError
from barograph.server.store import Store, audit, export
from barograph.server.web.background import WorkerConfig
from barograph.server.web.retraining import Retraining
from tests.service.models import small_model

Models = dict[str, TriageModel]
PARAMS: Any = releasing.ReleaseParams(0.5, 100, 1)
PROMOTED = {"promoted": True, "why": "a test"}
UNLINK = Path.unlink


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project in which every model is released."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BAROGRAPH_MLFLOW", "off")
    monkeypatch.setattr(releasing, "decide", decided)
    Store("ci.db").close()
    return tmp_path


def decided(_twins: object, index: Index, *_: object) -> dict[str, Any]:
    """Promote every model, whatever it is compared with."""
    return PROMOTED | {"champion": index.champion}


def made(seed: int) -> Models:
    """Models that differ by their seed, in a moment: one forest with other numbers."""
    base = small_model(0, "online")
    uses = [use for names in FILES.values() for use in names]
    return {use: replace(base, use=use, threshold=0.1 * seed, metrics={"auc": 0.9}) for use in uses}


def release(models: Models) -> None:
    files = {}
    for name, uses in FILES.items():
        path = Path(f"new-{name}.baro")
        save_models(path, [models[use] for use in uses])
        files[name] = path, path
    releasing.release(files, releasing.Evidence(PARAMS, no_params))


def retrain(models: Models) -> None:
    """Retrain on the command line, where everything is learned in a moment."""

    def learned(*_: object) -> Iterator[tuple[str, Any]]:
        for use, model in models.items():
            yield use, {"": SimpleNamespace(model=model, twin=model)}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retraining, "train_all", learned)
        patch.setattr(retraining, "_settings", lambda *_: None)
        patch.setattr(retraining, "_counts", lambda _: (0, 0, 0))
        patch.setattr(tables, "frames_of", lambda *_: lambda _use: None)
        sets = dict.fromkeys(models, "leznik")
        train = TrainParams(sets, ("xgboost",), "sigmoid", 1, "f1", 1)
        params = RetrainParams(train, cast("Any", None), PARAMS, cast("Any", None), "")
        patch.setattr(export, "read_all", lambda _: (None, None))
        patch.setattr(command, "read_params", lambda *_: params)
        with pytest.raises(SystemExit) as ended:
            main(["retrain", "--store", "ci.db"])
        assert not ended.value.code


def no_params() -> Any:
    raise ConfigError("no parameters here")


def killed_in(step: int, act: Callable[[Models], None], models: Models) -> bool:
    """Run in a process that kills itself before its rename or removal number `step`.

    Removals of temporary files do not count: earlier kills leave some.
    """
    child = os.fork()
    if child == 0:
        count = [0]

        def counted(original: Any) -> Any:
            def call(path: Path, *arguments: Any, **more: Any) -> Any:
                if original is UNLINK and path.suffix == ".tmp":
                    return original(path, *arguments, **more)
                count[0] += 1
                if count[0] == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return original(path, *arguments, **more)

            return call

        try:
            for name in ("replace", "unlink"):
                setattr(Path, name, counted(getattr(Path, name)))
            act(models)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def served() -> set[float]:
    """Return the thresholds of all served models, each of which must be whole."""
    files = [load_models(SERVED / f"{name}.baro") for name in FILES]
    return {round(model.threshold, 3) for models in files for model in models.values()}


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.parametrize(
    ("act", "named", "steps"),
    [
        # The release is recorded in one step, and its 6 files are copied after it.
        (release, 13, (2, 12, 13, 14, 15, 17, 19)),
        (retrain, 16, (16, 17, 20)),
    ],
)
def test_killed_release_leaves_one_set_of_models(
    act: Callable[[Models], None], named: int, steps: tuple[int, ...]
) -> None:
    release(made(1))
    number = 1
    for step in steps:
        former, number = number, 3 - number
        assert killed_in(step, act, made(number))
        served()
        resume()
        assert not list(registry_of(SERVED).rglob("*.tmp"))
        number = former if step <= named else number
        assert served() == {0.1 * number}
    assert not killed_in(99, act, made(3 - number))
    assert served() == {0.1 * (3 - number)}


def roll_back(_: Models) -> None:
    registry.roll_back("label_free", who="ada")


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.parametrize(("step", "is_recorded"), [(1, False), (2, True), (3, True)])
def test_killed_rollback_is_completed_when_the_service_starts(
    step: int, *, is_recorded: bool
) -> None:
    release(made(1))
    release(made(2))
    former = Index.read("label_free").champions[0]
    assert killed_in(step, roll_back, made(1))
    with Store("ci.db") as store:
        service_over(store)
    index = Index.read("label_free")
    assert (index.champion == former) is is_recorded
    assert file_digest(SERVED / "label_free.baro") == index.champion


@pytest.mark.filterwarnings("ignore:.*fork")
def test_killed_return_to_the_built_in_model_is_completed() -> None:
    release(made(1))
    assert killed_in(2, roll_back, made(1))
    assert (SERVED / "label_free.baro").exists()
    resume()
    assert not (SERVED / "label_free.baro").exists()


def test_file_that_was_never_registered_stays_without_a_champion() -> None:
    release(made(1))
    roll_back({})
    save_models(SERVED / "label_free.baro", [made(2)["label_free"]])
    resume()
    assert TriageModel.load(SERVED / "label_free.baro").threshold == pytest.approx(0.2)


def service_over(store: Store) -> Retraining:
    return Retraining(store, WorkerConfig("ci.db", Hunter(), "Hunter", None), SERVED)


def test_release_and_rollback_by_a_service_are_in_the_audit_trail() -> None:
    release(made(1))
    release(made(2))
    first, second = Index.read("label_free").champions
    with Store("ci.db") as store:
        service_over(store).roll_back("label_free", "ada")
        retrain(made(1))
        with store.read() as connection:
            rolled_back, *_, released = reversed(audit.trail(connection))
    assert (rolled_back.action, rolled_back.who) == ("rollback", "ada")
    assert rolled_back.detail == {"champion": first, "withdrawn": second}
    assert (released.action, released.who) == ("release", "command line")


def former_record(folders: Path) -> None:
    """Write the record as earlier versions did, with a release that they did not complete."""
    stored = json.loads((registry_of(folders) / registry.RECORD).read_text())
    (registry_of(folders) / registry.RECORD).unlink()
    pending = {"label_free": stored.pop("label_free")}
    for name, content in stored.items():
        (registry_of(folders) / f"{name}.json").write_text(json.dumps(content))
    (registry_of(folders) / "label_free.json").write_text(
        json.dumps({"champions": [], "withdrawn": [], "decisions": {}})
    )
    (registry_of(folders) / "pending.json").write_text(json.dumps(pending))


def test_registry_of_an_earlier_version_opens() -> None:
    release(made(1))
    champions = [Index.read(name) for name in FILES]
    former_record(SERVED)
    (SERVED / "label_free.baro").unlink()
    resume()
    assert [Index.read(name) for name in FILES] == champions
    assert served() == {0.1}
    release(made(2))
    roll_back({})
    assert (
        Index.read("label_free").champions == champions[list(FILES).index("label_free")].champions
    )


@pytest.mark.parametrize("damage", ["[1]", "{"])
def test_damaged_registry_stops_no_service_and_is_reported_once(
    damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    registry_of(SERVED).mkdir(parents=True)
    (registry_of(SERVED) / "label_free.json").write_text(damage)
    with Store("ci.db") as store:
        service_over(store)
    assert len(caplog.messages) == 1
    assert "label_free.json: not a record of released models" in caplog.messages[0]


def challenge(folders: Path, number: int) -> str:
    """Register a model; return its digest."""
    path = Path(f"{number}.baro")
    save_models(path, [made(number)["label_free"]])
    return Index.read("label_free", folders).keep(path, path)


def release_one(pipe: Connection, folders: Path, digest: str, champion: str) -> None:
    """Release a model; wait for a message once the index is read and nothing is written."""
    write = registry.put_in_service

    def paused(*arguments: Any) -> None:
        pipe.send("has read")
        pipe.recv()
        write(*arguments)

    pytest.MonkeyPatch().setattr(
        registry, "put_in_service", paused
    )  # this process ends with the test
    report(pipe, lambda: releasing.release_challengers(folders, *compared(digest, champion)))


def release_second(pipe: Connection, folders: Path, digest: str, champion: str) -> None:
    report_waiting(pipe)
    report(pipe, lambda: releasing.release_challengers(folders, *compared(digest, champion)))


def roll_back_second(pipe: Connection, folders: Path, *_: str) -> None:
    report_waiting(pipe)
    report(pipe, lambda: registry.roll_back("label_free", folders))


def compared(
    digest: str, champion: str
) -> tuple[dict[str, str], dict[str, releasing.ReleaseDecision]]:
    return {"label_free": digest}, {"label_free": PROMOTED | {"champion": champion}}


def report_waiting(pipe: Connection) -> None:
    """Report when this process waits for the first time, instead of sleeping."""
    patch = pytest.MonkeyPatch()

    def reported(seconds: float) -> None:
        patch.undo()
        pipe.send("waits")
        time.sleep(seconds)

    patch.setattr(time, "sleep", reported)


def report(pipe: Connection, act: Callable[[], object]) -> None:
    try:
        act()
    except ConfigError as error:
        pipe.send(str(error))
    else:
        pipe.send("done")


@pytest.mark.parametrize(
    ("second", "outcome", "champions", "withdrawn"),
    [
        (release_second, "label_free: another model was released since", (1, 2), ()),
        (roll_back_second, "done", (1,), (2,)),
    ],
)
def test_second_process_waits_for_a_release_and_loses_nothing_of_it(
    folder: Path,
    second: Callable[..., None],
    outcome: str,
    champions: tuple[int, ...],
    withdrawn: tuple[int, ...],
) -> None:
    folders = folder / "team" / "models"
    digests = {number: challenge(folders, number) for number in (1, 2, 3)}
    releasing.release_challengers(folders, {"label_free": digests[1]}, {"label_free": PROMOTED})
    spawn = multiprocessing.get_context("spawn")
    pipes, processes = [], []

    def start(act: Callable[..., None], number: int) -> str:
        here, there = spawn.Pipe()
        process = spawn.Process(target=act, args=(there, folders, digests[number], digests[1]))
        process.start()
        there.close()
        pipes.append(here)
        processes.append(process)
        return str(here.recv())

    assert start(release_one, 2) == "has read"
    assert start(second, 3) == "waits"
    pipes[0].send("go on")
    assert pipes[0].recv() == "done"
    assert pipes[1].recv().startswith(outcome)
    for process in processes:
        process.join()
    index = Index.read("label_free", folders)
    assert index.champions == tuple(digests[number] for number in champions)
    assert index.withdrawn == tuple(digests[number] for number in withdrawn)
    assert file_digest(folders / "label_free.baro") == index.champion


def test_release_gives_up_while_another_process_holds_the_registry(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "PATIENCE", 0.0)
    folders = folder / "models"
    with (
        registry.changing(folders),
        pytest.raises(DataError, match=r"releases\.json: another proc"),
    ):
        registry.roll_back("label_free", folders)


def test_full_disk_is_reported_with_the_file_in_the_registry() -> None:
    path = Path("new.baro")
    save_models(path, [made(1)["label_free"]])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size - 1, before[1]))
    try:
        with pytest.raises(OSError, match="too large") as caught:
            Index.read("label_free", SERVED).keep(path, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    written = Path(str(caught.value.filename))
    assert written.is_relative_to(registry_of(SERVED) / "label_free")
    assert written.name == "judged.baro"
    assert not list(registry_of(SERVED).rglob("*.*"))


def test_damaged_record_is_named() -> None:
    registry_of(SERVED).mkdir(parents=True)
    (registry_of(SERVED) / "releases.json").write_text("[1]")
    with pytest.raises(DataError, match=r"releases\.json: not a record of released models"):
        resume()


def test_rollback_works_in_the_folder_of_a_retraining(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = folder / "team" / "models"
    for number in (1, 2):
        path = folder / "label_free.baro"
        save_models(path, [made(number)["label_free"]])
        index = Index.read("label_free", folders)
        digest = index.keep(path, path)
        put_in_service([index.promoted(digest, PROMOTED)], folders)
    served = folder / "team/models/label_free.baro"
    assert TriageModel.load(served).threshold == pytest.approx(0.2)
    command = ["release", "rollback", "label_free", "--release-to", "team/models"]
    monkeypatch.setattr("sys.argv", command)
    releasing.main()
    assert "is in service again" in capsys.readouterr().out
    assert TriageModel.load(served).threshold == pytest.approx(0.1)
    assert not Path("data").exists()
