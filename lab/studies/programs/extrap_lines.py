"""Extra-P's forecasts of held-out cells, by each way of using it; the models are made by
extrap_fits.py in Extra-P's own environment.

A table is given to Extra-P as somebody would who knows it: with both parameters, n and gpus; or as
lines of one parameter, the other (or the share n/N of weak scaling) held constant. Each with and
without negative exponents, which Extra-P has for strong scaling.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import extra_p

Array = NDArray[np.float64]
Places = NDArray[np.intp]
"""Selects cells in a question's arrays."""


@dataclass
class Line:
    """One model to make: measured points of its parameters, and the points asked for."""

    parameters: list[str]
    points: list[list[float]]
    seconds: list[float]
    asked: list[list[float]] = field(default_factory=list)


@dataclass
class Question:
    """A split's cells, for all that one call of Extra-P answers."""

    n: Array
    gpus: Array
    seconds: Array
    trained: NDArray[np.bool_]

    def lines(self, layout: str) -> Iterator[tuple[Line, list[int]]]:
        """The models that a layout needs, each with the cells that it forecasts."""
        if layout == "n and gpus":
            own = np.flatnonzero(self.trained)
            yield self._line(["n", "gpus"], own, np.arange(self.n.size)), [*range(self.n.size)]
            return
        for asked, own in self._alike(layout):
            yield self._line([layout], own, asked), asked.tolist()

    def _alike(self, layout: str) -> Iterator[tuple[Places, Places]]:
        """Cells forecast by one line, and the trained cells that make it."""
        keys = (self.gpus,) if layout == "n" else (self.n, self.n / self.gpus)
        left = np.ones(self.n.size, bool)
        for key in keys:
            for value in np.unique(key):
                cells, own = key == value, (key == value) & self.trained
                if own.sum() >= 2 and (cells & left).any():
                    yield np.flatnonzero(cells & left), np.flatnonzero(own)
                    left &= ~cells

    def _line(self, parameters: list[str], own: Places, cells: Places) -> Line:
        columns = [getattr(self, name) for name in parameters]
        return Line(
            parameters=parameters,
            points=[[float(column[i]) for column in columns] for i in own],
            seconds=[float(self.seconds[i]) for i in own],
            asked=[[float(column[i]) for column in columns] for i in cells],
        )


LAYOUTS = ("n and gpus", "gpus", "n")


def forecasts(questions: Sequence[Question]) -> list[dict[str, Array]]:
    """Seconds of all cells of each question, by way of using Extra-P; NaN where it has no model."""
    lines: list[Line] = []
    places: list[tuple[int, str, list[int]]] = []
    for number, question in enumerate(questions):
        for layout in LAYOUTS:
            for line, cells in question.lines(layout):
                lines.append(line)
                places.append((number, layout, cells))
    found: list[dict[str, Array]] = [{} for _ in questions]
    for exponents, answers in _made(lines).items():
        for (number, layout, cells), answer in zip(places, answers, strict=True):
            way = f"{layout}, {exponents}"
            seconds = found[number].setdefault(way, np.full(questions[number].n.size, np.nan))
            if answer is not None:
                seconds[cells] = answer
    return found


def _made(lines: Sequence[Line]) -> dict[str, list[list[float] | None]]:
    script = Path(__file__).with_name("extrap_fits.py")
    answer = subprocess.run(
        [extra_p.PYTHON, script],
        input=json.dumps([vars(line) for line in lines]),
        check=True,
        capture_output=True,
        text=True,
    )
    made: dict[str, list[list[float] | None]] = json.loads(answer.stdout)
    return made
