"""Tokens, and the trail of who did what."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from barograph.service.schemas.shared import example


class TokenWanted(BaseModel):
    """A token to be made."""

    model_config = example({"name": "ci", "scopes": ["ingest"]})
    name: str = Field(min_length=1, max_length=200)
    scopes: list[Literal["ingest", "read", "triage", "admin"]] = Field(min_length=1, max_length=4)


class TokenMade(BaseModel):
    """A new token; it is shown this once."""

    model_config = example({"name": "ci", "scopes": ["ingest"], "token": "baro_..."})
    name: str
    scopes: list[str]
    token: str


class TokenRow(BaseModel):
    """A token as the store knows it."""

    name: str
    scopes: list[str]
    created: int
    revoked: int | None


class TokenList(BaseModel):
    """All tokens, never what they are."""

    model_config = example(
        {
            "tokens": [
                {"name": "ci", "scopes": ["ingest"], "created": 1706220999000, "revoked": None}
            ]
        }
    )
    tokens: list[TokenRow]


class Act(BaseModel):
    """One entry of the trail."""

    id: int
    at: int
    who: str
    action: str
    subject: str
    detail: dict[str, Any]


class Trail(BaseModel):
    """Who did what; the newest first."""

    model_config = example(
        {
            "acts": [
                {
                    "id": 9,
                    "at": 1706220999000,
                    "who": "ci",
                    "action": "ingest",
                    "subject": "points",
                    "detail": {"written": 1},
                }
            ],
            "next": None,
        }
    )
    acts: list[Act]
    next: int | None
