"""Which cells are trained on; the others are forecast."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from gpucast.data.steps import Cell

GPUS, SIZES, RANDOM = HELD_OUT = ("more GPUs", "larger n", "random cells")

LARGEST_N = 64000
"""Trained on up to this n where larger ones are forecast."""
LEFT_OUT = 0.2
"""Share of the cells that is drawn at random."""


def held_out(cells: Collection[Cell]) -> dict[str, frozenset[Cell]]:
    """The cells that each split trains on; without splits that leave all or nothing."""
    ordered = sorted(cells)
    most = max(gpus for _, gpus in cells) // 2
    drawn = np.random.default_rng(0).permutation(len(ordered))
    trained = {
        GPUS: [cell for cell in ordered if cell[1] <= most],
        SIZES: [cell for cell in ordered if cell[0] <= LARGEST_N],
        RANDOM: [ordered[i] for i in drawn[: round((1 - LEFT_OUT) * len(ordered))]],
    }
    return {kind: frozenset(kept) for kind, kept in trained.items() if 0 < len(kept) < len(ordered)}
