"""Questions to a campaign: what its fits answer, which visits narrow that most, when it may end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpucast.data.selection import StepSelection
from gpucast.errors import InputError
from gpucast.measure.design.cells import START, Cell, pairs_of, spread_over
from gpucast.measure.design.next_cells import next_cells
from gpucast.measure.design.questions import Answer, Question, answer
from gpucast.model.fitted import Model
from gpucast.util.gpu_shares import GPU, Device
from gpucast.util.units import long_duration

LOOK_AHEAD = 40
"""Most visits of a plan: the next fit knows better what further ones would tell."""

CONFIRMED = 2
"""Fits in a row, each with new visits, that must be sure: of many the first that seems sure is so
by chance more often than it says. A fit to visits that the file had needs no second one, so that a
campaign that was sure is not continued."""

HOPELESS = 0.9
"""A question is hopeless where all planned visits would leave more than this share of what is open,
and those since the last fit did so, too. A plan takes the model's form as given, of which visits
may say more than it knows: hence both."""

CANDIDATES = 100
"""Most cells among which visits are chosen, spread over all that may be visited."""


@dataclass(frozen=True)
class Plan:
    """Visits for what is not sure yet.

    Attributes:
        order: the one that narrows most for its time first; a cell may be there several times.
        gains: share of the variance asked about that each takes off, per second.
        enough: visits that make all sure, as far as the model knows; None: these do not.
        open: the share of what is open that all of them leave, of the question with the most.
        shares: the same share of each question; None where they are not made for it.
    """

    order: list[Cell]
    gains: list[float]
    enough: list[Cell] | None
    open: float
    shares: tuple[float | None, ...]


@dataclass(frozen=True)
class _Part:
    """Visits for one question.

    Attributes:
        visits: each with the share of the variance that it takes off, per second.
        share: the share of what is open that all of them leave.
        enough: the visits that make it sure; None: these do not.
    """

    visits: list[tuple[float, Cell]]
    share: float
    enough: Counter[Cell] | None


class Until:
    """Questions to one series of steps."""

    def __init__(
        self,
        questions: Sequence[Question],
        cells: Sequence[Cell],
        costs: Callable[[Cell], float],
        visits: Mapping[Cell, int],
        most: int,
        device: Device = GPU,
    ) -> None:
        """
        Args:
            cells: those of the series; ``device``: what their GPU counts count.
            costs: of a visit; ``visits``: how many of each were made, kept up to date by the
                caller; ``most``: visits of a cell at most.
        """
        pairs = pairs_of(cells)
        self._questions = [question.about(pairs) for question in questions]
        self._cells = cells
        self._costs = costs
        self._visits = visits
        self._most = most
        self._device = device
        self._visits_before = sum(visits.get(cell, 0) for cell in cells)
        self._sure_before = 0
        self._hopeless_before = 0
        self._any_left = True
        self.answers = [answer(None, question, "nothing measured") for question in self._questions]
        self.plan: Plan | None = None

    def update(self, model: Model | None, left: Sequence[Cell], why_not: str = "") -> None:
        """After a fit.

        Args:
            left: cells that may be visited again; ``why_not``: there is no model.
        """
        before = self.answers
        self._any_left = bool(left)
        self.answers = [
            answer(model, question, why_not, self._device) for question in self._questions
        ]
        self.plan = None
        if model is None or not self._started():
            return
        new = sum(self._visits.get(cell, 0) for cell in self._cells) > self._visits_before
        if all(known.sure for known in self.answers):
            self._sure_before += 1 if new else CONFIRMED
        else:
            self._sure_before = 0
        plan = self.plan = self._planned(model, left)
        helps = plan is not None and (plan.enough is not None or plan.open < HOPELESS)
        surer = helps or any(map(_fell, before, self.answers))
        self._hopeless_before = 0 if surer or self._sure_before else self._hopeless_before + 1

    @property
    def reached(self) -> bool:
        """Whether all is sure enough."""
        return self._sure_before >= CONFIRMED

    @property
    def hopeless(self) -> bool:
        """Whether no visits here would make it much surer, as two fits in a row say."""
        return self._hopeless_before >= CONFIRMED

    def seconds_left(self, seconds: Callable[[Cell], float]) -> float | None:
        """The sum over the visits that would make all answers sure; None: not known.

        ``seconds``: what a visit of a cell takes, in any unit.
        """
        if self.reached:
            return 0.0
        if self.plan is None or self.plan.enough is None:
            return None
        return sum(map(seconds, self.plan.enough))

    def in_words(self, seconds: Callable[[Cell], float]) -> list[str]:
        """What is known, and what it would take to be sure, a line a question."""
        return [
            f"{known.question}? {known.text}; {left}"
            for known, left in zip(self.answers, self.outlooks(seconds), strict=True)
        ]

    def outlooks(self, seconds: Callable[[Cell], float]) -> list[str]:
        """What it would take to be sure, a line a question; where no planned visits are enough, how
        far they would come."""
        if self.reached:
            return ["sure enough"] * len(self.answers)
        if not self._started():
            return ["too few cells yet to be sure"] * len(self.answers)
        takes, plan = self.seconds_left(seconds), self.plan
        if plan is None and not self._any_left:
            return ["all visits are made, --visits allows more"] * len(self.answers)
        if plan is None:
            return ["what it takes is not known yet"] * len(self.answers)
        if takes is None or plan.enough is None:
            return [self._beyond(i, plan) for i in range(len(self.answers))]
        if not plan.enough:
            return ["seems sure enough, which a second fit has to confirm"] * len(self.answers)
        visits = _more_visits(len(plan.enough))
        return [f"sure enough after about {visits}, {long_duration(takes)}"] * len(self.answers)

    def _beyond(self, i: int, plan: Plan) -> str:
        """How far the planned visits bring one question, where they do not make all sure."""
        question, answered, share = self._questions[i], self.answers[i], plan.shares[i]
        visits = _more_visits(len(plan.order))
        if answered.sure:
            return "sure enough"
        if share is None or answered.open is None:
            return "what it takes is not known yet"
        if share > HOPELESS:
            return f"{visits} of these cells would hardly make it surer, cells nearer to it may"
        sign = "± " if question.kind == "forecast" else ""
        after, enough = _in_percent(share * answered.open), _in_percent(question.within)
        return f"{visits} would bring it to about {sign}{after}, sure enough is {sign}{enough}"

    def _started(self) -> bool:
        """Whether enough cells were visited: a fit to fewer seems surer than it is."""
        visited = sum(self._visits.get(cell, 0) > 0 for cell in self._cells)
        return visited >= min(START, len(self._cells))

    def _planned(self, model: Model, left: Sequence[Cell]) -> Plan | None:
        if not left:
            return None
        among = [left[i] for i in spread_over(pairs_of(left), CANDIDATES)]
        all_sure = all(known.sure for known in self.answers)
        parts = [
            self._part(model, question, known, among) if all_sure or not known.sure else None
            for question, known in zip(self._questions, self.answers, strict=True)
        ]
        planned = [part for part in parts if part is not None]
        if not planned:
            return None
        visits = sorted((visit for part in planned for visit in part.visits), key=lambda v: -v[0])
        needed: Counter[Cell] | None = Counter()
        for part in planned:
            needed = None if needed is None or part.enough is None else needed | part.enough
        return Plan(
            [cell for _, cell in visits],
            [gain for gain, _ in visits],
            None if needed is None else list(needed.elements()),
            max(part.share for part in planned),
            tuple(None if part is None else part.share for part in parts),
        )

    def _part(
        self, model: Model, question: Question, known: Answer, among: Sequence[Cell]
    ) -> _Part | None:
        """The visits that one question needs; None: it cannot be told."""
        try:
            advice = next_cells(
                model,
                question.ask(),
                pairs_of(among),
                costs=np.array([self._costs(cell) for cell in among]),
                most=[self._most - self._visits.get(cell, 0) for cell in among],
                count=LOOK_AHEAD,
            )
        except InputError:  # a GPU count whose communication the data cannot know
            return None
        if advice is None or not advice.order or advice.before <= 0:
            return None
        cells = [among[i] for i in advice.order]
        remaining = [share / advice.before for share in advice.open]
        wanted = 1.0 if known.sure or not known.open else question.within / known.open
        count = next((i for i, share in enumerate(remaining) if share <= wanted), None)
        return _Part(
            list(zip(advice.gains, cells, strict=True)),
            remaining[-1],
            None if count is None else Counter(cells[:count]),
        )


def _more_visits(count: int) -> str:
    return "1 more visit" if count == 1 else f"{count} more visits"


def _in_percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _fell(before: Answer, now: Answer) -> bool:
    """Whether a question that is not sure yet became much surer."""
    if now.sure or now.open is None:
        return False
    return before.open is None or now.open < HOPELESS * before.open


def ended_by(until: Mapping[StepSelection, Until]) -> Literal["sure", "unsure"] | None:
    """Whether nothing more need be measured: all is sure, or what is not sure gets no surer."""
    if not until or not all(asked.reached or asked.hopeless for asked in until.values()):
        return None
    return "sure" if all(asked.reached for asked in until.values()) else "unsure"
