"""Requests made from the OpenAPI document, valid and invalid, never answer 500."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from barograph.server.store import Store, tokens
from barograph.server.store.tokens import Scope
from barograph.server.web.app import ROUTERS, create_app
from barograph.server.web.model_watch import ModelWatch
from barograph.server.web.settings import Settings
from tests.service.models import small_pair

BOUNDED = settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
OPERATIONS = sorted(
    (method, getattr(route, "path", "").replace(":path}", "}"))
    for router in ROUTERS
    for route in router.routes
    if getattr(route, "include_in_schema", True)  # pages have tests of their own
    for method in getattr(route, "methods", ())
)
PLAIN = {"/health", "/ready", "/ping"}
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, dict[str, str]]]:
    """The OpenAPI document of a service, and a header that permits everything."""
    place: Path = tmp_path_factory.mktemp("fuzz")
    small_pair().save(place / "online.baro")
    watch = ModelWatch(place / "online.baro")
    with Store(str(place / "store.db"), watch.start().judge) as store:
        settings = Settings(local=False, rate=1e6, burst=10**6)
        secret = store.write(lambda c: tokens.create(c, "fuzz", [Scope.ADMIN], "test"))
        app = create_app(store, watch, settings)
        schema = schemathesis.openapi.from_asgi("/openapi.json", app)
        yield schema, {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
@pytest.mark.filterwarnings("ignore")
def test_fuzzed_requests_never_answer_500(
    fuzzed: tuple[Any, dict[str, str]], method: str, path: str, mode: GenerationMode
) -> None:
    schema, header = fuzzed
    operation = schema[path][method]
    if mode is GenerationMode.NEGATIVE and path in PLAIN:
        pytest.skip("it takes nothing that could be wrong")

    @BOUNDED
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        answer = case.call(headers=header)
        assert answer.status_code < 500
        if answer.status_code >= 400:
            reply = answer.json()
            assert set(reply) == {"error"}
            assert set(reply["error"]) == {"status", "kind", "message", "details"}
            assert reply["error"]["status"] == answer.status_code
        if answer.status_code != 405:
            case.validate_response(answer, checks=CHECKS)

    ask()
