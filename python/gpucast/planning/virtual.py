"""Iso-efficiency and break-even sizes of a plan's machines, JSON-ready."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpucast.model.fitted import Array
from gpucast.planning.index import Sizes, break_even, iso_efficiency
from gpucast.planning.request import Machine, Request


def iso_efficiency_sizes(request: Request) -> dict[str, Any]:
    """n_e(N) of every machine for some of its GPU counts."""
    wanted = request.iso_efficiency
    assert wanted is not None
    return {
        "efficiency": wanted,
        "machines": [
            {
                "machine": machine.name,
                **_sizes(iso_efficiency(machine.forecaster, wanted, counts, _range(request))),
            }
            for machine in request.machines
            if (counts := _counts(machine.counts, 2)).size
        ],
    }


def break_even_sizes(request: Request) -> dict[str, Any]:
    """Break-even sizes of every machine beside the baseline, for GPU counts that both have."""
    wanted, base = request.break_even, request.machines[request.base]
    assert wanted is not None
    return {
        "surcharge": wanted,
        "baseline": base.name,
        "machines": [
            {
                "machine": machine.name,
                **_sizes(
                    break_even(base.forecaster, machine.forecaster, wanted, counts, _range(request))
                ),
            }
            for machine in request.machines
            if machine is not base and (counts := _common(base, machine)).size
        ],
    }


def _common(base: Machine, machine: Machine) -> Array:
    return _counts(sorted({*base.counts} & {*machine.counts}), 1)


def _counts(counts: list[int], least: int) -> Array:
    """Up to eight counts as they are; of more, powers of two and the last."""
    several = [count for count in counts if count >= least]
    if len(several) > 8:
        several = [c for c in several if c & (c - 1) == 0 or c == several[-1]]
    return np.array(several, dtype=np.float64)


def _range(request: Request) -> tuple[float, float] | None:
    return None if request.sizes is None else (float(request.sizes[0]), float(request.sizes[1]))


def _sizes(found: Sizes) -> dict[str, Any]:
    low, high = found.range
    return {
        "smallest": int(low),
        "largest": int(high),
        "sizes": [
            {
                "gpus": int(found.gpus[i]),
                "n": _whole(found.n[i]),
                "low": _whole(found.low[i]),
                "high": _whole(found.high[i]),
                "reached": _reached(float(found.n[i]), low),
                "probability_reached": round(float(found.reached[i]), 9),
                "extrapolated": bool(found.extrapolated[i]),
            }
            for i in range(found.gpus.size)
        ],
    }


def _reached(n: float, low: float) -> str:
    if math.isinf(n):
        return "never"
    return "always" if n <= low else "from"


def _whole(n: float) -> int | None:
    return None if math.isinf(n) else int(n)
