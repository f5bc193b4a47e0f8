"""What each of the forms says by itself that a model's forecasts average over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gpucast.model.averaged_parts import AveragedParts
from gpucast.model.averaged_totals import AveragedTotals
from gpucast.model.engine import Engine
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
        for form, weight, engine in _alone(model)
    ]


def _alone(model: Model) -> Iterator[tuple[str, float, Engine]]:
    """Name and weight of each form, and what forecasts by it."""
    engine = model.engine
    if isinstance(engine, AveragedParts):
        assert model.mixture is not None
        for form in model.mixture.forms:
            mixture = replace(model.mixture, forms=[replace(form, weight=1.0)])
            integer = "" if form.integer is None else f", k = {form.integer}"
            alone = AveragedParts(replace(model, mixture=mixture))
            yield f"{form.terms}{integer}", form.weight, alone
    elif isinstance(engine, AveragedTotals):
        scaling = model.scaling
        assert scaling is not None
        members = defaultdict(list)
        for name, component in zip(engine.core.forms, scaling.components, strict=True):
            members[name].append(component)
        for name, of_form in members.items():
            weight = sum(one.weight for one in of_form)
            components = [replace(one, weight=one.weight / weight) for one in of_form]
            only = replace(scaling, components=components)
            yield name, weight, AveragedTotals(replace(model, scaling=only))
