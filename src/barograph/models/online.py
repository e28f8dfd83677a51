"""The two models of the online detector, released as one file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from barograph.models.triage import TriageModel, load_models, save_models

NEWEST, CONFIRM = "online", "confirm"


@dataclass(frozen=True)
class OnlineModels:
    """The model that judges a point as the newest, and the one that judges it again later.

    Attributes:
        newest: Judges the newest point, before any later result.
        confirm: Judges points that 1 to 10 later ones follow; None in a file of a single model.
    """

    newest: TriageModel
    confirm: TriageModel | None = None

    @classmethod
    def default(cls) -> OnlineModels:
        """Load the models that ship with the package."""
        return cls(TriageModel.default(NEWEST), TriageModel.default(CONFIRM))

    @classmethod
    def load(cls, path: str | Path) -> OnlineModels:
        """Load both models from one file; `confirm` may be missing.

        Raises:
            ArtifactError: The file is not a model, or was made for another use.
        """
        models = load_models(path, NEWEST)
        return cls(models[NEWEST], models.get(CONFIRM))

    @property
    def members(self) -> tuple[TriageModel, ...]:
        """The models that are not None."""
        return (self.newest,) if self.confirm is None else (self.newest, self.confirm)

    def save(self, path: str | Path) -> None:
        """Write both models to one file, atomically."""
        save_models(path, self.members)
