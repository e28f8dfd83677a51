import numpy as np

from barograph import __version__
from barograph.features import FEATURES_VERSION
from barograph.models.versions import versions


def test_an_artifact_can_say_what_it_was_made_with() -> None:
    found = versions()
    assert (found["barograph"], found["features"]) == (__version__, FEATURES_VERSION)
    assert found["numpy"] == np.__version__
