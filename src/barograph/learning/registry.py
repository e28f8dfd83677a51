"""The record of releases: all model files that were ever candidates, and which are in service.

registry/NAME/DIGEST holds a model file, its twins and its card. registry/releases.json is the only
record: for each name the champions, the withdrawn files, and the decisions. It is replaced as a
whole, so models are released together or not at all. The champions are copied from the registry to
the folder that a service loads them from; the next release, retraining or rollback completes the
copies of a process that was killed. The registry is beside that folder.
Processes that release or roll back wait for each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from barograph.models.artifact import file_digest
from barograph.models.triage import FILES, TABLES, TriageModel, load_models
from barograph.runtime.errors import ArtifactError, ConfigError, DataError
from barograph.runtime.files import delete_drafts, locked, whole

COMMAND_LINE = "command line"  # who releases or rolls back, unless a service does it for a person
MODEL, TWIN, CARD = "model.baro", "judged.baro", "card.md"
RECORD = "releases.json"
SERVED = Path("data/release")  # where the champions are, unless the caller says otherwise
FORMER = (*(f"{name}.json" for name in FILES), "pending.json")  # the record of earlier versions
STORED = ("champions", "withdrawn", "decisions")


def registry_of(served: Path) -> Path:
    """Return the folder of every model that was ever a candidate, beside that of the champions."""
    return served.parent / "registry"


@dataclass(frozen=True)
class Index:
    """The released files of one name.

    Attributes:
        name: One of `FILES`.
        champions: The digests of all champions; the last one is in service.
        withdrawn: The digests of those that were rolled back.
        decisions: Why each champion was promoted, by digest, and `rolled_back` if it was.
        served: The folder of the champions.
    """

    name: str
    champions: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    decisions: Mapping[str, Any] = field(default_factory=dict)
    served: Path = SERVED

    @classmethod
    def read(cls, name: str, served: Path = SERVED) -> Index:
        """Read the index of a name; empty if nothing was released yet."""
        return _read(served).get(name, cls(name, served=served))

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
        return registry_of(self.served) / self.name / digest

    def promoted(self, digest: str, decision: Mapping[str, Any]) -> Index:
        """Return the index with another champion."""
        known = dict(self.decisions) | {digest: dict(decision)}
        return replace(self, champions=(*self.champions, digest), decisions=known)

    def keep(self, model: Path, twin: Path) -> str:
        """Store a model file with its twins and its card, and return its digest."""
        digest = file_digest(model)
        _copy(twin, self.folder(digest) / TWIN)
        _copy(model, self.folder(digest) / MODEL)
        with whole(self.folder(digest) / CARD) as draft:
            cards = map(card, load_models(model).values())
            draft.write_text("\n".join(cards), encoding="utf-8")
        return digest

    def serve(self) -> None:
        """Copy the champion to the folder that a service loads from.

        Without a champion, the folder has no file of the name: the built-in model is used.
        """
        for kept, copy in ((CARD, f"{self.name}.md"), (MODEL, f"{self.name}.baro")):
            if self.champion is None:
                (self.served / copy).unlink(missing_ok=True)
            else:
                _copy(self.folder(self.champion) / kept, self.served / copy)

    @property
    def is_served(self) -> bool:
        """Whether the folder has the champion; without one, whether it has no withdrawn file."""
        path = self.served / f"{self.name}.baro"
        digest = file_digest(path) if path.is_file() else None
        return digest not in self.withdrawn if self.champion is None else digest == self.champion


@contextmanager
def changing(served: Path = SERVED) -> Iterator[None]:
    """Keep other processes from releasing or rolling back, until the end of the block.

    The copies of a process that was killed are completed first. What the block puts in service
    must follow from indices that it reads itself.

    Raises:
        DataError: Another process releases or rolls back for a minute.
    """
    with locked(registry_of(served) / RECORD):
        for index in _read(served).values():
            if not index.is_served:
                index.serve()
        delete_drafts(registry_of(served))  # of models that no later run writes to
        yield


def put_in_service(indices: Sequence[Index], served: Path = SERVED) -> None:
    """Put the champions of several indices in service together, in a block of `changing`."""
    if not indices:
        return
    every = _read(served) | {index.name: index for index in indices}
    content = {
        name: {part: getattr(index, part) for part in STORED} for name, index in every.items()
    }
    with whole(registry_of(served) / RECORD) as draft:
        draft.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    for index in indices:
        index.serve()


def resume(served: Path = SERVED) -> None:
    """Complete the copies of a release or rollback whose process was killed."""
    with changing(served):
        pass


def roll_back(name: str, served: Path = SERVED, who: str = COMMAND_LINE) -> Index:
    """Put the file before the champion back in service; before the first one, the built-in model.

    The champion stays in the registry, marked as withdrawn: it is never released again.

    Args:
        name: One of `FILES`.
        served: The folder of the champions.
        who: Who does it, for the record.

    Raises:
        ConfigError: There is no such name, or the built-in model is in service.
        DataError: Another process releases or rolls back for a minute.
    """
    if name not in FILES:
        raise ConfigError(f"no file {name!r:.60}; there are {', '.join(FILES)}")
    with changing(served):
        index = Index.read(name, served)
        if index.champion is None:
            raise ConfigError(f"{name}: the built-in model is in service already")
        *before, last = index.champions
        facts = {"who": who, "champion": before[-1] if before else None}
        decision = {**index.decisions.get(last, {}), "rolled_back": facts}
        former = replace(
            index,
            champions=tuple(before),
            withdrawn=(*index.withdrawn, last),
            decisions={**index.decisions, last: decision},
        )
        put_in_service([former], served)
    return former


def _read(served: Path) -> dict[str, Index]:
    """Return the indices by name; of the record of an earlier version if there is no other."""
    paths = [registry_of(served) / RECORD]
    if not paths[0].is_file():
        paths = [registry_of(served) / name for name in FORMER]
    indices: dict[str, Index] = {}
    for path in filter(Path.is_file, paths):
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            for name, part in ({path.stem: stored} if path.stem in FILES else stored).items():
                digests = tuple(part["champions"]), tuple(part["withdrawn"])
                indices[name] = Index(name, *digests, part["decisions"], served)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path}: not a record of released models: {error!r:.200}") from error
    return indices


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
