"""What each of the forms says by itself that a model's forecasts average over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpucast.model.fitted import Model
from gpucast.model.intervals import Array


@dataclass(frozen=True)
class FormTimes:
    """What a form says of some cells.

    Attributes:
        form: its name.
        weight: its share in the forecast.
        seconds: of each cell.
    """

    form: str
    weight: float
    seconds: Array


def by_form(model: Model, n: Array, gpus: Array) -> list[FormTimes]:
    """What each form says of pairs of n and gpus; none where forecasts average over none, or how
    time changes with N is not a form's to say."""
    factors = np.exp(model.log_factors)
    return [
        FormTimes(form, weight, engine.seconds(n, gpus, factors))
        for form, weight, engine in model.engine.alone()
    ]
