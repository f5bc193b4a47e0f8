"""The questions of a campaign, a model's answers so far, and whether these are certain enough.

A best count is certain enough if it is the fastest with the required probability, or if its
expected loss against the fastest is small: of two equally fast counts, none ever becomes probable.
A forecast is certain enough if the 90 % interval of the expected time is narrow enough; the
interval of a single visit stays as wide as visits scatter.
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
"""Default of the required probability of a best count."""

REGRET = 0.01
"""Default of the tolerated expected loss by a wrong best count, relative to a step."""

HALF_WIDTH = 0.05
"""Default of the required half-width of a forecast's interval, relative."""


SOME = 12
"""Most sizes, and most GPU counts, of a question that names none."""


@dataclass(frozen=True)
class Question:
    """A question that a campaign is to answer.

    Attributes:
        kind: the best GPU count of each n, or forecasts of all n with all GPU counts.
        n, gpus: the cells in question; empty: all cells that may be measured.
        within: tolerance, relative: for a best count the expected loss by a wrong one, for a
            forecast the half-width of the 90 % interval of the expected time.
        surely: for a best count, the probability that is enough whatever the loss.
        text: as the user wrote it.
    """

    kind: Literal["best", "forecast"]
    n: tuple[float, ...] = ()
    gpus: tuple[int, ...] = ()
    within: float = HALF_WIDTH
    surely: float = SURELY
    text: str = ""

    def about(self, cells: Pairs) -> Question:
        """Return the question with n and GPU counts filled in from the cells if it names none; of
        many sizes or counts, only some that are spread over the range."""
        n = self.n or _some(sorted({n for n, _ in cells}))
        gpus = self.gpus or _some(sorted({gpus for _, gpus in cells}))
        return replace(self, n=tuple(n), gpus=tuple(gpus))

    def ask(self) -> Ask:
        """Return the question in the form that ``next_cells`` takes; n and gpus must be filled
        in."""
        if self.kind == "best":
            return Ask.best_count(self.n, self.gpus)
        return Ask.forecasts(*outer(self.n, self.gpus))


@dataclass(frozen=True)
class Answer:
    """A model's answer to a question.

    Attributes:
        question: as asked.
        sure: whether it is certain enough.
        open: the largest relative uncertainty over n or cells: for best counts the expected loss
            against the fastest, for forecasts the half-width. None: the model has no answer.
        probability: for a best count, its probability, the least over n.
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
    """Return the model's answer. ``question`` names n and GPU counts, ``why_not`` says why there is
    no model, ``device`` is what the counts count."""
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
    """Format a probability; one from finitely many draws is never 100 %."""
    return f"{min(99, round(100 * share))} %"
