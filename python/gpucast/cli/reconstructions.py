"""What ``gpucast data list`` and ``show`` say of reconstructed models: never that they are data."""

from __future__ import annotations

from gpucast.cli.output import say
from gpucast.model.content import Quantity, Reconstruction
from gpucast.model.fitted import Model
from gpucast.util import JsonObject
from gpucast.util.tables import print_table
from gpucast.util.typed_json import to_json
from gpucast.util.units import interval, quantity

HEADING = "reconstructed models: from public figures, ours, not measured, not the paper's"


def listed(models: list[Model]) -> list[JsonObject]:
    """A row each, JSON-ready."""
    return [_said(model) for model in models]


def print_listed(models: list[Model]) -> None:
    """A section of its own below the datasets."""
    if models:
        say(
            f"\n{HEADING}\n"
            "(gpucast predict NAME -n 1000,1e5; report NAME -o PAGE.html; data show NAME)\n"
        )
        rows = [(row["name"], row["title"], row["path"]) for row in listed(models)]
        print_table(("name", "what", "path"), rows, "lll")


def shown(model: Model) -> JsonObject:
    """A reconstruction, JSON-ready: what it says of itself, its quantities and parameters."""
    return {
        **_said(model),
        "quantities": [vars(each) for each in of(model).quantities],
        "parameters": to_json(model.parameters),
    }


def print_shown(model: Model) -> None:
    """Label first, then every quantity with its source or why it was assumed."""
    say("{name}: {title}\n{label}\n{path}\n".format(**_said(model)))
    print_table(
        ("parameter", "value", "95 % of the draws"),
        [
            (name, _si(each.value, each.unit), interval(each.ci95, each.unit))
            for name, each in model.parameters.items()
        ],
        "lrl",
    )
    print("\nmade of:")
    for each in of(model).quantities:
        say(f"\n  {each.name} = {_value(each)}: {each.meaning}")
        say(f"    source:  {each.source}" if each.source else f"    assumed: {each.assumed}")
        if each.range is not None:
            say(f"    bounds:  {each.range}")


def of(model: Model) -> Reconstruction:
    """What a reconstructed model says of itself."""
    assert model.reconstruction is not None
    return model.reconstruction


def _said(model: Model) -> dict[str, str]:
    found = of(model)
    return {"name": model.name, "title": found.title, "label": found.label, "path": found.path}


def _value(each: Quantity) -> str:
    value = _si(each.value, each.unit)
    if each.low is None or each.high is None:
        return value
    return f"{value} ({_si(each.low, each.unit)} ... {_si(each.high, each.unit)})"


def _si(value: float, unit: str) -> str:
    if unit == "Hz":
        return f"{value / 1e6:.4g} MHz"
    return str(quantity(value, unit)) if unit in ("s", "B/s") else f"{value:.6g} {unit}".strip()
