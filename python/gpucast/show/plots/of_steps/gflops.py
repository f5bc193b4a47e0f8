"""Gflops against N, the paper's figure 2.

N is the number of GPUs; a line is an n.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpucast.show.plots import steps
from gpucast.show.plots.step_series import Series
from gpucast.show.plots.steps import Asked, Drawing

AXIS, CHOSEN = "--gpus", steps.EACH_N


def drawings(asked: Asked) -> Iterator[Drawing]:
    """Yield the figure, where the work of all steps is known."""
    if all(own.has_work for own in asked.series):
        yield Drawing("gflops", "Gflops against the number of GPUs", steps.gflops, asked.sizes)


def why_not(series: Sequence[Series]) -> str:
    """Return why there may be none."""
    return (
        "what a step of this program computes is not known, so it has no Gflops; figures steps "
        "shows its times"
    )
