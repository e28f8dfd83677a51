"""The OpenAPI document has valid examples for everything."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from fastapi.testclient import TestClient
from jsonschema_rs import Draft202012Validator

from barograph.models import TriageModel
from barograph.server.web.routes.inference import InvocationsRequest, feature_rows
from tests.service.conftest import app_of

Shown = tuple[str, dict[str, Any]]


def test_openapi_has_an_example_for_every_parameter_and_answer(client: TestClient) -> None:
    text = app_of(client).openapi()
    bare = [name for name, holder in _described(text) if not _examples(holder, text)]
    assert not bare, "without an example:\n" + "\n".join(bare)


def test_openapi_examples_match_their_schemas(client: TestClient) -> None:
    text = app_of(client).openapi()
    wrong = [
        f"{name}: {error.message}"
        for name, holder in _described(text)
        for value in _examples(holder, text)
        for error in Draft202012Validator(
            {**holder["schema"], "components": text["components"]}
        ).iter_errors(value)
    ]
    assert not wrong, "\n".join(wrong)


def _described(text: dict[str, Any]) -> Iterator[Shown]:
    """All parameters and all contents of answers, each with a name for people."""
    for path, operations in text["paths"].items():
        for method, operation in operations.items():
            place = f"{method.upper()} {path}"
            for parameter in operation.get("parameters", ()):
                yield f"{place}: {parameter['in']} {parameter['name']}", parameter
            for status, answer in operation["responses"].items():
                for media, content in answer.get("content", {}).items():
                    yield f"{place}: {status} {media}", content


def _examples(holder: dict[str, Any], text: dict[str, Any]) -> list[Any]:
    """The examples of a parameter or a content: its own, and those of its schema."""
    schema = holder["schema"]
    if "$ref" in schema:
        schema = text["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    examples = [item["value"] for item in holder.get("examples", {}).values()]
    return [
        *([holder["example"]] if "example" in holder else []),
        *examples,
        *schema.get("examples", []),
    ]


def test_invocations_example_works_with_the_built_in_model() -> None:
    model = TriageModel.default("online")
    [sent] = InvocationsRequest.model_json_schema()["examples"]
    rows = feature_rows(InvocationsRequest.model_validate(sent), model.columns)
    assert np.isfinite(model.predict_proba(rows)).all()
