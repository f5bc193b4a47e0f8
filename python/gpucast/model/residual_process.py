"""How far times deviate from a form, between and beyond the cells where that was measured.

The deviation of ln T is a Gaussian process over ln n, ln N and ln w, w being how long each GPU was
busy and the path idle, with mean 0 and covariance

    exp(-|ln n - ln n'| / 1.5 - |ln w - ln w'| / 6) (a_n^2 + a_N^2 exp(-|ln N - ln N'| / 1.0))

(Ornstein-Uhlenbeck in each): what deviates alike on all GPU counts, and what does not. Given
measured deviations, each with a variance of its own, it follows them where they are and returns to
the form, with sd sqrt(a_n^2 + a_N^2), beyond them; but w beyond what was measured counts as the
nearest that was.
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
"""Median of the prior of both amplitudes."""

_LOG_SD = 0.6
# Amplitudes are tried up to this many log-sds to either side of the prior's median.
_REACH = 3.0
_STEPS = 13


class ResidualProcess:
    """The process, given measured deviations.

    Args:
        n, gpus, wait: cells, wait in s; none: the process as it is held plausible before any
            measurement.
        deviation: ln of measured over form.
        variance: of each deviation by noise alone.
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
        """Mean and variance of the deviation in each of some cells."""
        prior = np.full(n.size, self._amplitudes[0] ** 2 + self._amplitudes[1] ** 2)
        if not self._known.size:
            return np.zeros(n.size), prior
        to_known = _covariance(self._asked(n, gpus, wait), self._known, self._amplitudes)
        explained = np.einsum("ij,ji->i", to_known, cho_solve(self._factor, to_known.T))
        return to_known @ self._weights, np.maximum(prior - explained, 0.0)

    def together(self, n: Array, gpus: Array, wait: Array) -> tuple[Array, Array]:
        """Mean and covariance of the deviations in some cells."""
        asked = self._asked(n, gpus, wait)
        prior = _covariance(asked, asked, self._amplitudes)
        if not self._known.size:
            return np.zeros(n.size), prior
        to_known = _covariance(asked, self._known, self._amplitudes)
        explained = to_known @ cho_solve(self._factor, to_known.T)
        return to_known @ self._weights, prior - explained

    def _asked(self, n: Array, gpus: Array, wait: Array) -> Array:
        return np.log([n, gpus, np.clip(wait, *self._waits) if self._known.size else wait])


def learnt_amplitudes(
    n: Array, gpus: Array, wait: Array, deviation: Array, variance: Array
) -> tuple[float, float]:
    """The amplitudes that are most plausible given measured deviations.

    Priors are log-normal, median 9 %; the posterior's maximum on a grid.
    """
    cells = np.log([n, gpus, wait])
    noise = np.diag(variance)
    alike, apart = (
        _covariance(cells, cells, amplitudes) for amplitudes in ((1.0, 0.0), (0.0, 1.0))
    )
    best, likeliest = -np.inf, (USUAL, USUAL)
    steps = np.linspace(-_REACH, _REACH, _STEPS)
    for u in steps:
        for v in steps:
            a, b = USUAL * float(np.exp(_LOG_SD * u)), USUAL * float(np.exp(_LOG_SD * v))
            factor = cho_factor(a**2 * alike + b**2 * apart + noise, lower=True)
            misfit = deviation @ cho_solve(factor, deviation)
            plausible = -0.5 * (misfit + u**2 + v**2) - np.log(np.diag(factor[0])).sum()
            if plausible > best:
                best, likeliest = plausible, (a, b)
    return likeliest


def _covariance(cells: Array, others: Array, amplitudes: tuple[float, float]) -> Array:
    """Covariance of cells with others; both are rows of ln n, ln N and ln w."""
    n, gpus, wait = np.abs(cells[:, :, np.newaxis] - others[:, np.newaxis])
    alike = np.exp(-n / LENGTH_N - wait / LENGTH_WAIT)
    apart = np.exp(-gpus / LENGTH_GPUS)
    return np.asarray(alike * (amplitudes[0] ** 2 + amplitudes[1] ** 2 * apart))
