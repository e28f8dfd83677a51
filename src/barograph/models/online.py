"""The two models of the online detector, released as one file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from barograph.errors import ArtifactError
from barograph.models.triage import TriageModel, load_models, save_models

NEWEST, CONFIRM = "online", "confirm"


@dataclass(frozen=True)
class OnlineModels:
    """The models that judge a point as the newest one, and again as others follow.

    Attributes:
        newest: Judges the newest point, before any later result.
        confirm: Judges points that 1 to 10 others have followed. Without it there is no second
            look.
    """

    newest: TriageModel
    confirm: TriageModel | None = None

    @classmethod
    def default(cls) -> OnlineModels:
        """Load the models that are shipped with the package."""
        return cls(TriageModel.default(NEWEST), TriageModel.default(CONFIRM))

    @classmethod
    def load(cls, path: str | Path) -> OnlineModels:
        """Load both models from one file; the confirming one may be missing.

        Raises:
            ArtifactError: It is not a model file, or holds no model for the newest point.
        """
        models = load_models(path)
        if NEWEST not in models:
            raise ArtifactError(
                f"{path}: made for the use {', '.join(map(repr, models))}; needed is {NEWEST!r}"
            )
        return cls(models[NEWEST], models.get(CONFIRM))

    @property
    def members(self) -> tuple[TriageModel, ...]:
        """The models that there are."""
        return (self.newest,) if self.confirm is None else (self.newest, self.confirm)

    def save(self, path: str | Path) -> None:
        """Write one artifact, whole or not at all."""
        save_models(path, self.members)
