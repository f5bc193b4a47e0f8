"""Does the chosen design forecast as well as the whole grid, for a third of its GPU time?

    .venv/bin/python studies/design_against_grid.py -o docs/results/design.md [--minutes 20]
        [--folds 4] [--share 0.333 0.5] [--data h200-x4 lammps-lj-v100 ...] [--keep FOUND.jsonl]

All groups take hours. What was found is kept, and the same command goes on from there: interrupt
it, or give it ``--minutes``, after which it begins no other group. The page is written once all
are there.

Recorded tables are played back. Of each group of steps every cell is held out once, a random fold
of them at a time. The grid is one visit of each of the others: what ``gpucast measure`` does
without a budget. The design is what it does with ``--gpu-hours``: it knows what its own visits
told, and ends when its share of the grid's GPU time is spent. Both are fitted, and forecast the
held-out cells, which are known by the median of all their visits.

Beside the design, the same GPU time for cells at random.

A visit costs its GPU count times its seconds: of the mini-app those that its own timing takes,
which the campaign knows; of other programs, whose tables say nothing of it, as much for start and
end as for the steps of the median cell, which the campaign finds out.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import design_kept
import design_page
import gpucast
from gpucast.data.dataset import Dataset
from gpucast.data.records import Machine, Step
from gpucast.data.selection import StepSelection
from gpucast.data.thinning import coarsened
from gpucast.design.cells import Cell, Timing
from gpucast.errors import InputError
from gpucast.measure.described.costs import VisitCosts
from gpucast.measure.rounds import Costs, Designed
from gpucast.model.forecaster import Forecaster
from gpucast.util.tables import print_table

TABLES = (
    "h200-x4", "h200-x2", "h200-mdapp",
    "lammps-lj-v100", "openmm-h200", "ddp-h200", "quick-dft",
)  # fmt: skip
LEAST_CELLS = 12
"""Of fewer, a third of the GPU time is not even a start design."""

MOST = 6
"""Visits of a cell, as ``gpucast measure`` with a budget; no more than were recorded."""

RUN = 60.0
"""Seconds of the median run of a program of which nobody says how long its runs are."""

FIT_SECONDS = 1.0
"""What the campaign takes a fit to cost (s of a processor): the same choices on any machine."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Group:
    """Steps of one kind on one machine: of each cell its visits, as they came."""

    name: str
    data: Dataset
    selection: StepSelection
    visits: dict[Cell, list[Step]]

    @cached_property
    def truth(self) -> dict[Cell, float]:
        """Seconds of a step, over all visits."""
        return {
            cell: float(np.median([np.median(step.seconds) for step in steps]))
            for cell, steps in self.visits.items()
        }

    @cached_property
    def noise(self) -> float:
        """Relative standard deviation between visits, median over cells; NaN of single visits."""
        logs = [np.log([np.median(s.seconds) for s in steps]) for steps in self.visits.values()]
        return float(
            np.median([np.std(each, ddof=1) if len(each) > 1 else np.nan for each in logs])
        )

    @cached_property
    def multiprocessors(self) -> int:
        """Of a GPU, as campaigns of our own programs know them; 0 of other programs."""
        of = [each for each in self.data.records
              if isinstance(each, Machine) and each.id == self.selection.machine]  # fmt: skip
        known = self.selection.program is None and of and of[0].gpus
        return (of[0].gpus[0].sms or 0) if known and of[0].gpus else 0

    def seconds(self, cell: Cell) -> float:
        """Of a visit, from its start to its end."""
        step = self.truth[cell]
        if self.selection.program is None:
            return Timing.of_budget(np.inf).cell_seconds(step)
        return RUN / 2 * (1 + step / float(np.median(list(self.truth.values()))))

    def cost(self, cell: Cell) -> float:
        """GPU seconds of a visit."""
        return self.seconds(cell) * cell.gpus

    def fit(self, seen: Counter[Cell]) -> Forecaster | None:
        """To the first so many visits of each cell; None where they do not determine a model."""
        kept = [step for cell, count in seen.items() for step in self.visits[cell][:count]]
        others = [each for each in self.data.records if not isinstance(each, Step)]
        try:
            data = replace(self.data, records=[*others, *kept])
            return gpucast.fit(data, self.selection, replicates=0)
        except InputError:
            return None

    def errors(self, model: Forecaster | None, cells: Sequence[Cell]) -> list[float]:
        """Of forecasts of these cells, relative; infinite without a model."""
        if model is None:
            return [float("inf")] * len(cells)
        try:
            found = model.forecasts([c.n for c in cells], [c.gpus for c in cells])
        except InputError:  # a GPU count whose communication the data cannot know
            return [float("inf")] * len(cells)
        times = np.array([self.truth[cell] for cell in cells])
        return [float(each) for each in np.abs(found.seconds / times - 1)]


def groups_of(name: str) -> list[Group]:
    """All kinds of steps of a dataset with enough cells."""
    data = coarsened(gpucast.load(name))
    found: dict[StepSelection, dict[Cell, list[Step]]] = defaultdict(lambda: defaultdict(list))
    for step in data.steps:
        if step.boundary in (None, "open") and not step.graph:
            kind = StepSelection(
                machine=step.machine, path=step.path, program=step.program, case=step.case,
                schedule=step.schedule, kernel=step.kernel, memory=step.memory,
            )  # fmt: skip
            found[kind][Cell(kind, step.n, step.gpus)].append(step)
    return [
        Group(name, data.select(path=kind.path, machine=kind.machine), kind, dict(visits))
        for kind, visits in found.items()
        if len(visits) >= LEAST_CELLS and len({cell.gpus for cell in visits}) > 1
    ]


class OwnCosts(Costs):
    """GPU seconds of visits of our own programs, of which the campaign knows how they are timed."""

    def __init__(self) -> None:
        super().__init__("native", Timing.of_budget(np.inf))

    def __call__(self, cell: Cell) -> float:
        return super().__call__(cell) * cell.gpus

    def visited(self, cell: Cell, seconds: float, step: float) -> None:
        """What the steps took."""
        self.learn(cell, step)

    def to_know(self, cells: Sequence[Cell]) -> Cell | None:
        """Nothing beforehand."""


class ProgramCosts(VisitCosts):
    """Of visits of others."""

    def __init__(self) -> None:
        super().__init__(by_gpu=True)

    def visited(self, cell: Cell, seconds: float, step: float) -> None:
        """What a visit and its steps took."""
        self.learn(cell, seconds, step)


def played(group: Group, cells: Sequence[Cell], budget: float) -> Counter[Cell]:
    """The visits that a campaign makes for so many GPU seconds."""
    costs = OwnCosts() if group.selection.program is None else ProgramCosts()
    fits: dict[StepSelection, Forecaster] = {}
    seen: Counter[Cell] = Counter()
    most = {cell: min(MOST, len(group.visits[cell])) for cell in cells}
    rounds = Designed(
        cells, costs, fits, lambda: FIT_SECONDS, visits=seen, most=MOST,
        sms=group.multiprocessors,
    )  # fmt: skip
    left = budget
    while open_ := [cell for cell in cells if seen[cell] < most[cell]]:
        first = costs.to_know(open_)
        if first is not None:
            batch = [first]
        else:
            open_ = [cell for cell in open_ if costs(cell) <= left]
            batch = rounds.next_round(open_, left) if open_ else []
        for cell in batch:
            if first is None and costs(cell) > left:
                continue
            if group.cost(cell) > left:
                return seen
            left -= group.cost(cell)
            step = group.visits[cell][seen[cell]]
            costs.visited(cell, group.seconds(cell), float(np.median(step.seconds)))
            seen[cell] += 1
        if not batch:
            break
        model = group.fit(seen)
        if model is not None:
            fits[group.selection] = model
            costs.take(cells, model)
    return seen


def at_random(group: Group, cells: Sequence[Cell], budget: float) -> Counter[Cell]:
    """Visits of any cells."""
    order = np.random.default_rng(len(cells)).permutation(len(cells))
    return paid(group, [cells[i] for i in order], budget)


def paid(group: Group, order: Sequence[Cell], budget: float) -> Counter[Cell]:
    """One visit of each of these for which there is still GPU time when its turn comes."""
    seen: Counter[Cell] = Counter()
    for cell in order:
        if group.cost(cell) <= budget:
            budget -= group.cost(cell)
            seen[cell] += 1
    return seen


WAYS = {"design": played, "random": at_random}


@dataclass(frozen=True)
class Found:
    """Errors of one group's held-out cells, the same cells in the same order.

    Attributes:
        errors: of the ``grid``, and by way of spending a share of its GPU time.
        visited: cells that were visited, mean over folds.
        noise: relative standard deviation between visits; None where there was one of each.
    """

    data: str
    steps: str
    share: float
    noise: float | None
    errors: dict[str, list[float]]
    visited: dict[str, float]

    def median(self, way: str) -> float:
        """Error."""
        return float(np.median(self.errors[way]))

    def ratio(self, way: str = "design") -> float:
        """Median error over that of the grid."""
        return self.median(way) / self.median("grid")

    def by_chance(self, way: str = "design", draws: int = 2000) -> float:
        """Share of bootstrap samples of the held-out cells in which the way's median error is not
        larger than the grid's: below 5 % it is worse, whatever cells were held out."""
        mine, grid = np.array(self.errors[way]), np.array(self.errors["grid"])
        at = np.random.default_rng(0).integers(0, grid.size, (draws, grid.size))
        return float(np.mean(np.median(mine[at], axis=1) <= np.median(grid[at], axis=1)))


def compared(group: Group, share: float, folds: int) -> Found:
    """Every cell held out once."""
    cells = sorted(group.visits)
    order = np.random.default_rng(len(cells)).permutation(len(cells))
    errors: dict[str, list[float]] = defaultdict(list)
    visited: dict[str, list[int]] = defaultdict(list)
    for fold in range(folds):
        held_out = [cells[i] for i in order[fold::folds]]
        others = [cell for cell in cells if cell not in set(held_out)]
        whole = sum(map(group.cost, others))
        made = {name: way(group, others, share * whole) for name, way in WAYS.items()}
        for name, seen in {"grid": Counter(others), **made}.items():
            errors[name] += group.errors(group.fit(seen), held_out)
            visited[name].append(len(+seen))
    return Found(
        group.name,
        label(group),
        share,
        None if np.isnan(group.noise) else group.noise,
        {name: [round(each, 6) for each in found] for name, found in errors.items()},
        {name: float(np.mean(found)) for name, found in visited.items()},
    )


def label(group: Group) -> str:
    """In a table."""
    kind = group.selection
    machine = (kind.machine or "").partition("/")[0]
    if kind.program:
        return f"{machine} {kind.program} {kind.case or ''}"[:60].strip()
    return f"{machine} {kind.path} {kind.schedule} {kind.kernel} {kind.memory}"


KEPT = design_kept.ROOT / "build" / "studies" / "design_against_grid.jsonl"


def main() -> int:
    """Exit status: 1 where groups are left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(TABLES))
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--share", type=float, nargs="+", default=[1 / 3])
    parser.add_argument("--keep", type=Path, default=KEPT, help="what was found, to go on from")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="of this run")
    parser.add_argument("-o", type=Path, help="the page")
    chosen = parser.parse_args()
    end = time.monotonic() + 60 * chosen.minutes
    kept = design_kept.Kept(
        chosen.keep, {"sources": design_kept.sources(), "folds": chosen.folds, "most": MOST}
    )
    found, left = [], 0
    for share in chosen.share:
        for group in (group for name in chosen.data for group in groups_of(name)):
            key = group.data.digest, label(group), share
            if kept.get(*key) is None and time.monotonic() < end:
                kept.add(compared(group, share, chosen.folds), *key)
            if (fields := kept.get(*key)) is None:
                left += 1
            else:
                found.append(Found(**fields))
    print_table(design_page.HEADER, [design_page.row(each) for each in found], "llrrrrrrrr")
    if left:
        print(f"{left} groups are left: the same command goes on with them", file=sys.stderr)
        return 1
    if chosen.o is not None and not any(
        each.visited["design"] >= design_page.FEWEST for each in found
    ):
        print("no group is large enough for a page", file=sys.stderr)
        return 1
    if chosen.o is not None:
        design_page.write(found, chosen.o)
    return 0


if __name__ == "__main__":
    sys.exit(main())
