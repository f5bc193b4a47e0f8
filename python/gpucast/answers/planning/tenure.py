"""The price of GPU hours on bought GPUs, and the time that interruptions add on rented ones.

A GPU is bought at the price P, of which a share d remains after L years. With the upkeep U per
year, the power W under load and W0 when idle (kW), and the price e of a kWh,

    fixed = (P (1 - d) / L + U) / 8760 + W0 e       per hour of the clock
    running = (W - W0) e                            per hour under load, in addition

so that an hour under load costs fixed / use + running, with ``use`` the share of time under load.
Compared with a rent r for the same work, buying pays off from X hours under load per year:

    X = 8760 fixed / (r - running)

Work that is interrupted every M seconds (exponentially distributed), with a checkpoint of d seconds
after each t seconds of work and restarts of R seconds, takes (Daly 2006)

    stretch = M / t exp(R / M) (exp((t + d) / M) - 1)

times as long. Checkpoints take d / t of the work, the rest is repeated work and restarts. The best
t is near sqrt(2 d M) (Young 1974), with two terms of Daly's sqrt(2 d M) (1 + x / 3 + x^2 / 9) - d,
x = sqrt(d / (2 M)); M where d >= 2 M.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gpucast.model.intervals import Array
from gpucast.util.typed_json import Bounds

HOURS_A_YEAR = 8760.0
KILO = 1e3

_Amount = Annotated[float, Bounds(least=0, most=1e12)]
_Share = Annotated[float, Bounds(least=0, below=1)]

_MOST_EXPONENT = 100.0
"""Work that never ends has this finite stretch."""


@dataclass(kw_only=True)
class Bought:
    """The cost of an own machine.

    Attributes:
        price_per_gpu, price_per_host: purchase prices; a GPU bears its share of a host.
        lifetime_years: years after which ``residual``, a share of the price, remains.
        use: share of the time in which GPUs run jobs.
        power, idle_power: W of a GPU, including its share of the host and of cooling.
        price_per_kwh: price of energy; that of the plan if not given.
        upkeep_per_gpu_year: staff, space, contracts.
    """

    price_per_gpu: _Amount = 0.0
    price_per_host: _Amount = 0.0
    lifetime_years: Annotated[float, Bounds(least=0.01, most=100)]
    use: Annotated[float, Bounds(above=0, least=1e-6, most=1)]
    residual: _Share = 0.0
    power: _Amount = 0.0
    idle_power: _Amount = 0.0
    price_per_kwh: _Amount | None = None
    upkeep_per_gpu_year: _Amount = 0.0

    def fixed(self, hosts_per_gpu: float) -> float:
        """The cost of a GPU per hour, whether idle or under load."""
        price = self.price_per_gpu + self.price_per_host * hosts_per_gpu
        year = price * (1 - self.residual) / self.lifetime_years + self.upkeep_per_gpu_year
        return year / HOURS_A_YEAR + self.idle_power / KILO * (self.price_per_kwh or 0.0)

    @property
    def running(self) -> float:
        """The additional cost of a GPU per hour under load."""
        return (self.power - self.idle_power) / KILO * (self.price_per_kwh or 0.0)

    def price_per_gpu_hour(self, hosts_per_gpu: float) -> float:
        """The cost of a GPU hour under load."""
        return self.fixed(hosts_per_gpu) / self.use + self.running

    def pays_from(self, rent: Array, hosts_per_gpu: float) -> Array:
        """Hours under load per year from which a GPU is cheaper than renting for the same work; inf
        if it never is."""
        saved = np.asarray(rent, dtype=np.float64) - self.running
        with np.errstate(divide="ignore"):
            hours = HOURS_A_YEAR * self.fixed(hosts_per_gpu) / np.maximum(saved, 0.0)
        return np.asarray(hours, dtype=np.float64)


def best_interval(checkpoint: float, between: float) -> float:
    """Return the seconds of work between checkpoints that minimize the lost time; ``checkpoint`` is
    the time of one."""
    if checkpoint >= 2 * between:
        return between
    x = math.sqrt(checkpoint / (2 * between))
    return math.sqrt(2 * checkpoint * between) * (1 + x / 3 + x**2 / 9) - checkpoint


def stretch(
    between: float | None,
    checkpoint: float,
    restart: float,
    interval: float | None,
    work: Array | float = np.inf,
) -> tuple[Array, Array]:
    """Return the stretch of work by checkpoints, repeated work and restarts, and the part that is
    checkpoints.

    Args:
        between: mean seconds between interruptions; None: there are none.
        checkpoint, restart: seconds of each.
        interval: seconds of work between checkpoints; None: the best.
        work: seconds of it; behind the last of it there is no checkpoint. inf: as of long work.
    """
    if between is None and interval is None:
        return np.ones(np.shape(work)), np.zeros(np.shape(work))
    every = interval if interval or between is None else best_interval(checkpoint, between)
    assert every is not None
    # All intervals of long work are equal.
    long = np.isinf(work)
    seconds = np.where(long, every, np.asarray(work, dtype=np.float64))
    before = np.where(long, 1.0, np.ceil(seconds / every * (1 - 1e-12)) - 1)  # checkpoints
    rest = seconds - before * every
    shares = before * checkpoint / seconds
    if between is None:
        return 1 + shares, shares

    def taken(without_loss: Array | float) -> Array:
        again = np.expm1(np.minimum(np.asarray(without_loss) / between, _MOST_EXPONENT))
        return np.asarray(between * math.exp(min(restart / between, _MOST_EXPONENT)) * again)

    return (before * taken(every + checkpoint) + taken(rest)) / seconds, shares
