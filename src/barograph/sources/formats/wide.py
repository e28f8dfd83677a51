"""The cells of lines with many columns, of which the numbers are converted at once.

Cutting a line into hundreds of cells and converting each takes most of the time of reading it.
Numbers joined by commas are an array in JSON, which msgspec decodes without a text for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from barograph.results.series import Floats

WIDE = 16  # columns, from which on it is worth it
FEW = 8  # columns at the beginning that are cut alone
DECODER = msgspec.json.Decoder(list[float | None])


class WideCells(Mapping[str, Sequence[str]]):
    """The cells of each column, cut when they are asked for.

    Args:
        lines: Lines without quotes, all with as many cells as there are columns.
        delimiter: The character between cells.
        names: The names of the columns.

    Example:
        >>> cells = WideCells(["a1,1.5,2", "b2,,4"], ",", ["commit", "read", "write"])
        >>> cells["commit"], cells.numbers(["write", "read"])
        (['a1', 'b2'], array([[2. , 4. ],
               [1.5, nan]]))
        >>> cells.numbers(["commit", "read"])
    """

    def __init__(self, lines: Sequence[str], delimiter: str, names: Sequence[str]) -> None:
        self._lines, self._delimiter = lines, delimiter
        self._places = {name: place for place, name in enumerate(names)}
        self._cut: dict[int, Sequence[str]] = {}
        self._block: tuple[range, Floats | None] = range(0), None

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the columns."""
        return iter(self._places)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a column of this name."""
        return name in self._places

    def __getitem__(self, name: str) -> Sequence[str]:
        place = self._places[name]
        if place not in self._cut and place < FEW:
            self._cut[place] = [
                line.split(self._delimiter, place + 1)[place] for line in self._lines
            ]
        if place not in self._cut:
            rows = [line.split(self._delimiter) for line in self._lines]
            self._cut = dict(enumerate(zip(*rows, strict=True)))
        return self._cut[place]

    def first_row(self) -> Mapping[str, str]:
        """Return the first cell of each column."""
        return dict(zip(self._places, self._lines[0].split(self._delimiter), strict=True))

    def numbers(self, names: Sequence[str]) -> Floats | None:
        """Return the numbers in some columns, a row for each column; NaN for empty cells.

        Returns None if a cell between the first and the last of these columns is anything else
        than a number as in JSON: then each column needs a closer look.
        """
        places = [self._places[name] for name in names]
        span = range(min(places), max(places) + 1)
        if self._block[0] != span:
            self._block = span, self._numbers_in(span)
        block = self._block[1]
        if block is None:
            return None
        if places == list(span):  # the usual case, without a copy
            return block.T
        return block[:, np.array(places) - span.start].T

    def _numbers_in(self, span: range) -> Floats | None:
        """Return the numbers of a span of columns, a row for each line; cut the other columns."""
        before, after = span.start, len(self) - span.stop
        heads = [line.split(self._delimiter, before) for line in self._lines]
        tails = [head.pop().rsplit(self._delimiter, after) for head in heads]
        block = number_block([tail.pop(0) for tail in tails], self._delimiter, len(span))
        if block is not None:
            self._cut |= dict(enumerate(zip(*heads, strict=True)))
            self._cut |= dict(enumerate(zip(*tails, strict=True), span.stop))
        return block


def number_block(lines: Sequence[str], delimiter: str, width: int) -> Floats | None:
    """Return the numbers in lines, a row for each; NaN for empty cells; None if others are there.

    Args:
        lines: Lines with as many cells each.
        delimiter: The character between cells.
        width: The number of cells.
    """
    text = ",".join(lines)
    if delimiter != ",":
        if text.count(",") != len(lines) - 1:  # a decimal comma
            return None
        text = text.replace(delimiter, ",")
    numbers = _numbers_of(f"[{text}]")
    if numbers is None and (",," in text or text[:1] == "," or text[-1:] == ","):
        text = f"[{text}]".replace(",,", ",null,").replace(",,", ",null,")
        numbers = _numbers_of(text.replace("[,", "[null,").replace(",]", ",null]"))
    if numbers is None or numbers.size != len(lines) * width:
        return None
    return numbers.reshape(len(lines), width)


def _numbers_of(text: str) -> Floats | None:
    """Return the numbers of a JSON array, NaN for null; None if it holds anything else."""
    try:
        return np.array(DECODER.decode(text), dtype=np.float64)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
