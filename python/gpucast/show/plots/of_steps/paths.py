"""Extra time of remote steps, against n.

What steps take longer on other paths than on the native one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpucast.show.plots import steps
from gpucast.show.plots.step_series import Series
from gpucast.show.plots.steps import Asked, Drawing

AXIS, CHOSEN = "-n", steps.EACH_COUNT


def drawings(asked: Asked) -> Iterator[Drawing]:
    """Yield the figure, where there are several paths."""
    if len(asked.series) > 1:
        title = f"Extra time of a step beside {asked.series[0].label}"
        yield Drawing("paths", title, steps.extra_time, asked.counts)


def why_not(series: Sequence[Series]) -> str:
    """Return why there may be none."""
    return "steps or models of one path only: nothing stands beside it"
