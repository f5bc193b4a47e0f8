"""Options of a plan that share a GPU: one of k instances on it has 1/k of a GPU.

Times are those of k alike instances, all at work (``gpucast.model.sharing``), also while fewer are:
a schedule then ends sooner than it says. Each pays for 1/k of the GPU.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpucast.answers.planning.replicates import StepTimes
from gpucast.answers.planning.request import Machine, Request
from gpucast.model.content import Sharing
from gpucast.model.forecaster import Array, Forecaster
from gpucast.model.sharing import ratio_draws

MOST_SLOTS = 1000
"""Parts of equal size that a GPU is cut into at most, so that all shares are whole parts."""

_SEED = 2


def instances_of(request: Request, machine: Machine) -> list[int]:
    """Instances on one GPU that any job may run as there, most first; none where the model knows
    nothing of such."""
    if sharing_of(machine.forecaster) is None:
        return []
    on = (job for job in request.jobs if not job.machines or machine.name in job.machines)
    return sorted({k for job in on for k in job.shares}, reverse=True)


def sharing_of(model: Forecaster) -> Sharing | None:
    """What a model knows of instances that take turns, else of such under the service."""
    return next(iter(model.sharing or ()), None)


def slots_of(gpus: Array) -> int:
    """Into how many parts a GPU is cut by options of so many GPUs."""
    return math.lcm(*(instances(float(count)) for count in gpus))


def instances(gpus: float) -> int:
    """How many instances share the GPU of an option; 1 on whole GPUs."""
    return round(1 / gpus) if gpus < 1 else 1


def all_instances(gpus: Array) -> NDArray[np.int64]:
    """How many instances share the GPU of each of many options."""
    return np.asarray(np.round(1 / np.minimum(gpus, 1.0)), dtype=np.int64)


def with_shares(
    whole: StepTimes, of_one: StepTimes, model: Forecaster, n: Array, nodes: Array, counts: Array
) -> StepTimes:
    """Step times of so many instances before those of whole GPUs.

    Args:
        whole: of GPU counts; ``of_one``: of one GPU alone, with the same draws.
        n: sizes; ``nodes``: those at which draws were made.
        counts: instances, (C).
    """
    sharing = sharing_of(model)
    assert sharing is not None  # others have no such options
    at_sizes = np.median(_ratios(model, sharing, n, counts), axis=0)
    drawn = _ratios(model, sharing, nodes, counts)
    # Each replicate has a draw of its own; those of the fit are in no order.
    rows = np.random.default_rng(_SEED).integers(0, drawn.shape[0], of_one.ratios.shape[0])
    ratios = of_one.ratios * (drawn / np.median(drawn, axis=0))[rows]
    spread = np.hypot(np.sqrt(np.mean(np.log(ratios) ** 2, axis=0)), sharing.scatter)
    if nodes.size < n.size:
        spread = spread[whole.left] + whole.share * (spread[whole.left + 1] - spread[whole.left])
    return replace(
        whole,
        seconds=np.hstack([whole.one[:, np.newaxis] * at_sizes, whole.seconds]),
        spread=np.hstack([spread, whole.spread]),
        ratios=np.concatenate([ratios, whole.ratios], axis=2),
    )


def extrapolates(model: Forecaster, n: Array, counts: Array) -> NDArray[np.bool_]:
    """Whether sizes are outside what was fitted, or instances more than twice those measured."""
    sharing = sharing_of(model)
    assert sharing is not None
    outside = model.extrapolates(n[:, np.newaxis], np.ones(counts.size))
    return np.asarray(outside | (counts > 2 * np.ceil(sharing.most - 0.5)), dtype=np.bool_)


def _ratios(model: Forecaster, sharing: Sharing, n: Array, counts: Array) -> Array:
    """T_k / T_1, (draws, n, counts)."""
    size, count = np.repeat(n, counts.size), np.tile(counts, n.size)
    alone = np.repeat(model.seconds(n, np.ones(n.size)), counts.size)
    return ratio_draws(sharing, size, count, alone).reshape(-1, n.size, counts.size)
