"""What a fit leaves open about cells: the design's input, made with fits of what is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.selection import StepSelection
from gpucast.data.thinning import coarsened
from gpucast.design.optimal import START, Array, Ensemble, Pairs, choose
from gpucast.errors import InputError
from gpucast.fitting.fit import fit_own
from gpucast.model.fitted import Model

REPLICATES = 60
"""Bootstrap replicates of each fit on the way: enough for a covariance that only ranks cells."""

# Models are plausible by their held-out error; below this weight they are not fitted again.
_LEAST_WEIGHT = 0.05

# Times repeat within this at best: from run to run, whatever the samples of one run say.
_LEAST_NOISE = 0.005


@dataclass(frozen=True)
class Fitted:
    """A fit on the way.

    Attributes:
        model: the one chosen.
        others: further plausible models, with their weights relative to the one chosen.
    """

    model: Model
    others: list[tuple[Model, float]] = field(default_factory=list)

    def ensemble(self, cells: Pairs) -> Ensemble:
        """What it leaves open about some cells (n, GPU count).

        Raises:
            InputError: a GPU count whose communication cost the data cannot know.
        """
        n = np.array([n for n, _ in cells], dtype=np.float64)
        gpus = np.array([gpus for _, gpus in cells], dtype=np.float64)
        own = np.log(self.model.forecasts(n, gpus).seconds)
        count = len(self.model.integers)
        replicates = [np.log(_replicate(self.model, b).forecasts(n, gpus).seconds)
                      for b in range(count)]  # fmt: skip
        others = [np.log(model.forecasts(n, gpus).seconds) for model, _ in self.others]
        noise = self.model.noise
        return Ensemble(
            replicates=np.array(replicates or [own]),
            candidates=np.array([own, *others]),
            weights=np.array([1.0, *(weight for _, weight in self.others)]),
            misfit=max(noise.between_cells, _held_out_error(self.model)),
            noise=max(_LEAST_NOISE, (noise.pure_error or 0) / np.sqrt(6)),
        )


def fit_on_the_way(
    data: Dataset, series: StepSelection, *, others: bool = True, seed: int = 1
) -> Fitted:
    """The fit of a series so far, and of the other plausible models.

    Raises:
        InputError: too little has been measured yet.
    """
    chosen = fit_own(data, series, replicates=REPLICATES if others else 0, seed=seed)
    if not others:
        return Fitted(chosen)
    plausible: list[tuple[Model, float]] = []
    for name, weight in _weights(chosen).items():
        try:
            again = fit_own(data, series, model=name, replicates=0, seed=seed)
        except InputError:
            continue  # what cannot be fitted alone says nothing
        plausible.append((again, weight))
    return Fitted(chosen, plausible)


def choose_steps(
    data: Dataset,
    count: int,
    series: StepSelection,
    *,
    seconds: Array | None = None,
    start: int = START,
    batch: int | None = None,
    seed: int = 1,
) -> list[tuple[float, int]]:
    """The cells (n, GPU count) of a measured series that a design of ``count`` would have chosen.

    Transfers and launches of the path count as measured. ``seconds``: what each of the series'
    cells costs, in the order of ``cells_of``; by default all cost the same.
    """
    cells = cells_of(data, series)
    data = coarsened(data)

    def ensemble_of(chosen: list[int]) -> Ensemble | None:
        try:
            kept = restricted(data, series, [cells[j] for j in chosen])
            return fit_on_the_way(kept, series, seed=seed).ensemble(cells)
        except InputError:
            return None

    found = choose(cells, count, ensemble_of, seconds=seconds, start=start, batch=batch)
    return [cells[j] for j in found]


def cells_of(data: Dataset, series: StepSelection) -> list[tuple[float, int]]:
    """The cells of a series that a dataset has, sorted."""
    return sorted({(step.n, step.gpus) for step in data.steps if series.admits(step)})


def restricted(data: Dataset, series: StepSelection, cells: Sequence[tuple[float, int]]) -> Dataset:
    """A dataset without the series' steps of other cells."""
    kept = set(cells)
    return data.where(lambda step: not series.admits(step) or (step.n, step.gpus) in kept)


def _replicate(model: Model, b: int) -> Model:
    """A bootstrap replicate as a model of its own."""
    names = [name for name, _, _ in model.core.parameters]
    parameters = {
        name: replace(model.parameters[name], value=float(value))
        for name, value in zip(names, model.replicates[b], strict=True)
    }
    alone = replace(model, parameters=parameters, replicates=model.replicates[:0], integers=[])
    return alone if model.k is None else replace(alone, k=model.integers[b])


def _held_out_error(model: Model) -> float:
    """Relative held-out error of the chosen model, in which a wrong form shows first."""
    errors = {each.model: each.cv_error for each in model.candidates}
    return float(errors.get(model.chosen or "") or 0)


def _weights(model: Model) -> dict[str, float]:
    """The other candidates that are plausible, weighted as a likelihood would, were log errors of
    half of the cells independent: (error of the best / its own error)^(cells / 2)."""
    cells = 0 if model.observations is None else model.observations.step_cells
    power = max(2.0, cells / 2)
    errors: dict[str, float] = {}
    for each in model.candidates:
        name, error = each.model.partition(" (")[0], each.cv_error
        if error is not None and error > 0:
            errors[name] = min(error, errors.get(name, np.inf))
    own = errors.pop((model.chosen or "").partition(" (")[0], None)
    if own is None:
        return {}
    weights = {name: min(1.0, (own / error) ** power) for name, error in errors.items()}
    return {name: weight for name, weight in weights.items() if weight >= _LEAST_WEIGHT}
