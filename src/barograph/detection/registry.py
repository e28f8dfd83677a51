"""The detectors: a line for each in the table, and an import for type checkers.

A module is imported when its detector is used. Commands, `import barograph`, the detector benchmark
and the tests of the contract take the names from here.
"""
# ruff: noqa: PLC0414 - `as` exports a name to type checkers

TYPE_CHECKING = False  # type checkers know the name; importing it from typing would take longer
if TYPE_CHECKING:
    from barograph.detection.base import Nothing as Nothing
    from barograph.detection.edivisive import EDivisive as EDivisive
    from barograph.detection.gesd import Gesd as Gesd
    from barograph.detection.hunter import Hunter as Hunter
    from barograph.detection.least_squares import Dynp as Dynp
    from barograph.detection.least_squares import Pelt as Pelt
    from barograph.detection.setds import Setds as Setds
    from barograph.detection.stepfit import StepFit as StepFit
    from barograph.detection.triaged import Triaged as Triaged

# The module of each class, in the order of lists. People type the names in lower case.
DETECTORS = {
    "Triaged": "triaged",
    "Hunter": "hunter",
    "EDivisive": "edivisive",
    "Setds": "setds",
    "StepFit": "stepfit",
    "Gesd": "gesd",
    "Pelt": "least_squares",
    "Dynp": "least_squares",
    "Nothing": "base",
}
