"""Some of many cells, where all would take too long or too much memory to choose between."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpucast.design.optimal import Pairs


def spread_over(cells: Pairs, most: int) -> Sequence[int]:
    """Indices of at most so many cells, every so-manyth in the order of GPU counts and n: which of
    two neighbours is measured tells nearly the same."""
    if len(cells) <= most:
        return range(len(cells))
    order = sorted(range(len(cells)), key=lambda i: (cells[i][1], cells[i][0]))
    return [order[i] for i in np.linspace(0, len(cells) - 1, most).round().astype(int)]
