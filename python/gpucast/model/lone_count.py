"""Traces of one GPU count alone: what is said of other counts.

A log of one count is of a program that people run on several: forms of such programs say how its
time changes with N. A traced program may be any. Its n may be all of the work or each GPU's part,
its GPUs may be asked at once or one after another. Programs traced for ``h200-traces``, with one n,
took 0.6 to 5.4 times as long on two GPUs as on one. So a step on N GPUs is forecast as long as on
the N_0 that were traced, and

    ln T(N) - ln T(N_0) = s(N) z,    s(N)^2 = SEVERAL^2 + (PER_LN ln(N/N_0))^2,    z ~ N(0, 1)

with one z for all N, but no shorter than T(N_0) N_0/N: no more than divided.

Terms of several GPUs are in the fit all the same, with what priors say of them: on one GPU they are
nothing, and on several those that do not depend on n cannot be told from ``start``. So the name of
a form leaves them out.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpucast import _core

Array = NDArray[np.float64]

SEVERAL = 0.8
"""Sd of ln T by another count at all: h200-traces, programs on one and two GPUs (their root mean
square is 0.9, of which some is growth)."""
PER_LN = 0.6
"""The same for each ln of the count: 90 % of it reach from all work divided to none."""
_HARDLY = 1e-9
"""Relative; by which other counts take longer, so that the traced one is the best of equal ones."""

NOT_KNOWN = "steps of one GPU count only: how time changes with N is not known"

_SIZES: Final = (1e3, 8e3)
_OF_EXCHANGE: Final = ("hidden in part", "hidden")
"""Overlaps of exchange with work (model/scaling/form.h)."""


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
    factors = np.exp(np.outer(z, np.sqrt(variance(gpus, lone))))
    divided = lone / gpus
    factors = np.where(gpus > lone, np.maximum(factors, divided), factors)
    factors = np.where(gpus < lone, np.minimum(factors, divided), factors)
    return np.asarray(factors * factor(gpus, lone), dtype=np.float64)


def tells(term: str, gpus: int) -> bool:
    """Whether steps of so many GPUs alone tell anything of a term."""
    at = [_core.scaling_shape(term, n, float(gpus)) for n in _SIZES]
    alone = [_core.scaling_shape(term, n, 1.0) for n in _SIZES]
    return any(at) and (any(alone) or at[0] != at[1])


def name_with(form: str, gpus: int | None) -> str:
    """A form without terms of which the only GPU count tells nothing; None: there are several.

    Forms are named as ``Form::name`` does: terms, how work grows, what overlaps.
    """
    if gpus is None:
        return form
    terms, *rest = form.split(", ")
    kept = [term for term in terms.split(" + ") if tells(term, gpus)]
    if not any(_core.SCALING_TERMS[term][1] == "com" for term in kept):
        rest = [overlap for overlap in rest if overlap not in _OF_EXCHANGE]
    return ", ".join([" + ".join(kept), *rest]) if kept else form
