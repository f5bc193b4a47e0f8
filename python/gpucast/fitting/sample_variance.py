"""Variances of samples of each record, moderated by those of all records.

A record of few samples determines its variance badly: with five, the median absolute deviation is
wrong by a factor of two one time in three, and a fit that relied on it would give some cells ten
times the weight of others without reason. Variances sigma^2 of records are therefore assumed to be
drawn from a scaled inverse chi^2 distribution with d0 degrees of freedom around s0^2, both of which
are estimated from the spread of the estimates (G. K. Smyth, Statistical Applications in Genetics
and Molecular Biology 3 (2004), article 3):

    ln s^2 has mean ln s0^2 + psi(d/2) - ln(d/2) - psi(d0/2) + ln(d0/2)
    and variance psi'(d/2) + psi'(d0/2);
    sigma^2 given s^2 is about (d0 s0^2 + d s^2) / (d0 + d)

Records with equal scatter thus all get the same variance. If some scatter far more than others,
because small sizes are noisier or samples are disturbed, each keeps its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Standard deviation over median absolute deviation of normally distributed samples.
_OF_MAD = 1.4826

# ln of its square is distributed like that of a sample variance with this many degrees of freedom
# per sample beyond the first (its asymptotic efficiency); from five samples on, the mean agrees to
# 0.03. For two to four samples there is one degree of freedom (from simulations).
_EFFICIENCY = 0.37
_LEAST_FREEDOM = 1.0

# Fewer records do not tell how variances scatter.
_FEWEST = 4

# Samples farther than this many standard deviations from their record's median are disturbed: none
# of 10^6 normally distributed ones is.
_FAR = 6.0

# With two samples, one cannot tell which of them is disturbed.
_FEWEST_TO_TELL = 3


def sample_variances(samples: Sequence[Sequence[float]], least: float) -> Array:
    """Return the variance of ln of an undisturbed sample for each record.

    Args:
        samples: samples of each record (s).
        least: least variance, and the variance of records with one sample.
    """
    variances = np.array([max(least, _robust(np.log(record))) for record in samples])
    counts = np.array([len(record) for record in samples])
    several = counts > 1
    if several.sum() >= _FEWEST:
        variances[several] = moderated(variances[several], _freedom(counts[several]))
    return variances


def undisturbed(samples: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the samples of each record without outliers.

    The first steps of a run, which allocate and compile, and steps while the machine did other work
    take several times as long. Outliers are recognized by the typical scatter of records or that of
    their own record, whichever is larger, so that a record that is noisy throughout stays complete.

    Args:
        samples: samples of each record, in any unit, above 0.
    """
    from scipy.special import chdtri

    logs = [np.log(record) for record in samples]
    known = [log for log in logs if log.size >= _FEWEST_TO_TELL]
    if not known:
        return [list(record) for record in samples]
    freedom = _freedom(np.array([log.size for log in known]))
    variances = np.array([_robust(log) for log in known])
    # Compare medians: more than half of the cells are undisturbed.
    typical = np.median(variances * freedom / chdtri(freedom, 0.5))
    result = []
    for values, log in zip(samples, logs, strict=True):
        far = _FAR * np.sqrt(max(typical, _robust(log)))
        near = np.abs(log - np.median(log)) <= far
        tells = log.size >= _FEWEST_TO_TELL and far > 0
        result.append([v for v, keep in zip(values, near, strict=True) if keep or not tells])
    return result


def _freedom(counts: NDArray[np.int64]) -> Array:
    """Return the degrees of freedom of a robust variance of ``counts`` samples."""
    return np.asarray(np.maximum(_LEAST_FREEDOM, _EFFICIENCY * (counts - 1.0)))


def _robust(values: Array) -> float:
    """Return the variance of values, some of which may be disturbed; 0 for one value."""
    return float(np.square(_OF_MAD * np.median(np.abs(values - np.median(values)))))


def moderated(variances: Array, freedom: Array) -> Array:
    """Return variances, each shrunk towards those of all records.

    Args:
        variances: estimated variances, above 0.
        freedom: degrees of freedom of each.
    """
    from scipy.special import digamma, polygamma

    logs = np.log(variances) - digamma(freedom / 2) + np.log(freedom / 2)
    spread = float(np.var(logs, ddof=1) - np.mean(polygamma(1, freedom / 2)))
    if spread <= 0:
        return np.full(variances.size, np.exp(logs.mean()))
    prior_freedom = 2 * _inverse_trigamma(spread)
    typical = np.exp(logs.mean() + digamma(prior_freedom / 2) - np.log(prior_freedom / 2))
    return np.asarray((prior_freedom * typical + freedom * variances) / (prior_freedom + freedom))


def _inverse_trigamma(value: float) -> float:
    """Return x > 0 with trigamma(x) = value > 0, by Newton's method on the convex 1/trigamma."""
    from scipy.special import polygamma

    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
        if abs(step) < 1e-8 * x:
            break
    return x
