"""Access tokens and their scopes, and the sessions of people in a browser.

A token is 256 random bits, so the store keeps its plain SHA-256: salt and stretching slow down
guessing, which 256 bits rule out, and a fast hash can be checked on every request. Tokens are
neither stored nor logged.

A session stands for a token. It is 256 random bits in a cookie, and the store keeps its hash. It
ends when its time is over, when the person signs out, and when its token is revoked.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from barograph.runtime.errors import DataError
from barograph.server.store import audit
from barograph.server.store.audit import now
from barograph.server.store.schema import sessions, tokens

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")  # a URL holds it as it is
RESERVED = ("local", "cli")  # these stand in the audit trail for callers without a token
PREFIX = "baro_"  # lets scanners find published tokens


class Scope(StrEnum):
    """A permission; admin includes all others."""

    INGEST = "ingest"
    READ = "read"
    TRIAGE = "triage"
    ADMIN = "admin"


@dataclass(frozen=True)
class Token:
    """A stored token, without its secret."""

    id: int
    name: str
    scopes: frozenset[Scope]
    created: int
    revoked: int | None

    def allows(self, scope: Scope) -> bool:
        """Return whether it is valid and includes a scope."""
        return self.revoked is None and not self.scopes.isdisjoint({scope, Scope.ADMIN})


def create(connection: sa.Connection, name: str, scopes: Iterable[Scope], who: str) -> str:
    """Create a token and return its secret, which cannot be read again.

    Raises:
        DataError: The name is taken or invalid, or there is no scope.
    """
    names = sorted({Scope(scope).value for scope in scopes})
    if not names:
        raise DataError(f"a token needs a scope: {', '.join(Scope)}")
    if not NAME.fullmatch(name):
        raise DataError(
            f"a token needs a name of 1 to 200 letters, digits and . _ - that begins with a letter "
            f"or a digit, got {name!r:.60}"
        )
    if name in RESERVED:
        raise DataError(f"the name {name!r} is reserved for what is done without a token")
    if connection.scalar(sa.select(tokens.c.id).where(tokens.c.name == name)) is not None:
        raise DataError(f"a token is already named {name!r}")
    secret, timestamp = PREFIX + new_secret(), now()
    row = {"name": name, "hash": secret_hash(secret), "scopes": " ".join(names)}
    connection.execute(sa.insert(tokens), row | {"created": timestamp})
    audit.note(connection, timestamp, who, "token created", name, scopes=names)
    return secret


def revoke(connection: sa.Connection, name: str, who: str) -> None:
    """Revoke a token."""
    timestamp = now()
    valid = sa.and_(tokens.c.name == name, tokens.c.revoked.is_(None))
    if not connection.execute(sa.update(tokens).where(valid).values(revoked=timestamp)).rowcount:
        raise DataError(f"there is no token {name!r} to revoke")
    audit.note(connection, timestamp, who, "token revoked", name)


def every(connection: sa.Connection) -> list[Token]:
    """Return all tokens, the oldest first."""
    return [_token(row) for row in connection.execute(sa.select(tokens).order_by(tokens.c.id))]


def find(connection: sa.Connection, secret: str) -> Token | None:
    """Return the valid token of a secret.

    All hashes are compared, each in constant time, so that the duration reveals nothing.
    """
    digest = secret_hash(secret)
    known = connection.execute(sa.select(tokens).where(tokens.c.revoked.is_(None))).all()
    found = [row for row in known if hmac.compare_digest(bytes(row.hash), digest)]
    return _token(found[0]) if found else None


def valid(connection: sa.Connection, number: int) -> Token | None:
    """Return the token with a number, unless it was revoked."""
    query = sa.select(tokens).where(tokens.c.id == number, tokens.c.revoked.is_(None))
    return next(map(_token, connection.execute(query)), None)


def begin_session(
    connection: sa.Connection, token: Token, lifetime: int, timestamp: int | None = None
) -> str:
    """Begin a session and return its secret, which cannot be read again.

    Args:
        connection: The connection of a write transaction.
        token: The token that the person signed in with.
        lifetime: How long the session lasts, in milliseconds.
        timestamp: Milliseconds since 1970; now by default.

    Raises:
        DataError: The token was revoked meanwhile.
    """
    timestamp = now() if timestamp is None else timestamp
    if valid(connection, token.id) is None:
        raise DataError(f"the token {token.name!r} was revoked")
    secret = new_secret()
    connection.execute(sa.delete(sessions).where(sessions.c.expires <= timestamp))
    row = {"hash": secret_hash(secret), "token": token.id, "expires": timestamp + lifetime}
    connection.execute(sa.insert(sessions), row)
    audit.note(connection, timestamp, token.name, "signed in", token.name)
    return secret


def session_token(
    connection: sa.Connection, secret: str, timestamp: int | None = None
) -> Token | None:
    """Return the token of a session that has not ended.

    Args:
        connection: From `Store.read`.
        secret: What `begin_session` returned.
        timestamp: Milliseconds since 1970; now by default.
    """
    s = sessions.c
    # The hash of a secret of 256 bits is looked up as it is: the time that takes depends on the
    # hash of a guess, which says nothing about the secret.
    query = sa.select(s.token).where(s.hash == secret_hash(secret))
    number = connection.scalar(query.where(s.expires > (now() if timestamp is None else timestamp)))
    return None if number is None else valid(connection, number)


def end_session(connection: sa.Connection, secret: str) -> None:
    """End a session; nothing happens if there is none."""
    connection.execute(sa.delete(sessions).where(sessions.c.hash == secret_hash(secret)))


def new_secret() -> str:
    """Return 256 random bits as text."""
    return secrets.token_urlsafe(32)


def secret_hash(secret: str) -> bytes:
    """Return the hash that the store keeps of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _token(row: sa.Row[tuple[object, ...]]) -> Token:
    scopes = frozenset(map(Scope, row.scopes.split()))
    return Token(row.id, row.name, scopes, row.created, row.revoked)
