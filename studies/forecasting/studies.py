"""Every fit of the study: each group, each split, each way to forecast; spread over processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import gpucast as gc
from forecasting import rivals
from forecasting.splits import QUARTER, Split, beyond, splits_of
from gpucast.data.dataset import Dataset
from gpucast.data.selection import StepSelection
from gpucast.data.steps import Cell, data_of, groups_of, medians
from gpucast.data.thinning import thinned, without_unused_routes
from gpucast.errors import InputError
from gpucast.fitting.selection import pose
from gpucast.forecast.validation import score, summarize
from gpucast.model.fitted import Model
from gpucast.util.processes import spread

Result = dict[str, Any]
"""As ``gpucast.forecast.validation.score`` gives it, or ``{"refused": why}``."""

FORECASTERS = ("gpucast", "paper", "scipy", "extrap")
"""gpucast as it is; it and scipy, held to the paper's form; Extra-P."""

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
        cells = list(self.measured)
        own = splits_of(cells, self.settings.largest_n, self.settings.seeds)
        if self.earlier is None:
            return own
        others = [split for split in own if split.kind != "gpus"]
        return beyond(list(self.earlier.measured), cells) + others

    def source(self, split: Split) -> Subject:
        """Whose records a split trains on."""
        return self.earlier if self.earlier is not None and split.kind == "gpus" else self

    def trained(self, split: Split) -> Dataset:
        """What a split trains on."""
        return self.source(split).training.where(lambda step: split.has(step.n, step.gpus))


@dataclass
class Study:
    """What the fits of one group gave.

    Attributes:
        results: by kind of split and forecaster.
        whole: the model fitted to all cells; None where there is none.
        quarter: by how it was chosen: ``design``, ``random``; and ``all`` cells, judged on those
            that the design left out.
    """

    group: StepSelection
    measured: dict[Cell, float]
    results: dict[str, dict[str, Result]] = field(default_factory=dict)
    whole: Model | None = None
    quarter: dict[str, Result] = field(default_factory=dict)


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
    if not beyond(list(before.measured), list(one.measured)):
        raise InputError(f"has as many GPUs as {data.name}: {group.label}", file=earlier.name)
    return replace(one, earlier=before)


def run(
    subjects: Sequence[Subject], jobs: int, progress: Callable[[int, int], None]
) -> dict[StepSelection, Study]:
    """All fits of all subjects."""
    tasks = [(at, kind) for kind in TASKS for at in range(len(subjects))]
    fits = [partial(TASKS[kind], subjects[at]) for at, kind in tasks]
    answers = dict(zip(tasks, spread(fits, jobs, progress), strict=True))
    return {
        each.group: _study(each, {kind: answers[at, kind] for kind in TASKS})
        for at, each in enumerate(subjects)
    }


def pooled(results: Iterable[Result]) -> Result:
    """Several splits of a kind as one: all their cells, and best counts split by split."""
    kept = list(results)
    refused = [each for each in kept if "refused" in each]
    if refused or not kept:
        return refused[0] if refused else {"refused": "nothing to forecast"}
    cells = [cell for each in kept for cell in each["cells"]]
    total = sum(each["best_total"] for each in kept)
    chosen = [each for each in kept if each["best_total"]]
    return {
        "cells": cells,
        "models": [each["chosen"] for each in kept if "chosen" in each],
        **summarize(cells, []),
        "best_hits": sum(each["best_hits"] for each in kept),
        "best_total": total,
        "mean_regret": sum(e["mean_regret"] * e["best_total"] for e in chosen) / total
        if total
        else None,
        "max_regret": max((each["max_regret"] for each in chosen), default=None),
    }


# --- the fits -------------------------------------------------------------------------------


def _held_out(one: Subject, split: Split, model: str = "auto") -> Result:
    try:
        fitted = gc.fit(
            one.trained(split),
            one.source(split).group,
            model=model,
            replicates=one.settings.replicates,
        )
        cells = gc.validate(fitted, one.full, one.group)["cells"]
    except InputError as error:
        return {"refused": str(error)}
    return {"chosen": fitted.content["chosen"], **score(cells, split.has)}


def _gpucast(one: Subject, kind: str) -> list[Result]:
    return [_held_out(one, split) for split in one.splits if split.kind == kind]


def _paper(one: Subject) -> dict[str, list[Result]]:
    return _by_kind(one, lambda split: _held_out(one, split, "paper"))


def _scipy(one: Subject) -> dict[str, list[Result]]:
    def forecast(split: Split) -> Result:
        source = one.source(split)
        problem = pose(source.training, source.group)
        return rivals.paper_by_scipy(
            source.measured, one.measured, split, problem.cores, problem.largest_k
        )

    return _by_kind(one, forecast)


def _by_kind(one: Subject, forecast: Callable[[Split], Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for split in one.splits:
        if split.kind in ALONE:
            found.setdefault(split.kind, []).append(forecast(split))
    return found


def _extrap(one: Subject) -> dict[str, dict[str, Result]]:
    """What each set of options gives on each kind of split."""
    if not rivals.EXTRAP.exists():
        return {}
    splits = [split for split in one.splits if split.kind in ALONE]
    answers = rivals.by_extrap([one.trained(split) for split in splits], one.measured, splits)
    return {
        kind: {
            options: pooled(
                answer[options]
                for split, answer in zip(splits, answers, strict=True)
                if split.kind == kind
            )
            for options in answers[0]
        }
        for kind in dict.fromkeys(split.kind for split in splits)
    }


def _whole(one: Subject) -> tuple[Model, list[dict[str, Any]]] | str:
    """The model of all cells, and how it fits them."""
    try:
        fitted = gc.fit(one.training, one.group, replicates=one.settings.replicates)
        return fitted, gc.validate(fitted, one.full, one.group)["cells"]
    except InputError as error:
        return str(error)


def _design(one: Subject) -> tuple[Split, Result] | str:
    """A quarter of the cells as `gpucast measure` would have chosen them."""
    try:
        from gpucast.design.ensembles import choose_steps
    except ImportError:
        return "this build has no budgeted design"
    group = one.group
    if group.memory is None:
        return "the design knows steps by their memory, which these do not state"
    count = round(QUARTER * len(one.measured))
    chosen = choose_steps(one.training, count, group)
    split = Split("quarter", frozenset(chosen))
    return split, _held_out(one, split)


# What takes longest comes first, so that no process ends long after the others.
TASKS: Mapping[str, Callable[[Subject], Any]] = {
    "design": _design,
    "whole": _whole,
    "gpus": partial(_gpucast, kind="gpus"),
    "sizes": partial(_gpucast, kind="sizes"),
    "random": partial(_gpucast, kind="random"),
    "quarter": partial(_gpucast, kind="quarter"),
    "paper": _paper,
    "extrap": _extrap,
    "scipy": _scipy,
}


# --- put together ---------------------------------------------------------------------------


def _study(one: Subject, answers: Mapping[str, Any]) -> Study:
    study = Study(one.group, one.measured)
    for kind in dict.fromkeys(split.kind for split in one.splits if split.kind in ALONE):
        of_kind = {
            "gpucast": pooled(answers[kind]),
            "paper": pooled(answers["paper"][kind]),
            "scipy": pooled(answers["scipy"][kind]),
        }
        if answers["extrap"]:
            of_kind["extrap"] = _best_in_hindsight(answers["extrap"][kind])
        study.results[kind] = of_kind
    if not isinstance(answers["whole"], str):
        study.whole = answers["whole"][0]
    study.quarter = _quarter(answers)
    return study


def _best_in_hindsight(by_options: Mapping[str, Result]) -> Result:
    usable = {name: each for name, each in by_options.items() if "refused" not in each}
    if not usable:
        return next(iter(by_options.values()))
    best = min(usable, key=lambda name: usable[name]["median_relative_error"])
    return {"options": best, **usable[best]}


def _quarter(answers: Mapping[str, Any]) -> dict[str, Result]:
    found = {"random": pooled(answers["quarter"])}
    if isinstance(answers["design"], str):
        found["design"] = {"refused": answers["design"]}
        return found
    split, result = answers["design"]
    found["design"] = result
    found["all"] = (
        {"refused": answers["whole"]}
        if isinstance(answers["whole"], str)
        else score(answers["whole"][1], split.has)
    )
    return found
