"""Forecasts of cells, and the best GPU count of a size."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from gpucast.errors import InputError
from gpucast.model.asked import whole_numbers
from gpucast.model.intervals import Z90, Array, Interval
from gpucast.util.tables import html_table
from gpucast.util.units import duration, number

MOST_ROWS = 20
"""Most rows of forecasts that a notebook shows; the others are counted."""

_HEADERS = ("n", "GPUs", "step time", "90 % interval", "")

# ``exp`` overflows beyond this.
_WIDEST = 700.0


@dataclass(frozen=True, repr=False)
class Forecasts:
    """Forecasts of cells, as arrays of one length.

    ``low`` and ``high`` are the 90 % prediction interval of a single undisturbed measurement: one
    sample or, if the fit chose the form, the median of a visit like the fitted ones. ``mean_low``
    and ``mean_high`` are the 90 % interval of the expected time. All are in seconds. ``interval``
    tells whether they are about now, later or another machine. ``spread`` is the standard deviation
    of ln of the expected time; ``common`` is the part of its variance by factors that all cells of
    that time and machine share.
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
        """Ratio between the ends of the 90 % interval of the expected time, without the uncertainty
        that all cells share."""
        total = np.log(self.mean_high / self.mean_low) / (2 * Z90)
        own = np.sqrt(np.maximum(np.square(total) - self.common, 0.0))
        return np.exp(np.minimum(2 * Z90 * own, _WIDEST))

    def checked(self, model: str) -> Self:
        """Return these forecasts if all times and ends of intervals are finite and above 0.

        Raises:
            InputError: one is not, because the numbers in the model's file (``model``) are not
                those of a fit.
        """
        for times in (self.seconds, self.low, self.high, self.mean_low, self.mean_high):
            if not (np.isfinite(times) & (times > 0)).all():
                raise InputError("gives no finite time; fit it again", file=model)
        return self

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """Return the columns of tables (all before ``spread``), with whole numbers as integers."""
        shown = {column.name: getattr(self, column.name) for column in fields(self)[:_SHOWN]}
        return {**shown, "n": whole_numbers(self.n), "gpus": self.gpus.astype(np.int64)}


_SHOWN = [column.name for column in fields(Forecasts)].index("spread")


class Best(TypedDict):
    """The fastest GPU count for an n.

    ``seconds`` is the step time with it; the measured one if that contradicts the model.
    ``probability`` is the share of draws of the model (from the mixture, or bootstrap replicates)
    in which it is the fastest; None without draws. ``within_2_percent`` lists all counts that are
    at most 2 % slower. ``extrapolated`` tells whether n with this count is outside the fitted
    range, ``measured`` whether ``seconds`` was measured.
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
    """Return whether measured times are outside their forecasts' 90 % intervals; False for NaN."""
    return np.asarray((known < forecasts.low) | (known > forecasts.high), dtype=np.bool_)


def forecasts_text(cells: Forecasts) -> str:
    """Return a summary of forecasts: their number and the ranges of n, GPU counts and times."""
    if not cells.n.size:
        return "Forecasts of 0 cells"
    sizes, gpus = ends(cells.n.tolist()), ends(cells.gpus.tolist())
    least, most = duration(float(cells.seconds.min())), duration(float(cells.seconds.max()))
    times = least if least == most else f"{least} to {most}"
    count = cells.n.size
    return f"Forecasts of {count} cell{'s' * (count != 1)}: n {sizes}; {gpus} GPUs; {times}"


def forecasts_html(cells: Forecasts) -> str:
    """Return forecasts as an HTML table of limited length, one row per cell."""
    columns = (cells.n, cells.gpus, cells.seconds, cells.low, cells.high, cells.extrapolated)
    rows = [
        (
            *(number(n), number(gpus), duration(seconds)),
            *(f"{duration(low)} ... {duration(high)}", "extrapolated" if outside else ""),
        )
        for n, gpus, seconds, low, high, outside in zip(
            *(column[:MOST_ROWS].tolist() for column in columns), strict=True
        )
    ]
    if cells.n.size > MOST_ROWS:
        rows.append((f"and {cells.n.size - MOST_ROWS} more", "", "", "", ""))
    return html_table(forecasts_text(cells), _HEADERS, rows)


def ends(values: tuple[float, float] | list[float]) -> str:
    return " to ".join(dict.fromkeys(number(value) for value in (min(values), max(values))))
