"""How good are what-ifs? Remote steps from native steps and the remote path's microbenchmarks.

    .venv/bin/python lab/studies/what_if.py [DATA...] [--one-gpu] [--replicates 60]

Prints, for each group of steps over another path, with skeletons and without: median and 95th
percentile of the errors, how many measured cells the 90 % interval holds, and its half-width; with
--one-gpu where native steps and skeletons are of one GPU alone. Ends with status 1 if a target is
missed: coverage of at least 85 % on each host; on h200-x2, with skeletons, median 3 % (claret) and
5 % (tuned). Intervals know how far hosts differ: where one is like its skeletons they hold more.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import gpucast as gc
from gpucast.data.dataset import Dataset
from gpucast.data.records import Skeleton
from gpucast.data.selection import StepSelection
from gpucast.data.steps import data_of, groups_of
from gpucast.errors import InputError
from gpucast.forecast.what_if import Launch
from gpucast.model.fitted import Model, own
from gpucast.util.tables import print_table

Array = NDArray[np.float64]

NATIVE = "native"
MEDIANS_ON = "h200-x2"
TARGETS = {"claret": 0.03, "tuned": 0.05}
COVERAGE = 0.85
WAYS: dict[str, Launch] = {"skeletons": "auto", "transfers": "measured"}


@dataclass(frozen=True)
class Judged:
    """One group's what-if beside what was measured; arrays have an entry a cell.

    Attributes:
        error: relative.
        covered: whether the interval of the cell's median holds it.
        width: half-width of that interval, of ln of the time.
    """

    group: StepSelection
    way: str
    error: Array
    covered: NDArray[np.bool_]
    width: Array


def judged(data: Dataset, replicates: int, one_gpu: bool) -> Iterator[Judged | str]:
    """All groups over other paths; a line where one is refused."""
    native = _native(data, replicates, one_gpu)
    beside = data.where(lambda step: False)
    if one_gpu:
        beside = _of_one_gpu(beside)
    for group in groups_of(data):
        model = native.get((group.schedule, group.kernel, group.memory))
        if group.path == NATIVE or model is None:
            continue
        for way, launch in WAYS.items():
            try:
                found = gc.what_if(
                    model, beside, group.path,
                    machine=group.machine, memory=group.memory, launch=launch,
                )  # fmt: skip
                yield _beside(found, data, group, way)
            except InputError as error:
                yield f"{group.label}, {way}: {error}"


def _native(
    data: Dataset, replicates: int, one_gpu: bool
) -> dict[tuple[str | None, str | None, str | None], Model]:
    found = {}
    for group in groups_of(data):
        if group.path == NATIVE and group.schedule != "allgather":
            training = data_of(data, group)
            if one_gpu:
                training = _of_one_gpu(training.where(lambda step: step.gpus == 1))
            model = own(gc.fit(training, group, replicates=replicates), "what-if")
            found[group.schedule, group.kernel, group.memory] = model
    return found


def _of_one_gpu(data: Dataset) -> Dataset:
    kept = [each for each in data.records if not (isinstance(each, Skeleton) and each.gpus > 1)]
    return replace(data, records=kept)


def _beside(model: Model, data: Dataset, group: StepSelection, way: str) -> Judged:
    steps = [step for step in data_of(data, group).steps if not step.cold]
    cells = sorted({(float(step.n), step.gpus) for step in steps})
    of_cell = defaultdict(list)
    for step in steps:
        of_cell[float(step.n), step.gpus].append(step)
    measured = np.array([np.median(np.concatenate([s.seconds for s in of_cell[c]])) for c in cells])
    found = model.forecasts(
        *(np.array(each, dtype=np.float64) for each in zip(*cells, strict=True))
    )
    counts = [sum(len(step.seconds) for step in of_cell[cell]) for cell in cells]
    visits = [len(of_cell[cell]) for cell in cells]
    low, high = model.cell_intervals(found, counts, np.zeros(len(cells)), visits)
    return Judged(
        group=group,
        way=way,
        error=found.seconds / measured - 1,
        covered=(low <= measured) & (measured <= high),
        width=np.log(high / low) / 2,
    )


def percentages(each: Judged) -> list[str]:
    error = 100 * np.abs(each.error)
    return [
        f"{np.median(error):.1f}",
        f"{np.percentile(error, 95):.1f}",
        f"{100 * each.covered.mean():.0f}",
        f"{100 * np.median(each.width):.1f}",
    ]


def summary(found: list[Judged], way: str, target: bool) -> tuple[list[list[str]], bool]:
    """Rows by kernel and pooled, and whether targets are reached; ``target``: of medians, too."""
    rows, reached = [], True
    of_way = [each for each in found if each.way == way]
    for kernel in sorted({str(each.group.kernel) for each in of_way}):
        its = [each for each in of_way if each.group.kernel == kernel]
        median = float(np.median([np.median(np.abs(each.error)) for each in its]))
        covered = float(np.mean(np.concatenate([each.covered for each in its])))
        width = float(np.median([np.median(each.width) for each in its]))
        rows.append([kernel, way, *(f"{100 * x:.1f}" for x in (median, covered, width))])
        if target and way == "skeletons" and kernel in TARGETS:
            reached &= median <= TARGETS[kernel]
    pooled = float(np.mean(np.concatenate([each.covered for each in of_way]))) if of_way else 1.0
    rows.append(["all", way, "", f"{100 * pooled:.1f}", ""])
    return rows, reached and pooled >= COVERAGE


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", nargs="*", default=["h200-x2", "h200-x4"])
    parser.add_argument("--one-gpu", action="store_true", help="know one GPU alone")
    parser.add_argument("--replicates", type=int, default=60)
    options = parser.parse_args()
    reached = True
    for name in options.data:
        found, rows = [], []
        for each in judged(gc.load(name), options.replicates, options.one_gpu):
            if isinstance(each, str):
                print(f"refused: {each}")
                continue
            found.append(each)
            rows.append([each.group.label, each.way, *percentages(each)])
        heads = ["median %", "p95 %", "coverage %", "half-width %"]
        print(f"\n{name}\n")
        print_table(["group", "by", *heads], rows, "llrrrr")
        print()
        total = []
        for way in WAYS:
            its, ok = summary(found, way, name == MEDIANS_ON and not options.one_gpu)
            total += its
            reached &= ok
        print_table(["kernel", "by", "median %", "coverage %", "half-width %"], total, "llrrr")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
