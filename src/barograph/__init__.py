"""Barograph finds where benchmark performance changed, and learns from every verdict.

>>> import barograph as bg
>>> points = bg.detect([10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 20)
>>> [point.index for point in points]
[60]

`detect`, `plot` and `read` are the short way in; every detector is a class of its own. All names
are imported on first use.
"""

__version__ = "0.1.0"

# An import here would delay the handling of Ctrl-C by the command line.
TYPE_CHECKING = False  # type checkers know the name
if TYPE_CHECKING:
    from barograph.api import detect as detect
    from barograph.api import read as read
    from barograph.detection.online import OnlineDetector as OnlineDetector
    from barograph.detection.registry import *  # noqa: F403 - every detector
    from barograph.models import TriageModel as TriageModel
    from barograph.report import plot as plot
    from barograph.results.history import History as History
    from barograph.results.series import ChangePoint as ChangePoint
    from barograph.results.series import Series as Series
else:  # with it, they would accept any name
    _MODULES = {
        "ChangePoint": "results.series",
        "History": "results.history",
        "OnlineDetector": "detection.online",
        "Series": "results.series",
        "TriageModel": "models",
        "detect": "api",
        "plot": "report",
        "read": "api",
    }

    def _modules() -> dict[str, str]:
        """Return the module of each public name."""
        from barograph.detection.registry import DETECTORS

        return {**_MODULES, **dict.fromkeys(DETECTORS, "detection")}

    def __getattr__(name: str) -> object:
        """Import a public name on first use, so that `import barograph` takes no time."""
        modules = _modules()
        if name == "__all__":
            return [*modules]
        if name not in modules:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value: object = getattr(import_module(f"{__name__}.{modules[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return [*_modules(), "__version__"]
