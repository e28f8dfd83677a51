"""All model files that were ever candidates for release, and which of them is in service.

registry/NAME/DIGEST holds a model file, its twins and its card; registry/NAME.json lists the
champion, the former champions, and the files that were withdrawn. The champion is copied to the
folder that a service loads it from. Both folders are under data/ unless the caller names others.
Every file is written whole. The models that are released together are first named in one file,
registry/pending.json: a process that is killed before leaves the former set in service, and the
next release, retraining or rollback completes a set that was named. Processes that release or roll
back wait for each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from barograph.models.artifact import file_digest
from barograph.models.triage import FILES, TABLES, TriageModel, load_models
from barograph.runtime.errors import ArtifactError, ConfigError, DataError
from barograph.runtime.files import delete_drafts, locked, whole

T = TypeVar("T")
COMMAND_LINE = "command line"  # who rolled back, unless a service did it for a person
MODEL, TWIN, CARD = "model.baro", "judged.baro", "card.md"
PENDING = "pending.json"
INDICES = (*(f"{name}.json" for name in FILES), PENDING)
STORED = ("champions", "withdrawn", "decisions")


@dataclass(frozen=True)
class ReleaseFolders:
    """Where released models are.

    Attributes:
        registry: Every model that was ever a candidate.
        served: The champions, where a service loads them from.
    """

    registry: Path = Path("data/registry")
    served: Path = Path("data/release")

    @classmethod
    def beside(cls, served: Path) -> ReleaseFolders:
        """Return a folder of champions with the registry next to it."""
        return cls(served.parent / "registry", served)


FOLDERS = ReleaseFolders()


class Rollback(NamedTuple):
    """A champion that was withdrawn.

    Attributes:
        name: One of `FILES`.
        withdrawn: Its digest.
        who: Who took it back.
        champion: The digest of the file in service since then; None for the built-in models.
    """

    name: str
    withdrawn: str
    who: str
    champion: str | None


@dataclass(frozen=True)
class Index:
    """The released files of one name.

    Attributes:
        name: One of `FILES`.
        champions: The digests of all champions; the last one is in service.
        withdrawn: The digests of those that were rolled back.
        decisions: Why each champion was promoted, by digest, and `rolled_back` if it was.
        folders: Where the files are.
    """

    name: str
    champions: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    decisions: Mapping[str, Any] = field(default_factory=dict)
    folders: ReleaseFolders = FOLDERS

    @classmethod
    def read(cls, name: str, folders: ReleaseFolders = FOLDERS) -> Index:
        """Read the index of a name; empty if nothing was released yet."""
        path = folders.registry / f"{name}.json"
        stored = _read(path, lambda stored: cls.of(name, stored, folders))
        return stored or cls(name, folders=folders)

    @classmethod
    def of(cls, name: str, stored: Mapping[str, Any], folders: ReleaseFolders) -> Index:
        """Return the index of a name from what is stored of it."""
        champions, withdrawn = tuple(stored["champions"]), tuple(stored["withdrawn"])
        return cls(name, champions, withdrawn, stored["decisions"], folders)

    @property
    def champion(self) -> str | None:
        """The digest of the file in service."""
        return self.champions[-1] if self.champions else None

    def champion_twins(self) -> Mapping[str, TriageModel]:
        """Return the twins of the champion by use; none if there is no champion to read."""
        if self.champion is None:
            return {}
        try:
            return load_models(self.folder(self.champion) / TWIN)
        except ArtifactError:
            return {}

    def folder(self, digest: str) -> Path:
        """Return the folder of a model file."""
        return self.folders.registry / self.name / digest

    @property
    def content(self) -> dict[str, Any]:
        """What is stored of the index."""
        return {name: getattr(self, name) for name in STORED}

    def promoted(self, digest: str, decision: Mapping[str, Any]) -> Index:
        """Return the index with another champion."""
        known = dict(self.decisions) | {digest: dict(decision)}
        return replace(self, champions=(*self.champions, digest), decisions=known)

    def rolled_back(self, who: str) -> Index:
        """Return the index with the former champion, or with none: then the built-in model serves.

        The current champion is withdrawn for good.

        Args:
            who: Who takes it back, for the records.

        Raises:
            ConfigError: The built-in model is in service.
        """
        if not self.champions:
            raise ConfigError(f"{self.name}: the built-in model is in service already")
        *before, last = self.champions
        former = replace(self, champions=tuple(before), withdrawn=(*self.withdrawn, last))
        facts = {"who": who, "champion": former.champion}
        decision = {**self.decisions.get(last, {}), "rolled_back": facts}
        return replace(former, decisions={**self.decisions, last: decision})

    def take_effect(self) -> None:
        """Write the index, and copy the champion to the folder that a service loads from.

        Without a champion, the folder has no file of the name: the built-in model is used.
        """
        _write(self.folders.registry / f"{self.name}.json", self.content)
        for kept, served in ((CARD, f"{self.name}.md"), (MODEL, f"{self.name}.baro")):
            if self.champion is None:
                (self.folders.served / served).unlink(missing_ok=True)
            else:
                _copy(self.folder(self.champion) / kept, self.folders.served / served)

    def keep(self, model: Path, twin: Path, card: str) -> str:
        """Store a model file with its twins and its card, and return its digest."""
        digest = file_digest(model)
        _copy(twin, self.folder(digest) / TWIN)
        _copy(model, self.folder(digest) / MODEL)
        with whole(self.folder(digest) / CARD) as draft:
            draft.write_text(card, encoding="utf-8")
        return digest


@contextmanager
def changing(folders: ReleaseFolders = FOLDERS) -> Iterator[None]:
    """Keep other processes from releasing or rolling back, until the end of the block.

    A release that was decided, but whose process was killed, is completed first. What the block
    puts in service must follow from indices that it reads itself.

    Raises:
        DataError: Another process releases or rolls back for a minute.
    """
    with locked(folders.registry / PENDING):
        _complete(folders)
        delete_drafts(folders.registry)  # of models that no later run writes to
        yield


def put_in_service(indices: Sequence[Index], folders: ReleaseFolders = FOLDERS) -> None:
    """Put the champions of several indices in service together, in a block of `changing`.

    The indices take effect as soon as they are named in one file: from then on `resume` completes
    what a killed process left.
    """
    if indices:
        _write(folders.registry / PENDING, {index.name: index.content for index in indices})
        _complete(folders)


def resume(folders: ReleaseFolders = FOLDERS) -> None:
    """Complete a release that was decided, but whose process was killed."""
    with changing(folders):
        pass


def was_released(digests: Mapping[str, str], folders: ReleaseFolders = FOLDERS) -> bool:
    """Return whether model files, by their names, are or were in service.

    A release that was decided, but whose process was killed, is completed first.
    """
    resume(folders)
    indices = {name: Index.read(name, folders) for name in digests}
    return all(
        digest in (*indices[name].champions, *indices[name].withdrawn)
        for name, digest in digests.items()
    )


def _complete(folders: ReleaseFolders) -> None:
    path = folders.registry / PENDING
    pending = _read(
        path,
        lambda stored: [Index.of(name, content, folders) for name, content in stored.items()],
    )
    if pending is not None:
        for index in pending:
            index.take_effect()
        path.unlink()


def rollbacks(folders: ReleaseFolders = FOLDERS) -> list[Rollback]:
    """Return all rollbacks of which the registry knows who did them."""
    return [
        Rollback(name, digest, **decision["rolled_back"])
        for name in FILES
        for digest, decision in Index.read(name, folders).decisions.items()
        if "rolled_back" in decision
    ]


def roll_back(name: str, folders: ReleaseFolders = FOLDERS, who: str = COMMAND_LINE) -> Index:
    """Put the file before the champion back in service; before the first one, the built-in model.

    The champion stays in the registry, marked as withdrawn: it is never released again.

    Args:
        name: One of `FILES`.
        folders: Where the files are.
        who: Who does it, for the records.

    Raises:
        ConfigError: There is no such name, or the built-in model is in service.
        DataError: Another process releases or rolls back for a minute.
    """
    if name not in FILES:
        raise ConfigError(f"no file {name!r:.60}; there are {', '.join(FILES)}")
    with changing(folders):
        index = Index.read(name, folders).rolled_back(who)
        put_in_service([index], folders)
    return index


def _read(path: Path, parse: Callable[[Any], T]) -> T | None:
    """Return what a JSON file says; None if there is no such file."""
    try:
        return parse(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not an index of released models: {error!r:.200}") from error


def _write(path: Path, content: Mapping[str, Any]) -> None:
    with whole(path) as draft:
        draft.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    with whole(target) as draft:
        draft.write_bytes(source.read_bytes())


def card(model: TriageModel) -> str:
    """Render the card of a model for people."""
    facts: dict[str, Any] = {
        "use": model.use,
        "feature_set": model.feature_set,
        "data_hash": model.data_hash,
        "threshold": round(model.threshold, 4),
    }
    facts |= {name: value for name, value in model.card.items() if name not in TABLES}
    facts |= model.versions
    limits, protocol = facts.pop("limits", "-"), facts.pop("protocol", "-")
    lines = [f"# Model card: {model.use}", "", "## Data and settings", ""]
    lines += [f"- {name}: {value}" for name, value in sorted(facts.items())]
    lines += ["", "## Held out", "", f"Protocol: {protocol}.", ""]
    lines += [f"- {name}: {value:.4f}" for name, value in model.metrics.items()]
    return "\n".join([*lines, "", "## Limits", "", str(limits), ""])
