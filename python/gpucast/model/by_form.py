"""Forecasts by each of the forms over which a model averages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpucast.model.fitted import Model
from gpucast.model.intervals import Array


@dataclass(frozen=True)
class FormTimes:
    """The forecasts of one form.

    Attributes:
        form: the form's name.
        weight: its weight in the model's forecast.
        seconds: step time of each cell (s).
    """

    form: str
    weight: float
    seconds: Array


def by_form(model: Model, n: Array, gpus: Array) -> list[FormTimes]:
    """Return each form's forecast of pairs of n and gpus; none if the model does not average over
    forms, or if no form describes the dependence on N."""
    factors = np.exp(model.log_factors)
    return [
        FormTimes(form, weight, engine.seconds(n, gpus, factors))
        for form, weight, engine in model.engine.alone()
    ]
