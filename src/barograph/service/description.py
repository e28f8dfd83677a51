"""The OpenAPI text of the service, with its examples as they were written."""

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute


class Described(FastAPI):
    """An app whose OpenAPI text keeps the nulls of the examples of its answers.

    FastAPI leaves out whatever is null, in examples too, which then lack fields that every answer
    has.
    """

    def openapi(self) -> dict[str, Any]:
        """Return the text; it is made once, and patched as it is made."""
        made = self.openapi_schema
        text = super().openapi()
        if text is made:
            return text
        schemas = text["components"]["schemas"]
        for model in self._answers():
            extra = model.model_config.get("json_schema_extra", {})
            if "examples" in extra:
                schemas[model.__name__]["examples"] = extra["examples"]
        return text

    def _answers(self) -> set[Any]:
        """The models of all answers."""
        routes = [one for one in self.routes if isinstance(one, APIRoute)]
        usual = {one.response_model for one in routes if one.response_model is not None}
        return usual | {
            told["model"] for one in routes for told in one.responses.values() if "model" in told
        }
