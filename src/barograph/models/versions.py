"""What an artifact says it was made with."""

from importlib.metadata import version

from barograph import __version__
from barograph.features import FEATURES_VERSION

PACKAGES = ("numpy", "scikit-learn")


def versions() -> dict[str, str]:
    """Return the versions of this program, of its features, and of what it is built on."""
    return {
        "barograph": __version__,
        "features": FEATURES_VERSION,
        **{name: version(name) for name in PACKAGES},
    }
