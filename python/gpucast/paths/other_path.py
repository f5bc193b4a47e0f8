"""What skeletons, or transfers and launches, leave open of another path's communication."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.fitting.problem import Problem
from gpucast.model.adjustments import OtherPath
from gpucast.model.content import Noise
from gpucast.model.other_path import moved_alone
from gpucast.model.residual_process import USUAL, learnt_amplitudes
from gpucast.paths.path_facts import PathFacts

Array = NDArray[np.float64]

# What a host and path lie apart by that took no part here, as sds of ln: of S around what was
# measured instead, skeletons or transfers and launches, beyond its process; and of the host's own
# work around that on the first path. Whole hosts lie apart by 0.08, 0.10 and 0.10, groups of their
# steps by another 0.07, 0.19 and 0.13; Student's t for so few hosts is in these numbers
# (lab/studies/what_if.py, which estimates them and leaves out each host in turn).
BEYOND = {"skeletons": 0.11, "transfers": 0.20}
HOST = 0.17
# The same of S by what is not known of launches where they were not timed: kept from the first
# path, or scaled as latencies are.
_LAUNCH_UNKNOWN = {"measured": 0.0, "keep": 0.5, "scale": 0.25}

# Sd of ln S from visit to visit before anything was measured, worth so many repeated skeletons.
_VISIT, _WORTH = 0.08, 4.0

# Standard deviation over median absolute deviation of a normal distribution.
_MAD = 1.4826

# Sd of ln of the time that a skeleton really kept a GPU busy about the time that it stated.
_BUSY_SD = 0.003

# Deviations below this share of the form are no measurement of it.
_LEAST = 0.1


def known_by_skeletons(
    fit: _core.Fit, problem: Problem, noise: Noise, facts: PathFacts
) -> OtherPath:
    """What is known of a path with skeletons: by how much their communication deviates from the
    form fitted to them, by cell, and by how much from visit to visit.

    Args:
        fit: to the problem's skeletons.
        noise: of the model whose GPU and CPU terms are kept.
        facts: of the path.
    """
    cells = list(map(problem.skeleton_cell, problem.skeletons))
    n, gpus, busy = (np.array(column, dtype=np.float64) for column in zip(*cells, strict=True))
    measured = np.array([np.median(skeleton.seconds) for skeleton in problem.skeletons])
    values = np.asarray(fit.values)
    fitted = fit.model.skeleton_seconds(values, n, gpus, busy)
    moved = moved_alone(fit.model, values, n, gpus)
    ratio = 1 + (measured - fitted) / moved
    usable = ratio > _LEAST
    log_ratio = np.log(np.where(usable, ratio, 1.0))
    of_busy = (_BUSY_SD * busy / moved) ** 2
    visit = _visit(list(zip(n, gpus, busy, strict=True)), log_ratio, of_busy, usable)
    variance = visit**2 + of_busy
    rows = []
    for cell in sorted(set(zip(n, gpus, busy, strict=True))):
        at = (n == cell[0]) & (gpus == cell[1]) & (busy == cell[2]) & usable
        if at.any():
            weight = 1 / variance[at]
            rows.append((*cell, weight @ log_ratio[at] / weight.sum(), 1 / weight.sum()))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 5).T
    along_n, along_gpus = learnt_amplitudes(*columns) if rows else (USUAL, USUAL)
    of_n, of_gpus, wait, deviation, noise_variance = columns.tolist()
    return _known(
        noise,
        facts,
        n=of_n,
        gpus=[int(count) for count in of_gpus],
        wait=wait,
        deviation=deviation,
        variance=noise_variance,
        along_n=along_n,
        along_gpus=along_gpus,
        # What skeletons vary from visit to visit, all steps of one occasion have in common.
        beyond=float(np.hypot(BEYOND["skeletons"], max(0.0, visit**2 - _VISIT**2) ** 0.5)),
        known_gpus=int(gpus.max()),
    )


def known_by_transfers(launch: str, noise: Noise, facts: PathFacts) -> OtherPath:
    """What is known of a path with transfers alone, and launches by one of ``Launch``."""
    beyond = float(np.hypot(BEYOND["transfers"], _LAUNCH_UNKNOWN[launch]))
    return _known(noise, facts, along_n=USUAL, along_gpus=USUAL, beyond=beyond, known_gpus=1)


def _known(noise: Noise, facts: PathFacts, **known: Any) -> OtherPath:
    messages = facts.forwarded and facts.transport != "shm"
    return OtherPath(
        **known,
        host=HOST,
        computing=noise.between_cells,
        visit=_VISIT,
        sleeps=facts.sleeps,
        most_inline=float(facts.inline_bytes) if messages else None,
    )


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
    apart = [
        np.array(log_ratios) - np.median(log_ratios)
        for log_ratios in repeated.values()
        if len(log_ratios) > 1
    ]
    freedom = sum(log_ratios.size - 1 for log_ratios in apart)
    if not freedom:
        return _VISIT
    # The median ignores what disturbed single skeletons, which is no noise of visits.
    sd = _MAD * float(np.median(np.abs(np.concatenate(apart))))
    return float(np.sqrt((_WORTH * _VISIT**2 + freedom * sd**2) / (_WORTH + freedom)))
