"""Every fit of the study: each group, each split, each way to forecast; spread over processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import extra_p
import gpucast as gc
from forecasting import rivals
from forecasting.results import Quarter, Result
from forecasting.splits import QUARTER, Split, beyond, splits_of
from gpucast.data.dataset import Dataset
from gpucast.data.selection import StepSelection
from gpucast.data.steps import Cell, data_of, groups_of, medians
from gpucast.data.thinning import thinned, without_unused_routes
from gpucast.design.ensembles import choose_steps
from gpucast.errors import InputError
from gpucast.fitting.selection import pose
from gpucast.forecast.validation import score, summarize
from gpucast.model.fitted import Model
from gpucast.util.processes import spread

Found = dict[str, dict[str, Any]]
"""Answers of one group by kind of split and forecaster."""

ALONE = ("gpus", "sizes", "random")
"""Splits on which the other forecasters are tried as well."""


@dataclass(frozen=True)
class Settings:
    """How much is done.

    Attributes:
        samples: of a record that are trained on, at most.
        replicates: bootstrap refits behind intervals.
        seeds: random splits of a kind.
        largest_n: trained on up to this n where larger ones are forecast.
    """

    samples: int = 15
    replicates: int = 100
    seeds: int = 2
    largest_n: int = 64000


@dataclass(frozen=True)
class Subject:
    """A group with all that is fitted of it.

    Attributes:
        full: its records, every sample.
        training: the same, thinned, without what no model of it can use.
        earlier: the same steps in a dataset measured before, on fewer GPUs: more GPUs are forecast
            from it; None where they are forecast from the group's own.
    """

    group: StepSelection
    full: Dataset
    training: Dataset
    settings: Settings
    earlier: Subject | None = None

    @cached_property
    def measured(self) -> dict[Cell, float]:
        """Median step time of each cell, s."""
        return medians(self.full, self.group)

    @cached_property
    def splits(self) -> list[Split]:
        """Those that need no design."""
        own = splits_of(self.measured, self.settings.largest_n, self.settings.seeds)
        if self.earlier is None:
            return own
        others = [split for split in own if split.kind != "gpus"]
        return beyond(self.earlier.measured, self.measured) + others

    def of_kind(self, kind: str) -> list[Split]:
        """Its splits of a kind."""
        return [split for split in self.splits if split.kind == kind]

    def source(self, split: Split) -> Subject:
        """Whose records a split trains on."""
        return self.earlier if self.earlier is not None and split.kind == "gpus" else self

    def trained(self, split: Split) -> Dataset:
        """What a split trains on."""
        return self.source(split).training.where(lambda step: split.has(step.n, step.gpus))

    def fitted(self, data: Dataset, model: str = "auto") -> Model:
        """The model of the group's steps in a dataset."""
        replicates = self.settings.replicates
        return gc.fit(data, self.group, model=model, replicates=replicates)

    def held_against(self, model: Model, split: Split) -> Result:
        """The model's forecasts of all cells but those that the split trains on."""
        cells = gc.validate(model, self.full, self.group)["cells"]
        return Result(models=[model.content["chosen"]], **score(cells, split.has))


@dataclass
class Study:
    """What the fits of one group gave.

    Attributes:
        results: by kind of split and forecaster.
        whole: the model fitted to all cells; None where there is none.
    """

    group: StepSelection
    measured: dict[Cell, float]
    quarter: Quarter
    results: dict[str, dict[str, Result]] = field(default_factory=dict)
    whole: Model | None = None


def subject(
    data: Dataset, group: StepSelection, settings: Settings, earlier: Dataset | None = None
) -> Subject:
    """A group of a dataset, made ready, with the same steps of an earlier one.

    Raises:
        InputError: the earlier one has no such steps, or none of fewer GPUs.
    """
    full = data_of(data, group)
    training = without_unused_routes(thinned(full, settings.samples), group.schedule)
    one = Subject(group, full, training, settings)
    if earlier is None:
        return one
    there = group.over(group.path, groups_of(earlier))
    if there is None:
        raise InputError(f"has no steps of {group.label}", file=earlier.name)
    before = subject(earlier, there, settings)
    if not beyond(before.measured, one.measured):
        raise InputError(f"has as many GPUs as {data.name}: {group.label}", file=earlier.name)
    return replace(one, earlier=before)


def run(
    subjects: Sequence[Subject], jobs: int, progress: Callable[[int, int], None]
) -> dict[StepSelection, Study]:
    """All fits of all subjects."""
    # What takes longest comes first, so that no process ends long after the others.
    tasks: dict[tuple[StepSelection, str, str], Callable[[], object]]
    tasks = {(one.group, "", "whole"): partial(_whole, one) for one in subjects}
    for name, forecast in FORECASTERS.items():
        if name == "extrap" and not extra_p.available():
            continue
        for kind in (*ALONE, "quarter") if name == "gpucast" else ALONE:
            tasks |= {
                (one.group, kind, name): partial(forecast, one, one.of_kind(kind))
                for one in subjects
                if kind == "quarter" or one.of_kind(kind)
            }
    found: dict[StepSelection, Found] = {one.group: {} for one in subjects}
    answers = spread(list(tasks.values()), jobs, progress)
    for (group, kind, name), answer in zip(tasks, answers, strict=True):
        found[group].setdefault(kind, {})[name] = answer
    return {one.group: _study(one, found[one.group]) for one in subjects}


def _study(one: Subject, found: Found) -> Study:
    whole, design, everything = found.pop("")["whole"]
    quarter = Quarter(found.pop("quarter")["gpucast"], design, everything)
    return Study(one.group, one.measured, quarter, found, whole)


def pooled(results: Iterable[Result]) -> Result:
    """Several splits of a kind as one: all their cells, and best counts split by split."""
    kept = list(results)
    refused = next((each for each in kept if each.refused is not None), None)
    if refused is not None or not kept:
        return refused or Result("nothing to forecast")
    cells = [cell for each in kept for cell in each.cells]
    chosen = [each for each in kept if each.best_total]
    total = sum(each.best_total for each in chosen)
    regret = sum((each.mean_regret or 0) * each.best_total for each in chosen)
    summary = summarize(cells, []) | {
        "best_hits": sum(each.best_hits for each in chosen),
        "best_total": total,
        "mean_regret": regret / total if total else None,
        "max_regret": max((each.max_regret or 0 for each in chosen), default=None),
    }
    return Result(models=[model for each in kept for model in each.models], cells=cells, **summary)


def _held_out(one: Subject, split: Split, model: str = "auto") -> Result:
    try:
        return one.held_against(one.source(split).fitted(one.trained(split), model), split)
    except InputError as error:
        return Result(str(error))


def _scipy(one: Subject, split: Split) -> Result:
    source = one.source(split)
    problem = pose(source.training, source.group)
    return rivals.paper_by_scipy(
        source.measured, one.measured, split, problem.cores, problem.largest_k
    )


def _extrap(one: Subject, splits: list[Split]) -> Result:
    """What the best of Extra-P's options gives, in hindsight."""
    by_options = rivals.by_extrap([one.trained(split) for split in splits], one.measured, splits)
    found = {options: pooled(results) for options, results in by_options.items()}
    usable = [
        replace(each, models=[options]) for options, each in found.items() if each.refused is None
    ]
    first = next(iter(found.values()))
    return min(usable, key=lambda each: each.median_relative_error or 0.0, default=first)


def _whole(one: Subject) -> tuple[Model | None, Result, Result | None]:
    """The model of all cells; forecasts from a quarter of them as `gpucast measure` would have
    chosen it, and how that model fits the others."""
    try:
        model, why = one.fitted(one.training), ""
    except InputError as error:
        model, why = None, str(error)
    group = one.group
    if group.memory is None:
        why = "the design knows steps by their memory, which these do not state"
        return model, Result(why), None
    count = round(QUARTER * len(one.measured))
    split = Split("quarter", frozenset(choose_steps(one.training, count, group)))
    fits = one.held_against(model, split) if model is not None else Result(why)
    return model, _held_out(one, split), fits


def _gpucast(one: Subject, splits: list[Split], model: str = "auto") -> Result:
    return pooled(_held_out(one, each, model) for each in splits)


def _scipys(one: Subject, splits: list[Split]) -> Result:
    return pooled(_scipy(one, each) for each in splits)


# gpucast as it is; it and scipy, held to the paper's form; Extra-P.
FORECASTERS: Mapping[str, Callable[[Subject, list[Split]], Result]] = {
    "gpucast": _gpucast,
    "paper": partial(_gpucast, model="paper"),
    "extrap": _extrap,
    "scipy": _scipys,
}
