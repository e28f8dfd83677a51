"""Rows of features to the model, and the model itself."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from barograph.features import FEATURE_SETS
from barograph.service.schemas.shared import MODEL, example

COLUMNS = list(FEATURE_SETS["online"])  # those of the shipped model


class Frame(BaseModel):
    """A table by columns and rows."""

    model_config = ConfigDict(extra="forbid")
    columns: list[str]
    data: list[list[float]]
    index: list[Any] | None = None


Number = Annotated[float, Field(allow_inf_nan=False)]


class Invocation(BaseModel):
    """Rows of features, in one of the forms that MLflow's scoring server takes."""

    model_config = example(
        {
            "dataframe_split": {
                "columns": COLUMNS,
                "data": [[0.0] * len(COLUMNS), [1.0] * len(COLUMNS)],
            }
        }
    )
    dataframe_split: Frame | None = None
    dataframe_records: list[dict[str, Number]] | None = None
    inputs: list[list[Number]] | dict[str, list[Number]] | None = None
    instances: list[list[Number]] | list[dict[str, Number]] | None = None
    params: dict[str, Any] | None = Field(None, description="MLflow's clients send it; not used.")


class Predictions(BaseModel):
    """The probability of a real change for each row."""

    model_config = example({"predictions": [0.93, 0.02], "threshold": 0.5, "model": MODEL})
    predictions: list[float]
    threshold: float
    model: str


class ModelAnswer(BaseModel):
    """The model in use."""

    model_config = example(
        {
            "version": MODEL,
            "source": "the shipped default",
            "use": "online",
            "feature_set": "online",
            "columns": COLUMNS,
            "threshold": 0.5,
            "card": {},
            "second_look": True,
            "second_look_disabled_reason": None,
            "refused": None,
        }
    )
    version: str
    source: str
    use: str
    feature_set: str
    columns: list[str] = Field(description="What a row of `/invocations` must hold.")
    threshold: float
    card: dict[str, Any]
    second_look: bool = Field(description="Whether points are looked at again as others follow.")
    second_look_disabled_reason: str | None = Field(
        description="Why there is no second look although the service was asked for it."
    )
    refused: str | None = Field(description="Why the newest file was not taken, if it was not.")
