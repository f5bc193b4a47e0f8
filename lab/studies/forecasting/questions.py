"""Groups of a dataset, and the splits of their cells into trained and held-out ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

import gpucast as gc
from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.selection import StepSelection
from gpucast.data.steps import Cell, data_of, groups_of, names_of
from gpucast.data.thinning import thinned, without_unused_routes
from gpucast.errors import InputError
from gpucast.model.fitted import Model
from gpucast.model.intervals import Interval

GPUS, SIZES, RANDOM = HELD_OUT = ("more GPUs", "larger n", "random cells")

LARGEST_N = 64000
"""The largest n trained on if larger ones are forecast."""
LEFT_OUT = 0.2
"""Share of the cells that are drawn at random."""

WHAT_IF, WITHOUT_SKELETONS = "what-if", "what-if without skeletons"
ANOTHER_MACHINE = "another machine"
THREE_CELLS = "another machine, three cells timed"
MORE_GPUS = "another machine with more GPUs"


@dataclass(frozen=True)
class Held:
    """Cells whose forecasts are compared with measurements.

    Attributes:
        cells: ``cells_of`` a group; ``trained`` ones are not judged.
        change: the function that changes the fitted model first; None: it is used as it is.
        interval: the kind of its intervals.
    """

    group: str
    split: str
    cells: pd.DataFrame
    change: Callable[[Model], Model] | None = None
    interval: Interval = Interval.now


@dataclass(frozen=True)
class Question:
    """A fit, and all cells that are forecast with it."""

    training: Dataset
    selection: StepSelection
    held: tuple[Held, ...]


@dataclass(frozen=True)
class Measured:
    """A dataset's groups by name.

    Attributes:
        samples: the largest number of a record's samples that are trained on; None: all.
        only: restricts groups to those whose name contains one of these; empty: all.
    """

    data: Dataset
    samples: int | None = None
    only: Collection[str] = ()

    def __post_init__(self) -> None:
        if not self.groups:
            names = "; ".join(names_of(groups_of(self.data)).values())
            raise InputError(f"no steps of {', '.join(self.only)}; there are: {names}")

    @property
    def groups(self) -> dict[str, StepSelection]:
        """Selections by name."""
        named = names_of(groups_of(self.data))
        return {
            name: group
            for group, name in named.items()
            if not self.only or any(part in name for part in self.only)
        }

    def training(self, group: StepSelection) -> Dataset:
        """All records that a model of the group can use."""
        kept = without_unused_routes(data_of(self.data, group), group.schedule)
        return thinned(kept, self.samples) if self.samples else kept

    def cells(self, group: StepSelection) -> pd.DataFrame:
        """``cells_of`` the group's steps."""
        return cells_of(data_of(self.data, group).steps)


def cells_of(steps: Collection[Step]) -> pd.DataFrame:
    """A row for each cell: n, gpus, measured (s), visits, samples, trained (False).

    A record is a visit of a cell; the measured time is the median of the visits' medians.
    """
    visits = pd.DataFrame(
        [(step.n, step.gpus, np.median(step.seconds), len(step.seconds)) for step in steps],
        columns=["n", "gpus", "seconds", "samples"],
    )
    cells = visits.groupby(["n", "gpus"]).agg(
        measured=("seconds", "median"), visits=("seconds", "size"), samples=("samples", "sum")
    )
    return cells.reset_index().assign(trained=False)


def marked(cells: pd.DataFrame, trained: Collection[Cell]) -> pd.DataFrame:
    """Cells of ``cells_of`` with the column ``trained``."""
    known = [(n, gpus) in trained for n, gpus in zip(cells.n, cells.gpus, strict=True)]
    return cells.assign(trained=known)


def restricted(data: Dataset, trained: Collection[Cell]) -> Dataset:
    """The dataset with the steps of these cells only."""
    return data.where(lambda step: (step.n, step.gpus) in trained)


def left_out(measured: Measured) -> Iterator[Question]:
    """Questions whose held-out cells are forecast from other cells of their group."""
    for name, group in measured.groups.items():
        cells, training = measured.cells(group), measured.training(group)
        for split, trained in splits_of(cells).items():
            held = Held(name, split, marked(cells, trained))
            yield Question(restricted(training, trained), group, (held,))


def splits_of(cells: pd.DataFrame) -> Mapping[str, frozenset[Cell]]:
    """``held_out`` for cells of ``cells_of``."""
    return held_out(list(zip(cells.n, cells.gpus, strict=True)))


def held_out(cells: Collection[Cell]) -> dict[str, frozenset[Cell]]:
    """The cells that each split trains on, without splits that hold out no cell or all of them."""
    ordered = sorted(cells)
    most = max(gpus for _, gpus in cells) // 2
    drawn = np.random.default_rng(0).permutation(len(ordered))
    trained = {
        GPUS: [cell for cell in ordered if cell[1] <= most],
        SIZES: [cell for cell in ordered if cell[0] <= LARGEST_N],
        RANDOM: [ordered[i] for i in drawn[: round((1 - LEFT_OUT) * len(ordered))]],
    }
    return {kind: frozenset(kept) for kind, kept in trained.items() if 0 < len(kept) < len(ordered)}


def over_other_paths(measured: Measured, native: str) -> Iterator[Question]:
    """Forecast steps over each other path from native steps and the other path's microbenchmarks
    alone."""
    groups = measured.groups
    for group in groups.values():
        held = [
            Held(name, split, measured.cells(other), partial(over, data=known, group=other))
            for name, other in groups.items()
            if other.path != native and other.over(native, groups.values()) == group
            for split, known in _microbenchmarks(measured.training(other)).items()
        ]
        if held:
            yield Question(measured.training(group), group, tuple(held))


def _microbenchmarks(training: Dataset) -> dict[str, Dataset]:
    """The microbenchmarks with skeletons, if there are any, and without."""
    bare = replace(training, records=[*training.transfers, *training.launches])
    with_skeletons = {WHAT_IF: training.where(lambda step: False)} if training.skeletons else {}
    return {**with_skeletons, WITHOUT_SKELETONS: bare}


def over(model: Model, data: Dataset, group: StepSelection) -> Model:
    """The model with the communication of a group's path."""
    assert model.own_program  # only our own program has steps over several paths
    assert group.path is not None
    return gc.what_if(model, data, group.path, machine=group.machine, memory=group.memory)


def updated(model: Model, data: Dataset, group: StepSelection) -> Model:
    """The model for the machine that some cells of a group were timed on."""
    return model.updated(data, group)


def three_cells(cells: Iterable[Cell]) -> set[Cell]:
    """The cells that the documentation recommends to time: the smallest and the middle n on the
    most GPUs, and the largest n on the fewest. Host and communication dominate at small n, the GPU
    at large n."""
    sizes, counts = (sorted(set(column)) for column in zip(*cells, strict=True))
    middle = sizes[round((len(sizes) - 1) / 2)]
    return {(sizes[0], counts[-1]), (middle, counts[-1]), (sizes[-1], counts[0])}


def on_another_machine(earlier: Measured, measured: Measured) -> Iterator[Question]:
    """Forecast the groups that an earlier dataset has as well from all of its cells.

    GPU counts that only the later dataset has are a split of their own; groups that the earlier one
    lacks are skipped.
    """
    for name, group in measured.groups.items():
        counterpart = group.over(str(group.path), earlier.groups.values())
        if counterpart is None:
            continue
        cells, most = measured.cells(group), earlier.cells(counterpart).gpus.max()
        beyond = cells.gpus > most
        timed = three_cells(zip(cells.n, cells.gpus, strict=True))
        update = partial(updated, data=restricted(measured.training(group), timed), group=group)
        held = (
            Held(name, ANOTHER_MACHINE, cells.assign(trained=beyond), None, Interval.machine),
            Held(name, THREE_CELLS, marked(cells, timed), update),
            Held(name, MORE_GPUS, cells.assign(trained=~beyond), None, Interval.machine),
        )
        proper = tuple(one for one in held if not one.cells.trained.all())
        yield Question(earlier.training(counterpart), counterpart, proper)
