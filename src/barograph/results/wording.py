"""Numbers, commits and names as people read them, the same in every output."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Final, Literal
from unicodedata import category

from barograph.results.series import UNKNOWN_TIME

TIMES = 900.0  # percent from which a rise is given as a multiple
HASH = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
SHORT_HASH = 8
UNIT = 30  # longest unit
MOMENTS = range(10**12, 4 * 10**12)  # orders that are times in milliseconds, 2001 to 2096
HIDDEN = ("Cc", "Cs", "Zl", "Zp")
BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
EffectWord = Literal["worse", "better", "changed", "trend"]
WORSE: Final = "worse"
BETTER: Final = "better"
CHANGED: Final = "changed"  # for an unknown direction
TREND: Final = "trend"  # see `sizes.Size`
MINUS = "\u2212"  # of typeset text; output of commands has the plain hyphen


def change_text(change: float) -> str:
    """Return a change in percent as text; a rise of ten times or more as a multiple.

    Example:
        >>> change_text(-7.31), change_text(0.004), change_text(1900.0)
        ('-7.3 %', '+0.004 %', '20 times')
    """
    if not math.isfinite(change):
        return "from 0"
    if change >= TIMES:
        return f"{number(change / 100.0 + 1.0)} times"
    if not change:
        return "0.0 %"
    size = abs(change)
    # A change that would round to nothing is shown with as many digits as it needs.
    digits = f"{change:+.1g}" if size < 0.01 else f"{change:+.{1 if size >= 1 else 2}f}"
    return f"{digits} %"


def number(value: float) -> str:
    """Return a value with four digits, and separators of thousands.

    Example:
        >>> number(18205.25), number(0.012341)
        ('18,205', '0.01234')
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def probability_text(probability: float) -> str:
    """Return a probability in percent; only 0 and 1 are shown as 0 and 100 %.

    Example:
        >>> probability_text(0.884), probability_text(0.9999)
        ('88 %', '>99 %')
    """
    rounded = round(100 * probability)
    if rounded in (0, 100) and 0 < probability < 1:
        return "<1 %" if rounded == 0 else ">99 %"
    return f"{rounded} %"


def typeset(text: str) -> str:
    """Return text with the true minus sign."""
    return text.replace("-", MINUS)


def short_commit(commit: str) -> str:
    """Return the start of a full hash, or any other name of a commit unchanged."""
    return commit[:SHORT_HASH] if HASH.fullmatch(commit) else commit


def place_text(commit: str, order: int) -> str:
    """Return where a result is: its commit, else the moment that its order is, else its order.

    Example:
        >>> place_text("c41", 7), place_text("", 7)
        ('c41', 'order 7')
        >>> place_text("", 1776643200000), place_text("", 1776646920000)
        ('2026-04-20', '2026-04-20 01:02')
    """
    if commit:
        return printable(short_commit(commit))
    if order not in MOMENTS:
        return f"order {order}"
    moment = datetime.fromtimestamp(order / 1000, UTC)
    return f"{moment:%Y-%m-%d %H:%M}".removesuffix(" 00:00")


def day(time: int) -> str:
    """Return the day of a time in milliseconds, such as 2026-03-02; empty if it is unknown."""
    if time == UNKNOWN_TIME:
        return ""
    try:
        return f"{datetime.fromtimestamp(time / 1000, UTC):%Y-%m-%d}"
    except (OverflowError, ValueError, OSError):  # a time that no calendar has
        return ""


def printable(text: str) -> str:
    """Return text that any output can show, on one line.

    Control characters, lone surrogates and characters that reverse the direction of what follows
    are replaced.
    """
    if text.isascii() and text.isprintable():
        return text
    known = " ".join(text.encode("utf-8", "replace").decode().split("\n"))
    return "".join("\ufffd" if category(c) in HIDDEN or c in BIDI else c for c in known)


def middle_cut(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters: the middle of a longer one is left out.

    Example:
        >>> middle_cut("insert_many_documents", 11)
        'inser…ments'
    """
    if len(text) <= limit:
        return text
    length = max(limit - 1, 2)
    return f"{text[: (length + 1) // 2]}\u2026{text[len(text) - length // 2 :]}"


def unit_text(unit: str) -> str:
    """Return the unit of a series, as files state it, short enough for an axis."""
    return middle_cut(printable(unit.strip()), UNIT)


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, such as "1 change" or "2,000 results"."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
