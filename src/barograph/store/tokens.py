"""Tokens: who may ask for what.

A token is 256 random bits, so its SHA-256 is kept without salt or stretching: those slow down
guessing, and nobody guesses 256 bits; a fast hash lets every request be checked. The database
never holds a token, and no message shows one.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from barograph.errors import DataError
from barograph.store import audit
from barograph.store.clock import now
from barograph.store.measurement import CONTROL
from barograph.store.schema import tokens

PREFIX = "baro_"  # lets scanners find a token that was published by mistake


class Scope(StrEnum):
    """What a token allows; admin allows everything."""

    INGEST = "ingest"
    READ = "read"
    TRIAGE = "triage"
    ADMIN = "admin"


@dataclass(frozen=True)
class Token:
    """A token as the store knows it."""

    id: int
    name: str
    scopes: frozenset[Scope]
    created: int
    revoked: int | None

    def allows(self, scope: Scope) -> bool:
        """Whether it is good for a scope."""
        return self.revoked is None and not self.scopes.isdisjoint({scope, Scope.ADMIN})


def create(connection: sa.Connection, name: str, scopes: Iterable[Scope], who: str) -> str:
    """Make a token and return it: this is the only time that it is seen.

    Raises:
        DataError: the name is taken or unusable, or there is no scope.
    """
    wanted = sorted({Scope(scope).value for scope in scopes})
    if not wanted:
        raise DataError(f"a token needs a scope: {', '.join(Scope)}")
    if not name or len(name) > 200 or CONTROL.search(name):
        raise DataError(f"a token needs a name of 1 to 200 characters, got {name!r:.60}")
    if connection.scalar(sa.select(tokens.c.id).where(tokens.c.name == name)) is not None:
        raise DataError(f"a token is already named {name!r}")
    secret, at = PREFIX + secrets.token_urlsafe(32), now()
    row = {"name": name, "hash": _hash(secret), "scopes": " ".join(wanted), "created": at}
    connection.execute(sa.insert(tokens), row)
    audit.note(connection, at, who, "token created", name, scopes=wanted)
    return secret


def revoke(connection: sa.Connection, name: str, who: str) -> None:
    """Let a token be good for nothing from now on."""
    at = now()
    alive = sa.and_(tokens.c.name == name, tokens.c.revoked.is_(None))
    if not connection.execute(sa.update(tokens).where(alive).values(revoked=at)).rowcount:
        raise DataError(f"there is no token {name!r} to revoke")
    audit.note(connection, at, who, "token revoked", name)


def every(connection: sa.Connection) -> list[Token]:
    """Return all tokens, the oldest first."""
    return [_token(row) for row in connection.execute(sa.select(tokens).order_by(tokens.c.id))]


def find(connection: sa.Connection, secret: str) -> Token | None:
    """Return the living token of a secret.

    Every hash is compared in constant time, and all of them are, so that the time tells nothing.
    """
    mine = _hash(secret)
    found = None
    for row in connection.execute(sa.select(tokens).where(tokens.c.revoked.is_(None))):
        if hmac.compare_digest(bytes(row.hash), mine):
            found = _token(row)
    return found


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _token(row: sa.Row[tuple[object, ...]]) -> Token:
    scopes = frozenset(map(Scope, row.scopes.split()))
    return Token(row.id, row.name, scopes, row.created, row.revoked)
