"""How routes ask the store and write to it, and what they say of what is not there."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

import sqlalchemy as sa
from fastapi import Request
from starlette.concurrency import run_in_threadpool

from barograph.errors import DataError
from barograph.service.errors import Refused
from barograph.service.parts import parts_of

T = TypeVar("T")


class Numbered(Protocol):
    """A row that pages are ordered by."""

    @property
    def id(self) -> int:
        """Its number."""


async def asked(request: Request, question: Callable[[sa.Connection], T]) -> T:
    """Put a question to the store, in another thread."""
    store = parts_of(request).store

    def ask() -> T:
        with store.read() as connection:
            return question(connection)

    return await run_in_threadpool(ask)


async def written(request: Request, work: Callable[[sa.Connection], T]) -> T:
    """Let the store do work in a writing transaction of its own, in another thread."""
    return await run_in_threadpool(parts_of(request).store.write, work)


@contextmanager
def known() -> Iterator[None]:
    """Refuse the request where the store does not have what it is about."""
    try:
        yield
    except DataError as error:
        raise Refused(404, str(error)) from error


def following(found: Sequence[Numbered], limit: int) -> int | None:
    """Return what the next page comes after; None where this is the last one."""
    return found[-1].id if len(found) == limit else None
