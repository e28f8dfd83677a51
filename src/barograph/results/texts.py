"""A column of text in which values repeat: a number for each row, and the distinct texts.

Commits, names of runs and verdicts are such columns. Two million commits of 40 letters take 8 MB
instead of 180 MB as Python strings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")  # not allowed in labels
Places = npt.NDArray[np.integer] | npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Texts(Sequence[str]):
    """A read-only sequence of texts; the empty text stands for an unknown one.

    Args:
        codes: For each row, the position of its text in `names`.
        names: The distinct texts, in any order; rows need not use all of them.

    Example:
        >>> commits = Texts.from_strings(["b7", "a1", None, "a1"])
        >>> len(commits), commits[1], list(commits[2:]), commits.codes.tolist()
        (4, 'a1', ['', 'a1'], [1, 2, 0, 2])
    """

    codes: Codes
    names: Sequence[str]

    @classmethod
    def from_strings(cls, texts: Iterable[str | None]) -> Texts:
        """Encode texts; None becomes the empty text, whose code is 0."""
        known = {"": 0}
        codes = [known.setdefault(text or "", len(known)) for text in texts]
        return cls(np.array(codes, dtype=np.int32), list(known))

    @classmethod
    def unknown(cls, size: int) -> Texts:
        """Return `size` empty texts."""
        return cls(np.zeros(size, dtype=np.int32), ("",))

    @classmethod
    def concatenate(cls, parts: Sequence[Texts]) -> Texts:
        """Return the rows of several columns, one after the other."""
        known = {"": 0}
        codes = [np.empty(0, dtype=np.int32)]
        for part in parts:
            new = [known.setdefault(name, len(known)) for name in part.names]
            codes.append(np.array(new, dtype=np.int32)[part.codes])
        return cls(np.concatenate(codes), list(known))

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.codes.size

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice | Places) -> Texts: ...
    def __getitem__(self, index: int | slice | Places) -> str | Texts:
        if isinstance(index, slice | np.ndarray):
            return Texts(self.codes[index], self.names)
        return self.names[int(self.codes[index])]

    def __iter__(self) -> Iterator[str]:
        """Yield the text of each row."""
        return map(self.names.__getitem__, self.codes.tolist())

    def replaced(self, rows: npt.NDArray[np.bool_], text: str) -> Texts:
        """Return the column with another text in the rows that a mask chooses."""
        names = [*self.names] if text in self.names else [*self.names, text]
        return Texts(np.where(rows, names.index(text), self.codes).astype(np.int32), names)

    def renamed(self, rename: Callable[[str], str]) -> Texts:
        """Return the column with each text replaced by what a function makes of it."""
        return Texts.concatenate([Texts(self.codes, [*map(rename, self.names)])])

    def among(self, texts: Collection[str]) -> npt.NDArray[np.bool_]:
        """Return for each row whether its text is one of some."""
        return np.array([name in texts for name in self.names], dtype=np.bool_)[self.codes]

    def known(self) -> npt.NDArray[np.bool_]:
        """Return for each row whether its text is not empty."""
        return ~self.among(("",))

    def ranks(self) -> tuple[npt.NDArray[np.int64], list[str]]:
        """Return the rank of each row's text, -1 for the empty one, and the sorted texts."""
        ordered = sorted({name for name in self.names if name})
        rank = {name: place for place, name in enumerate(ordered)}
        of_name = np.array([rank.get(name, -1) for name in self.names], dtype=np.int64)
        return of_name[self.codes], ordered
