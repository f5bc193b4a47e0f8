"""Whether repetitions of a cell agree as well as those of other cells do.

A decimal point in the wrong place, a run beside another job: such times are told by repetitions
that lie much farther apart than repetitions of that program otherwise do.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

FAR = 10.0
"""In typical standard deviations: repetitions are never this far apart by chance. The largest and
smallest of 16 normal ones are 3.5 apart, mostly."""

LEAST_RATIO = 1.5
"""The least ratio of the longest to the shortest: what differs by less misleads nobody much, and
where scatter is known from a few cells only, it may be chance."""

Key = TypeVar("Key", bound=Hashable)


def disagreeing(samples: Mapping[Key, Sequence[float]]) -> list[Key]:
    """The cells whose repetitions lie much farther apart than those of the others, in order.

    Args:
        samples: positive times (s) by cell.
    """
    wide = [key for key, times in samples.items() if max(times) >= LEAST_RATIO * min(times)]
    if not wide:
        return []
    typical = {key: _variance(times) for key, times in samples.items() if len(times) > 1}
    far = []
    for key in wide:
        others = [times for other, times in typical.items() if other != key]
        scatter = float(np.sqrt(np.median(others))) if others else 0.0
        if np.log(max(samples[key]) / min(samples[key])) > FAR * scatter:
            far.append(key)
    return far


def own_deviation(samples: Sequence[float]) -> float:
    """Standard deviation of a cell's log time by its own repetitions: 1.48 times the median
    distance from their median. One wild sample of three moves it little, one of two much."""
    logs = np.log(samples)
    return float(1.4826 * np.median(np.abs(logs - np.median(logs))))


def _variance(samples: Sequence[float]) -> float:
    """The variance of a log time, such that half of all cells' lie below the true one."""
    from scipy.special import chdtri

    logs = np.log(samples)
    # A sum of squares is the variance times chi^2.
    return float(np.sum((logs - logs.mean()) ** 2) / chdtri(logs.size - 1, 0.5))
