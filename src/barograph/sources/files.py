"""Result files of any known format as a source."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from barograph.runtime.errors import ConfigError
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import FilesRead, read_files

OPTIONS = {field.name for field in fields(ReadOptions)} - {"kind", "max_skipped_share"}


class Files:
    """A file, a folder or a pattern such as `runs/*.json`, read as one history.

    Args:
        location: The path, the pattern or a URL.
        form: The name of the format; by default it is recognised by the content.
        **options: Other options of reading, as in `ReadOptions`.

    Raises:
        ConfigError: There is no such option, or its value is not allowed.
    """

    def __init__(self, location: str, *, form: str = "", **options: Any) -> None:
        if unknown := options.keys() - OPTIONS:
            allowed = ", ".join(sorted({"form", *OPTIONS}))
            raise ConfigError(f"source files: no option {min(unknown)!r}; options: {allowed}")
        self.name = location
        lists = {name: tuple(value) for name, value in options.items() if isinstance(value, list)}
        self._options = ReadOptions(kind=form, **options | lists)

    def read(self, max_skipped_share: float = 1.0) -> FilesRead:
        """Read the files into memory.

        Args:
            max_skipped_share: The maximum share of results that may be unusable.
        """
        options = replace(self._options, max_skipped_share=max_skipped_share)
        return read_files([self.name], options, context=RunContext())
