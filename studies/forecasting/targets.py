"""What forecasts must reach, by table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Target:
    """One figure's bound.

    Attributes:
        figure: its name in a table.
        bound: in words.
        value: takes it from a result; None where it does not apply.
        reached: whether a value is good enough.
    """

    figure: str
    bound: str
    value: Callable[[Mapping[str, Any]], float | None]
    reached: Callable[[float], bool]


def at_most(figure: str, key: str, bound: float) -> Target:
    """A share that must not exceed a bound."""
    return Target(figure, f"at most {100 * bound:g} %", lambda r: r[key], lambda v: v <= bound)


def hit_share(result: Mapping[str, Any]) -> float | None:
    """How often the best count is chosen."""
    total = result["best_total"]
    return result["best_hits"] / total if total else None


def ratio(of: str, to: str) -> Callable[[Mapping[str, Any]], float | None]:
    """The p95 of one choice of cells over that of another, in the quarter's results."""

    def value(result: Mapping[str, Any]) -> float | None:
        parts = [result.get(each, {}).get("p95_relative_error") for each in (of, to)]
        return parts[0] / parts[1] if all(parts) else None

    return value


def worst_break_even(result: Mapping[str, Any]) -> float | None:
    """Largest relative error of a break-even size; infinite where only one of two is finite."""
    errors = []
    for row in result["break_even"]:
        if row["relative_error"] is not None:
            errors.append(abs(row["relative_error"]))
        elif row["measured"] is not None or row["forecast"] is not None:
            errors.append(float("inf"))
    return max(errors, default=None)


TARGETS: Mapping[str, tuple[Target, ...]] = {
    "gpus": (
        at_most("median", "median_relative_error", 0.015),
        at_most("p95", "p95_relative_error", 0.04),
        Target("best count", "right in at least 95 %", hit_share, lambda v: v >= 0.95),
        at_most("mean regret", "mean_regret", 0.005),
        Target("coverage", "85 to 97 %", lambda r: r["coverage"], lambda v: 0.85 <= v <= 0.97),
    ),
    "sizes": (),
    "random": (
        at_most("median", "median_relative_error", 0.01),
        at_most("p95", "p95_relative_error", 0.03),
    ),
    "quarter": (
        Target("design / all", "at most 1.5", ratio("design", "all"), lambda v: v <= 1.5),
        Target("design / random", "at most 0.5", ratio("design", "random"), lambda v: v <= 0.5),
    ),
    "what_if": (
        at_most("median", "median_relative_error", 0.05),
        at_most("p95", "p95_relative_error", 0.12),
        Target("break-even", "within 15 %", worst_break_even, lambda v: v <= 0.15),
    ),
}


def judge(kind: str, result: Mapping[str, Any]) -> dict[str, bool]:
    """Whether each target of a table that applies to a result is reached.

    Where there is no forecast at all, every target is missed.
    """
    if "refused" in result:
        return {target.figure: False for target in TARGETS[kind]}
    values = {target: target.value(result) for target in TARGETS[kind]}
    return {t.figure: t.reached(value) for t, value in values.items() if value is not None}


def bounds(kind: str) -> str:
    """The targets of a table in words."""
    return "; ".join(f"{target.figure} {target.bound}" for target in TARGETS[kind])
