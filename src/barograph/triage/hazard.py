"""How bad a change is: hazard (Daly et al. 2020, 3.1), signed by the direction."""

import math

from barograph.series import Direction


def hazard(before: float, after: float, direction: Direction) -> float | None:
    """Return the log of the mean after over the mean before; positive is worse.

    Two changes that cancel out have the same magnitude. Where the direction is unknown the sign
    is that of the change. There is none where the means are not both positive or both negative.
    """
    if before == 0 or after == 0 or (before > 0) != (after > 0):
        return None
    # The ratio itself may overflow; each logarithm cannot.
    change = math.log(abs(after)) - math.log(abs(before))
    if direction is Direction.UNKNOWN:
        return change
    # A negative mean that grows in magnitude falls.
    worse = -1.0 if direction is Direction.HIGHER_IS_BETTER else 1.0
    return change * worse * (1.0 if before > 0 else -1.0)
