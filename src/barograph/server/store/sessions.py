"""Sessions of people in a browser: each stands for a token until it ends.

A session is 256 random bits in a cookie; the store keeps its hash, as that of a token. It ends when
its time is over, when the person signs out, and when its token is revoked.
"""

import sqlalchemy as sa

from barograph.runtime.errors import DataError
from barograph.server.store import audit, tokens
from barograph.server.store.audit import now
from barograph.server.store.schema import sessions
from barograph.server.store.tokens import Token, new_secret, secret_hash


def create(
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
    if tokens.valid(connection, token.id) is None:
        raise DataError(f"the token {token.name!r} was revoked")
    secret = new_secret()
    connection.execute(sa.delete(sessions).where(sessions.c.expires <= timestamp))
    row = {
        "hash": secret_hash(secret),
        "token": token.id,
        "expires": timestamp + lifetime,
    }
    connection.execute(sa.insert(sessions), row)
    audit.note(connection, timestamp, token.name, "signed in", token.name)
    return secret


def find(connection: sa.Connection, secret: str, timestamp: int | None = None) -> Token | None:
    """Return the token of a session that has not ended.

    Args:
        connection: From `Store.read`.
        secret: What `create` returned.
        timestamp: Milliseconds since 1970; now by default.
    """
    s = sessions.c
    # The hash of a secret of 256 bits is looked up as it is: the time that takes depends on the
    # hash of a guess, which says nothing about the secret.
    query = sa.select(s.token).where(s.hash == secret_hash(secret))
    number = connection.scalar(query.where(s.expires > (now() if timestamp is None else timestamp)))
    return None if number is None else tokens.valid(connection, number)


def end(connection: sa.Connection, secret: str) -> None:
    """End a session; nothing happens if there is none."""
    connection.execute(sa.delete(sessions).where(sessions.c.hash == secret_hash(secret)))
