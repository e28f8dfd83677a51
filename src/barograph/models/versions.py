"""What an artifact says it was made with."""

from importlib.metadata import version

from barograph import __version__

# Raised whenever a feature's numbers change: tables and models of different versions do not mix.
FEATURES = "1"
PACKAGES = ("numpy", "scikit-learn")


def versions() -> dict[str, str]:
    """Return the versions of this program, of its features, and of what it is built on."""
    return {
        "barograph": __version__,
        "features": FEATURES,
        **{name: version(name) for name in PACKAGES},
    }
