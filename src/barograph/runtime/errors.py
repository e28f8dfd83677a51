"""The errors that Barograph raises on purpose.

BarographError
├── DataError            a file, a document or a value is not valid
│   ├── NotEnoughDataError    the input is valid, but there is too little of it
│   └── NotFoundError         the store does not have what is asked for
├── ConfigError          a parameter or an option has a value that is not allowed
├── SourceError          a data source cannot be reached, or the connection breaks
├── StoreError           the store cannot be opened, read or written: full, damaged, or locked
└── ArtifactError        a model file is damaged, altered, or made for another use

DataError and ConfigError are ValueErrors, so callers of numeric functions can catch those.
"""


class BarographError(Exception):
    """Base class of all errors; the command line prints the message in one line."""


class DataError(BarographError, ValueError):
    """The input is not valid; the message names the file, the document and the field."""


class NotEnoughDataError(DataError):
    """The input is valid, but there is too little of it."""


class NotFoundError(DataError):
    """The store does not have what is asked for; the service answers 404."""


class ConfigError(BarographError, ValueError):
    """A parameter has a value that is not allowed; the message names it and what is allowed."""


class SourceError(BarographError):
    """A data source cannot be reached, or the connection breaks."""


class StoreError(BarographError):
    """The store cannot be opened, read or written; data that was not acknowledged is not kept."""


class ArtifactError(BarographError):
    """A model file is damaged, altered, or made for another use."""
