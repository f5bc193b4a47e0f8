"""How good are what-ifs? Remote steps from native steps and the remote path's microbenchmarks.

    .venv/bin/python lab/studies/what_if.py [DATA...] [--one-gpu] [--replicates 60]

Prints, for each group of steps over another path, with skeletons and without: median and 95th
percentile of the errors, how many measured cells the 90 % interval holds, and its half-width; with
--one-gpu where native steps and skeletons are of one GPU alone. Then, for each host, the coverage
by intervals that know of the other hosts alone how far hosts lie apart, which is what to expect on
a new one; and the constants of forecast/other_path.py by all. Ends with status 1 if a target is
missed: at least 85 % of the cells of hosts left out, by skeletons and by transfers; on h200-x2,
with skeletons, median 3 % (claret) and 5 % (tuned).
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import gpucast as gc
from gpucast.data.dataset import Dataset
from gpucast.data.records import Skeleton, Step
from gpucast.data.selection import StepSelection
from gpucast.data.steps import data_of, groups_of
from gpucast.errors import InputError
from gpucast.model.fitted import Model, own
from gpucast.model.other_path import T90
from gpucast.paths.other_path import BEYOND
from gpucast.paths.what_if import Launch
from gpucast.util.tables import print_table

Array = NDArray[np.float64]

NATIVE = "native"
MEDIANS_ON = "h200-x2"
TARGETS = {"claret": 0.03, "tuned": 0.05}
COVERAGE = 0.85
DATA = [
    "h200-x2",
    "h200-x4",
    "h200-shm",
    "h200-x4-mixed",
    str(Path(__file__).parent / "hosts/h200-u.jsonl.gz"),
]
ENOUGH = 0.2
"""Share of a step; a smaller share of communication tells little about it."""
TOLD = 20e-6
"""s; shorter host work is the clock's as much as the host's."""
LEAST = 0.05
WAYS: dict[str, Launch] = {"skeletons": "auto", "transfers": "measured"}


@dataclass(frozen=True)
class Cells:
    """Cells that were measured: medians (s) of their steps and of the host's work in them."""

    n: Array
    gpus: Array
    measured: Array
    host_work: Array
    samples: list[int]
    visits: list[int]


@dataclass(frozen=True)
class Judged:
    """One group's what-if beside what was measured; arrays have an entry a cell.

    Attributes:
        error: relative.
        covered: whether the interval of the cell's median holds it.
        width: half-width of that interval, of ln of the time.
        apart: what the steps took of the communication and of the host's work that were expected,
            the medians over cells with enough of it; ln.
    """

    group: StepSelection
    way: str
    model: Model
    cells: Cells
    error: Array
    covered: NDArray[np.bool_]
    width: Array
    apart: tuple[float, float]

    @property
    def host(self) -> str:
        return str(self.group.machine).split("/")[0]


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
                source = found.data.what_if
                if way != "skeletons" or (source is not None and source.launch == way):
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


def _cells(data: Dataset, group: StepSelection) -> Cells:
    of_cell = defaultdict(list)
    for step in data_of(data, group).steps:
        if not step.cold:
            of_cell[float(step.n), float(step.gpus)].append(step)
    cells = sorted(of_cell)
    steps = [of_cell[cell] for cell in cells]
    n, gpus = np.array(cells).T
    return Cells(
        n,
        gpus,
        np.array([np.median(np.concatenate([s.seconds for s in own])) for own in steps]),
        np.array([np.median([np.median(_host_work(s)) for s in own]) for own in steps]),
        [sum(len(s.seconds) for s in own) for own in steps],
        [len(own) for own in steps],
    )


def _host_work(step: Step) -> Sequence[float]:
    return (step.phases.cpu if step.phases is not None else None) or [np.nan]


def _beside(model: Model, data: Dataset, group: StepSelection, way: str) -> Judged:
    cells = _cells(data, group)
    found = model.forecasts(cells.n, cells.gpus)
    covered, width = _held(model, cells)
    elsewhere = model.elsewhere
    assert elsewhere is not None
    parts = elsewhere.parts(model.core, model.values, cells.n, cells.gpus)
    moved = (cells.measured - parts.gpu - cells.host_work - parts.woken) / parts.moved
    apart = (
        _median_of_log(moved[parts.moved > ENOUGH * parts.seconds]),
        _median_of_log((cells.host_work / parts.cpu)[parts.cpu > TOLD]),
    )
    error = found.seconds / cells.measured - 1
    return Judged(group, way, model, cells, error, covered, width, apart)


def _median_of_log(ratio: Array) -> float:
    return float(np.median(np.log(np.maximum(ratio, LEAST))))


def _held(model: Model, cells: Cells) -> tuple[NDArray[np.bool_], Array]:
    """Whether intervals hold the measured medians, and their half-widths."""
    found = model.forecasts(cells.n, cells.gpus)
    rounding = np.zeros(cells.n.size)
    low, high = model.cell_intervals(found, cells.samples, rounding, cells.visits)
    return (low <= cells.measured) & (cells.measured <= high), np.log(high / low) / 2


# ---- how far hosts lie apart ----


def spread(hosts: Sequence[str], apart: Array) -> float:
    """Sd of ln that a forecast for one more host takes: ``model.other_path`` multiplies it by T90.

    A group lies apart by its host's effect, with mean 0, and by its own. What few hosts tell of the
    first is Student's t; groups are many.
    """
    names = sorted(set(hosts))
    own = [apart[[host == name for host in hosts]] for name in names]
    of_host = np.sqrt(np.mean([each.mean() ** 2 for each in own]))
    left = sum(float(np.sum((each - each.mean()) ** 2)) for each in own)
    of_group = np.sqrt(left / (apart.size - len(names)))
    quantiles = stats.t.ppf(0.95, len(names) - 1), stats.norm.ppf(0.95)
    return float(np.hypot(quantiles[0] * of_host, quantiles[1] * of_group) / T90)


def constants(found: Sequence[Judged]) -> tuple[float, float]:
    """BEYOND of one way, and HOST."""
    hosts, apart = [each.host for each in found], np.array([each.apart for each in found])
    moved, host = (spread(hosts, column) for column in apart.T)
    return moved, host


def left_out(found: Sequence[Judged], host: str) -> tuple[Array, Array]:
    """Whether cells of a host lie within what the others tell, and half-widths."""
    moved, work = constants([each for each in found if each.host != host])
    rows = []
    for each in found:
        if each.host != host:
            continue
        known = each.model.other_path
        assert known is not None
        more = max(0.0, known.beyond**2 - BEYOND[each.way] ** 2)
        other = replace(known, beyond=float(np.hypot(moved, more**0.5)), host=work)
        rows.append(_held(replace(each.model, other_path=other), each.cells))
    covered, width = (np.concatenate(column) for column in zip(*rows, strict=True))
    return covered, width


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
    return rows, reached


def judge_left_out(found: list[Judged]) -> bool:
    """Prints a row a host and way; whether the target is reached."""
    rows, reached = [], True
    for way in WAYS:
        its = [each for each in found if each.way == way]
        hosts = sorted({each.host for each in its})
        if len(hosts) < 3:
            continue
        every = []
        for host in hosts:
            covered, width = left_out(its, host)
            every.append(covered)
            rows.append([host, way, f"{100 * covered.mean():.0f}", f"{100 * np.median(width):.1f}"])
        pooled = float(np.concatenate(every).mean())
        rows.append(["all", way, f"{100 * pooled:.1f}", ""])
        print(f"{way}: BEYOND {constants(its)[0]:.3f}, HOST {constants(its)[1]:.3f}")
        reached &= pooled >= COVERAGE
    if not rows:  # of two hosts one tells nothing of how they differ
        return True
    print()
    print_table(["host left out", "by", "coverage %", "half-width %"], rows, "llrr")
    return reached


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", nargs="*", default=DATA)
    parser.add_argument("--one-gpu", action="store_true", help="know one GPU alone")
    parser.add_argument("--replicates", type=int, default=60)
    options = parser.parse_args()
    reached, every = True, []
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
        every += found
    return 0 if judge_left_out(every) and reached else 1


if __name__ == "__main__":
    sys.exit(main())
