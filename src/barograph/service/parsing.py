"""Make measurements of what a sender wrote: one object, an array of them, or one on each line."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

from barograph.errors import DataError
from barograph.series import LABELS, Direction, SeriesId, normalize_args
from barograph.service.errors import Refused
from barograph.store import Measurement

FIELDS = frozenset((*LABELS, "args", "value", "order", "commit", "run", "time", "direction"))
DIRECTIONS = {
    "lower_is_better": Direction.LOWER_IS_BETTER,
    "unknown": Direction.UNKNOWN,
    "higher_is_better": Direction.HIGHER_IS_BETTER,
}
PIECES = 64  # commas that one measurement can need, with all the arguments it may have
LONGEST = 2000  # characters of a name, refused here already so that no huge one is remembered


def read_json(body: bytes, most: int) -> Any:
    """Return what a JSON text says, or refuse it.

    Args:
        body: UTF-8.
        most: measurements in one request; a text with far more pieces is not even looked at.
    """
    if body.count(b",") > most * PIECES or body.count(b"[") + body.count(b"{") > 4 * most + 64:
        raise Refused(413, f"the body has too many pieces for {most} measurements")
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise Refused(400, f"the body is not UTF-8: byte {error.start}") from error
    except RecursionError as error:
        raise Refused(400, "the body is nested too deeply") from error
    except ValueError as error:
        raise Refused(400, f"the body is not JSON: {error!s:.200}") from error


def read_lines(body: bytes, most: int) -> list[Any]:
    """Return what each line of an NDJSON text says; empty lines are passed over."""
    lines = body.split(b"\n", most * 2)
    found = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append(read_json(line, most))
            except Refused as error:
                raise Refused(error.status, f"line {number}: {error.message}") from error
    return found


def rows_of(told: Any, most: int) -> Sequence[Any]:
    """Return the measurements that a JSON value holds: it is one, a list, or has `points`."""
    if isinstance(told, dict) and "points" in told:
        if set(told) != {"points"}:
            raise Refused(422, f"beside points: {_names(set(told) - {'points'})} is not allowed")
        told = told["points"]
        if not isinstance(told, list):
            raise Refused(422, f"points: {type(told).__name__} is not a list")
    if isinstance(told, dict):
        return [told]
    if not isinstance(told, list):
        raise Refused(422, f"{type(told).__name__} is neither a measurement nor a list of them")
    if len(told) > most:
        raise Refused(413, f"{len(told)} measurements in one request, allowed are {most}")
    if not told:
        raise Refused(422, "no measurement was sent")
    return told


def measurement(row: Any, known: dict[object, SeriesId]) -> Measurement:
    """Make one measurement.

    Args:
        row: what the sender wrote.
        known: the series of this request by what names them, so that each is made once.

    Raises:
        DataError: it is not one; says which field is wrong.
    """
    if not isinstance(row, dict):
        raise DataError(f"{type(row).__name__} is not a measurement; an object is")
    if not row.keys() <= FIELDS:
        raise DataError(f"{_names(row.keys() - FIELDS)} is not a field; {sorted(FIELDS)} are")
    if "value" not in row:
        raise DataError("value: missing")
    time = row.get("time")
    return Measurement(
        _series(row, known),
        _value(row["value"]),
        row.get("order"),
        _text(row, "commit"),
        _text(row, "run"),
        _moment(time) if isinstance(time, str) else time,
        _direction(row["direction"]) if "direction" in row else Direction.UNKNOWN,
    )


def _value(value: Any) -> Any:
    """Refuse a whole number that no float can hold; the store judges all others."""
    try:
        return float(value) if type(value) is int else value
    except OverflowError as error:
        raise DataError("value: is not a number that a float can hold") from error


def _series(row: Mapping[str, Any], known: dict[object, SeriesId]) -> SeriesId:
    args = row.get("args")
    get = row.get
    labels = tuple([get(name, "") for name in LABELS])
    if args is not None and not isinstance(args, dict):
        raise DataError(f"args: {type(args).__name__} is not an object")
    key = (labels, tuple(args.items()) if args else ())
    try:
        found = known.get(key)
    except TypeError:
        found = None  # a list or an object cannot be a key, nor a label
    if found is not None:
        return found
    for name, label in zip(LABELS, labels, strict=True):
        if type(label) is not str or len(label) > LONGEST:
            _short(name, label)
    project, variant, task, test, what = labels
    pairs = _arguments(args)
    made = SeriesId(project, variant, task, test, what, pairs)
    if dict(pairs) == (args or {}):  # only text: 1 and true are not one value, but one key
        known[key] = made
    return made


def _arguments(args: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """Return the arguments as text, as every other source gives them."""
    try:
        pairs = normalize_args(args)
    except DataError as error:
        raise DataError(f"args: {error}") from error
    for name, text in pairs:
        _short(f"args.{name:.40}", name)
        _short(f"args.{name:.40}", text)
    return pairs


def _text(row: Mapping[str, Any], name: str) -> str:
    """Return a text that may be missing, or null."""
    value = row.get(name)
    return "" if value is None else _short(name, value)


def _short(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise DataError(f"{name}: {type(value).__name__} is not text")
    if len(value) > LONGEST:
        raise DataError(f"{name}: {len(value)} characters, far more than are allowed")
    return value


def _direction(value: object) -> Direction:
    if isinstance(value, str) and value in DIRECTIONS:
        return DIRECTIONS[value]
    if isinstance(value, int) and not isinstance(value, bool) and -1 <= value <= 1:
        return Direction(value)
    raise DataError(f"direction: {value!r:.40} is not one of -1, 0, 1, {sorted(DIRECTIONS)}")


def _moment(text: str) -> int:
    """Milliseconds since 1970 of a date as ISO 8601 writes it; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(text[:64])
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise DataError(f"time: {text!r:.40} is neither milliseconds nor ISO 8601") from error


def _names(names: set[str]) -> str:
    return ", ".join(sorted(f"{name!r:.40}" for name in names)[:5])


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number that JSON knows")
