"""What skeletons, or transfers and launches, leave open of another path's communication."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.fitting.problem import Problem
from gpucast.model.content import Noise, OtherPath, PartsMixture, TimedVisits
from gpucast.model.other_path import moved_alone
from gpucast.model.residual_process import USUAL, learnt_amplitudes

Array = NDArray[np.float64]

# Sds of ln S of steps around what was measured instead, beyond its process: skeletons, or transfers
# and launches, which know nothing of what several GPUs share. Most of it is a host's own: steps of
# one host all take up to 0.3 of S less than its skeletons say, of another up to 0.3 more (by
# transfers up to twice as much again). With 0.16 and 0.6, 90 % intervals hold 90 % in the mean over
# hosts (h200-x2, h200-x4, h200-x4-mixed, h200-shm, lab/studies/hosts/h200-u.jsonl). The next may
# lie further off: times sqrt(1 + 1 / hosts), and Student's quantile for so few.
_BEYOND = 0.24
_BEYOND_TRANSFERS = 0.75
# Scatter of the host's work around that on the first path, such that 90 % intervals hold 90 % on
# h200-x2 (lab/studies/what_if.py). Where pageable memory lies, and who touched it last, depends on
# the process.
# The same by what is not known of launches where they were not timed: kept from the first path, or
# scaled as latencies are.
_LAUNCH_UNKNOWN = {"measured": 0.0, "keep": 0.5, "scale": 0.25}
_HOST = {"pinned": 0.08, "pageable": 0.10}
# What of that is common to all cells of a visit on h200-x2. On other machines visits share more: a
# process has its memory where it has it, and a neighbour of a shared host is busy for minutes.
_HOST_SHARED = 0.05
# Shorter host work is the clock's as much as the host's, s; and fewer cells tell no mean.
_TOLD, _CELLS = 10e-6, 8

# Sd of ln S from visit to visit before anything was measured, worth so many repeated skeletons.
_VISIT, _WORTH = 0.08, 4.0

# Standard deviation over median absolute deviation of a normal distribution.
_MAD = 1.4826

# Of the time that a skeleton keeps a GPU busy, so much is not known of what it really took.
_BUSY_SD = 0.03

# Deviations below this share of the form are no measurement of it.
_LEAST = 0.1


@dataclass(frozen=True)
class Deviations:
    """By how much skeletons' communication deviates from the form fitted to them, by cell.

    Attributes:
        n, gpus: cells.
        deviation: of ln S.
        variance: of each deviation, by noise.
        visit: sd of ln S from visit to visit.
        memory: ``pageable`` or ``pinned``, as all others count.
        most: the largest GPU count of skeletons.
    """

    n: list[float]
    gpus: list[int]
    deviation: list[float]
    variance: list[float]
    visit: float
    memory: str
    most: int


def deviations(found: _core.Fit, problem: Problem) -> Deviations:
    """Deviations of a problem's skeletons from a fit to them."""
    cells = list(map(problem.skeleton_cell, problem.skeletons))
    n, gpus, busy = (np.array(each, dtype=np.float64) for each in zip(*cells, strict=True))
    measured = np.array([np.median(each.seconds) for each in problem.skeletons])
    values = np.asarray(found.values)
    fitted = found.model.skeleton_seconds(values, n, gpus, busy)
    moved = moved_alone(found.model, values, n, gpus)
    ratio = 1 + (measured - fitted) / moved
    usable = ratio > _LEAST
    log_ratio = np.log(np.where(usable, ratio, 1.0))
    of_busy = (_BUSY_SD * busy / moved) ** 2
    visit = _visit(list(zip(n, gpus, busy, strict=True)), log_ratio, of_busy, usable)
    variance = visit**2 + of_busy
    memory = memory_of(each.memory for each in problem.skeletons)
    result = Deviations([], [], [], [], visit, memory, int(gpus.max()))
    for cell in sorted(set(zip(n, gpus, strict=True))):
        at = (n == cell[0]) & (gpus == cell[1]) & usable
        if at.any():
            weight = 1 / variance[at]
            mean = float(weight @ log_ratio[at] / weight.sum())
            result.n.append(float(cell[0]))
            result.gpus.append(int(cell[1]))
            result.deviation.append(mean)
            result.variance.append(float(1 / weight.sum()))
    return result


def memory_of(stated: Iterable[str]) -> str:
    """``pageable`` where any is, else ``pinned``: what is known of other kinds is no more."""
    return "pageable" if "pageable" in stated else "pinned"


def _visit(
    cells: list[tuple[float, float, float]],
    log_ratio: Array,
    of_busy: Array,
    usable: NDArray[np.bool_],
) -> float:
    """Sd of ln S from visit to visit: of skeletons that were measured several times."""
    repeated = defaultdict(list)
    for at, cell in enumerate(cells):
        # Where the GPUs' time is most of it, the skeleton says little of communication.
        if usable[at] and of_busy[at] < _VISIT**2:
            repeated[cell].append(log_ratio[at])
    apart = [np.array(each) - np.median(each) for each in repeated.values() if len(each) > 1]
    freedom = sum(each.size - 1 for each in apart)
    if not freedom:
        return _VISIT
    # Of the middle half: what disturbed single skeletons is no noise of visits.
    sd = _MAD * float(np.median(np.abs(np.concatenate(apart))))
    return float(np.sqrt((_WORTH * _VISIT**2 + freedom * sd**2) / (_WORTH + freedom)))


def shared_by_visits(visits: TimedVisits) -> float:
    """Sd of ln of the host's work that all cells of a visit have in common: the first visits of
    cells are taken for one, the second ones for another, and so on. 0 where too few show it."""
    of_cell = defaultdict(list)
    for cell, cpu in zip(visits.cell, visits.cpu, strict=True):
        of_cell[cell].append(cpu or 0.0)
    most = max(map(len, of_cell.values()))
    told = [cpu for cpu in of_cell.values() if len(cpu) == most and min(cpu) > _TOLD]
    if most < 2 or len(told) < _CELLS:
        return 0.0
    apart = np.log(told)
    apart -= apart.mean(axis=1, keepdims=True)
    common = apart.mean(axis=0)
    # Analysis of variance, two ways: what is left is each cell's own.
    own = float(np.sum((apart - common) ** 2)) / ((len(told) - 1) * (most - 1))
    return float(max(0.0, np.sum(common**2) / (most - 1) - own / len(told)) ** 0.5)


def host_apart(memory: str, mixture: PartsMixture | None) -> float:
    """Sd of ln of the host's work on another path, on one occasion, around the mean of the visits
    that were fitted; these say whether visits share more than is usual.

    Args:
        mixture: of the model whose CPU term is kept; None: it has none, and does not say.
    """
    usual = _HOST[memory]
    if mixture is None:
        return usual
    more = max(0.0, shared_by_visits(mixture.visits) ** 2 - _HOST_SHARED**2)
    visits = len(mixture.visits.cell) / len(mixture.n)
    return float(np.sqrt(usual**2 + more * (1 + 1 / visits)))


def known_by_skeletons(
    measured: Deviations, noise: Noise, mixture: PartsMixture | None = None, *, sleeps: bool
) -> OtherPath:
    """What is known of a path with skeletons.

    Args:
        sleeps: threads that look for messages on it sleep.
        noise, mixture: of the model whose GPU and CPU terms are kept.
    """
    columns = (measured.n, measured.gpus, measured.deviation, measured.variance)
    arrays = (np.array(each, dtype=np.float64) for each in columns)
    along_n, along_gpus = learnt_amplitudes(*arrays) if measured.n else (USUAL, USUAL)
    return OtherPath(
        n=measured.n,
        gpus=measured.gpus,
        deviation=measured.deviation,
        variance=measured.variance,
        along_n=along_n,
        along_gpus=along_gpus,
        # What skeletons vary from visit to visit, all steps of one occasion have in common.
        beyond=float(np.hypot(_BEYOND, max(0.0, measured.visit**2 - _VISIT**2) ** 0.5)),
        host=host_apart(measured.memory, mixture),
        computing=noise.between_cells,
        visit=_VISIT,
        known_gpus=measured.most,
        sleeps=sleeps,
    )


def known_by_transfers(
    problem: Problem,
    launch: str,
    noise: Noise,
    mixture: PartsMixture | None = None,
    *,
    sleeps: bool,
) -> OtherPath:
    """What is known of a path with transfers alone, and launches by one of ``Launch``."""
    transfers = (each for route in problem.transfers.values() for each in route)
    memory = memory_of(each.memory for each in transfers)
    return OtherPath(
        along_n=USUAL,
        along_gpus=USUAL,
        beyond=float(np.hypot(_BEYOND_TRANSFERS, _LAUNCH_UNKNOWN[launch])),
        host=host_apart(memory, mixture),
        computing=noise.between_cells,
        visit=_VISIT,
        known_gpus=1,
        sleeps=sleeps,
    )
