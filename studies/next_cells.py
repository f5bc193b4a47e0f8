"""Do the cells that the design chooses make a forecast surer than others?

    .venv/bin/python studies/next_cells.py [--seeds 5] [--data h200-x4]

Of each group of steps eight random cells are known by one visit each. Asked is the step time of
n = 110592 on four GPUs, or the best count for it; no cell of that n or a larger one may be visited.
Six visits are added: as the design chooses them, two between fits; at random; spread over the grid.
The table holds medians over the groups, before and after.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import gpucast
from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.selection import StepSelection
from gpucast.data.thinning import coarsened
from gpucast.design.next_cells import Ask, next_cells
from gpucast.design.optimal import start_design
from gpucast.errors import InputError
from gpucast.model.forecaster import Forecaster
from gpucast.util.tables import print_table

N, GPUS = 110592.0, 4
START, ADDED, BATCH = 8, 6, 2

Cell = tuple[float, int]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Group:
    """Steps of one kind: their cells' visits in the order in which they were made."""

    data: Dataset
    selection: StepSelection
    visits: dict[Cell, list[Step]]

    @property
    def open(self) -> list[Cell]:
        """Cells that may be visited."""
        return sorted(cell for cell in self.visits if cell[0] < N)

    def seconds(self, cell: Cell) -> float:
        """Over all visits."""
        return float(np.median([np.median(step.seconds) for step in self.visits[cell]]))

    def fit(self, seen: Counter[Cell]) -> Forecaster:
        """To the first so many visits of each cell."""
        kept = [step for cell, count in seen.items() for step in self.visits[cell][:count]]
        others = [each for each in self.data.records if not isinstance(each, Step)]
        data = replace(self.data, records=[*others, *kept])
        return gpucast.fit(data, self.selection, replicates=0)


Choose = Callable[[Group, Counter[Cell], np.random.Generator], list[Cell]]


def groups_of(data: Dataset) -> list[Group]:
    """All kinds of steps that were measured in the cell that is asked for."""
    found: dict[StepSelection, dict[Cell, list[Step]]] = defaultdict(lambda: defaultdict(list))
    for step in data.steps:
        if step.boundary in (None, "open") and not step.graph:
            kind = StepSelection(
                path=step.path, schedule=step.schedule, kernel=step.kernel, memory=step.memory
            )
            found[kind][step.n, step.gpus].append(step)
    return [
        Group(data.select(path=kind.path), kind, dict(visits))
        for kind, visits in found.items()
        if (N, GPUS) in visits
    ]


def designed(ask: Ask) -> Choose:
    """The design's cells, revisits among them."""

    def choose(group: Group, seen: Counter[Cell], _: np.random.Generator) -> list[Cell]:
        most = [len(group.visits[cell]) - seen[cell] for cell in group.open]
        costs = np.ones(len(group.open))
        found = next_cells(group.fit(seen), ask, group.open, costs=costs, most=most, count=BATCH)
        assert found is not None
        return [(each.n, each.gpus) for each in found.cells for _ in range(each.visits)]

    return choose


def at_random(group: Group, seen: Counter[Cell], rng: np.random.Generator) -> list[Cell]:
    """New cells, whatever they tell."""
    new = [cell for cell in group.open if not seen[cell]]
    return [new[i] for i in rng.permutation(len(new))[:BATCH]]


def spread(group: Group, seen: Counter[Cell], _: np.random.Generator) -> list[Cell]:
    """New cells, each the farthest from those before."""
    done = [i for i, cell in enumerate(group.open) if seen[cell]]
    return [group.open[i] for i in start_design(group.open, len(done) + BATCH, done)]


def scores(group: Group, seen: Counter[Cell]) -> list[float]:
    """Error and half-width of the forecast, expected time's half-width, regret of the count."""
    model = group.fit(seen)
    counts = sorted(gpus for n, gpus in group.visits if n == N)
    times = np.array([group.seconds((N, gpus)) for gpus in counts])
    found = model.forecasts(np.full(len(counts), N), np.array(counts, dtype=np.float64))
    at = counts.index(GPUS)
    return [
        float(abs(found.seconds[at] / times[at] - 1)),
        float((found.high[at] - found.low[at]) / (2 * found.seconds[at])),
        float((found.mean_high[at] - found.mean_low[at]) / (2 * found.seconds[at])),
        float(times[int(np.argmin(found.seconds))] / times.min() - 1),
        float(found.low[at] <= times[at] <= found.high[at]),
    ]


def run(group: Group, choose: Choose, seed: int) -> list[list[float]]:
    """Scores before and after the visits that are added; of eight cells that can be fitted."""
    for attempt in range(20):
        rng = np.random.default_rng([seed, attempt])
        cells = group.open
        seen = Counter(cells[i] for i in rng.permutation(len(cells))[:START])
        try:
            before = scores(group, seen)
            break
        except InputError:
            continue
    for _ in range(ADDED // BATCH):
        seen.update(choose(group, seen, rng))
    return [before, scores(group, seen)]


def table(groups: Sequence[Group], ways: dict[str, Choose], seeds: int) -> list[list[str]]:
    """A row a way of choosing."""
    rows = []
    for name, choose in ways.items():
        found = np.array([[run(g, choose, s) for s in range(seeds)] for g in groups])
        before, after = np.median(found.mean(axis=1), axis=0)
        if not rows:
            rows.append(["none", *_figures(before, found[:, :, 0])])
        rows.append([name, *_figures(after, found[:, :, 1])])
    return rows


HEADER = ["six visits", "error", "mean error", "half-width", "of the mean", "regret", "covered"]


def _figures(medians: Array, of_all: Array) -> list[str]:
    error, width, of_mean = medians[:3]
    mean = of_all.mean(axis=(0, 1))
    shown = (error, mean[0], width, of_mean, mean[3], mean[4])
    return [f"{100 * each:.2f} %" for each in shown]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="h200-x4")
    parser.add_argument("--seeds", type=int, default=5)
    chosen = parser.parse_args()
    groups = groups_of(coarsened(gpucast.load(chosen.data)))
    counts = sorted({gpus for group in groups for n, gpus in group.visits if n == N})
    ways = {
        "design for the forecast": designed(Ask.forecasts([N], [GPUS])),
        "design for the best count": designed(Ask.best_count([N], counts)),
        "at random": at_random,
        "spread": spread,
    }
    print_table(HEADER, table(groups, ways, chosen.seeds), "lrrrrrr")


if __name__ == "__main__":
    main()
