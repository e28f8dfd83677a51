"""Training is tested on the project folder that the pipeline's tests make."""

from tests.pipeline.conftest import described, described_once, project, trained, trained_once

__all__ = ["described", "described_once", "project", "trained", "trained_once"]
