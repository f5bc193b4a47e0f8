"""Whether measurements refute a forecast: too few lie within its intervals."""

from __future__ import annotations

from collections.abc import Sequence

from scipy.special import bdtr

from gpucast.forecast.validation import Cell, summarize
from gpucast.util.units import percent

IMPROBABLE = 0.01
"""A forecast is refuted where chance leaves so few cells within their 90 % interval less often."""


def refuted(cells: Sequence[Cell], measured: str) -> str | None:
    """How far measured cells are from a forecast where too few lie within their 90 % interval.

    Args:
        cells: measured and forecast.
        measured: the name of the data.

    Returns:
        One line; None where as many lie within as chance explains, or there are no cells.
    """
    covered = sum(cell["covered"] for cell in cells)
    if not cells or bdtr(covered, len(cells), 0.9) >= IMPROBABLE:
        return None
    found = summarize(list(cells))
    return (
        f"{covered} of {len(cells)} cells measured in {measured} lie within their 90 % interval; "
        f"they are missed by {percent(found['median_relative_error'])} in the median, by "
        f"{percent(found['max_relative_error'])} at most"
    )
