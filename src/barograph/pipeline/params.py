"""Run a stage, and read its parameters from params.yaml into a frozen dataclass.

A section at the top of the file applies to every profile; the section of the same name under the
chosen profile adds to it. The annotations of the fields say which values are allowed.

`python -m barograph.pipeline.params` checks all sections before the first stage: DVC only reports
parameters that are missing.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import yaml

from barograph.learning.learners import BEST
from barograph.learning.limits import suggestion
from barograph.learning.tracking import SWITCH, Run
from barograph.pipeline import report
from barograph.pipeline.runs import PARAMS, PROFILE, now, record_stage
from barograph.runtime.errors import BarographError, ConfigError, DataError, NotEnoughDataError
from barograph.sources.formats.yaml_text import decode_yaml

# The module and the dataclass of each section.
SECTIONS = {
    "simulate": ("learning.simulation", "SimulateParams"),
    "load": ("pipeline.load", "LoadParams"),
    "characterise": ("pipeline.characterise", "CharacteriseParams"),
    "train": ("learning.candidates", "TrainParams"),
    "tune": ("learning.tune", "TuneParams"),
    "evaluate": ("pipeline.evaluate", "EvaluateParams"),
    "windows": ("pipeline.windows", "WindowsParams"),
    "audit": ("studies.audit", "AuditParams"),
    "classify": ("pipeline.classify", "ClassifyParams"),
    "replay": ("pipeline.replay", "ReplayParams"),
    "statistics": ("studies.statistics", "StatisticsParams"),
    "hybrid": ("studies.hybrid", "HybridParams"),
    "selection": ("studies.selection", "SelectionParams"),
    "detectors": ("studies.detector_tables", "BenchmarkSize"),
    "release": ("learning.release", "ReleaseParams"),
}
T = TypeVar("T")


def parameters(kind: type[T], stage: str, path: Path = PARAMS, profile: str | None = None) -> T:
    """Return the parameters of one stage, checked against the fields of `kind`.

    Args:
        kind: A dataclass.
        stage: The name of the section.
        path: The file.
        profile: A section that adds to it; by default the one that the file names.

    Raises:
        ConfigError: The file, the profile or a parameter is missing, or a value is not allowed.
    """
    document = _document(path, profile)
    section = _mapping(document, stage, path) | _mapping(document[document[PROFILE]], stage, path)
    return _read(kind, section, f"{path}: {stage}")


def check(path: Path = PARAMS) -> None:
    """Check all sections, those of profiles that are not in use, too.

    Args:
        path: The file.

    Raises:
        ConfigError: There is no such section or parameter, or a value is not allowed.
    """
    document = _document(path)
    for profile in document.keys() - SECTIONS.keys() - {PROFILE}:
        sections = document[profile]
        if not isinstance(sections, dict) or not {dict}.issuperset(map(type, sections.values())):
            raise ConfigError(f"{path}: no section {profile!r}; {suggestion(profile, SECTIONS)}")
        if unknown := [stage for stage in sections if stage not in SECTIONS]:
            known = suggestion(unknown[0], SECTIONS)
            raise ConfigError(f"{path}: {profile}: no section {unknown[0]!r}; {known}")
        common = document if profile == document[PROFILE] else {}
        for stage in SECTIONS:
            if stage in sections or stage in common:
                parameters(section_class(stage), stage, path, profile)
    if {"train", "release"} <= document.keys():
        released_classifier(path)


def released_classifier(path: Path = PARAMS) -> str:
    """Return release.classifier, which must be `best` or one of train.classifiers.

    Args:
        path: The file.

    Raises:
        ConfigError: It is another one.
    """
    name: str = parameters(section_class("release"), "release", path).classifier
    trained: tuple[str, ...] = parameters(section_class("train"), "train", path).classifiers
    if name not in (BEST, *trained):
        raise ConfigError(
            f"{path}: release.classifier is {name!r}, which train.classifiers does not list: "
            f"{', '.join(trained)}"
        )
    return name


def section_class(stage: str) -> type:
    """Return the dataclass of a section."""
    module, name = SECTIONS[stage]
    kind: type = getattr(import_module(f"barograph.{module}"), name)
    return kind


def profile_name(path: Path = PARAMS) -> str:
    """Return the name of the profile in use."""
    return str(_document(path)[PROFILE])


def _document(path: Path, profile: str | None = None) -> dict[str, Any]:
    """Return the sections of the file by name, and the name of the profile that is used."""
    try:
        document = decode_yaml(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file; run the stage from the project's root") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid UTF-8 at byte {error.start}") from None
    except DataError as error:
        raise ConfigError(str(error)) from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: expected a mapping of sections, got {document!r:.100}")
    name = document.get(PROFILE) if profile is None else profile
    if str(name) in SECTIONS or not isinstance(document.get(str(name)), dict):
        known = [k for k, v in document.items() if k not in SECTIONS and isinstance(v, dict)]
        raise ConfigError(
            f"{path}: profile is {name!r}, but there is no section of that name; profiles are "
            + ", ".join(sorted(known))
        )
    return {**document, PROFILE: str(name)}


def _mapping(document: dict[str, Any], stage: str, path: Path) -> dict[str, Any]:
    section = document.get(stage, {})
    if not isinstance(section, dict):
        raise ConfigError(f"{path}: {stage} must be a mapping, got {section!r}")
    return section


def _read(kind: type[T], section: dict[str, Any], where: str) -> T:
    """Return a dataclass with the values of a section, which `where` names."""
    hints = get_type_hints(kind, include_extras=True)
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for name in section:
        if name not in known:
            raise ConfigError(f"{where}: no parameter {name!r}; {suggestion(name, known)}")
    for name, field in known.items():
        is_required = field.default is MISSING and field.default_factory is MISSING
        if is_required and name not in section:
            raise ConfigError(f"{where}: parameter {name!r} is missing")
    return kind(**{name: _typed(v, hints[name], f"{where}.{name}") for name, v in section.items()})


def _typed(value: Any, hint: Any, where: str) -> Any:
    """Check one value: whole numbers pass for floats, lists become tuples."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        checked = _typed(value, inner[0], where)
        if refusal := inner[1].refusal(checked):
            raise ConfigError(f"{where} is {checked!r:.60}; {refusal}")
        return checked
    if origin is tuple:
        return tuple(
            _typed(item, inner[0], where) for item in _of_type(value, list, "a list", where)
        )
    if origin is dict:
        items = _of_type(value, dict, "a mapping", where).items()
        return {_typed(k, inner[0], where): _typed(v, inner[1], f"{where}.{k}") for k, v in items}
    if type(None) in inner:
        return None if value in (None, {}) else _typed(value, inner[0], where)
    if isinstance(hint, type) and is_dataclass(hint):
        return _read(hint, _of_type(value, dict, "a mapping", where), where)
    if hint is float and type(value) is int:
        return float(value)
    return value if hint is Any else _of_type(value, hint, hint.__name__, where)


def _of_type(value: Any, kind: type[T], name: str, where: str) -> T:
    if type(value) is not kind:
        raise ConfigError(f"{where}: expected {name}, got {value!r:.60}")
    return value


def run(main: Callable[[], Run | None]) -> None:
    """Run a stage, and record its run in MLflow.

    Expected errors are printed in one line, without a traceback, and end the process with 1. They
    are our own errors and those of the system, such as a full disk: their message names the file.

    Args:
        main: Runs the stage; returns what is recorded besides parameters, metrics and reports.
    """
    began = now()
    try:
        record_stage(main, main(), began)
    except (BarographError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


def page_without_verdicts(
    page: Path, metrics: str | None = None
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Decorate a stage that needs verdicts: with too few, it only writes a page that says so.

    Args:
        page: The page.
        metrics: The name of the stage's metrics, if it has some.
    """

    def decorate(main: Callable[[], None]) -> Callable[[], None]:
        @wraps(main)
        def stage() -> None:
            try:
                main()
            except NotEnoughDataError as error:
                report.write_text(page, f"No tables: {error}.\n")
                if metrics is not None:
                    report.write_json(report.FOLDER / f"{metrics}.json", {})

        return stage

    return decorate


@contextmanager
def in_folder(folder: Path, profile: str) -> Iterator[None]:
    """Change to another folder, with a profile of params.yaml of its own and without MLflow."""
    document = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))
    document["profile"] = profile
    report.write_text(folder / PARAMS, yaml.safe_dump(document))
    switch = os.environ.get(SWITCH, "")
    os.environ[SWITCH] = "off"
    try:
        with chdir(folder):
            yield
    finally:
        os.environ[SWITCH] = switch


if __name__ == "__main__":
    run(check)
