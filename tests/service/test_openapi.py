"""The OpenAPI document describes every operation, and its examples work."""

from typing import Any

import numpy as np
from fastapi.testclient import TestClient
from jsonschema_rs import Draft202012Validator

from barograph.models import TriageModel
from barograph.server.web.routes.inference import InvocationsRequest, feature_rows
from tests.service.conftest import app_of
from tests.service.samples import POINTS


def schemas_of(client: TestClient) -> dict[str, Any]:
    components: dict[str, Any] = app_of(client).openapi()["components"]["schemas"]
    return components


def test_openapi_describes_every_operation(client: TestClient) -> None:
    for path, operations in client.get("/openapi.json").json()["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], path
            assert operation["description"], (method, path)


def test_openapi_examples_match_their_schemas(client: TestClient) -> None:
    shown = {
        name: schema["examples"]
        for name, schema in schemas_of(client).items()
        if "examples" in schema
    }
    assert set(shown) == {"InvocationsRequest", "PostedResult"}
    for name, examples in shown.items():
        schema = {"$ref": f"#/components/schemas/{name}"}
        components = app_of(client).openapi()["components"]
        validator = Draft202012Validator({**schema, "components": components})
        assert all(validator.is_valid(example) for example in examples), name


def test_example_of_a_result_is_written(client: TestClient) -> None:
    [example] = schemas_of(client)["PostedResult"]["examples"]
    assert client.post(POINTS, json=example).json()["written"] == 1


def test_example_of_lines_is_written(client: TestClient) -> None:
    body = app_of(client).openapi()["paths"][POINTS]["post"]["requestBody"]
    media = "application/x-ndjson"
    sent = body["content"][media]["example"]
    answer = client.post(POINTS, content=sent, headers={"Content-Type": media})
    assert answer.json()["written"] == 1


def test_unknown_fields_of_bodies_are_refused_by_the_document(client: TestClient) -> None:
    bodies = {name: s for name, s in schemas_of(client).items() if name.startswith("Body_")}
    assert bodies
    assert all(schema["additionalProperties"] is False for schema in bodies.values())


def test_invocations_example_works_with_the_built_in_model() -> None:
    model = TriageModel.default("online")
    [sent] = InvocationsRequest.model_json_schema()["examples"]
    rows = feature_rows(InvocationsRequest.model_validate(sent), model.columns)
    assert np.isfinite(model.predict_proba(rows)).all()
