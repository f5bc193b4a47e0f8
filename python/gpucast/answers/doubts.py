"""Answers that are too uncertain, the reason, and the one cell whose measurement would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast.answers.advice import for_question, near
from gpucast.errors import InputError
from gpucast.measure.design.next_cells import Ask, left_after
from gpucast.measure.design.questions import REGRET
from gpucast.model.asked import Numbers, outer
from gpucast.model.fitted import Model
from gpucast.model.forecasts import Best, Forecasts
from gpucast.model.intervals import Array
from gpucast.model.joint import DRAWS
from gpucast.util import JsonObject
from gpucast.util.units import duration, gpus_in_words, number, percent, whole_percent

WITHIN = 2.0
"""An answer is in doubt if the ends of its interval differ by more than this factor: twice the GPUs
halve a step at best, so that a wider interval does not show whether they help at all."""

_ALIKE = 0.2
"""Forms with this share of the largest weight fit as well: the data do not separate them."""

_NARROWS = 0.75
"""A cell that would leave a larger part of an interval, in the logarithm, is not named."""

_PROBABLE = 0.5
"""A best count that is less probable than this is in doubt, if a wrong choice matters."""

_CERTAIN = 0.9
"""The loss by a wrong choice is not examined for a best count that is at least as probable."""

_LOSES = 0.05
"""A best count whose mean loss, relative, is at least this is in doubt."""


@dataclass(frozen=True)
class Settling:
    """A cell whose measurement would narrow an answer.

    Attributes:
        seconds: forecast of its step.
        after: the uncertainty that would remain, in the unit of the doubt.
        enough: whether no doubt would remain.
    """

    n: float
    gpus: int
    seconds: float
    after: float
    enough: bool

    def __str__(self) -> str:
        return f"{_cell(self.n, self.gpus)} (a step of about {duration(self.seconds)})"


@dataclass(frozen=True)
class Doubt:
    """A cell whose time is not known to within a factor.

    Attributes:
        n, gpus: the cell.
        low, high: 90 % interval of its expected time, s.
        fold: factor between these, without the uncertainty that is not this cell's alone.
        forms: among the forms that fit equally well those with the shortest and the longest time,
            with their times (s); empty if they do not explain the interval.
        why: the cause in words.
        settling: the cell to measure; None: only this cell itself would narrow the interval.
    """

    n: float
    gpus: int
    low: float
    high: float
    fold: float
    forms: dict[str, float]
    why: str
    settling: Settling | None

    def __str__(self) -> str:
        spans = f"{duration(self.low)} to {duration(self.high)}"
        return f"{_cell(self.n, self.gpus)}: {spans} (90 %): {self.why}; {self._remedy}"

    @property
    def _remedy(self) -> str:
        known = self.settling
        if known is None:
            return "measure it"
        if (known.n, known.gpus) == (self.n, self.gpus):
            return "nothing cheaper than measuring it would settle that"
        how = "settle" if known.enough else "narrow"
        return f"measuring {known} would {how} it, to a factor of {known.after:.2g}"


@dataclass(frozen=True)
class BestDoubt:
    """A best GPU count that may be wrong.

    Attributes:
        probability: that it is the best.
        loses: mean time lost by choosing it, relative to the best.
        settling: the cell to measure; None: no cell makes the choice more certain.
    """

    n: float
    gpus: int
    probability: float
    loses: float
    settling: Settling | None

    def __str__(self) -> str:
        text = (
            f"n = {number(self.n)}: {gpus_in_words(self.gpus)} are best with "
            f"{whole_percent(self.probability)} and lose {percent(self.loses)} on average"
        )
        known = self.settling
        if known is None:
            return f"{text}; measure it on the counts that may be better"
        how = "settle it: what is lost falls" if known.enough else "lower that"
        return f"{text}; measuring {known} would {how} to {percent(known.after)}"


def as_json(doubt: Doubt | BestDoubt) -> JsonObject:
    """Return JSON values, with the doubt in words as ``text``."""
    from dataclasses import asdict

    return {**asdict(doubt), "text": str(doubt)}


def doubtful(model: Model, forecasts: Forecasts, within: float = WITHIN) -> NDArray[np.bool_]:
    """Return which cells are not known to within a factor.

    Measured cells are not in doubt, nor is any cell of a model that does not hold its measured
    cells.
    """
    if model.timed is None or not model.draw_count:
        return np.zeros(forecasts.n.size, dtype=np.bool_)
    unknown = np.isnan(model.measured(forecasts.n, forecasts.gpus))
    return np.asarray((forecasts.fold > within) & unknown, dtype=np.bool_)


def doubts(model: Model, n: Numbers, gpus: Numbers, within: float = WITHIN) -> list[Doubt]:
    """Return the doubts about cells whose 90 % interval of the expected time spans more than a
    factor, with the cause and the cell to measure.

    Raises:
        InputError: as for ``Model.forecasts``.
    """
    forecasts = model.forecasts(*outer(n, gpus))
    at = np.flatnonzero(doubtful(model, forecasts, within))
    return [_doubt(model, forecasts, int(i), within) for i in at]


def widest(model: Model, forecasts: Forecasts, within: float = WITHIN) -> Doubt | None:
    """Return the doubt about the least certain cell; None if all are certain enough."""
    at = np.flatnonzero(doubtful(model, forecasts, within))
    if not at.size:
        return None
    return _doubt(model, forecasts, int(at[np.argmax(forecasts.fold[at])]), within)


def _doubt(model: Model, forecasts: Forecasts, at: int, within: float) -> Doubt:
    n, gpus = float(forecasts.n[at]), int(forecasts.gpus[at])
    fold = float(forecasts.fold[at])
    forms = _apart(by_form(model, np.array([n]), np.array([float(gpus)])), fold)
    return Doubt(
        n=n,
        gpus=gpus,
        low=float(forecasts.mean_low[at]),
        high=float(forecasts.mean_high[at]),
        fold=fold,
        forms=forms,
        why=_why(model, n, gpus, forms),
        settling=_settling(model, (n, gpus), fold, within),
    )


def _apart(forms: Sequence[FormTimes], fold: float) -> dict[str, float]:
    """The times of the two forms that differ most among those that fit equally well, if they span
    at least half of the interval, in the logarithm."""
    heaviest = max((one.weight for one in forms), default=0.0)
    alike = [one for one in forms if one.weight >= _ALIKE * heaviest]
    alike.sort(key=lambda one: float(one.seconds[0]))
    if not alike or alike[-1].seconds[0] < fold**0.5 * alike[0].seconds[0]:
        return {}
    return {one.form: float(one.seconds[0]) for one in (alike[0], alike[-1])}


def _why(model: Model, n: float, gpus: int, forms: dict[str, float]) -> str:
    if forms:
        times = " and ".join(f"{duration(time)} ({form})" for form, time in forms.items())
        return f"forms that fit alike say {times}"
    (fewest, most), (least, largest) = model.domain.gpus, model.domain.n
    if fewest == most != gpus:
        return f"no other count than {gpus_in_words(most)} was measured"
    if gpus > most:
        return f"beyond {gpus_in_words(most)} time may change in another way"
    if least == largest != n:
        return f"no other size than n = {number(least)} was measured"
    if not least <= n <= largest:
        return f"sizes from {number(least)} to {number(largest)} do not say how time goes on"
    return "the cells measured leave it open"


def _settling(
    model: Model, asked: tuple[float, int], fold: float, within: float
) -> Settling | None:
    """The cell with the least GPU time among those that would remove the doubt; if only the cell
    itself or none would, the one that narrows the interval most."""
    cells = list(dict.fromkeys([*near(model, [asked[0]], [asked[1]]), asked]))
    try:
        after = fold ** left_after(model, asked, cells)
    except InputError:  # a GPU count whose communication the data cannot know
        return None
    n, gpus = np.array(cells, dtype=np.float64).T
    seconds = model.seconds(n, gpus)
    itself, cost = cells.index(asked), gpus * seconds
    cheaper = cost < cost[itself]
    if np.any(cheaper & (after <= within)):
        best = np.argmin(np.where(cheaper & (after <= within), cost, np.inf))
    else:
        best = np.argmin(np.where(cheaper, after, np.inf))
        if not after[best] < fold**_NARROWS:
            best = np.intp(itself)
    cell, left = cells[int(best)], float(after[best])
    return Settling(*cell, float(seconds[best]), left, left <= within)


def of_best(model: Model, best: Sequence[Best], counts: Sequence[float]) -> BestDoubt | None:
    """Return the doubt about the best count with the largest mean loss; None if all best counts are
    probable or lose little.

    Args:
        counts: the counts from which the best were chosen.
    """
    rows = [
        row
        for row in best
        if (row["probability"] if row["probability"] is not None else 1.0) < _CERTAIN
    ]
    if not rows or model.timed is None:
        return None
    rising = sorted(set(counts))
    n = [row["n"] for row in rows]
    times = model.draws(*outer(n, rising), DRAWS).reshape(DRAWS, len(rows), -1)
    chosen = [rising.index(row["gpus"]) for row in rows]
    lost = (times[:, np.arange(len(rows)), chosen] / times.min(axis=2)).mean(axis=0) - 1
    open_ = [
        at
        for at, row in enumerate(rows)
        if lost[at] >= (REGRET if (row["probability"] or 0) < _PROBABLE else _LOSES)
    ]
    if not open_:
        return None
    at = max(open_, key=lambda at: lost[at])
    row, loses = rows[at], float(lost[at])
    advice = for_question(model, Ask.best_count([row["n"]], rising), count=1)
    settling = None
    if advice is not None and advice.cells:
        cell, after = advice.cells[0], loses * advice.after / advice.before
        if after < _NARROWS * loses:
            settling = Settling(cell.n, cell.gpus, cell.seconds, after, after < _LOSES)
    return BestDoubt(row["n"], row["gpus"], row["probability"] or 0.0, loses, settling)


def _cell(n: float, gpus: int) -> str:
    return f"n = {number(n)} on {gpus_in_words(gpus)}"


# Forecasts by each of the forms over which a model averages.


@dataclass(frozen=True)
class FormTimes:
    """The forecasts of one form.

    Attributes:
        form: the form's name.
        weight: its weight in the model's forecast.
        seconds: step time of each cell (s).
    """

    form: str
    weight: float
    seconds: Array


def by_form(model: Model, n: Array, gpus: Array) -> list[FormTimes]:
    """Return each form's forecast of pairs of n and gpus; none if the model does not average over
    forms, or if no form describes the dependence on N."""
    factors, of_size = np.exp(model.log_factors), model.size_factors(n)
    return [
        FormTimes(form, weight, of_size * engine.seconds(n, gpus, factors))
        for form, weight, engine in model.engine.alone()
    ]
