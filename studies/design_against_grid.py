"""Does the chosen design forecast as well as the whole grid, for a third of its GPU time?

    .venv/bin/python -m studies.design_against_grid [--folds 4] [--shares 0.17,0.33,0.67]
        [--data h200-x4 lammps-lj-v100 ...] [-o docs/results/design.json]

Recorded tables are played back. Of each group of steps every cell is held out once, a random fold
of them at a time. The grid is one visit of each of the others: what ``gpucast measure`` does
without a budget. The design is what it does with ``--gpu-hours``: it knows what its own visits
told, and ends when its share of the grid's GPU time is spent. Both are fitted, and forecast the
held-out cells, which are known by the median of all their visits.

A visit costs its GPU count times its seconds: of the mini-app those that its own timing takes; of
other programs, whose tables say nothing of it, as much for start and end as for the steps of the
median cell.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gpucast
from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.selection import StepSelection
from gpucast.data.thinning import coarsened
from gpucast.design.cells import Cell, Timing
from gpucast.errors import InputError
from gpucast.measure.described.costs import VisitCosts
from gpucast.measure.rounds import Designed
from gpucast.model.forecaster import Forecaster
from gpucast.util.tables import print_table

TABLES = (
    "h200-x4", "h200-x4-mixed", "h200-x2", "h200-mdapp",
    "lammps-lj-v100", "openmm-h200", "ddp-h200", "quick-dft",
)  # fmt: skip
LEAST_CELLS = 12
"""Of fewer, a third of the GPU time is not even a start design."""

MOST = 6
"""Visits of a cell, as ``gpucast measure`` with a budget; no more than were recorded."""

RUN = 60.0
"""Seconds of the median run of a program of which nobody says how long its runs are."""

FIT_SECONDS = 0.6
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


def played(group: Group, cells: Sequence[Cell], budget: float) -> Counter[Cell]:
    """The visits that a campaign makes for so many GPU seconds."""
    costs = VisitCosts(by_gpu=True)
    fits: dict[StepSelection, Forecaster] = {}
    seen: Counter[Cell] = Counter()
    most = {cell: min(MOST, len(group.visits[cell])) for cell in cells}
    rounds = Designed(cells, costs, fits, lambda: FIT_SECONDS, visits=seen, most=MOST)
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
            costs.learn(cell, group.seconds(cell), float(np.median(step.seconds)))
            seen[cell] += 1
        if not batch:
            break
        model = group.fit(seen)
        if model is not None:
            fits[group.selection] = model
            costs.take(cells, model)
    return seen


@dataclass(frozen=True)
class Found:
    """Errors of one group's held-out cells, the same cells in the same order.

    Attributes:
        grid: of the whole grid; ``design``: by share of its GPU time.
        visited: cells that the design visits, by share, mean over folds; ``cells``: of the grid.
    """

    group: Group
    grid: Array
    design: dict[float, Array]
    visited: dict[float, float]
    cells: float

    def ratio(self, share: float) -> float:
        """Median error of the design over that of the grid."""
        return float(np.median(self.design[share]) / np.median(self.grid))

    def worse_by_chance(self, share: float, draws: int = 2000) -> float:
        """Share of bootstrap samples of the held-out cells in which the design's median error is
        not larger than the grid's: below 5 % it is worse, whatever cells were held out."""
        at = np.random.default_rng(0).integers(0, self.grid.size, (draws, self.grid.size))
        design, grid = self.design[share], self.grid
        return float(np.mean(np.median(design[at], axis=1) <= np.median(grid[at], axis=1)))


def compared(group: Group, shares: Sequence[float], folds: int) -> Found:
    """Every cell held out once."""
    cells = sorted(group.visits)
    order = np.random.default_rng(len(cells)).permutation(len(cells))
    grid: list[float] = []
    design: dict[float, list[float]] = {share: [] for share in shares}
    visited: dict[float, list[int]] = {share: [] for share in shares}
    sizes = []
    for fold in range(folds):
        held_out = [cells[i] for i in order[fold::folds]]
        others = [cell for cell in cells if cell not in set(held_out)]
        sizes.append(len(others))
        grid += group.errors(group.fit(Counter(others)), held_out)
        whole = sum(map(group.cost, others))
        for share in shares:
            seen = played(group, others, share * whole)
            design[share] += group.errors(group.fit(seen), held_out)
            visited[share].append(len(+seen))
    return Found(
        group,
        np.array(grid),
        {share: np.array(each) for share, each in design.items()},
        {share: float(np.mean(each)) for share, each in visited.items()},
        float(np.mean(sizes)),
    )


def label(group: Group) -> str:
    """In a table."""
    kind = group.selection
    words = (kind.program, kind.case) if kind.program else (kind.path, kind)
    machine = (kind.machine or "").partition("/")[0]
    own = f"{kind.path} {kind.schedule} {kind.kernel} {kind.memory}"
    return f"{machine} {' '.join(map(str, words))[:40]}" if kind.program else f"{machine} {own}"


def row(found: Found, shares: Sequence[float]) -> list[str]:
    """Of the table."""
    medians = [np.median(found.design[share]) for share in shares]
    third = min(shares, key=lambda share: abs(share - 1 / 3))
    return [
        found.group.name,
        label(found.group),
        f"{found.cells:.0f}",
        f"{found.visited[third]:.0f}",
        f"{100 * found.group.noise:.1f} %",
        f"{100 * np.median(found.grid):.2f} %",
        *(f"{100 * each:.2f} %" for each in medians),
        f"{found.ratio(third):.2f}",
        f"{100 * found.worse_by_chance(third):.0f} %",
    ]


def summary(found: Sequence[Found], share: float) -> dict[str, float]:
    """Over all groups: geometric mean of the ratios of median errors with its standard error,
    median errors, and how many groups are no worse than the grid, beyond chance."""
    logs = np.log([each.ratio(share) for each in found])
    fine = np.isfinite(logs)
    return {
        "share": share,
        "groups": len(found),
        "no_worse": sum(each.worse_by_chance(share) >= 0.05 for each in found),
        "ratio": float(np.exp(np.mean(logs[fine]))),
        "ratio_error": float(np.std(logs[fine], ddof=1) / np.sqrt(fine.sum()))
        if fine.sum() > 1
        else float("nan"),
        "grid": float(np.median([np.median(each.grid) for each in found])),
        "design": float(np.median([np.median(each.design[share]) for each in found])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(TABLES))
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--shares", default="0.1667,0.3333,0.6667")
    parser.add_argument("--only", default="", help="groups whose names have this")
    parser.add_argument("-o", type=Path, help="all figures, as JSON")
    chosen = parser.parse_args()
    shares = [float(each) for each in chosen.shares.split(",")]
    found = []
    for name in chosen.data:
        for group in groups_of(name):
            if chosen.only in label(group):
                found.append(compared(group, shares, chosen.folds))
                print(" | ".join(row(found[-1], shares)), file=sys.stderr, flush=True)
    head = ["data", "steps", "cells", "visited", "visits differ", "grid"]
    print_table(
        [*head, *(f"{share:.0%}" for share in shares), "ratio", "no worse"],
        [row(each, shares) for each in found],
        f"llrrrr{'r' * len(shares)}rr",
    )
    for share in shares:
        print(json.dumps(summary(found, share)))
    if chosen.o is not None:
        chosen.o.write_text(
            json.dumps([_kept(each) for each in found], indent=1) + "\n", encoding="utf-8"
        )


def _kept(found: Found) -> dict[str, object]:
    return {
        "data": found.group.name,
        "steps": label(found.group),
        "cells": found.cells,
        "grid": [round(float(each), 5) for each in found.grid],
        "design": {
            f"{share:g}": [round(float(each), 5) for each in errors]
            for share, errors in found.design.items()
        },
    }


if __name__ == "__main__":
    main()
