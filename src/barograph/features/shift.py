"""Max level shift: the largest step between the means of two neighbouring windows.

With m_i the mean of the `width` values from i on: max |m_{i + width} - m_i|, in the unit of the
values; 0 on sides shorter than two windows.
"""

from barograph.compiled import kernel
from barograph.series import Floats


@kernel
def max_level_shift(x: Floats, width: int, means: Floats) -> float:
    """Return the largest step; `means` is work space as long as the side."""
    count = x.size - width + 1
    if count <= width:
        return 0.0
    for i in range(count):
        means[i] = x[i] - x[0]
    for j in range(1, width):
        for i in range(count):
            means[i] += x[i + j] - x[0]
    for i in range(count):
        means[i] /= width
    largest = 0.0
    for i in range(count - width):
        largest = max(largest, abs(means[i + width] - means[i]))
    return largest
