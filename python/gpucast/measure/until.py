"""Questions of a campaign: the fits' answers, the visits that reduce their uncertainty, the end."""

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
"""Most visits of a plan; the next fit is better at planning further ones."""

CONFIRMED = 2
"""Number of fits in a row, each with new visits, that must be certain: among many fits, the first
that seems certain is too often so by chance. A fit to visits that the file already had needs no
second one, so that a campaign that was certain is not continued."""

HOPELESS = 0.9
"""A question is hopeless if all planned visits would leave more than this share of its uncertainty,
and the visits since the last fit have left more as well. The second condition is needed because a
plan takes the model's form as given, and visits may reveal a better one."""

CANDIDATES = 100
"""Most candidates for visits, spread over all cells that may be visited."""


@dataclass(frozen=True)
class Plan:
    """Visits for the questions that are not answered with certainty yet.

    Attributes:
        order: cells to visit, the most informative per time first; a cell may occur several times.
        gains: share of the variance in question that each visit removes, per second.
        enough: visits that make all answers certain according to the model; None: these visits do
            not suffice.
        open: the share of its uncertainty that a question keeps after all visits, largest over
            questions.
        shares: that share for each question; None if the visits are not planned for it.
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
        visits: pairs of the share of the variance that a visit removes, per second, and its cell.
        share: the share of its uncertainty that the question keeps after all visits.
        enough: the visits that make its answer certain; None: these visits do not suffice.
    """

    visits: list[tuple[float, Cell]]
    share: float
    enough: Counter[Cell] | None


class Until:
    """The questions about one series of steps."""

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
            cells: the series's cells; ``device``: what their GPU counts count.
            costs: expected cost of a visit; ``visits``: number of visits of each cell, kept up to
                date by the caller; ``most``: most visits of a cell.
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
        """Update answers and plan after a fit.

        Args:
            left: cells that may be visited again; ``why_not``: why there is no model.
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
        """Whether all answers are certain enough."""
        return self._sure_before >= CONFIRMED

    @property
    def hopeless(self) -> bool:
        """Whether, according to two fits in a row, no visits here would help much."""
        return self._hopeless_before >= CONFIRMED

    def seconds_left(self, seconds: Callable[[Cell], float]) -> float | None:
        """Return the total time of the visits that would make all answers certain; None: not known.
        ``seconds`` gives the time of a visit, in any unit.
        """
        if self.reached:
            return 0.0
        if self.plan is None or self.plan.enough is None:
            return None
        return sum(map(seconds, self.plan.enough))

    def in_words(self, seconds: Callable[[Cell], float]) -> list[str]:
        """Return a line for each question: its answer, and what would make it certain."""
        return [
            f"{known.question}? {known.text}; {left}"
            for known, left in zip(self.answers, self.outlooks(seconds), strict=True)
        ]

    def outlooks(self, seconds: Callable[[Cell], float]) -> list[str]:
        """Return a line for each question: the visits that would make its answer certain or, if the
        planned visits do not suffice, how much they would help."""
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
        """Return how much the planned visits help one question, if they do not answer all."""
        question, answered, share = self._questions[i], self.answers[i], plan.shares[i]
        visits = _more_visits(len(plan.order))
        if answered.sure:
            return "sure enough"
        if share is None or answered.open is None:
            return "what it takes is not known yet"
        if share > HOPELESS:
            return f"{visits} of these cells would hardly help; cells nearer to the question may"
        sign = "± " if question.kind == "forecast" else ""
        after, enough = _in_percent(share * answered.open), _in_percent(question.within)
        return f"{visits} would bring it to about {sign}{after}, sure enough is {sign}{enough}"

    def _started(self) -> bool:
        """Whether enough cells were visited: a fit to fewer is overconfident."""
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
        """Return the visits for one question; None if they cannot be planned."""
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
    """Whether the uncertainty of an unanswered question fell considerably."""
    if now.sure or now.open is None:
        return False
    return before.open is None or now.open < HOPELESS * before.open


def ended_by(until: Mapping[StepSelection, Until]) -> Literal["sure", "unsure"] | None:
    """Return ``sure`` if all questions are answered, ``unsure`` if the others are hopeless, else
    None."""
    if not until or not all(asked.reached or asked.hopeless for asked in until.values()):
        return None
    return "sure" if all(asked.reached for asked in until.values()) else "unsure"
