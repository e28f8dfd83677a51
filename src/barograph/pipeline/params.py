"""Read the parameters of a stage from params.yaml into a frozen dataclass.

A section at the top of the file applies to every profile; the section of the same name under the
chosen profile adds to it. Names and types are checked before the stage starts.

`python -m barograph.pipeline.params` checks the name of the profile: DVC only reports parameters
that are missing.
"""

import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from barograph.errors import ConfigError, DataError
from barograph.sources.formats.yaml_text import decode_yaml

PARAMS = Path("params.yaml")
T = TypeVar("T")


def parameters(kind: type[T], stage: str, path: Path = PARAMS, profile: str | None = None) -> T:
    """Return the parameters of one stage, checked against the fields of `kind`.

    Args:
        kind: A dataclass.
        stage: The name of the section.
        path: The file.
        profile: A section that adds to it; by default the one that the file names.
    """
    document = _document(path)
    if profile is not None:
        document = {**document, "profile": profile}
    section = {**_section(document, stage, path), **_section(_profile(document, path), stage, path)}
    hints = get_type_hints(kind)
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    where = f"{path}: {stage}"
    unknown = sorted(set(section) - set(known))
    if unknown:
        raise ConfigError(f"{where}: unknown parameter {unknown[0]!r}; known: {sorted(known)}")
    required = {
        n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING
    }
    missing = sorted(required - set(section))
    if missing:
        raise ConfigError(f"{where}: parameter {missing[0]!r} is missing")
    return kind(**{name: _typed(v, hints[name], f"{where}.{name}") for name, v in section.items()})


def profile_name(path: Path = PARAMS) -> str:
    """Return the name of the profile in use."""
    return str(_document(path).get("profile", "none"))


def _document(path: Path) -> dict[str, Any]:
    try:
        document = decode_yaml(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file; run the stage from the project's root") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid UTF-8 at byte {error.start}") from None
    except DataError as error:
        raise ConfigError(str(error)) from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: expected a mapping of sections, got {document!r:.100}")
    return document


def _profile(document: dict[str, Any], path: Path) -> dict[str, Any]:
    name = document.get("profile")
    profile = document.get(str(name))
    if not isinstance(profile, dict):
        raise ConfigError(
            f"{path}: profile is {name!r}, but there is no section of that name; profiles are "
            + ", ".join(sorted(_profiles(document)))
        )
    return profile


def _profiles(document: dict[str, Any]) -> list[str]:
    """Return the sections that hold sections of stages."""
    return [
        name
        for name, section in document.items()
        if isinstance(section, dict)
        and section
        and all(stage in document and isinstance(values, dict) for stage, values in section.items())
    ]


def _section(document: dict[str, Any], stage: str, path: Path) -> dict[str, Any]:
    section = document.get(stage, {})
    if not isinstance(section, dict):
        raise ConfigError(f"{path}: {stage} must be a mapping, got {section!r}")
    return section


def _typed(value: object, hint: object, where: str) -> object:
    """Check one value: whole numbers pass for floats, lists become tuples."""
    origin = get_origin(hint)
    if origin is tuple:
        if not isinstance(value, list):
            raise ConfigError(f"{where}: expected a list, got {value!r}")
        return tuple(_typed(item, get_args(hint)[0], where) for item in value)
    if origin is dict:
        if not isinstance(value, dict):
            raise ConfigError(f"{where}: expected a mapping, got {value!r}")
        return value
    if origin is not None and value is None and type(None) in get_args(hint):
        return None
    allowed = [a for a in get_args(hint) if a is not type(None)] if origin is not None else [hint]
    for kind in allowed:
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if isinstance(kind, type) and type(value) is kind:
            return value
    names = " or ".join(getattr(kind, "__name__", str(kind)) for kind in allowed)
    raise ConfigError(f"{where}: expected {names}, got {value!r}")


def main() -> None:
    """Check that the profile in use exists."""
    try:
        _profile(_document(PARAMS), PARAMS)
    except ConfigError as error:
        sys.exit(f"ConfigError: {error}")


if __name__ == "__main__":
    main()
