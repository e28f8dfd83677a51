"""The store's tokens, as the guard of the routes asks for them."""

import hashlib
import time
from collections.abc import Callable

from barograph.errors import StoreError
from barograph.service.access import Caller
from barograph.store import Store, tokens

REMEMBERED = 1000  # tokens


class StoreKeys:
    """Asks the store, and remembers the good answers for a moment.

    Args:
        store: has the tokens.
        moment: seconds after which a revoked token is good for nothing at the latest; where asked
            `by_memory`, only while the store answers.
        clock: tells the time in seconds.
    """

    def __init__(
        self, store: Store, moment: float = 1.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._moment = moment
        self._clock = clock
        self._good: dict[bytes, tuple[float, Caller]] = {}
        self._none_until = 0.0

    @property
    def surely_empty(self) -> bool:
        """Whether it is remembered that there is no token at all."""
        return self._clock() < self._none_until

    def recall(self, token: str) -> Caller | None:
        """Return whose a token is, where that is remembered."""
        until, caller = self._good.get(_digest(token), (0.0, None))
        return caller if self._clock() < until else None

    def any(self, *, by_memory: bool = False) -> bool:
        """Whether there was ever a token: one that is revoked does not open the door."""
        try:
            with self._store.read() as connection:
                found = bool(tokens.every(connection))
        except StoreError:
            if by_memory and self._none_until:
                return False
            raise
        self._none_until = 0.0 if found else self._clock() + self._moment
        return found

    def check(self, token: str, *, by_memory: bool = False) -> Caller | None:
        """Return whose a token is."""
        digest = _digest(token)
        try:
            with self._store.read() as connection:
                known = tokens.find(connection, token)
        except StoreError:
            last = self._good.get(digest)
            if by_memory and last is not None:
                return last[1]
            raise
        if known is None:
            self._good.pop(digest, None)
            return None
        caller = Caller(known.name, known.scopes)
        if len(self._good) >= REMEMBERED:
            self._good.clear()
        self._good[digest] = (self._clock() + self._moment, caller)
        return caller

    def forget(self) -> None:
        """Ask the store again."""
        self._good.clear()
        self._none_until = 0.0


def _digest(token: str) -> bytes:
    """What is remembered of a token; where it lies in the table tells nothing of the token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
