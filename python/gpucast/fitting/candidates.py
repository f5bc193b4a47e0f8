"""Candidate models for a problem, and the values of ``--model``."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace

from gpucast import _core
from gpucast.data import workload
from gpucast.errors import InputError
from gpucast.fitting.problem import Problem
from gpucast.model.values import Terms

Curves = tuple[tuple[str, tuple[float, ...]], ...]
"""Breakpoints of transfer curves in bytes, by route; a straight line has none."""

PAPER = ("wave", "linear", "star-serial")


@dataclass(frozen=True)
class Candidate:
    """A model to try: three terms, and breakpoints of its transfer curves.

    Attributes:
        breakpoints: breakpoints of the transfer curves in bytes, by route.
        integer: the structural integer, if known.
    """

    gpu: str
    cpu: str
    com: str
    breakpoints: Curves = ()
    integer: int | None = None

    @property
    def is_paper(self) -> bool:
        """Whether it is the paper's model: its three terms and linear transfer times."""
        return (self.gpu, self.cpu, self.com) == PAPER and not any(
            points for _, points in self.breakpoints
        )

    @property
    def name(self) -> str:
        """``paper``, or the three terms; linear transfer times are the default and not named."""
        if self.is_paper:
            return "paper"
        bent = any(points for _, points in self.breakpoints)
        return f"{self.gpu}+{self.cpu}+{self.com}" + (" (piecewise)" if bent else "")

    @property
    def terms(self) -> Terms:
        """The names of the three terms."""
        return Terms(gpu=self.gpu, cpu=self.cpu, com=self.com)

    def model(self, problem: Problem) -> _core.Model:
        """Return the core's model, whose structural integer may still have to be found."""
        curves = {route: list(points) for route, points in self.breakpoints}
        work = workload.of(problem.workload)
        return self.terms.core(problem.gpus, work, self.integer, curves)

    def with_communication(self, com: str, breakpoints: Curves) -> Candidate:
        """Return the candidate with another communication term and its curves."""
        return replace(self, com=com, breakpoints=breakpoints)

    def complexity(self, problem: Problem) -> int:
        """Return the number of parameters without times and throughputs of the communication term:
        all terms of a schedule follow from its operations, so none is less plausible for having
        more. A dimensionless parameter counts, because the term then includes a simpler one."""
        own = {name for name, unit, _ in _core.COM_TERMS[self.com].parameters if unit}
        return sum(name not in own for name, _, _ in self.model(problem).parameters)

    def usable(self, problem: Problem) -> str | None:
        """Return why the candidate cannot be tried; None if it can."""
        try:
            self.model(problem)
        except ValueError as error:
            return str(error)
        return None


def straight(problem: Problem) -> Curves:
    """Return a linear curve for every measured route."""
    return tuple((route, ()) for route in problem.transfers)


def candidates(problem: Problem, model: str, breakpoints: Curves) -> list[Candidate]:
    """Return the named model (``paper`` or ``GPU+CPU+COM``) and, if usable, the paper's for
    comparison.

    Args:
        breakpoints: breakpoints of each measured route, from its transfers.

    Raises:
        InputError: ``model`` is neither, or data that it needs are missing.
    """
    paper = Candidate(*PAPER, straight(problem))
    if model == "paper":
        return [_required(paper, problem)]
    beside = [paper] if paper.usable(problem) is None else []
    return list(dict.fromkeys([_named(problem, model, breakpoints), *beside]))


def routes_of(problem: Problem) -> set[str]:
    """Return the routes of the steps' schedule, and those of the paper's, which is always tried."""
    terms = {PAPER[2], *terms_of(problem.schedule or PAPER[2])}
    return {route for com in terms for route in _core.COM_TERMS[com].routes}


def _named(problem: Problem, model: str, breakpoints: Curves) -> Candidate:
    parts = [part.strip() for part in model.split("+")]
    choices = (_core.GPU_TERMS, _core.CPU_TERMS, _core.COM_TERMS)
    own = len(parts) == 3 and all(map(operator.contains, choices, parts))
    if not own and all(part in _core.SCALING_TERMS for part in parts):
        raise InputError(
            f"{model!r} is a scaling form; these cannot be named: the measurements choose among "
            "them, with auto",
            field="model",
        )
    if len(parts) != 3:
        raise InputError(
            f"{model!r} is none of auto, paper, GPU+CPU+COM (such as wave+linear+star-serial)",
            field="model",
        )
    for part, allowed in zip(parts, choices, strict=True):
        if part not in allowed:
            raise InputError(f"{part!r} is none of {', '.join(allowed)}", field="model")
    gpu, cpu, com = parts
    return _required(Candidate(gpu, cpu, com, breakpoints), problem)


def terms_of(schedule: str) -> list[str]:
    """Return the communication terms to try for a schedule, its plain form first."""
    described = (com for com in _core.COM_TERMS.values() if com.schedule == schedule)
    return [com.name for com in described if com.tried != "by_name"]


def _required(candidate: Candidate, problem: Problem) -> Candidate:
    reason = candidate.usable(problem)
    if reason is not None:
        raise InputError(reason, file=problem.dataset.name, field="model")
    return candidate
