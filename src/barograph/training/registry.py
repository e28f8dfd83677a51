"""The models that were ever in service, on the disk: what `release` promotes and rollback undoes.

data/registry/USE/DIGEST holds a model, its judged twin and its card; data/registry/USE.json says
which one is the champion, which were before it, and which were withdrawn. The champion's files are
copied to data/release, from where a service loads them. Everything is written whole, the index
last: whoever is killed in between leaves the champion as it was.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from barograph.errors import ConfigError, DataError
from barograph.files import whole
from barograph.models.artifact import file_digest

FOLDER = Path("data/registry")
SERVED = Path("data/release")
MODEL, TWIN, CARD = "model.baro", "judged.baro", "card.md"


@dataclass(frozen=True)
class Index:
    """The released models of one name: their digests, and why each was promoted."""

    name: str
    champions: tuple[str, ...] = ()  # the last one is in service
    withdrawn: tuple[str, ...] = ()
    decisions: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, name: str) -> Index:
        """Read the index of a name; empty if nothing was released yet."""
        path = FOLDER / f"{name}.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                name, tuple(found["champions"]), tuple(found["withdrawn"]), found["decisions"]
            )
        except FileNotFoundError:
            return cls(name)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path}: not an index of released models: {error!r}") from error

    @property
    def champion(self) -> str | None:
        """The digest of the model in service."""
        return self.champions[-1] if self.champions else None

    def folder(self, digest: str) -> Path:
        """Return where the files of a model lie."""
        return FOLDER / self.name / digest

    def write(self) -> None:
        """Write the index."""
        content = {name: getattr(self, name) for name in ("champions", "withdrawn", "decisions")}
        with whole(FOLDER / f"{self.name}.json") as draft:
            draft.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")

    def promoted(self, digest: str, decision: Mapping[str, Any]) -> Index:
        """Return the index with another champion."""
        known = dict(self.decisions) | {digest: dict(decision)}
        return replace(self, champions=(*self.champions, digest), decisions=known)

    def rolled_back(self) -> Index:
        """Return the index with the champion before this one, which never returns by itself.

        Raises:
            ConfigError: there is none to go back to.
        """
        if len(self.champions) < 2:
            raise ConfigError(
                f"{self.name!r}: {len(self.champions)} model(s) were ever in service; "
                "there is none to go back to"
            )
        *before, last = self.champions
        return replace(self, champions=tuple(before), withdrawn=(*self.withdrawn, last))

    def take_effect(self) -> None:
        """Put the champion in service, and write that it is."""
        self.serve(self.champions[-1])
        self.write()

    def serve(self, digest: str) -> None:
        """Copy a model and its card to where a service loads them from."""
        _copy(self.folder(digest) / CARD, SERVED / f"{self.name}.md")
        _copy(self.folder(digest) / MODEL, SERVED / f"{self.name}.baro")

    def keep(self, model: Path, twin: Path, card: str) -> str:
        """Keep a model with its twin and its card, and return its digest."""
        digest = file_digest(model)
        _copy(twin, self.folder(digest) / TWIN)
        _copy(model, self.folder(digest) / MODEL)
        with whole(self.folder(digest) / CARD) as draft:
            draft.write_text(card, encoding="utf-8")
        return digest


def _copy(source: Path, target: Path) -> None:
    with whole(target) as draft:
        shutil.copyfile(source, draft)
