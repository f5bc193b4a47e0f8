"""Which models to try on a problem, and the words of ``--model``."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpucast import _core
from gpucast.data import workload
from gpucast.errors import InputError
from gpucast.fitting.piecewise import cpu_breakpoints, gpu_breakpoints
from gpucast.fitting.problem import Problem
from gpucast.fitting.synchronous import terms_left

Curves = tuple[tuple[str, tuple[float, ...]], ...]
"""Breakpoints of transfer curves in bytes, by route; a straight line has none."""

PAPER = ("wave", "linear", "star-serial")


@dataclass(frozen=True)
class Candidate:
    """One model to try: three terms, and where their curves and pieces bend (none: straight).

    Attributes:
        breakpoints: breakpoints of the transfer curves in bytes, by route.
        gpu_breakpoints, cpu_breakpoints: those of terms made of straight pieces
            (gpucast.fitting.piecewise).
    """

    gpu: str
    cpu: str
    com: str
    breakpoints: Curves = ()
    gpu_breakpoints: tuple[float, ...] = ()
    cpu_breakpoints: tuple[float, ...] = ()

    @property
    def is_paper(self) -> bool:
        """The paper's model: its three terms and straight lines."""
        return (self.gpu, self.cpu, self.com) == PAPER and not any(
            points for _, points in self.breakpoints
        )

    @property
    def name(self) -> str:
        """``paper``, or the three terms; straight lines are the default and not named."""
        if self.is_paper:
            return "paper"
        bent = any(points for _, points in self.breakpoints)
        return f"{self.gpu}+{self.cpu}+{self.com}" + (" (piecewise)" if bent else "")

    def model(self, problem: Problem) -> _core.Model:
        """The core's model, its structural integer still to be found."""
        return _core.Model(
            self.gpu,
            self.cpu,
            self.com,
            cores=problem.cores,
            sms=problem.sms,
            block=problem.block,
            curves={route: list(points) for route, points in self.breakpoints},
            gpu_breakpoints=self.gpu_breakpoints,
            cpu_breakpoints=self.cpu_breakpoints,
            workload=workload.of(problem.workload),
        )

    def with_communication(self, com: str, breakpoints: Curves) -> Candidate:
        """The same computation with another communication term and its curves."""
        return replace(self, com=com, breakpoints=breakpoints)

    def complexity(self, problem: Problem) -> int:
        """Parameters, without those of the communication term itself: the terms of a schedule are
        derived from what it does, so that none of them is the more far-fetched."""
        own = {name for name, _, _ in _core.COM_TERMS[self.com].parameters}
        return sum(name not in own for name, _, _ in self.model(problem).parameters)

    def usable(self, problem: Problem) -> str | None:
        """Why the candidate cannot be tried; None if it can."""
        try:
            self.model(problem)
        except ValueError as error:
            return str(error)
        return None


def straight(problem: Problem) -> Curves:
    """A straight line for every route that was measured."""
    return tuple((route, ()) for route in problem.transfers)


def candidates(problem: Problem, model: str, breakpoints: Curves) -> list[Candidate]:
    """The models to try for ``model``: ``auto``, ``paper``, or ``GPU+CPU+COM``.

    The paper's is always among them where it can be, so that it can be shown beside the winner.

    Args:
        breakpoints: breakpoints of each measured route, as found from its transfers.

    Raises:
        InputError: ``model`` is none of these, or cannot be used with what is known.
    """
    paper = Candidate(*PAPER, straight(problem))
    if model == "paper":
        return [_required(paper, problem)]
    if model != "auto":
        beside = [paper] if paper.usable(problem) is None else []
        return list(dict.fromkeys([_named(problem, model, breakpoints), *beside]))
    terms = terms_left(problem.schedule or PAPER[2], problem.waits)
    plain = terms[0]
    tried_always = {"always"} if problem.workload is None else {"always", "decomposed"}
    gpu_terms = [gpu for gpu in _core.GPU_TERMS.values() if gpu.tried in tried_always]
    tried = [paper]
    for gpu in gpu_terms:
        for cpu in _core.CPU_TERMS.values():
            formulas = gpu.bends == cpu.bends == "nowhere" and cpu.tried == "always"
            # A second constant beside one that the GPU term holds already is the same model.
            if formulas and (cpu.name == PAPER[1] or not gpu.constant):
                tried.append(Candidate(gpu.name, cpu.name, plain, straight(problem)))
                tried.append(Candidate(gpu.name, cpu.name, plain, breakpoints))
    # What a schedule hides or repeats shows only between GPU counts.
    several = len({step.gpus for step in problem.steps}) > 1
    for com in terms if several else [plain]:
        for gpu in gpu_terms:
            if gpu.bends != "nowhere" or (gpu.constant and com != plain):
                pieces = gpu_breakpoints(problem, gpu.name)
                tried.append(Candidate(gpu.name, PAPER[1], com, breakpoints, pieces))
    why_not = {candidate: candidate.usable(problem) for candidate in tried}
    problem.notes += [f"not tried: {why}" for why in dict.fromkeys(why_not.values()) if why]
    return [candidate for candidate, why in why_not.items() if why is None]


def refined(problem: Problem, best: Candidate) -> list[Candidate]:
    """What else to try once the best of the candidates is known: host time that bends in n."""
    searched = [cpu.name for cpu in _core.CPU_TERMS.values() if cpu.bends == "searched"]
    bends = cpu_breakpoints(problem)
    return [replace(best, cpu=cpu, cpu_breakpoints=bends) for cpu in searched if bends]


def routes_of(problem: Problem) -> set[str]:
    """Routes that the steps' schedule moves data on, and the paper's, which is always tried."""
    terms = {PAPER[2], *terms_of(problem.schedule or PAPER[2])}
    return {route for com in terms for route in _core.COM_TERMS[com].routes}


def _named(problem: Problem, model: str, breakpoints: Curves) -> Candidate:
    parts = model.split("+")
    choices = (_core.GPU_TERMS, _core.CPU_TERMS, _core.COM_TERMS)
    if len(parts) != 3:
        raise InputError(
            f"{model!r} is none of auto, paper, GPU+CPU+COM (such as wave+linear+star-serial)",
            field="model",
        )
    for part, allowed in zip(parts, choices, strict=True):
        if part not in allowed:
            raise InputError(f"{part!r} is none of {', '.join(allowed)}", field="model")
    gpu, cpu, com = parts
    chain = gpu_breakpoints(problem, gpu)
    bends = cpu_breakpoints(problem) if _core.CPU_TERMS[cpu].bends == "searched" else ()
    return _required(Candidate(gpu, cpu, com, breakpoints, chain, bends), problem)


def terms_of(schedule: str) -> list[str]:
    """Communication terms that describe a schedule, its plain form first."""
    return [com.name for com in _core.COM_TERMS.values() if com.schedule == schedule]


def _required(candidate: Candidate, problem: Problem) -> Candidate:
    reason = candidate.usable(problem)
    if reason is not None:
        raise InputError(reason, file=problem.dataset.name, field="model")
    return candidate
