"""The data of figures of steps: each path's steps of one kind, with their model.

A figure is about one kind of steps (schedule, kernel, host memory, ...) on every path on which it
was measured. If the data hold several kinds and none was selected, the kind of the given models is
used, else the kind closest to the paper's program: ``star-serial``, ``claret``, pageable memory, no
graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gpucast import _core
from gpucast.data import workload
from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.selection import ANY, OPEN, StepSelection
from gpucast.data.steps import NATIVE_PATHS, Cell, steps_of, workload_of
from gpucast.errors import InputError
from gpucast.model.fitted import Model
from gpucast.util.order_statistics import median_of

PAPERS = StepSelection(
    schedule="star-serial", kernel="claret", memory="pageable", graph=False, boundary=OPEN
)
"""Selection of the paper's program."""

NO_PARTS = "a model of its kind does not split a step into T_gpu, T_cpu and T_com"

PHASES = {"T_gpu": ("kernel",), "T_cpu": ("cpu",), "T_com": ("h2d", "d2h", "exchange", "calls")}
"""The phases that a program times, by the term of the model."""


@dataclass(frozen=True)
class Point:
    """A measured cell: median step time (s) and its interval, which is the 95 % order-statistics
    interval or, if that is wider, the known rounding.
    """

    seconds: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """Steps of one path and one kind; ``steps`` or ``model`` may be missing, but not both.

    Attributes:
        label: label for panels and legends.
        group: selection of the steps; None without steps.
    """

    label: str
    group: StepSelection | None
    steps: tuple[Step, ...]
    model: Model | None

    @property
    def workload(self) -> _core.Workload:
        """The workload of its steps."""
        if self.model is not None and self.model.own_program:
            return self.model.workload
        return workload.of(workload_of(self.steps, self.label))

    @property
    def has_work(self) -> bool:
        """Whether the work of a step is known, as for our own programs."""
        if self.model is not None:
            return self.model.own_program
        return any(step.schedule is not None for step in self.steps)

    @property
    def model_of_parts(self) -> Model | None:
        """The model, if the data separate T_gpu, T_cpu and T_com."""
        return self.model if self.model is not None and self.model.knows_parts else None

    @property
    def unit(self) -> str | None:
        """What n counts; None: not stated."""
        units = {step.unit for step in self.steps} or {self.model.unit if self.model else None}
        unit = units.pop() if len(units) == 1 else None
        return "particles" if unit is None and self.has_work else unit

    @cached_property
    def points(self) -> dict[Cell, Point]:
        """The median step time of each cell, sorted by n and GPU count."""
        samples: dict[Cell, list[float]] = {}
        rounding: dict[Cell, float] = {}
        for step in self.steps:
            cell = step.n, step.gpus
            samples.setdefault(cell, []).extend(step.seconds)
            rounding[cell] = max(rounding.get(cell, 0.0), step.uncertainty or 0.0)
        points = {}
        for cell, seconds in sorted(samples.items()):
            median = median_of(seconds)
            half = rounding[cell] * median.value
            low, high = median.ends or 2 * (median.value,)
            ends = min(low, median.value - half), max(high, median.value + half)
            points[cell] = Point(median.value, *ends)
        return points

    @cached_property
    def phases(self) -> dict[Cell, dict[str, float]]:
        """Times (s) of the terms (medians of their phases) for each cell with timed phases."""
        samples: dict[Cell, dict[str, list[float]]] = {}
        for step in self.steps:
            if step.phases is not None:
                own = samples.setdefault((step.n, step.gpus), {})
                for name, seconds in vars(step.phases).items():
                    own.setdefault(name, []).extend(seconds or [])
        return {
            cell: {
                term: sum(float(np.median(own[name])) for name in names if own.get(name))
                for term, names in PHASES.items()
            }
            for cell, own in samples.items()
        }

    @property
    def sizes(self) -> list[float]:
        """The measured n."""
        return sorted({n for n, _ in self.points})

    @property
    def counts(self) -> list[int]:
        """The measured GPU counts."""
        return sorted({gpus for _, gpus in self.points})

    @property
    def domain(self) -> tuple[tuple[float, float], tuple[int, int]]:
        """Least and greatest n and GPU count that were measured or fitted (or the default)."""
        sizes, counts = [float(n) for n in self.sizes], self.counts
        if self.model is not None:
            sizes += self.model.usual_sizes
            counts = [*counts, *self.model.domain.gpus]
        return (min(sizes), max(sizes)), (min(counts), max(counts))


def series_of(
    data: Dataset | None, models: Sequence[Model], wanted: StepSelection = ANY
) -> list[Series]:
    """Return the series of a figure: native first, then the other paths.

    Args:
        models: each is combined with its steps; a model without steps is a series of its own.

    Raises:
        InputError: there are neither steps nor models, no steps match ``wanted``, or two models are
            of the same steps.
    """
    measured = _measured(data, models, wanted) if data is not None else []
    for model in models:
        its = [i for i, own in enumerate(measured) if own.group and is_about(model, own.group)]
        free = [i for i in its if measured[i].model is None]
        if free:
            measured[free[0]] = replace(measured[free[0]], model=model)
        elif its:
            raise InputError("is about the same steps as another model given", file=model.name)
        else:
            label = f"{model.data.forecast_path} ({model.name})"
            measured.append(Series(label, None, (), model))
    if not measured:
        name = None if data is None else data.name
        raise InputError("there are no steps and no models to draw", file=name)
    return measured


def kind_in_words(series: Sequence[Series]) -> str:
    """Return the kind of steps: schedule, kernel, memory; empty if not known."""
    for one in series:
        if one.group is not None:
            return _kind(one.group).label
        if one.model is not None:
            return _kind(one.model.selection).label
    return ""


def _measured(data: Dataset, models: Sequence[Model], wanted: StepSelection) -> list[Series]:
    if not data.steps:
        return []
    groups = steps_of(data.select(wanted))
    if not groups:
        raise InputError("no steps are of all that was chosen", file=data.name)
    paths = Counter(map(_kind, groups))
    kind = max(
        paths,
        key=lambda kind: (
            sum(model.selection.agrees(kind) for model in models),
            # Prefer the kind closest to the paper's program; earlier fields weigh more.
            tuple(getattr(kind, name) in (value, None) for name, value in PAPERS.chosen.items()),
            paths[kind],
        ),
    )
    own = sorted((group for group in groups if _kind(group) == kind), key=_order)
    labels = [str(group.path) for group in own]
    return [
        Series(
            label if labels.count(label) == 1 else f"{label}, {group.machine}",
            group,
            tuple(groups[group]),
            None,
        )
        for label, group in zip(labels, own, strict=True)
    ]


def _kind(group: StepSelection) -> StepSelection:
    return replace(group, machine=None, path=None)


def _order(group: StepSelection) -> int:
    return NATIVE_PATHS.index(group.path) if group.path in NATIVE_PATHS else len(NATIVE_PATHS)


def is_about(model: Model, group: StepSelection) -> bool:
    """Whether a model is of a group's steps, or is a what-if for its path."""
    return model.selection.agrees(group)
