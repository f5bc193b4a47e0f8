"""What forecasts of cells are worth, and what they must reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Result:
    """Forecasts held against measured times of cells that were not trained on.

    Attributes:
        refused: why there are none; all else is empty then.
        cells: n, gpus, measured, predicted, relative_error, and covered where there are intervals.
        models: that were chosen, one a split.

    The others are those of ``gpucast.forecast.validation.score``.
    """

    refused: str | None = None
    models: list[str] = field(default_factory=list)
    cells: list[dict[str, float]] = field(default_factory=list)
    median_relative_error: float | None = None
    p95_relative_error: float | None = None
    max_relative_error: float | None = None
    best_hits: int = 0
    best_total: int = 0
    mean_regret: float | None = None
    max_regret: float | None = None
    coverage: float | None = None

    @property
    def hit_share(self) -> float | None:
        """How often the best count is chosen."""
        return self.best_hits / self.best_total if self.best_total else None


@dataclass(frozen=True)
class BreakEven:
    """From which n on remote GPUs cost a tenth more at most; None where there is no such n.

    Attributes:
        relative_error: None unless there is one both measured and forecast.
        extra_at_largest: measured and forecast, at the largest n.
    """

    gpus: int
    largest_n: int
    measured: float | None
    forecast: float | None
    relative_error: float | None
    extra_at_largest: Mapping[str, float]

    @property
    def apart(self) -> float:
        """How far: infinitely where only one of the two sizes is finite."""
        if self.relative_error is not None:
            return abs(self.relative_error)
        return 0.0 if self.measured == self.forecast else float("inf")


@dataclass(frozen=True)
class RemoteResult(Result):
    """Remote steps forecast from native ones."""

    break_even: list[BreakEven] = field(default_factory=list)

    @property
    def worst_break_even(self) -> float | None:
        """Largest relative error of a break-even size; None where none is finite."""
        finite = [each for each in self.break_even if each.measured or each.forecast]
        return max((each.apart for each in finite), default=None)


@dataclass(frozen=True)
class Quarter:
    """A quarter of the cells trained on, by how it was chosen.

    ``all``: a fit of all cells, judged on those that the design left out; None without a design.
    """

    random: Result
    design: Result
    all: Result | None = None

    @property
    def refused(self) -> str | None:
        """Why there is no design, and so nothing to judge."""
        return self.design.refused

    def ratio(self, to: str) -> float | None:
        """The p95 of the design over that of another choice."""
        other = getattr(self, to)
        own, theirs = self.design.p95_relative_error, other and other.p95_relative_error
        return own / theirs if own is not None and theirs else None


Judged = Result | Quarter


@dataclass(frozen=True)
class Target:
    """One figure's bound: in words, how it is taken from a result (None: does not apply), and
    whether a value is good enough."""

    bound: str
    value: Callable[[Judged], float | None]
    reached: Callable[[float], bool]


def at_most(figure: str, bound: float, words: str = "at most {:g} %") -> Target:
    """A share that must not exceed a bound."""
    return Target(
        words.format(100 * bound), lambda found: getattr(found, figure), lambda v: v <= bound
    )


MEDIAN, P95 = "median_relative_error", "p95_relative_error"
APART = 0.15
"""How far measured and forecast break-even sizes may lie apart, relative."""

TARGETS: Mapping[str, Mapping[str, Target]] = {
    "gpus": {
        "median": at_most(MEDIAN, 0.015),
        "p95": at_most(P95, 0.04),
        "best count": Target("right in at least 95 %", lambda r: r.hit_share, lambda v: v >= 0.95),
        "mean regret": at_most("mean_regret", 0.005),
        "coverage": Target("85 to 97 %", lambda r: r.coverage, lambda v: 0.85 <= v <= 0.97),
    },
    "sizes": {},
    "random": {"median": at_most(MEDIAN, 0.01), "p95": at_most(P95, 0.03)},
    "quarter": {
        "design / all": Target("at most 1.5", lambda q: q.ratio("all"), lambda v: v <= 1.5),
        "design / random": Target("at most 0.5", lambda q: q.ratio("random"), lambda v: v <= 0.5),
    },
    "what_if": {
        "median": at_most(MEDIAN, 0.05),
        "p95": at_most(P95, 0.12),
        "break-even": at_most("worst_break_even", APART, "within {:g} %"),
    },
}
"""What each figure of a table has to reach, by table."""


def judge(kind: str, found: Judged) -> dict[str, bool]:
    """Whether each target of a table that applies to a result is reached.

    Where there is no forecast at all, every target is missed.
    """
    targets = TARGETS.get(kind, {})
    if found.refused is not None:
        return dict.fromkeys(targets, False)
    values = {figure: target.value(found) for figure, target in targets.items()}
    return {figure: targets[figure].reached(v) for figure, v in values.items() if v is not None}


def bounds(kind: str) -> str:
    """The targets of a table in words."""
    return "; ".join(f"{figure} {target.bound}" for figure, target in TARGETS[kind].items())
