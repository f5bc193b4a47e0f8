"""Which cells are trained on and which are left out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from gpucast.data.steps import Cell

LEFT_OUT = 0.2
QUARTER = 0.25


@dataclass(frozen=True)
class Split:
    """Cells to train on; all others are forecast.

    ``kind``: ``gpus``, ``sizes``, ``random`` or ``quarter``; those of one are judged together.
    """

    kind: str
    trained: frozenset[Cell]

    def has(self, n: int, gpus: int) -> bool:
        """Whether a cell is trained on."""
        return (n, gpus) in self.trained


def by_gpus(cells: Collection[Cell]) -> list[Split]:
    """Trained on up to half of the largest GPU count; none where there is one count only."""
    most = max(gpus for _, gpus in cells) // 2
    return _if_proper("gpus", cells, [cell for cell in cells if cell[1] <= most])


def beyond(earlier: Collection[Cell], cells: Collection[Cell]) -> list[Split]:
    """Trained on another dataset's cells; none where these have no larger GPU count.

    The cells of counts up to that dataset's largest are not held against the forecasts either.
    """
    most = max(gpus for _, gpus in earlier)
    known = [cell for cell in cells if cell[1] <= most]
    if len(known) == len(cells):
        return []
    return [Split("gpus", frozenset([*earlier, *known]))]


def by_size(cells: Collection[Cell], largest: int) -> list[Split]:
    """Trained up to an n; none where nothing lies beyond."""
    return _if_proper("sizes", cells, [cell for cell in cells if cell[0] <= largest])


def at_random(cells: Collection[Cell], kind: str, share: float, seeds: int) -> list[Split]:
    """Trained on a share of the cells, drawn at random, a split a seed."""
    count = round(share * len(cells))
    ordered = sorted(cells)
    splits: list[Split] = []
    for seed in range(seeds):
        drawn = np.random.default_rng(seed).permutation(len(ordered))[:count]
        splits += _if_proper(kind, cells, [ordered[i] for i in drawn])
    return splits


def splits_of(cells: Collection[Cell], largest: int, seeds: int) -> list[Split]:
    """All splits of a group that need no design."""
    return [
        *by_gpus(cells),
        *by_size(cells, largest),
        *at_random(cells, "random", 1 - LEFT_OUT, seeds),
        *at_random(cells, "quarter", QUARTER, seeds),
    ]


def _if_proper(kind: str, cells: Collection[Cell], trained: Collection[Cell]) -> list[Split]:
    return [Split(kind, frozenset(trained))] if 0 < len(trained) < len(cells) else []
