"""What is asked of a campaign, what a model answers so far, and whether that is sure enough.

A best count is sure enough when it is the fastest with the probability asked for, or when taking it
costs little on average: of two counts that are equally fast none ever becomes probable. A forecast
is, when the 90 % interval of the expected time is narrow enough; that of a single visit stays as
wide as visits differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from gpucast.errors import InputError
from gpucast.measure.design.cells import Pairs, spread_over
from gpucast.measure.design.next_cells import Ask
from gpucast.model.asked import outer
from gpucast.model.fitted import Model
from gpucast.model.joint import DRAWS
from gpucast.util.gpu_shares import GPU, Device
from gpucast.util.units import duration, number, percent

T = TypeVar("T", float, int)

SURELY = 0.95
"""Probability of a best count that is enough where nothing is said."""

REGRET = 0.01
"""What a wrong best count may cost on average, relative to a step, where nothing is said."""

HALF_WIDTH = 0.05
"""Half-width of a forecast's interval that is enough where nothing is said."""


SOME = 12
"""Sizes, and GPU counts, that a question is about at most which names none."""


@dataclass(frozen=True)
class Question:
    """What is to become sure.

    Attributes:
        kind: the best GPU count of each n, or forecasts of all n with all GPU counts.
        n, gpus: of what; empty: of all cells that may be measured.
        within: relative; of a best count what a wrong one may cost on average, of a forecast the
            half-width of the 90 % interval of the expected time.
        surely: of a best count, the probability that is enough, whatever it costs.
        text: as the user wrote it.
    """

    kind: Literal["best", "forecast"]
    n: tuple[float, ...] = ()
    gpus: tuple[int, ...] = ()
    within: float = HALF_WIDTH
    surely: float = SURELY
    text: str = ""

    def about(self, cells: Pairs) -> Question:
        """The same with n and GPU counts, those of the cells where it names none; of many sizes or
        counts some, spread between the least and the greatest."""
        n = self.n or _some(sorted({n for n, _ in cells}))
        gpus = self.gpus or _some(sorted({gpus for _, gpus in cells}))
        return replace(self, n=tuple(n), gpus=tuple(gpus))

    def ask(self) -> Ask:
        """For the design; n and GPU counts are there."""
        if self.kind == "best":
            return Ask.best_count(self.n, self.gpus)
        return Ask.forecasts(*outer(self.n, self.gpus))


@dataclass(frozen=True)
class Answer:
    """What a model says to a question.

    Attributes:
        question: as asked.
        sure: whether it is sure enough.
        open: of best counts by how much they are slower than the fastest on average, of forecasts
            the half-width, relative; of the n or cell of which it is largest. None: the model has
            no answer.
        probability: of a best count, least over n.
        text: in words.
    """

    question: str
    sure: bool
    text: str
    open: float | None = None
    probability: float | None = None


def answer(
    model: Model | None, question: Question, why_not: str = "", device: Device = GPU
) -> Answer:
    """What the model says; ``question`` names n and GPU counts. ``why_not``: there is no model;
    ``device``: what these counts count."""
    if model is None or not model.draw_count:
        why = why_not or "how sure the fit is nobody knows"
        return Answer(question.text, False, f"no answer yet: {why}")
    try:
        if question.kind == "best":
            return _best(model, question, device)
        return _forecast(model, question)
    except InputError as error:  # a GPU count whose communication the data cannot know
        return Answer(question.text, False, f"no answer yet: {error.message}")


def _best(model: Model, question: Question, device: Device) -> Answer:
    counts = sorted(set(question.gpus))
    best_counts = model.best_counts(question.n, counts)
    times = model.draws(*outer(question.n, counts), DRAWS).reshape(DRAWS, -1, len(counts))
    words, sure, regrets, shares = [], [], [], []
    for row, best in enumerate(best_counts):
        times_of_n = times[:, row]
        regret = float(
            np.mean(times_of_n[:, counts.index(best["gpus"])] / times_of_n.min(axis=1)) - 1
        )
        share = best["probability"] or 0.0
        sure.append(share >= question.surely or regret <= question.within)
        regrets.append(regret)
        shares.append(share)
        which = f"n={number(best['n'])}: " if len(best_counts) > 1 else ""
        words.append(f"{which}{device.counted(best['gpus'])}, {_in_percent(share)} sure")
    largest = max(regrets)
    cost = ", on average" if len(best_counts) == 1 else "; on average at most"
    text = f"{_listed(words)}{cost} {percent(largest)} slower than the fastest"
    return Answer(question.text, all(sure), text, largest, min(shares))


def _forecast(model: Model, question: Question) -> Answer:
    cells = model.forecasts(*outer(question.n, question.gpus))
    half = np.sinh(np.log(cells.mean_high / cells.mean_low) / 2)
    one = cells.n.size == 1
    words = [
        ("" if one else f"n={number(n)} gpus={int(gpus)}: ")
        + f"{duration(seconds)} ± {percent(width)}"
        for n, gpus, seconds, width in zip(cells.n, cells.gpus, cells.seconds, half, strict=True)
    ]
    widest = float(half.max())
    return Answer(question.text, widest <= question.within, _listed(words), widest)


def _some(values: Sequence[T]) -> Sequence[T]:
    return [values[i] for i in spread_over([(i, 1) for i in range(len(values))], SOME)]


def _listed(words: Sequence[str], most: int = 3) -> str:
    return ", ".join(words[:most]) + (f", ... ({len(words)} in all)" if len(words) > most else "")


def _in_percent(share: float) -> str:
    """Never 100 % of what was not drawn infinitely often."""
    return f"{min(99, round(100 * share))} %"
