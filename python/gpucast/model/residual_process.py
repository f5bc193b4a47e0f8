"""How far times deviate from a form, between and beyond the cells where that was measured.

The deviation of ln T is a Gaussian process over ln n and ln N with mean 0 and covariance

    a_n^2 exp(-|ln n - ln n'| / 1.5) + a_N^2 exp(-|ln n - ln n'| / 1.5 - |ln N - ln N'| / 1.0)

(Ornstein-Uhlenbeck in each): what deviates alike on all GPU counts, and what does not. Given
measured deviations, each with a variance of its own, it follows them where they are and returns to
the form, with sd sqrt(a_n^2 + a_N^2), beyond them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Array = NDArray[np.float64]

LENGTH_N = 1.5
LENGTH_GPUS = 1.0

USUAL = 0.09
"""Median of the prior of both amplitudes."""

_LOG_SD = 0.6
# Of amplitudes tried: so many log-sds to either side of the prior's median.
_REACH = 3.0
_STEPS = 25


class ResidualProcess:
    """The process, given measured deviations.

    Args:
        n, gpus: cells; none: the process as it is held plausible before any measurement.
        deviation: ln of measured over form.
        variance: of each deviation by noise alone.
        amplitudes: a_n and a_N.
    """

    def __init__(
        self,
        n: Array,
        gpus: Array,
        deviation: Array,
        variance: Array,
        amplitudes: tuple[float, float],
    ) -> None:
        self._log_n, self._log_gpus = np.log(n), np.log(gpus)
        self._amplitudes = amplitudes
        if not self._log_n.size:
            return
        among = _covariance(self._log_n, self._log_gpus, self._log_n, self._log_gpus, amplitudes)
        self._factor = cho_factor(among + np.diag(variance), lower=True)
        self._weights = cho_solve(self._factor, deviation)

    def at(self, n: Array, gpus: Array) -> tuple[Array, Array]:
        """Mean and variance of the deviation in each of some cells."""
        prior = np.full(n.size, self._amplitudes[0] ** 2 + self._amplitudes[1] ** 2)
        if not self._log_n.size:
            return np.zeros(n.size), prior
        to_known = self._to_known(n, gpus)
        explained = np.einsum("ij,ji->i", to_known, cho_solve(self._factor, to_known.T))
        return to_known @ self._weights, np.maximum(prior - explained, 0.0)

    def together(self, n: Array, gpus: Array) -> tuple[Array, Array]:
        """Mean and covariance of the deviations in some cells."""
        x, y = np.log(n), np.log(gpus)
        prior = _covariance(x, y, x, y, self._amplitudes)
        if not self._log_n.size:
            return np.zeros(n.size), prior
        to_known = self._to_known(n, gpus)
        explained = to_known @ cho_solve(self._factor, to_known.T)
        return to_known @ self._weights, prior - explained

    def _to_known(self, n: Array, gpus: Array) -> Array:
        return _covariance(np.log(n), np.log(gpus), self._log_n, self._log_gpus, self._amplitudes)


def learnt_amplitudes(
    n: Array, gpus: Array, deviation: Array, variance: Array
) -> tuple[float, float]:
    """The amplitudes that are most plausible given measured deviations.

    Priors are log-normal, median 9 %; the posterior's maximum on a grid.
    """
    x, y = np.log(n), np.log(gpus)
    noise = np.diag(variance)
    alike, apart = (_covariance(x, y, x, y, each) for each in ((1.0, 0.0), (0.0, 1.0)))
    best, found = -np.inf, (USUAL, USUAL)
    steps = np.linspace(-_REACH, _REACH, _STEPS)
    for u in steps:
        for v in steps:
            a, b = USUAL * float(np.exp(_LOG_SD * u)), USUAL * float(np.exp(_LOG_SD * v))
            factor = cho_factor(a**2 * alike + b**2 * apart + noise, lower=True)
            misfit = deviation @ cho_solve(factor, deviation)
            plausible = -0.5 * (misfit + u**2 + v**2) - np.log(np.diag(factor[0])).sum()
            if plausible > best:
                best, found = plausible, (a, b)
    return found


def _covariance(
    x: Array, y: Array, other_x: Array, other_y: Array, amplitudes: tuple[float, float]
) -> Array:
    along_n = np.exp(-np.abs(x[:, np.newaxis] - other_x) / LENGTH_N)
    along_gpus = np.exp(-np.abs(y[:, np.newaxis] - other_y) / LENGTH_GPUS)
    return np.asarray(along_n * (amplitudes[0] ** 2 + amplitudes[1] ** 2 * along_gpus))
