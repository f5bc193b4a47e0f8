"""Whether measurements refute a forecast."""

from __future__ import annotations

import math

from gpucast.answers.validation import IMPROBABLE, Cell, refuted


def test_cells_refute_a_forecast_where_chance_does_not_explain_how_few_are_covered() -> None:
    for count in (5, 36):
        for covered in range(count + 1):
            cells = [
                Cell(
                    n=1, gpus=1, measured=1, predicted=1.2, relative_error=0.2, covered=i < covered
                )
                for i in range(count)
            ]
            chance = sum(
                math.comb(count, k) * 0.9**k * 0.1 ** (count - k) for k in range(covered + 1)
            )
            line = refuted(cells, "mine")
            assert (line is not None) == (chance < IMPROBABLE)
            if line is not None:
                assert line == (
                    f"{covered} of {count} cells measured in mine lie within their 90 % interval; "
                    "they are missed by 20.0 % in the median, by 20.0 % at most"
                )
    assert refuted([], "mine") is None
