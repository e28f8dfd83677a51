"""Everything that can go wrong, in one tree.

BarographError
├── DataError            the input is not what it claims to be (a file, a document, a value)
│   └── NotEnoughDataError    the input is sound, but too short or too poor to answer from
├── ConfigError          a parameter or an option has a value that is not allowed
├── SourceError          a place that data comes from cannot be reached or breaks off
├── StoreError           the store cannot be opened, read or written: full, broken, or locked
└── ArtifactError        a model file is damaged, altered, or made for something else

Bad arguments to a numeric function are plain ValueErrors: DataError is one.
"""


class BarographError(Exception):
    """Anything this package raises on purpose, told to the user in one line."""


class DataError(BarographError, ValueError):
    """The input is not what it claims to be; names the file, the document and the field."""


class NotEnoughDataError(DataError):
    """The input is sound, but there is too little of it."""


class ConfigError(BarographError, ValueError):
    """A parameter has a value that is not allowed; names it, and what is allowed."""


class SourceError(BarographError):
    """A place that data comes from cannot be reached, or breaks off."""


class StoreError(BarographError):
    """The store cannot be opened, read or written; what was not acknowledged is not kept."""


class ArtifactError(BarographError):
    """A model file is damaged, altered, or made for another use."""
