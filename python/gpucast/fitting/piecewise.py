"""Where terms made of straight pieces bend: breakpoints of T_gpu and T_cpu, chosen from the data.

Such a term (``bends`` in the catalogues of ``_core``) is a row of straight pieces over one number.
How many pieces there are is part of a candidate model, like the breakpoints of its transfer curves.
"""

from __future__ import annotations

import numpy as np

from gpucast import _core
from gpucast.data import workload
from gpucast.fitting.problem import Problem, transfer_observations

MOST_PIECES = 16
"""The most pieces of one term; where more values were measured, neighbours share a piece."""

CELLS_A_PIECE = 3
"""The fewest distinct values that a piece of equal factors is fitted to."""

MOST_CPU_BREAKPOINTS = 2
"""A host has few levels of cache."""


def gpu_breakpoints(problem: Problem, term: str) -> tuple[float, ...]:
    """Breakpoints of a GPU term, ascending; empty: one straight piece, or a term with a formula.

    A term that bends ``everywhere`` does so at each value of its coordinate that was measured
    (blocks of ``residency``); one that bends ``evenly``, where its coordinate (work of ``pairs``)
    has grown by equal factors, as often as each piece has cells to be fitted to.
    """
    bends = _core.GPU_TERMS[term].bends
    if bends == "nowhere":
        return ()
    x = np.unique(
        _core.gpu_coordinate(
            term,
            np.array([step.n for step in problem.steps], dtype=np.float64),
            np.array([step.gpus for step in problem.steps], dtype=np.float64),
            problem.sms,
            problem.block,
            workload.of(problem.workload),
        )
    )
    if bends == "everywhere":
        levels = x if x.size <= MOST_PIECES else x[_spread(x.size, MOST_PIECES)]
        return tuple(float(level) for level in levels[:-1])
    pieces = min(MOST_PIECES, x.size // CELLS_A_PIECE)
    if pieces < 2:
        return ()
    inner = np.quantile(np.log(x), np.linspace(0, 1, pieces + 1)[1:-1])
    return tuple(float(each) for each in np.unique(np.exp(inner)))


def cpu_breakpoints(problem: Problem) -> tuple[float, ...]:
    """Particles from which on a particle costs the host more; found from the steps' CPU phases."""
    samples: dict[float, list[float]] = {}
    for step in problem.steps:
        if step.phases is not None and step.phases.cpu:
            samples.setdefault(step.n, []).extend(s for s in step.phases.cpu if s > 0)
    cells = [(n, seconds, None) for n, seconds in sorted(samples.items()) if seconds]
    if len(cells) < 2 * CELLS_A_PIECE:
        return ()
    # Time against particles is looked at as time against bytes is: the route is of no meaning.
    found = _core.find_breakpoints(transfer_observations("local", cells), MOST_CPU_BREAKPOINTS)
    return tuple(dict.fromkeys(found))


def _spread(size: int, count: int) -> list[int]:
    """``count`` of ``size`` positions, the first and the last among them."""
    return sorted({round(float(at)) for at in np.linspace(0, size - 1, count)})
