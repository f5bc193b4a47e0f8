"""How samples of each record scatter, each record's estimate moderated by all others'.

A record of few samples tells its variance badly: of five, the median absolute deviation is off by a
factor of two one time in three, and a fit that believes it gives some cells ten times the weight of
others without cause. Variances sigma^2 of records are therefore taken as drawn from a scaled
inverse chi^2 distribution with d0 degrees of freedom about s0^2, both by the spread of the
estimates themselves (G. K. Smyth, Statistical Applications in Genetics and Molecular Biology 3
(2004), article 3):

    ln s^2 has mean ln s0^2 + psi(d/2) - ln(d/2) - psi(d0/2) + ln(d0/2)
    and variance psi'(d/2) + psi'(d0/2);
    sigma^2 given s^2 is about (d0 s0^2 + d s^2) / (d0 + d)

Records that scatter equally have all the same variance then, and where some scatter far more than
others, as where small sizes are the noisier, or samples are disturbed, each keeps its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A standard deviation from the median absolute deviation, for normally distributed samples.
_OF_MAD = 1.4826

# ln of its square is distributed as that of a sample variance with this many degrees of freedom a
# sample beyond the first (its asymptotic efficiency), from five samples on to 0.03 in the mean;
# of two to four samples with one degree of freedom (simulated).
_EFFICIENCY = 0.37
_LEAST_FREEDOM = 1.0

# Fewer records say nothing of how variances scatter.
_FEWEST = 4

# Samples that lie farther than this many standard deviations from their record's median are
# disturbed: none of 10^6 normally distributed ones does.
_FAR = 6.0

# Two samples do not tell which of them is disturbed.
_FEWEST_TO_TELL = 3


def sample_variances(samples: Sequence[Sequence[float]], least: float) -> Array:
    """Variance of the logarithm of a sample, of each record; undisturbed ones.

    Args:
        samples: of each record; s.
        least: no variance is smaller; of records of one sample it is all that is known.
    """
    variances = np.array([max(least, _robust(np.log(record))) for record in samples])
    counts = np.array([len(record) for record in samples])
    several = counts > 1
    if several.sum() >= _FEWEST:
        variances[several] = moderated(variances[several], _freedom(counts[several]))
    return variances


def undisturbed(samples: Sequence[Sequence[float]]) -> list[list[float]]:
    """The samples of each record without those that lie far off its others.

    A run's first steps, which allocate and compile, and steps beside which the machine had other
    work take several times as long. What is far is told by how records scatter typically and by
    how this one does, whichever is more, so that a record that is noisy as a whole is left whole.

    Args:
        samples: of each record, in any unit; above 0.
    """
    from scipy.special import chdtri

    logs = [np.log(record) for record in samples]
    told = [log for log in logs if log.size >= _FEWEST_TO_TELL]
    if not told:
        return [list(record) for record in samples]
    freedom = _freedom(np.array([log.size for log in told]))
    variances = np.array([_robust(log) for log in told])
    # Half of the variances lie below the median of chi^2, and half of the cells are undisturbed.
    typical = np.median(variances * freedom / chdtri(freedom, 0.5))
    result = []
    for values, log in zip(samples, logs, strict=True):
        far = _FAR * np.sqrt(max(typical, _robust(log)))
        near = np.abs(log - np.median(log)) <= far
        tells = log.size >= _FEWEST_TO_TELL and far > 0
        result.append([v for v, keep in zip(values, near, strict=True) if keep or not tells])
    return result


def _freedom(counts: NDArray[np.int64]) -> Array:
    """Degrees of freedom of a robust variance of ``counts`` samples."""
    return np.asarray(np.maximum(_LEAST_FREEDOM, _EFFICIENCY * (counts - 1.0)))


def _robust(values: Array) -> float:
    """Variance of values, some of which may be disturbed; of one 0."""
    return float(np.square(_OF_MAD * np.median(np.abs(values - np.median(values)))))


def moderated(variances: Array, freedom: Array) -> Array:
    """Variances, each drawn towards all others'.

    Args:
        variances: above 0.
        freedom: degrees of freedom of each.
    """
    from scipy.special import digamma, polygamma

    logs = np.log(variances) - digamma(freedom / 2) + np.log(freedom / 2)
    spread = float(np.var(logs, ddof=1) - np.mean(polygamma(1, freedom / 2)))
    if spread <= 0:
        return np.full(variances.size, np.exp(logs.mean()))
    of_all = 2 * _inverse_trigamma(spread)
    typical = np.exp(logs.mean() + digamma(of_all / 2) - np.log(of_all / 2))
    return np.asarray((of_all * typical + freedom * variances) / (of_all + freedom))


def _inverse_trigamma(value: float) -> float:
    """The x > 0 with trigamma(x) = value > 0, by Newton's method on 1/trigamma, which is convex."""
    from scipy.special import polygamma

    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
        if abs(step) < 1e-8 * x:
            break
    return x
