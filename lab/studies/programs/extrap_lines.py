"""Extra-P's forecasts of held-out cells, by each way of using it.

A table is given to Extra-P as somebody would who knows it: with both parameters, n and gpus; or as
lines of one parameter, the other (or the share n/N of weak scaling) held constant. Each with and
without negative exponents, which Extra-P has for strong scaling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import extra_p

Array = NDArray[np.float64]
Places = NDArray[np.intp]
"""Selects cells in a question's arrays."""

LAYOUTS = ("n and gpus", "gpus", "n")
OPTIONS = {"no negative exponents": (False, "median"), "negative exponents": (True, "median")}


@dataclass
class Question:
    """A split's cells, for all that one call of Extra-P answers."""

    n: Array
    gpus: Array
    seconds: Array
    trained: NDArray[np.bool_]

    def lines(self, layout: str) -> Iterator[tuple[extra_p.Line, list[int]]]:
        """The models that a layout needs, each with the cells that it forecasts."""
        if layout == "n and gpus":
            every = np.arange(self.n.size)
            yield self._line(["n", "gpus"], every[self.trained], every), every.tolist()
            return
        left = np.ones(self.n.size, bool)
        for key in (self.gpus,) if layout == "n" else (self.n, self.n / self.gpus):
            for value in np.unique(key):
                cells, own = key == value, (key == value) & self.trained
                if own.sum() >= 2 and (cells & left).any():
                    asked = np.flatnonzero(cells & left)
                    yield self._line([layout], np.flatnonzero(own), asked), asked.tolist()
                    left &= ~cells

    def _line(self, parameters: list[str], own: Places, cells: Places) -> extra_p.Line:
        columns = np.column_stack([getattr(self, name) for name in parameters])
        seconds = self.seconds[own, None].tolist()
        return extra_p.Line(parameters, columns[own].tolist(), seconds, columns[cells].tolist())


def forecasts(questions: Sequence[Question]) -> list[dict[str, Array]]:
    """Seconds of all cells of each question, by way of using Extra-P; NaN where it has no model."""
    asked = [
        (number, layout, line, cells)
        for number, question in enumerate(questions)
        for layout in LAYOUTS
        for line, cells in question.lines(layout)
    ]
    by_way: list[dict[str, Array]] = [{} for _ in questions]
    for exponents, fits in extra_p.models([line for _, _, line, _ in asked], OPTIONS).items():
        for (number, layout, _, cells), fit in zip(asked, fits, strict=True):
            none = np.full(questions[number].n.size, np.nan)
            seconds = by_way[number].setdefault(f"{layout}, {exponents}", none)
            if "forecast" in fit:
                seconds[cells] = fit["forecast"]
    return by_way
