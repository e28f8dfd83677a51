"""The OpenAPI document: FastAPI writes it, and this module adds examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import FastAPI

JsonSchema = Mapping[str, Any]
EXAMPLES: dict[str, Any] = {  # by the name of a field or a parameter
    "after": 16100.0,
    "args": {"thread_level": "8"},
    "before": 18230.0,
    "commit": "3f9a1c7",
    "ids": "3,4",
    "key": "SERVER-12345",
    "label": "variant",
    "last_before": 1020,
    "levels": [[0, 2, 18235.75, True], [2, 3, 16100.0, True]],
    "measurement": "ops_per_sec",
    "model": "online-3f1c2b7a90de",
    "name": "sys-perf/linux-3-node/mixed_workloads/insert_vector/ops_per_sec",
    "of": "3,17",
    "offset": 0,
    "order": 1024,
    "probability": 0.93,
    "project": "sys-perf",
    "query": "effect=worse&probability=0.5",
    "run": "2",
    "since": "7d",
    "sort": "expected",
    "subject": "Take locks eagerly in retryable writes",
    "task": "mixed_workloads",
    "test": "insert_vector",
    "token": "baro_...",
    "unit": "ops/s",
    "until": "2026-03-12",
    "url": "https://git.example/commit/3f9a1c7",
    "value": 18234.5,
    "variant": "linux-3-node",
    "version": 1,
}
TYPES: dict[Any, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
}


class BarographAPI(FastAPI):
    """An app whose OpenAPI document has an example for every parameter, request and answer."""

    def __init__(self, schemas: JsonSchema, **options: Any) -> None:
        super().__init__(**options)
        self._schemas = schemas  # those that FastAPI does not know

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document; it is made once."""
        if self.openapi_schema is None:
            document = super().openapi()
            schemas = document["components"]["schemas"]
            schemas.update(self._schemas)
            for name, schema in schemas.items():
                if name.startswith("Body_"):  # see `ApiRequest`
                    schema["additionalProperties"] = False
            for schema in schemas.values():
                schema.setdefault("examples", [example_of(schema, schemas)])
            for holder, name in _described(document):
                if not {"example", "examples"} & holder.keys():
                    holder["example"] = example_of(holder["schema"], schemas, name)
        return super().openapi()


def _described(document: JsonSchema) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield every parameter with its name, and every content of a request or an answer."""
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                yield parameter, parameter["name"].lower()
            for holder in (operation.get("requestBody", {}), *operation["responses"].values()):
                yield from ((content, "") for content in holder.get("content", {}).values())


def example_of(schema: JsonSchema, schemas: JsonSchema, name: str = "") -> Any:
    """Return an example of a JSON schema.

    Args:
        schema: The schema.
        schemas: The schemas that it may refer to, by name.
        name: Name of the field that has the schema.
    """
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].rpartition("/")[2]], schemas, name)
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0], schemas, name)
    if "enum" in schema or "const" in schema:
        return schema["enum"][0] if "enum" in schema else schema["const"]
    type_ = schema.get("type")
    known = EXAMPLES.get(name)
    if type_ in TYPES and isinstance(known, TYPES[type_]) and not schema.get("properties"):
        return known
    if type_ == "array":
        items = schema.get("prefixItems", [schema.get("items", {})])
        return [example_of(item, schemas, name.removesuffix("s")) for item in items]
    if type_ == "object":
        fields = schema.get("properties", {})
        return {field: example_of(part, schemas, field) for field, part in fields.items()}
    plain = {"integer": max(schema.get("minimum", 1), 1), "number": 0.5, "boolean": True}
    return plain.get(str(type_), "text")
