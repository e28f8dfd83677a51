"""Barograph finds where benchmark performance changed, and learns from every verdict.

>>> import barograph as bg
>>> points = bg.detect([10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 20)
>>> [point.index for point in points]
[60]

`detect`, `plot` and `read` are the short way in; every detector is a class of its own. All names
are imported on first use.
"""

# An import here would delay the handling of Ctrl-C by the command line.
TYPE_CHECKING = False  # type checkers know the name
if TYPE_CHECKING:
    from barograph.api import detect, read
    from barograph.detection import (
        DetectorUnion,
        Dynp,
        EDivisive,
        Gesd,
        Hunter,
        Nothing,
        OnlineDetector,
        Pelt,
        Setds,
        StepFit,
        Triaged,
    )
    from barograph.history import History
    from barograph.models import TriageModel
    from barograph.plotting import plot
    from barograph.series import ChangePoint, Series
else:  # with it, they would accept any name

    def __getattr__(name: str) -> object:
        """Import a public name on first use, so that `import barograph` takes no time."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module = import_module(f"{__name__}.{_MODULES.get(name, 'detection')}")
        value: object = getattr(module, name)
        globals()[name] = value
        return value


__version__ = "0.1.0"
__all__ = [
    "ChangePoint",
    "DetectorUnion",
    "Dynp",
    "EDivisive",
    "Gesd",
    "History",
    "Hunter",
    "Nothing",
    "OnlineDetector",
    "Pelt",
    "Series",
    "Setds",
    "StepFit",
    "TriageModel",
    "Triaged",
    "detect",
    "plot",
    "read",
]

_MODULES = {
    "ChangePoint": "series",
    "History": "history",
    "Series": "series",
    "TriageModel": "models",
    "detect": "api",
    "plot": "plotting",
    "read": "api",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
