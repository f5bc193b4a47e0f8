"""Cells whose repetitions disagree so much that their median is meaningless.

If one of two runs is a mistake, their median is their mean, which is the time of neither. Such a
cell gets the negligible weight that follows from the scatter of its repetitions, so that the other
cells determine its forecast. The time nearest to that forecast counts as measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gpucast.fitting.cells import Cells
from gpucast.model.mixtures import DISPUTED
from gpucast.util.order_statistics import disagreeing, own_deviation
from gpucast.util.remarks import Kind, Remark, remark
from gpucast.util.units import duration, gpus_in_words, number

FEWEST_OTHERS = 3

# One time is clearly right if the others are this many times farther from the forecast by the other
# cells, in the logarithm.
CLEARLY = 3.0


def settled(
    cells: Cells, samples: Mapping[tuple[float, int], Sequence[float]]
) -> tuple[Cells, list[Remark]]:
    """Return the cells, in which disputed ones have the time nearest to the forecast by the others,
    and a remark on each cell whose repetitions disagree.

    Args:
        cells: the measured cells.
        samples: all times (s) of each cell.
    """
    odd = disagreeing(samples)
    keys = list(zip(cells.n.tolist(), map(int, cells.gpus.tolist()), strict=True))
    disputed = np.array(
        [key in odd and own_deviation(samples[key]) >= DISPUTED for key in keys], dtype=np.bool_
    )
    remarks = []
    expected = _by_others(cells, disputed)
    seconds = cells.seconds.copy()
    for at, (n, gpus) in enumerate(keys):
        if (n, gpus) not in odd:
            continue
        times = np.sort(samples[n, gpus])
        where = f"n = {number(n)} on {gpus_in_words(gpus)}"
        between = "and" if times.size == 2 else "to"
        listed = f"{duration(times[0])} {between} {duration(times[-1])}"
        text = f"repetitions of {where} took {listed}, far more apart than those of other cells"
        if not disputed[at]:
            text += f": their median counts, {duration(cells.seconds[at])}"
        elif expected is None:
            text += ": that cell is next to not known; measure it again"
        else:
            away = np.abs(np.log(times / expected[at]))
            nearest = int(np.argmin(away))
            clear = away.max() >= CLEARLY * away[nearest]
            seconds[at] = times[nearest]
            which = duration(times[nearest])
            others = f"these say {duration(expected[at])}"
            verdict = f"{which} counts" if clear else f"neither is near; {which} counts as nearer"
            text += f"; {others}: {verdict}, the forecast is theirs; check it"
        remarks.append(remark(Kind.DISPUTED, text, n=n, gpus=gpus))
    return replace(cells, seconds=seconds), remarks


def _by_others(cells: Cells, disputed: np.ndarray) -> np.ndarray | None:
    """Forecast all cells (s) from those that are not disputed; None if there are too few."""
    if not disputed.any() or (~disputed).sum() < FEWEST_OTHERS:
        return None
    others = cells.where(~disputed).fit()
    return np.asarray(others.forecast(cells.n, cells.gpus, cells.nodes, np.zeros(cells.n.size))[0])
