"""Where the chained terms bend: breakpoints of T_gpu and T_cpu, chosen from the data.

A chained term (model/gpu_terms.h, cpu_terms.h) is a row of straight pieces over one number. How
many pieces there are is part of a candidate model, like the breakpoints of its transfer curves.
"""

from __future__ import annotations

import numpy as np

from gpucast import _core
from gpucast.fitting.selection import Problem, transfer_observations

MOST_PIECES = 16
"""Of one term: beyond, levels are merged."""

CELLS_A_PIECE = 3
"""Distinct amounts of work, at least, that each piece of ``pairs`` is fitted to."""

MOST_CPU_BREAKPOINTS = 2
"""A host has few levels of cache."""


def gpu_breakpoints(problem: Problem, term: str) -> tuple[float, ...]:
    """Breakpoints of a chained GPU term, ascending; empty: one piece, or no chained term.

    ``residency`` bends at every number of resident blocks that was measured. ``pairs`` bends where
    work has grown by equal factors, so often that each piece has cells to be fitted to.
    """
    if term not in _core.CHAINED_GPU_TERMS:
        return ()
    x = np.unique(
        _core.gpu_coordinate(
            term,
            np.array([step.n for step in problem.steps], dtype=np.float64),
            np.array([step.gpus for step in problem.steps], dtype=np.float64),
            problem.sms,
            problem.block,
        )
    )
    if term == "residency":
        levels = x if x.size <= MOST_PIECES else x[_spread(x.size, MOST_PIECES)]
        return tuple(float(level) for level in levels[:-1])
    pieces = min(MOST_PIECES, x.size // CELLS_A_PIECE)
    if pieces < 2:
        return ()
    inner = np.quantile(np.log(x), np.linspace(0, 1, pieces + 1)[1:-1])
    return tuple(float(each) for each in np.unique(np.exp(inner)))


def cpu_breakpoints(problem: Problem) -> tuple[float, ...]:
    """Particles from which on a particle costs the host more; found from the steps' CPU phases."""
    samples: dict[int, list[float]] = {}
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
