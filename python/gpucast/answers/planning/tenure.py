"""What GPU hours cost where GPUs are bought, and what interruptions add where they are rented.

A GPU is bought at the price P, of which a share d is left after L years. With the upkeep U a year,
the power W at work and W0 when idle (kW), and the price e of a kWh,

    fixed = (P (1 - d) / L + U) / 8760 + W0 e       an hour of the clock
    running = (W - W0) e                            an hour at work, besides

so that an hour at work, of which there are ``use`` an hour of the clock, costs
fixed / use + running. Beside rent r for as much work, buying pays from X hours at work a year:

    X = 8760 fixed / (r - running)

Work that is interrupted every M seconds (exponentially distributed), with a checkpoint of d seconds
after each t seconds of work and restarts of R seconds, takes (Daly 2006)

    stretch = M / t exp(R / M) (exp((t + d) / M) - 1)

times as long. Checkpoints are d / t of that, the rest is work done again and restarts. The best t
is near sqrt(2 d M) (Young 1974), with two terms of Daly's sqrt(2 d M) (1 + x / 3 + x^2 / 9) - d,
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
"""Work that never gets done takes long, and still a number of times."""


@dataclass(kw_only=True)
class Bought:
    """What a machine costs that is one's own.

    Attributes:
        price_per_gpu, price_per_host: of the purchase; a GPU bears its share of a host.
        lifetime_years: after which ``residual``, a share of the price, is left.
        use: share of the time in which GPUs work.
        power, idle_power: W of a GPU with its share of the host and of cooling.
        price_per_kwh: of energy; that of the plan where not given.
        upkeep_per_gpu_year: staff, space, contracts.
    """

    price_per_gpu: _Amount = 0.0
    price_per_host: _Amount = 0.0
    lifetime_years: Annotated[float, Bounds(above=0, most=100)]
    use: Annotated[float, Bounds(above=0, most=1)]
    residual: _Share = 0.0
    power: _Amount = 0.0
    idle_power: _Amount = 0.0
    price_per_kwh: _Amount | None = None
    upkeep_per_gpu_year: _Amount = 0.0

    def fixed(self, gpus_per_host: int | None) -> float:
        """What a GPU costs an hour, idle or at work."""
        price = self.price_per_gpu + self.price_per_host / (gpus_per_host or 1)
        year = price * (1 - self.residual) / self.lifetime_years + self.upkeep_per_gpu_year
        return year / HOURS_A_YEAR + self.idle_power / KILO * (self.price_per_kwh or 0.0)

    @property
    def running(self) -> float:
        """What a GPU costs an hour at work, besides."""
        return (self.power - self.idle_power) / KILO * (self.price_per_kwh or 0.0)

    def price_per_gpu_hour(self, gpus_per_host: int | None) -> float:
        """What a GPU hour at work costs."""
        return self.fixed(gpus_per_host) / self.use + self.running

    def pays_from(self, rent: Array, gpus_per_host: int | None) -> Array:
        """Hours at work a year from which a GPU is cheaper than rent for the work of an hour of it;
        inf where it never is."""
        saved = np.asarray(rent, dtype=np.float64) - self.running
        with np.errstate(divide="ignore"):
            hours = HOURS_A_YEAR * self.fixed(gpus_per_host) / np.maximum(saved, 0.0)
        return np.asarray(hours, dtype=np.float64)


def best_interval(checkpoint: float, between: float) -> float:
    """Seconds of work between checkpoints of so many seconds, of which least time is lost."""
    if checkpoint >= 2 * between:
        return between
    x = math.sqrt(checkpoint / (2 * between))
    return math.sqrt(2 * checkpoint * between) * (1 + x / 3 + x**2 / 9) - checkpoint


def stretch(
    between: float | None, checkpoint: float, restart: float, interval: float | None
) -> tuple[float, float]:
    """How many times as long work takes with its checkpoints, work done again and restarts, and the
    part of that which are checkpoints.

    Args:
        between: mean seconds between interruptions; None: there are none.
        checkpoint, restart: seconds of one.
        interval: seconds of work between checkpoints; None: the best.
    """
    if between is None:
        share = checkpoint / interval if interval else 0.0
        return 1 + share, share
    interval = interval or best_interval(checkpoint, between)
    again = math.expm1(min((interval + checkpoint) / between, _MOST_EXPONENT))
    longer = between / interval * math.exp(min(restart / between, _MOST_EXPONENT)) * again
    return longer, checkpoint / interval
