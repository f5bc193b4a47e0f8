"""A boundary between nodes that a table does not name, found by its times.

Where steps get shorter from each GPU count to the next, but for one where they get longer, the
GPUs beyond may be in another node. The forms of several nodes are then weighed beside those of
exchange that grows with N, and the user is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpucast.fitting.cells import Cells
from gpucast.util.remarks import Kind, Remark, remark
from gpucast.util.units import number

MOST_GPUS = 16
"""The most GPUs that a node is supposed to have."""

_RISE = 0.02
"""Relative; noise of single measurements makes smaller ones."""

_SDS = 3.0
"""Standard deviations that a rise exceeds, where repetitions tell them."""


@dataclass(frozen=True)
class Suspect:
    """A boundary.

    Attributes:
        gpus: the last count below it, taken for that of a node.
        slower: the first count beyond it.
        n: the largest size whose steps take longer there.
    """

    gpus: int
    slower: int
    n: float

    def stated(self, cells: Cells) -> Cells:
        """The cells with the nodes that the suspicion says."""
        return replace(cells, nodes=np.ceil(cells.gpus / self.gpus))

    def question(self) -> Remark:
        """What to ask the user."""
        text = (
            f"n = {number(self.n)} takes longer on {self.slower} GPUs than on {self.gpus}, and is "
            "shorter from each other count to the next: another node? Forecasts hold both a node "
            f"of {self.gpus} GPUs and exchange that grows with N; a column nodes (or GPUs per "
            "node) settles it"
        )
        return remark(Kind.NODE_BOUNDARY, text, n=self.n, gpus=self.slower)


def suspected(cells: Cells) -> Suspect | None:
    """The boundary that the times of cells make suspect; None: none, or nodes are stated."""
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
