"""Tickets, and the change points that they are about."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from barograph.service.schemas.shared import example

STATUS = Literal["open", "closed"]
WANTED = {
    "key": "SERVER-12345",
    "url": "https://tickets.example/SERVER-12345",
    "title": "Inserts are slower since 3f9a1c7",
    "change_points": [3],
}
TICKET = {"id": 2, **WANTED, "status": "open", "opened": 1706220999000}


class TicketWanted(BaseModel):
    """A ticket to be noted, or a known one that is about further change points."""

    model_config = example(WANTED)
    key: str = Field(min_length=1, max_length=2000, description="What it is called elsewhere.")
    url: str = Field(default="", max_length=2000)
    title: str = Field(default="", max_length=2000)
    change_points: list[Annotated[int, Field(ge=1, le=2**62)]] = Field(
        default=[], max_length=10_000, description="Their numbers."
    )


class Ticket(BaseModel):
    """A ticket, wherever it is kept."""

    model_config = example(TICKET)
    id: int
    key: str
    url: str
    title: str
    change_points: list[int]
    status: STATUS
    opened: int


class TicketsPage(BaseModel):
    """A page of tickets; ask again with `after` set to `next`."""

    model_config = example({"tickets": [TICKET], "next": None})
    tickets: list[Ticket]
    next: int | None
