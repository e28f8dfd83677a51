"""Tools are tested on the project folder that the pipeline's tests make."""

from tests.pipeline.conftest import project

__all__ = ["project"]
