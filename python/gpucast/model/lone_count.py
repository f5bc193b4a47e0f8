"""Forecasts of other GPU counts if steps of one count alone were timed.

No fit can tell how a program's time depends on N if N was always N_0; forms and their priors would
give an interval without any evidence. Other counts are therefore forecast by a law from many
programs,

    ln T(N) - ln T(N_0) = -d s + z sd(d) + y(d),    d = ln(N / N_0),
    sd(d)^2 = several^2 + (per_ln d)^2,

with one z ~ N(0, 1) for all N and an Ornstein-Uhlenbeck process y with y(0) = 0, which correlates
neighbouring counts. Times are at least N_0/N of T(N_0), which is perfect scaling.

A published table is of a program that people run on several GPUs. A traced program may be of any
kind: n may be the whole work or each GPU's part, and GPUs may work at the same time or one after
another. Programs traced for ``h200-traces``, with one n, took 0.6 to 5.4 times as long on two GPUs
as on one.

The fit still has terms of several GPUs, with their priors: on one GPU they vanish, and on several
those that do not depend on n are indistinguishable from ``start``. The name of a form therefore
leaves them out.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gpucast import _core
from gpucast.errors import InputError
from gpucast.model.engine import Engine, Measured, Times
from gpucast.model.facts import Fitted
from gpucast.model.intervals import Array, Factors


@dataclass(frozen=True)
class Law:
    """Law of the times of other GPU counts.

    Attributes:
        shared: the exponent s of the scaling.
        several: sd of ln T at any other count.
        per_ln: sd of ln T per unit of ln N.
        apart: sd of y far from N_0.
    """

    shared: float
    several: float
    per_ln: float
    apart: float


TRACED = Law(shared=0.0, several=0.8, per_ln=0.6, apart=0.0)
"""Law of any program, from h200-traces on one and two GPUs (their root mean square is 0.9, part of
which is growth); the 90 % interval reaches from perfect scaling to none."""

PUBLISHED = Law(shared=0.7, several=0.0, per_ln=0.3, apart=0.25)
"""Law of programs with published step times. Over pairs of counts in 200 series of lab/forecasters
the median of ln(N T(N)) - ln(N_0 T(N_0)) is 0.19, 0.35, 0.62, 0.75 and 1.2 at 2, 4, 8, 16 and 60
times the GPUs, its 95th percentile 0.7, 1.1, 1.7, 2.1 and 3.3, its 5th about 0; of 2, 3, 4 and 5
counts that double, the most GPUs are the fastest in 0.92, 0.92, 0.91 and 0.91 of the series. This
law gives 0.94, 0.92, 0.91 and 0.91; without y, it would give 0.95 to 0.99."""

LENGTH = 0.7
"""Correlation length of y in ln N."""

_HARDLY = 1e-9
"""Relative amount by which other counts take longer, so that the timed one wins a tie."""

NOT_KNOWN = "steps of one GPU count only: how time changes with N is not known"

_SIZES: Final = (1e3, 8e3)
_OF_EXCHANGE: Final = ("hidden in part", "hidden")
"""Kinds of overlap of communication with work (model/scaling/form.h)."""


def factor(gpus: Array, lone: int, law: Law) -> Array:
    """Return the factor on the time of the timed count."""
    return np.where(gpus == lone, 1.0, (1.0 + _HARDLY) * (lone / gpus) ** law.shared)


def variance(gpus: Array, lone: int, law: Law) -> Array:
    """Return the variance of ln T in addition to that of the timed count."""
    away = np.log(gpus / lone)
    own = law.apart**2 * (1 - np.exp(-2 * np.abs(away) / LENGTH))
    return np.asarray(np.square(_together(gpus, lone, law)) + own, dtype=np.float64)


def _together(gpus: Array, lone: int, law: Law) -> Array:
    """Return the sd of the deviation that all counts share."""
    return np.where(gpus == lone, 0.0, np.hypot(law.several, law.per_ln * np.log(gpus / lone)))


def within_division(low: Array, high: Array, gpus: Array, lone: int, own: tuple[Array, Array]) -> (
    tuple[Array, Array]
):  # fmt: skip
    """Limit the ends of intervals by perfect scaling, for more and for fewer GPUs.

    ``own``: the ends for the timed count.
    """
    divided = lone / gpus
    return (
        np.where(gpus > lone, np.maximum(low, own[0] * divided), low),
        np.where(gpus < lone, np.minimum(high, own[1] * divided), high),
    )


def drawn(gpus: Array, lone: int, law: Law, count: int, seed: int) -> Array:
    """Draw factors on the time of the timed count, (count, gpus)."""
    logs = np.outer(_deviates(count, [seed]), _together(gpus, lone, law))
    if law.apart:
        counts, at = np.unique(np.append(gpus, lone), return_inverse=True)
        logs += law.apart * _process(counts, lone, count, seed)[:, at[:-1]]
    factors = np.exp(logs) * factor(gpus, lone, law)
    divided = lone / gpus
    factors = np.where(gpus > lone, np.maximum(factors, divided), factors)
    return np.asarray(np.where(gpus < lone, np.minimum(factors, divided), factors))


def _process(counts: Array, lone: int, count: int, seed: int) -> Array:
    """Draw y for ascending counts that include N_0, with variance 1 far from it."""
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
    """Draw N(0, 1), stratified over the quantiles: few draws then have the width of many."""
    from scipy.special import ndtri

    z = ndtri((np.arange(count) + 0.5) / count)
    return np.asarray(z[np.random.default_rng(seed).permutation(count)], dtype=np.float64)


def tells(term: str, gpus: int) -> bool:
    """Return whether steps of this GPU count alone tell anything about a term."""
    at = [_core.scaling_shape(term, n, float(gpus)) for n in _SIZES]
    alone = [_core.scaling_shape(term, n, 1.0) for n in _SIZES]
    return any(at) and (any(alone) or at[0] != at[1])


def name_with(form: str, gpus: int | None) -> str:
    """Return a form's name without terms about which the only GPU count (None: several) tells
    nothing.

    Forms are named as by ``Form::name``: terms, growth of work, overlap.
    """
    if gpus is None:
        return form
    terms, *rest = form.split(", ")
    kept = [term for term in terms.split(" + ") if tells(term, gpus)]
    if not any(_core.SCALING_TERMS[term][1] == "com" for term in kept):
        rest = [overlap for overlap in rest if overlap not in _OF_EXCHANGE]
    return ", ".join([" + ".join(kept), *rest]) if kept else form


class OneCount(Engine):
    """An engine for the only timed GPU count, and a law for other counts.

    Args:
        engine: forecasts the timed count.
        fitted: the model.
        gpus: the timed count.
    """

    def __init__(self, engine: Engine, fitted: Fitted, gpus: int) -> None:
        assert fitted.scaling is not None
        self._engine, self._fitted, self._lone = engine, fitted, gpus
        self._law = TRACED if fitted.scaling.traced else PUBLISHED

    @property
    def draw_count(self) -> int:
        return self._engine.draw_count

    def timed(self, gpus: Array) -> Array:
        """Return the timed count for each of some counts.

        Raises:
            InputError: the work is not divided among GPUs, and one of the counts was not measured.
        """
        unshared = self._fitted.unshared
        if unshared is not None and (gpus != self._lone).any():
            other = gpus[gpus != self._lone][0]
            raise InputError(
                f"{unshared} is not divided among GPUs: other sizes are forecast on the "
                f"{self._lone} GPUs measured, nothing on {other:g}; measure it there",
                file=self._fitted.name,
                field="gpus",
            )
        return np.full(gpus.size, float(self._lone))

    def longer(self, gpus: Array) -> Array:
        """Return the factor on the time of the timed count."""
        return factor(gpus, self._lone, self._law)

    def times(
        self, n: Array, gpus: Array, factors: Factors, measured: Measured | None = None
    ) -> Times:
        timed, longer = self.timed(gpus), self.longer(gpus)
        unknown = variance(gpus, self._lone, self._law)
        own = self._engine.times(n, timed, factors, measured)
        if (gpus == timed).all():
            return own
        wide = self._engine.times(n, timed, replace(factors, more=unknown), measured)
        low, high = self._divided(gpus, (wide.low, wide.high), (own.low, own.high))
        mean_low, mean_high = self._divided(
            gpus, (wide.mean_low, wide.mean_high), (own.mean_low, own.mean_high)
        )
        seconds, parts = longer * own.seconds, longer[:, np.newaxis] * own.parts
        return Times(seconds, low, high, mean_low, mean_high, wide.spread, parts, wide.common)

    def seconds(self, n: Array, gpus: Array, factors: Array) -> Array:
        return self.longer(gpus) * self._engine.seconds(n, self.timed(gpus), factors)

    def draws(self, n: Array, gpus: Array, factors: Array) -> Array:
        sizes, at = np.unique(n, return_inverse=True)
        timed = self._engine.draws(sizes, self.timed(gpus)[: sizes.size], factors)
        # Draws must be independent of another path's.
        seed = zlib.crc32(str(self._fitted.data).encode())
        return np.asarray(timed[:, at]) * drawn(gpus, self._lone, self._law, len(factors), seed)

    def _divided(
        self, gpus: Array, wide: tuple[Array, Array], own: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Return the ends of intervals, from those of the timed count with and without the
        uncertainty of other counts."""
        longer = self.longer(gpus)
        return within_division(longer * wide[0], longer * wide[1], gpus, self._lone, own)
