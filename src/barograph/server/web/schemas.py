"""Schemas of the HTTP API, made from the records of the store and of `triage`.

A record is its own schema: `schema_of` reads its fields, their types, and the descriptions in its
docstring. A route states only what differs: fields that it leaves out, renames or flattens.
"""

import re
from collections.abc import Collection, Mapping
from functools import cache
from inspect import getdoc
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field, create_model

from barograph.results.series import SeriesId

Name = Annotated[str, BeforeValidator(str)]  # the printed identity of a series
DESCRIPTION = re.compile(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)


class Schema(BaseModel):
    """A request or an answer without unknown fields."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


def answer(name: str, description: str = "", /, **types: Any) -> Any:
    """Return the schema of an answer by the types of its fields."""
    fields: dict[str, Any] = {field: (type_, ...) for field, type_ in types.items()}
    return create_model(name, __base__=Schema, __doc__=description or None, **fields)


def page_of(key: str, row: Any, /, **types: Any) -> Any:
    """Return the schema of a page: rows, the start of the next page or null, and other fields."""
    name = "".join(word.title() for word in key.split("_"))
    text = "A page of a list; `next` is where the next page starts, null on the last one."
    return answer(f"{name}Page", text, **{key: many(row)}, next=int | None, **types)


def many(row: Any) -> Any:
    """Return the type of a list of rows."""
    return list[row]


def optional(row: Any) -> Any:
    """Return the type of a row or null."""
    return row | None


def schema_of(
    record: type, name: str = "", /, *, without: Collection[str] = (), **changed: Any
) -> Any:
    """Return the schema of a dataclass or a named tuple.

    Args:
        record: The record; the section "Attributes" of its docstring describes its fields.
        name: Name of the schema, if one record has several.
        without: Names of fields that the schema leaves out.
        changed: Fields that differ, by their names: the path of the attribute that a field is read
            from, such as `effect.before`, or the type that it has instead, or both.

    Example:
        >>> from barograph.server.triage.verdicts import SavedVerdict
        >>> schema_of(SavedVerdict).model_validate(SavedVerdict(3, 1), from_attributes=True)
        SavedVerdict(id=3, version=1)
    """
    names = [field for field in get_type_hints(record) if field not in without]
    fields: dict[str, Any] = {}
    for field, change in {**dict.fromkeys(names), **changed}.items():
        path, type_ = change if isinstance(change, tuple) else (field, change)
        if isinstance(change, str):
            path, type_ = change, None
        hint, text = (type_, None) if "." in path and type_ else _attribute(record, path)
        alias = None if path == field else AliasPath(*path.split("."))
        fields[field] = (
            _type(hint) if type_ is None else type_,
            Field(validation_alias=alias, description=text),
        )
    text = (getdoc(record) or "").partition("\n\n")[0]
    return create_model(name or record.__name__, __base__=Schema, __doc__=text, **fields)


def _attribute(record: type, path: str) -> tuple[Any, str | None]:
    """Return the type and the description of an attribute at the end of a path."""
    first, _, rest = path.partition(".")
    hint, text = _annotation(record, first), descriptions(record).get(first)
    if not rest:
        return hint, text
    inner = next(part for part in get_args(hint) or (hint,) if part is not NoneType)
    type_, text = _attribute(inner, rest)
    return (type_ | None if NoneType in get_args(hint) else type_), text


def _annotation(record: type, name: str) -> Any:
    """Return the type of a field or a property; Any for what the schema alone has."""
    member = getattr(record, name, None)
    getter = getattr(member, "fget", None) or getattr(member, "func", None)
    return get_type_hints(getter)["return"] if getter else get_type_hints(record).get(name, Any)


def _type(hint: Any) -> Any:
    """Return a type with schemas in the place of records, and names in the place of identities."""
    if hint is SeriesId:
        return Name
    if hasattr(hint, "__dataclass_fields__") or hasattr(hint, "_fields"):
        return _schema(hint)
    arguments = tuple(map(_type, get_args(hint)))
    if get_origin(hint) in (Union, UnionType):
        return Union[arguments]  # noqa: UP007 - of types that are known when this runs
    if get_origin(hint) in (list, tuple, dict, Mapping):
        return get_origin(hint)[arguments]
    return hint


@cache
def _schema(record: type) -> Any:
    return schema_of(record)


@cache
def descriptions(record: type) -> dict[str, str]:
    """Return the descriptions of attributes in the docstring of a record."""
    _, _, section = (getdoc(record) or "").partition("Attributes:\n")
    return {name: " ".join(text.split()) for name, text in DESCRIPTION.findall(section)}
