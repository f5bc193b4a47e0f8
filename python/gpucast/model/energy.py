"""Energy of a step: joules, kWh, what they cost and carry, and the GPU count of least.

The joules of a GPU in a step, E(n, N) / N, follow the same laws as its time does: a part that grows
with the work of a GPU, a part of every step, in which the GPU waits and takes power, too, and what
grows with N. So where records have joules, the fit of any program's times is made of E / N as well
(``facts.Fitted.joules_per_gpu``), and E is N times its forecast. One power for all cells, or idle
and active power by the share of a step that grows with n, are worse outside the fitted cells
(docs/results/energy.md): power rises with the work while time hides it behind the host's calls.

Only GPUs are counted: what the host uses is not measured.
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
    """The GPU count of least energy for each n, and what the fastest takes beside it; empty where
    no energy was measured."""
    rows: list[JsonObject] = []
    for size in n if model.energy is not None else ():
        forecasts = model.forecasts(np.full(len(gpus), size), np.array(gpus), interval)
        energy = model.joules(forecasts)
        at, fastest = int(np.argmin(energy["joules"])), int(np.argmin(forecasts.seconds))
        rows.append(
            {"model": model.name, "n": plain(size), "gpus": int(gpus[at]),
             "seconds": float(forecasts.seconds[at])}
            | {key: float(column[at]) for key, column in energy.items()}
            | {"fastest_gpus": int(gpus[fastest]),
               "fastest_joules": float(energy["joules"][fastest])}
        )  # fmt: skip
    return rows


@dataclass(frozen=True)
class Grid:
    """What electricity is to its user.

    Attributes:
        price: of a kWh; None: not said.
        co2: g a kWh; None: not said.
        currency: of the price; empty: not said.
    """

    price: float | None = None
    co2: float | None = None
    currency: str = ""

    @classmethod
    def stated(cls, price: str | None, co2: float | None) -> Grid:
        """As the options of commands say it. Raises InputError."""
        amount, currency = (None, "") if price is None else money(price, "--energy-price")
        return cls(amount, co2, currency)

    def check(self, model: Model) -> None:
        """Raise InputError where something is asked of energy that nobody measured."""
        for value, field in ((self.price, "--energy-price"), (self.co2, "--grid-co2")):
            if value is not None and model.energy is None:
                raise InputError(
                    f"the steps that {model.name} was fitted to have no joules: measure them where "
                    "the driver counts energy (docs/how-to/energy.md)",
                    field=field,
                )

    def of(self, joules: Joules) -> dict[str, Joules]:
        """kwh, energy_cost and co2_kg of some energy; those that are known."""
        kwh = joules / KWH
        kilograms = None if self.co2 is None else self.co2 / 1e3
        known = {"energy_cost": self.price, "co2_kg": kilograms}
        return {"kwh": kwh} | {
            key: kwh * value for key, value in known.items() if value is not None
        }
