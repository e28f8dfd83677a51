"""What is learned for a use: classifiers by name, each with the features that it learns from."""

from collections.abc import Iterable
from typing import NamedTuple

from barograph.models.catalogue import CLASSIFIERS

BEST = "best"  # the one that does best on the validation rows
# The classifiers of Leznik et al. 2022 are made for features of their own.
OWN_FEATURES = {"voting": "leznik", "delta_votes": "leznik", "hybrid": "hybrid"}
# The forest of Bauer et al. 2022 on its 16 characteristics.
FOREST = "random_forest_bauer8"


class Learner(NamedTuple):
    """A classifier, and the features that it learns from.

    Attributes:
        name: Names both.
        classifier: One of the catalogue.
        feature_set: One of FEATURE_SETS.
    """

    name: str
    classifier: str
    feature_set: str


def learner(name: str, feature_set: str) -> Learner:
    """Return the learner of a name.

    Args:
        name: One of `learner_names`.
        feature_set: The features of the use, for a classifier that is made for none.

    Example:
        >>> learner("svm", "contrast")
        Learner(name='svm', classifier='svm', feature_set='contrast')
        >>> learner("voting", "contrast").feature_set
        'leznik'
        >>> learner("random_forest_bauer8", "contrast")[1:]
        ('random_forest', 'bauer8')
    """
    if name == FOREST:
        return Learner(FOREST, "random_forest", "bauer8")
    return Learner(name, name, OWN_FEATURES.get(name, feature_set))


def learner_names() -> Iterable[str]:
    """Return the names of all learners: the classifiers, and the forest of Bauer et al. 2022."""
    return (*CLASSIFIERS, FOREST)
