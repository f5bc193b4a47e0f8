"""Finds a boundary between nodes that a table does not state, by its times.

If steps get shorter from each GPU count to the next except for one, the further GPUs may be in
another node. Forms for several nodes are then weighed against forms whose communication grows with
N, and the user is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpucast.fitting.cells import Cells
from gpucast.util.remarks import Kind, Remark, remark
from gpucast.util.units import number

MOST_GPUS = 16
"""The largest number of GPUs that a node may have."""

_RISE = 0.02
"""Least relative rise; smaller ones may be noise of single measurements."""

_SDS = 3.0
"""Least rise in standard deviations, if these are known from repetitions."""


@dataclass(frozen=True)
class Suspect:
    """A suspected boundary between nodes.

    Attributes:
        gpus: the last GPU count below it, which is assumed to fill a node.
        slower: the first GPU count beyond it.
        n: the largest size whose steps take longer beyond it.
    """

    gpus: int
    slower: int
    n: float

    def stated(self, cells: Cells) -> Cells:
        """Return the cells with the suspected number of nodes."""
        return replace(cells, nodes=np.ceil(cells.gpus / self.gpus))

    def question(self) -> Remark:
        """Return the remark that asks the user."""
        text = (
            f"n = {number(self.n)} takes longer on {self.slower} GPUs than on {self.gpus}, and is "
            "shorter from each other count to the next: another node? Forecasts hold both a node "
            f"of {self.gpus} GPUs and exchange that grows with N; a column nodes (or GPUs per "
            "node) settles it"
        )
        return remark(Kind.NODE_BOUNDARY, text, n=self.n, gpus=self.slower)


def suspected(cells: Cells) -> Suspect | None:
    """Return the boundary that the times of cells suggest; None if none, or if nodes are stated."""
    if (cells.nodes > 0).any():
        return None
    rises: dict[tuple[int, int], float] = {}
    for size in np.unique(cells.n):
        at = np.flatnonzero(cells.n == size)
        at = at[np.argsort(cells.gpus[at])]
        change = np.diff(np.log(cells.seconds[at]))
        if change.size < 2:
            continue
        sd = np.sqrt(cells.variance[at][1:] + cells.variance[at][:-1])
        rising = np.flatnonzero(change > np.maximum(_RISE, _SDS * sd))
        if rising.size > 1 or (rising.size == 1 and (np.delete(change, rising) >= 0).any()):
            return None
        for step in rising.tolist():
            low, high = (int(count) for count in cells.gpus[at][step : step + 2])
            rises[low, high] = float(size)
    if len(rises) != 1:
        return None
    [((gpus, slower), n)] = rises.items()
    return Suspect(gpus, slower, n) if 1 < gpus <= MOST_GPUS else None
