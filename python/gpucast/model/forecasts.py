"""Forecasts of cells, and the best GPU count of a size."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from gpucast.errors import InputError
from gpucast.model.asked import whole_numbers
from gpucast.model.intervals import Z90, Array, Interval
from gpucast.model.shown import forecasts_html, forecasts_text

# More than that ``exp`` cannot hold.
_WIDEST = 700.0


@dataclass(frozen=True, repr=False)
class Forecasts:
    """Forecasts of cells, as arrays of one length.

    ``low`` and ``high``: 90 % prediction interval of a single undisturbed measurement: one sample,
    or, where the fit chose the form, the median of a visit like those that were fitted;
    ``mean_low`` and ``mean_high``: 90 % interval of the expected time. Seconds.
    ``interval``: what they are of: a time now, later or on another machine. ``spread``: standard
    deviation of the log of the expected time; ``common``: its variance by factors that all cells
    of that time and machine share.
    """

    n: Array
    gpus: Array
    seconds: Array
    low: Array
    high: Array
    mean_low: Array
    mean_high: Array
    t_gpu: Array
    t_cpu: Array
    t_com: Array
    extrapolated: NDArray[np.bool_]
    spread: Array = field(repr=False)
    common: Array = field(repr=False)
    interval: Interval = Interval.now

    def __repr__(self) -> str:
        return forecasts_text(self)

    def _repr_html_(self) -> str:
        return forecasts_html(self)

    @property
    def fold(self) -> Array:
        """Factor between the ends of the 90 % interval of the expected time, but for what all cells
        of another time or machine share: by which that cell alone is not known."""
        of_all = np.log(self.mean_high / self.mean_low) / (2 * Z90)
        alone = np.sqrt(np.maximum(np.square(of_all) - self.common, 0.0))
        return np.exp(np.minimum(2 * Z90 * alone, _WIDEST))

    def checked(self, model: str) -> Self:
        """These, once all times and ends of intervals are finite and above 0.

        Raises:
            InputError: one is not: the numbers in the file of the model, which is named, are not
                those of a fit.
        """
        for times in (self.seconds, self.low, self.high, self.mean_low, self.mean_high):
            if not (np.isfinite(times) & (times > 0)).all():
                raise InputError("gives no finite time; fit it again", file=model)
        return self

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """What tables show: all up to the spread; whole numbers as such, n where all of it is."""
        shown = {column.name: getattr(self, column.name) for column in fields(self)[:_SHOWN]}
        return {**shown, "n": whole_numbers(self.n), "gpus": self.gpus.astype(np.int64)}


_SHOWN = [column.name for column in fields(Forecasts)].index("spread")


class Best(TypedDict):
    """The fastest GPU count for an n.

    ``seconds``: of a step with it; as measured where the model misses that.
    ``probability``: share of the models that may as well be right (draws from the mixture, or
    bootstrap replicates) in which it is the fastest; None without any.
    ``within_2_percent``: all counts at most 2 % slower. ``extrapolated``: whether n with this count
    is outside what was fitted. ``measured``: whether ``seconds`` are.
    """

    model: str
    n: float
    gpus: int
    seconds: float
    probability: float | None
    within_2_percent: list[int]
    extrapolated: bool
    measured: bool


def missed(forecasts: Forecasts, known: Array) -> NDArray[np.bool_]:
    """Whether measured times are outside the 90 % interval of their forecasts; not where NaN."""
    return np.asarray((known < forecasts.low) | (known > forecasts.high), dtype=np.bool_)
