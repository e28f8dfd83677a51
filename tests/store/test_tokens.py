import pytest
import sqlalchemy as sa

from barograph.runtime.errors import DataError
from barograph.server.store import Store, audit, tokens
from barograph.server.store.tokens import Scope


def make(store: Store, name: str, *scopes: Scope) -> str:
    return store.write(lambda connection: tokens.create(connection, name, scopes, "admin"))


def find(store: Store, secret: str) -> tokens.Token | None:
    with store.read() as connection:
        return tokens.find(connection, secret)


def test_token_allows_its_scopes_only(store: Store) -> None:
    secret = make(store, "ci", Scope.INGEST, Scope.READ)
    make(store, "other", Scope.ADMIN)
    token = find(store, secret)
    assert token is not None
    assert token.name == "ci"
    assert [token.allows(scope) for scope in Scope] == [True, True, False, False]


def test_admin_includes_every_scope(store: Store) -> None:
    token = find(store, make(store, "root", Scope.ADMIN))
    assert token is not None
    assert all(token.allows(scope) for scope in Scope)


@pytest.mark.parametrize("wrong", ["", "baro_", "baro_" + "A" * 43, "\ud800", "é" * 50])
def test_wrong_secret_finds_no_token(store: Store, wrong: str) -> None:
    make(store, "ci", Scope.READ)
    assert find(store, wrong) is None


def test_revoked_token_is_not_found(store: Store) -> None:
    secret = make(store, "ci", Scope.READ)
    store.write(lambda connection: tokens.revoke(connection, "ci", "admin"))
    assert find(store, secret) is None
    with store.read() as connection:
        [token] = tokens.every(connection)
    assert not token.allows(Scope.READ)
    with pytest.raises(DataError, match="no token 'ci' to revoke"):
        store.write(lambda connection: tokens.revoke(connection, "ci", "admin"))


def test_secret_is_neither_stored_nor_in_the_audit_trail(store: Store) -> None:
    secret = make(store, "ci", Scope.READ)
    with store.read() as connection:
        held = [repr(row) for table in ("tokens", "audit") for row in _rows(connection, table)]
        [act] = audit.trail(connection)
    assert (act.who, act.action, act.subject, act.detail) == (
        *("admin", "token created", "ci"),
        {"scopes": ["read"]},
    )
    assert held
    assert not any(secret in row or secret[5:] in row for row in held)


def _rows(connection: sa.Connection, table: str) -> list[object]:
    return list(connection.execute(sa.text(f"SELECT * FROM {table}")))  # noqa: S608 - our names


@pytest.mark.parametrize("name", ["", "-x", "a/b", "a b", "a?", "..", "\u00e9", "x" * 201])
def test_token_needs_a_name_that_a_url_holds(store: Store, name: str) -> None:
    with pytest.raises(DataError, match="a token needs a name of 1 to 200 letters"):
        make(store, name, Scope.READ)


@pytest.mark.parametrize("name", ["local", "cli"])
def test_names_of_callers_without_a_token_are_reserved(store: Store, name: str) -> None:
    with pytest.raises(DataError, match=f"the name '{name}' is reserved"):
        make(store, name, Scope.READ)


def test_token_needs_an_unused_name_and_a_scope(store: Store) -> None:
    make(store, "ci", Scope.READ)
    with pytest.raises(DataError, match="already named 'ci'"):
        make(store, "ci", Scope.READ)
    with pytest.raises(DataError, match="needs a scope"):
        make(store, "none")
    with pytest.raises(DataError, match="name of 1 to 200"):
        make(store, "a\nb", Scope.READ)
