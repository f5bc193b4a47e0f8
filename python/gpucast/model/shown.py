"""Representations of models and forecasts: a few lines of text, a table in a notebook."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpucast.model.facts import Fitted
from gpucast.util.tables import html_listing, html_table
from gpucast.util.units import duration, number, percent

Array = NDArray[np.float64]

MOST_ROWS = 20
"""Most rows of forecasts that a notebook shows; the others are counted."""

_HEADERS = ("n", "GPUs", "step time", "90 % interval", "")


class Cells(Protocol):
    """The columns of forecasts that are shown."""

    @property
    def n(self) -> Array: ...
    @property
    def gpus(self) -> Array: ...
    @property
    def seconds(self) -> Array: ...
    @property
    def low(self) -> Array: ...
    @property
    def high(self) -> Array: ...
    @property
    def extrapolated(self) -> NDArray[np.bool_]: ...


def model_text(model: Fitted) -> str:
    """Return a summary of the model: its data, fit quality and number of warnings."""
    return "\n  ".join([f"Model {model.name}: {model.form}", *_facts(model)])


def model_html(model: Fitted) -> str:
    """Return the summary as HTML, with warnings and the values of identified parameters."""
    facts = html_listing(f"Model {model.name}: {model.form}", _facts(model, True))
    known = {
        name: parameter for name, parameter in model.parameters.items() if parameter.identified
    }
    rows = [(name, str(parameter), parameter.meaning) for name, parameter in known.items()]
    return facts + (html_table("Parameters", ("", "value", "meaning"), rows) if rows else "")


def forecasts_text(cells: Cells) -> str:
    """Return a summary of forecasts: their number and the ranges of n, GPU counts and times."""
    if not cells.n.size:
        return "Forecasts of 0 cells"
    sizes, gpus = _ends(cells.n.tolist()), _ends(cells.gpus.tolist())
    least, most = duration(float(cells.seconds.min())), duration(float(cells.seconds.max()))
    times = least if least == most else f"{least} to {most}"
    count = cells.n.size
    return f"Forecasts of {count} cell{'s' * (count != 1)}: n {sizes}; {gpus} GPUs; {times}"


def forecasts_html(cells: Cells) -> str:
    """Return forecasts as an HTML table of limited length, one row per cell."""
    columns = (cells.n, cells.gpus, cells.seconds, cells.low, cells.high, cells.extrapolated)
    rows = [
        (
            *(number(n), number(gpus), duration(seconds)),
            *(f"{duration(low)} ... {duration(high)}", "extrapolated" if outside else ""),
        )
        for n, gpus, seconds, low, high, outside in zip(
            *(column[:MOST_ROWS].tolist() for column in columns), strict=True
        )
    ]
    if cells.n.size > MOST_ROWS:
        rows.append((f"and {cells.n.size - MOST_ROWS} more", "", "", "", ""))
    return html_table(forecasts_text(cells), _HEADERS, rows)


def _facts(model: Fitted, warnings: bool = False) -> list[str]:
    counts, quality, domain = model.observations, model.quality, model.domain
    fitted = f"n {_ends(domain.n)}, {_ends(domain.gpus)} GPUs of {model.data.name}"
    if counts is not None:
        fitted = f"{counts.step_samples} step times in {counts.step_cells} cells: {fitted}"
    facts = [fitted]
    if quality is not None:
        facts.append(f"error of fitted cells: median {percent(quality.median_relative_error)}")
    if warnings:
        return [*facts, *(f"warning: {warning}" for warning in model.warnings)]
    if model.warnings:
        count = len(model.warnings)
        facts.append(f"{count} warning{'s' * (count > 1)}: see .warnings")
    return facts


def _ends(values: tuple[float, float] | list[float]) -> str:
    return " to ".join(dict.fromkeys(number(value) for value in (min(values), max(values))))
