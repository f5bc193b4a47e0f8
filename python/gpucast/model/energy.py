"""Energy of a step in joules and kWh, its price and CO2, and the GPU count of least energy.

A GPU's energy in a step, E(n, N) / N, follows the same laws as its time: one part grows with the
GPU's work, one is constant, since a waiting GPU takes power as well, and one grows with N. If
records have joules, E / N is therefore fitted like any program's times
(``facts.Fitted.joules_per_gpu``), and E is N times its forecast. One power for all cells, or idle
and active power by the share of a step that grows with n, forecast worse outside the fitted cells
(docs/results/energy.md): power rises with the work even while the host's calls hide its time. Only
GPUs are counted; the host's energy is not measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from gpucast.errors import InputError
from gpucast.model.intervals import Array, Interval
from gpucast.util.number_lists import money
from gpucast.util.units import plain

if TYPE_CHECKING:
    from gpucast.model.fitted import Model
    from gpucast.util import JsonObject

Joules = TypeVar("Joules", float, Array)

KWH = 3.6e6
"""Joules."""


def least_energy(
    model: Model, n: list[float], gpus: list[float], interval: Interval = Interval.now
) -> list[JsonObject]:
    """Return the GPU count of least energy for each n, and the energy of the fastest count; empty
    if no energy was measured."""
    rows: list[JsonObject] = []
    for size in n if model.energy is not None else ():
        forecasts = model.forecasts(np.full(len(gpus), size), np.array(gpus), interval)
        energy = model.joules(forecasts)
        least, fastest = int(np.argmin(energy["joules"])), int(np.argmin(forecasts.seconds))
        rows.append(
            {"model": model.name, "n": plain(size), "gpus": int(gpus[least]),
             "seconds": float(forecasts.seconds[least])}
            | {key: float(column[least]) for key, column in energy.items()}
            | {"fastest_gpus": int(gpus[fastest]),
               "fastest_joules": float(energy["joules"][fastest])}
        )  # fmt: skip
    return rows


@dataclass(frozen=True)
class Grid:
    """Price and emissions of the user's electricity.

    Attributes:
        price: price of a kWh; None: not given.
        co2: emissions in g per kWh; None: not given.
        currency: currency of the price; empty: not given.
    """

    price: float | None = None
    co2: float | None = None
    currency: str = ""

    @classmethod
    def stated(cls, price: str | None, co2: float | None) -> Grid:
        """Return the grid that command options state. Raises InputError."""
        amount, currency = (None, "") if price is None else money(price, "--energy-price")
        return cls(amount, co2, currency)

    def check(self, model: Model) -> None:
        """Raise InputError if price or emissions are given for a model without energy."""
        for value, field in ((self.price, "--energy-price"), (self.co2, "--grid-co2")):
            if value is not None and model.energy is None:
                raise InputError(
                    f"the steps that {model.name} was fitted to have no joules: measure them where "
                    "the driver counts energy (docs/how-to/energy.md)",
                    field=field,
                )

    def of(self, joules: Joules) -> dict[str, Joules]:
        """Return kwh, energy_cost and co2_kg of an energy, as far as price and emissions are
        given."""
        kwh = joules / KWH
        kilograms = None if self.co2 is None else self.co2 / 1e3
        known = {"energy_cost": self.price, "co2_kg": kilograms}
        return {"kwh": kwh} | {
            key: kwh * value for key, value in known.items() if value is not None
        }
