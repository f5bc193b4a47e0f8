"""Shares of T_gpu, T_cpu, T_com: figure 4.

Against the number of GPUs: by the model and, where phases were timed, measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpucast.show.plots import steps
from gpucast.show.plots.step_series import NO_PARTS, Series
from gpucast.show.plots.steps import Asked, Drawing

AXIS, CHOSEN = "--gpus", "a figure for each n (-n)"


def drawings(asked: Asked) -> Iterator[Drawing]:
    """Yield a figure for each size of which a model or timed phases tell shares."""
    for at, size in enumerate(asked.n or [steps.small_n(asked.series)]):
        if any(own.model_of_parts or size in {n for n, _ in own.phases} for own in asked.series):
            name = f"shares-{size}" if at else "shares"
            title = f"Shares of T_gpu, T_cpu and T_com, n = {size:,}"
            yield Drawing(name, title, steps.shares, [size], steps.reading_of_shares)


def why_not(series: Sequence[Series]) -> str:
    """Return why there may be none."""
    if any(own.model is not None and own.model_of_parts is None for own in series):
        return f"no phase of that size was timed, and {NO_PARTS}"
    return "there is neither a model nor a timed phase of that size"
