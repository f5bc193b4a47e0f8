"""Traces of one GPU count alone: what is said of other counts.

A log of one count is of a program that people run on several: forms of such programs say how its
time changes with N. A traced program may be any. Its n may be all of the work or each GPU's part,
its GPUs may be asked at once or one after another. Of the programs traced for ``h200-traces``, with
one n, two GPUs took 0.6 to 5.4 times as long as one. So a step on N GPUs is forecast as long as on
the N_0 that were traced, and

    ln T(N) - ln T(N_0) = s(N) z,    s(N)^2 = SEVERAL^2 + (PER_LN ln(N/N_0))^2,    z ~ N(0, 1)

with one z for all N, but no shorter than T(N_0) N_0/N: no more than divided.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SEVERAL = 0.8
"""Sd of ln T by another count at all: h200-traces, programs on one and two GPUs (their root mean
square is 0.9, of which some is growth)."""
PER_LN = 0.6
"""The same for each ln of the count: 90 % of it reach from all work divided to none."""
_HARDLY = 1e-9
"""Relative; by which other counts take longer, so that the traced one is the best of equal ones."""

NOT_KNOWN = "steps of one GPU count only: how time changes with N is not known"


def factor(gpus: Array, lone: int) -> Array:
    """The factor on the time with the traced count."""
    return np.where(gpus == lone, 1.0, 1.0 + _HARDLY)


def variance(gpus: Array, lone: int) -> Array:
    """Variance of ln T beyond that of the traced count."""
    away = np.log(gpus / lone)
    return np.where(gpus == lone, 0.0, SEVERAL**2 + np.square(PER_LN * away))


def within_division(low: Array, high: Array, gpus: Array, lone: int, own: tuple[Array, Array]) -> (
    tuple[Array, Array]
):  # fmt: skip
    """Ends of intervals that respect the least time of more GPUs, and the longest of fewer.

    ``own``: the ends with the traced count.
    """
    divided = lone / gpus
    return (
        np.where(gpus > lone, np.maximum(low, own[0] * divided), low),
        np.where(gpus < lone, np.minimum(high, own[1] * divided), high),
    )


def drawn(gpus: Array, lone: int, count: int, seed: int) -> Array:
    """Draws of factors on the time with the traced count, (count, gpus)."""
    # Even over the quantiles, in any order: few draws have the width of many.
    from scipy.special import ndtri

    z = ndtri((np.arange(count) + 0.5) / count)
    z = z[np.random.default_rng(seed).permutation(count)]
    found = np.exp(np.outer(z, np.sqrt(variance(gpus, lone))))
    divided = lone / gpus
    found = np.where(gpus > lone, np.maximum(found, divided), found)
    found = np.where(gpus < lone, np.minimum(found, divided), found)
    return np.asarray(found * factor(gpus, lone), dtype=np.float64)
