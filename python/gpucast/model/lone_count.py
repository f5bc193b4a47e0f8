"""Steps of one GPU count alone: what is said of other counts.

No fit tells how a program's time changes with N where N was always N_0: forms and their priors
would say it with an interval that nobody measured. So other counts are forecast by what is known
of programs,

    ln T(N) - ln T(N_0) = -d s + z sd(d) + y(d),    d = ln(N / N_0),
    sd(d)^2 = several^2 + (per_ln d)^2,

with one z ~ N(0, 1) for all N and a process y (Ornstein and Uhlenbeck's, y(0) = 0) that counts
near one another have together, but with no shorter a time than N_0/N of T(N_0): no more than
divided.

A table is of a program that people run on several GPUs. A traced program may be any: its n may be
all of the work or each GPU's part, its GPUs may be asked at once or one after another. Programs
traced for ``h200-traces``, with one n, took 0.6 to 5.4 times as long on two GPUs as on one.

Terms of several GPUs are in the fit all the same, with what priors say of them: on one GPU they are
nothing, and on several those that do not depend on n cannot be told from ``start``. So the name of
a form leaves them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpucast import _core

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """What is known of programs of which one GPU count was timed.

    Attributes:
        shared: s, which share of a factor on N the time gains.
        several: sd of ln T by another count at all.
        per_ln: the same for each ln of the count.
        apart: sd of y far from N_0.
    """

    shared: float
    several: float
    per_ln: float
    apart: float


TRACED = Law(shared=0.0, several=0.8, per_ln=0.6, apart=0.0)
"""Any program: h200-traces, on one and two GPUs (their root mean square is 0.9, of which some is
growth); 90 % reach from all work divided to none."""

PUBLISHED = Law(shared=0.7, several=0.0, per_ln=0.3, apart=0.25)
"""A program whose step times people publish. Over pairs of counts in 200 series of
lab/forecasters the median of ln(N T(N)) - ln(N_0 T(N_0)) is 0.19, 0.35, 0.62, 0.75 and 1.2
at 2, 4, 8, 16 and 60 times the GPUs, its 95th percentile 0.7, 1.1, 1.7, 2.1 and 3.3, its 5th
about 0; of 2, 3, 4 and 5 counts that double, the most GPUs are the fastest in 0.92, 0.92, 0.91 and
0.91 of the series. By this law that would be 0.94, 0.92, 0.91 and 0.91; without y, 0.95 to
0.99."""

LENGTH = 0.7
"""y of counts within so much of ln N goes together."""

_HARDLY = 1e-9
"""Relative; by which other counts take longer, so that of equal ones the timed one is the best."""

NOT_KNOWN = "steps of one GPU count only: how time changes with N is not known"

_SIZES: Final = (1e3, 8e3)
_OF_EXCHANGE: Final = ("hidden in part", "hidden")
"""Overlaps of exchange with work (model/scaling/form.h)."""


def factor(gpus: Array, lone: int, law: Law) -> Array:
    """The factor on the time with the count that was timed."""
    return np.where(gpus == lone, 1.0, (1.0 + _HARDLY) * (lone / gpus) ** law.shared)


def variance(gpus: Array, lone: int, law: Law) -> Array:
    """Variance of ln T beyond that of the count that was timed."""
    away = np.log(gpus / lone)
    own = law.apart**2 * (1 - np.exp(-2 * np.abs(away) / LENGTH))
    return np.asarray(np.square(_together(gpus, lone, law)) + own, dtype=np.float64)


def _together(gpus: Array, lone: int, law: Law) -> Array:
    """Sd of what all counts have together."""
    return np.where(gpus == lone, 0.0, np.hypot(law.several, law.per_ln * np.log(gpus / lone)))


def within_division(low: Array, high: Array, gpus: Array, lone: int, own: tuple[Array, Array]) -> (
    tuple[Array, Array]
):  # fmt: skip
    """Ends of intervals that respect the least time of more GPUs, and the longest of fewer.

    ``own``: the ends with the count that was timed.
    """
    divided = lone / gpus
    return (
        np.where(gpus > lone, np.maximum(low, own[0] * divided), low),
        np.where(gpus < lone, np.minimum(high, own[1] * divided), high),
    )


def drawn(gpus: Array, lone: int, law: Law, count: int, seed: int) -> Array:
    """Draws of factors on the time with the count that was timed, (count, gpus)."""
    logs = np.outer(_deviates(count, [seed]), _together(gpus, lone, law))
    if law.apart:
        counts, at = np.unique(np.append(gpus, lone), return_inverse=True)
        logs += law.apart * _process(counts, lone, count, seed)[:, at[:-1]]
    factors = np.exp(logs) * factor(gpus, lone, law)
    divided = lone / gpus
    factors = np.where(gpus > lone, np.maximum(factors, divided), factors)
    return np.asarray(np.where(gpus < lone, np.minimum(factors, divided), factors))


def _process(counts: Array, lone: int, count: int, seed: int) -> Array:
    """Draws of y of counts in rising order, of which one is N_0; far from it with variance 1."""
    y = np.zeros((count, counts.size))
    first = int(np.searchsorted(counts, lone))
    for side in (range(first + 1, counts.size), range(first - 1, -1, -1)):
        before = first
        for at in side:
            kept = np.exp(-abs(np.log(counts[at] / counts[before])) / LENGTH)
            own = _deviates(count, [seed, *float(counts[at]).as_integer_ratio()])
            y[:, at] = kept * y[:, before] + np.sqrt(1 - kept**2) * own
            before = at
    return y


def _deviates(count: int, seed: list[int]) -> Array:
    """Draws of N(0, 1), even over the quantiles, in any order: few draws have the width of many."""
    from scipy.special import ndtri

    z = ndtri((np.arange(count) + 0.5) / count)
    return np.asarray(z[np.random.default_rng(seed).permutation(count)], dtype=np.float64)


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
