"""A Gaussian process for the deviation of times from a form, between and beyond measured cells.

The deviation of ln T is a Gaussian process over ln n, ln N and ln w, where w is the time for which
each GPU was busy and the path idle. It has mean 0 and covariance

    exp(-|ln n - ln n'| / 1.5 - |ln w - ln w'| / 6) (a_n^2 + a_N^2 exp(-|ln N - ln N'| / 1.0))

(Ornstein-Uhlenbeck in each): the first amplitude is for deviations common to all GPU counts, the
second for others. Given measured deviations, each with its variance, the process follows them
nearby and returns to the form, with sd sqrt(a_n^2 + a_N^2), far away. A w outside the measured
range counts as the nearest measured one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Array = NDArray[np.float64]

LENGTH_N = 1.5
LENGTH_GPUS = 1.0
LENGTH_WAIT = 6.0

USUAL = 0.09
"""Prior median of both amplitudes."""

_LOG_SD = 0.6
# The grid of amplitudes extends to this number of log-sds on either side of the prior median.
_REACH = 3.0
_STEPS = 13


class ResidualProcess:
    """The process conditioned on measured deviations.

    Args:
        n, gpus, wait: measured cells (wait in s); without any, it is the prior process.
        deviation: ln of measured over fitted times.
        variance: variance of each deviation by noise.
        amplitudes: a_n and a_N.
    """

    def __init__(
        self,
        n: Array,
        gpus: Array,
        wait: Array,
        deviation: Array,
        variance: Array,
        amplitudes: tuple[float, float],
    ) -> None:
        self._known = np.log([n, gpus, wait])
        self._amplitudes = amplitudes
        if not n.size:
            return
        self._waits = float(wait.min()), float(wait.max())
        among = _covariance(self._known, self._known, amplitudes)
        self._factor = cho_factor(among + np.diag(variance), lower=True)
        self._weights = cho_solve(self._factor, deviation)

    def at(self, n: Array, gpus: Array, wait: Array) -> tuple[Array, Array]:
        """Return mean and variance of the deviation in each of some cells."""
        prior = np.full(n.size, self._amplitudes[0] ** 2 + self._amplitudes[1] ** 2)
        if not self._known.size:
            return np.zeros(n.size), prior
        to_known = _covariance(self._coordinates(n, gpus, wait), self._known, self._amplitudes)
        explained = np.einsum("ij,ji->i", to_known, cho_solve(self._factor, to_known.T))
        return to_known @ self._weights, np.maximum(prior - explained, 0.0)

    def together(self, n: Array, gpus: Array, wait: Array) -> tuple[Array, Array]:
        """Return mean and covariance of the deviations in some cells."""
        cells = self._coordinates(n, gpus, wait)
        prior = _covariance(cells, cells, self._amplitudes)
        if not self._known.size:
            return np.zeros(n.size), prior
        to_known = _covariance(cells, self._known, self._amplitudes)
        explained = to_known @ cho_solve(self._factor, to_known.T)
        return to_known @ self._weights, prior - explained

    def _coordinates(self, n: Array, gpus: Array, wait: Array) -> Array:
        return np.log([n, gpus, np.clip(wait, *self._waits) if self._known.size else wait])


def learnt_amplitudes(
    n: Array, gpus: Array, wait: Array, deviation: Array, variance: Array
) -> tuple[float, float]:
    """Return the maximum-a-posteriori amplitudes given measured deviations.

    Priors are log-normal with median 9 %; the maximum is taken on a grid.
    """
    cells = np.log([n, gpus, wait])
    noise = np.diag(variance)
    common, separate = (
        _covariance(cells, cells, amplitudes) for amplitudes in ((1.0, 0.0), (0.0, 1.0))
    )
    best, likeliest = -np.inf, (USUAL, USUAL)
    steps = np.linspace(-_REACH, _REACH, _STEPS)
    for u in steps:
        for v in steps:
            a, b = USUAL * float(np.exp(_LOG_SD * u)), USUAL * float(np.exp(_LOG_SD * v))
            factor = cho_factor(a**2 * common + b**2 * separate + noise, lower=True)
            misfit = deviation @ cho_solve(factor, deviation)
            plausible = -0.5 * (misfit + u**2 + v**2) - np.log(np.diag(factor[0])).sum()
            if plausible > best:
                best, likeliest = plausible, (a, b)
    return likeliest


def _covariance(cells: Array, others: Array, amplitudes: tuple[float, float]) -> Array:
    """Return the covariance of cells with others, both given as rows of ln n, ln N and ln w."""
    n, gpus, wait = np.abs(cells[:, :, np.newaxis] - others[:, np.newaxis])
    common = np.exp(-n / LENGTH_N - wait / LENGTH_WAIT)
    separate = np.exp(-gpus / LENGTH_GPUS)
    return np.asarray(common * (amplitudes[0] ** 2 + amplitudes[1] ** 2 * separate))
