"""What ``gpucast data list`` and ``show`` say of reconstructed models: never that they are data."""

from __future__ import annotations

from gpucast.cli.output import say
from gpucast.model.content import Quantity, Reconstruction
from gpucast.model.fitted import Model
from gpucast.util import JsonObject
from gpucast.util.tables import Column, print_rows
from gpucast.util.typed_json import to_json
from gpucast.util.units import interval, quantity

HEADING = "reconstructed models: from public figures, ours, not measured, not the paper's"


def summary_of(model: Model) -> dict[str, str]:
    """A row of the list, JSON-ready."""
    made = _reconstruction(model)
    return {"name": model.name, "title": made.title, "label": made.label, "path": made.path}


def print_listed(models: list[Model]) -> None:
    """A section of its own below the datasets."""
    if models:
        say(
            f"\n{HEADING}\n"
            "(gpucast predict NAME -n 1000,1e5; report NAME -o PAGE.html; data show NAME)\n"
        )
        columns = [Column("name", "name"), Column("what", "title"), Column("path", "path")]
        print_rows(map(summary_of, models), columns)


def shown(model: Model) -> JsonObject:
    """A reconstruction, JSON-ready: what it says of itself, its quantities and parameters."""
    return {
        **summary_of(model),
        "quantities": [vars(part) for part in _reconstruction(model).quantities],
        "parameters": to_json(model.parameters),
    }


def print_shown(model: Model) -> None:
    """Label first, then every quantity with its source or why it was assumed."""
    say("{name}: {title}\n{label}\n{path}\n".format(**summary_of(model)))
    print_rows(
        model.parameters.items(),
        [
            Column("parameter", 0),
            Column("value", lambda row: _si(row[1].value, row[1].unit), side="r"),
            Column("95 % of the draws", lambda row: interval(row[1].ci95, row[1].unit)),
        ],
    )
    print("\nmade of:")
    for part in _reconstruction(model).quantities:
        say(f"\n  {part.name} = {_value(part)}: {part.meaning}")
        say(f"    source:  {part.source}" if part.source else f"    assumed: {part.assumed}")
        if part.range is not None:
            say(f"    bounds:  {part.range}")


def _reconstruction(model: Model) -> Reconstruction:
    """What a reconstructed model says of itself."""
    assert model.reconstruction is not None
    return model.reconstruction


def _value(part: Quantity) -> str:
    value = _si(part.value, part.unit)
    if part.low is None or part.high is None:
        return value
    return f"{value} ({_si(part.low, part.unit)} ... {_si(part.high, part.unit)})"


def _si(value: float, unit: str) -> str:
    if unit == "Hz":
        return f"{value / 1e6:.4g} MHz"
    return str(quantity(value, unit)) if unit in ("s", "B/s") else f"{value:.6g} {unit}".strip()
