"""Orders and choices of cells that are spread over n and GPU counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from gpucast.measure.design.cells import Cell

Pairs = Sequence[tuple[float, int]]

START = 6
"""Cells of a series that are visited before its fit is asked anything: as many as a model has
quantities that steps alone determine."""

_GOLDEN = (5**0.5 - 1) / 2


def in_turn(cells: Iterable[Cell], visits: Mapping[Cell, int]) -> list[Cell]:
    """Cells in the order in which they are to be visited: those with the fewest visits first.

    A pass over all cells is in a random order, another in each pass and the same in each start. Any
    first part of it is spread over series, n and GPU counts: the i-th cell of the sorted ones comes
    at the fractional part of i times the golden ratio plus a random number, so that gaps between
    the cells of a first part have at most three lengths, none much longer than another.
    """
    ordered = sorted(cells)
    begin = {visit: np.random.default_rng(visit).random() for visit in set(visits.values()) | {0}}
    place = {
        cell: (visit := visits.get(cell, 0), (i * _GOLDEN + begin[visit]) % 1)
        for i, cell in enumerate(ordered)
    }
    return sorted(ordered, key=place.__getitem__)


def spread_over(cells: Pairs, most: int) -> Sequence[int]:
    """Indices of at most ``most`` cells, evenly spaced in the order of GPU counts and n: which of
    two neighbours is measured tells nearly the same."""
    if len(cells) <= most:
        return range(len(cells))
    order = sorted(range(len(cells)), key=lambda i: (cells[i][1], cells[i][0]))
    return [order[i] for i in np.linspace(0, len(cells) - 1, most).round().astype(int)]
