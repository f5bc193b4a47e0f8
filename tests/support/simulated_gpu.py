"""A GPU that several programs share, simulated event by event: an oracle for forecasts of sharing.

It knows nothing of the formula in ``model/sharing.h``: each instance alternates between its host's
work and kernels, kernels wait in one queue, and a kernel after another instance's takes a switch.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

import gpucast as gc
from gpucast.data.dataset import Dataset, from_records
from gpucast.data.jsonl import record
from gpucast.fitting.sharing import seconds_of
from gpucast.model.sharing import shared_forecasts


@dataclass(frozen=True)
class Program:
    """What a step of an instance asks for.

    Attributes:
        gpu, host: seconds a step, in so many ``kernels``, each after a part of the host's work.
        variation: coefficient of variation of each piece (gamma distribution); 0: all alike.
        switch: seconds before a kernel that follows another instance's.
    """

    gpu: float
    host: float
    kernels: int = 10
    variation: float = 0.3
    switch: float = 0.0


def simulated(program: Program, instances: int, steps: int, seed: int) -> list[float]:
    """Mean step time (s) of each instance, after a tenth of the steps."""
    random = np.random.default_rng(seed)

    def pieces(mean: float) -> list[float]:
        count = instances * steps * program.kernels
        if program.variation == 0:
            return [mean] * count
        shape = program.variation**-2
        return list(random.gamma(shape, mean / shape, count))

    host = iter(pieces(program.host / program.kernels))
    gpu = iter(pieces(program.gpu / program.kernels))
    ready: deque[int] = deque()
    begins = random.uniform(0, program.gpu + program.host, instances)
    events = [(float(begin) + next(host), i, False) for i, begin in enumerate(begins)]
    events.sort()
    done = [0] * instances
    first, last = [0.0] * instances, [0.0] * instances
    before, works = -1, False
    skipped = steps // 10 * program.kernels
    while min(done) < steps * program.kernels - 1:
        now, i, ended = heappop(events)
        if ended:
            works = False
            done[i] += 1
            if done[i] == skipped:
                first[i] = now
            if done[i] % program.kernels == 0:
                last[i] = now
            if (rest := next(host, None)) is None:
                break
            heappush(events, (now + rest, i, False))
        else:
            ready.append(i)
        if ready and not works:
            served = ready.popleft()
            if (work := next(gpu, None)) is None:
                break
            cost = program.switch if before not in (-1, served) else 0.0
            heappush(events, (now + cost + work, served, True))
            before, works = served, True
    return [
        (last[i] - first[i]) / (done[i] // program.kernels - skipped // program.kernels)
        for i in range(instances)
    ]


def dataset_of(
    programs: dict[float, Program], counts: Iterable[int], *, busy: bool = True
) -> Dataset:
    """Cells of simulated programs by size, each timed in two visits with 1 % noise."""
    random = np.random.default_rng(1)
    lines = [{"kind": "machine", "id": "simulated"}]
    for n, program in programs.items():
        for count in counts:
            times = simulated(program, count, 150, 1 + count)
            alone = {"busy": program.gpu / times[0]} if busy and count == 1 else {}
            together = {"instances": count, "at_once": float(count)} if count > 1 else {}
            for _ in range(2):
                factor = float(np.exp(random.normal(0, 0.01)))
                lines.append(
                    {"kind": "step", "machine": "simulated", "path": "native", "program": "toy",
                     "n": n, "gpus": 1, "seconds": [factor * time for time in times],
                     **alone, **together}
                )  # fmt: skip
    return from_records("simulated", [record(line) for line in lines])


@dataclass(frozen=True)
class Held:
    """A cell that was not fitted: aggregate speed over that of one alone."""

    n: float
    instances: int
    measured: float
    forecast: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """Relative."""
        return abs(self.forecast / self.measured - 1)

    @property
    def covered(self) -> bool:
        """Whether the 90 % interval holds what was measured."""
        return self.low <= self.measured <= self.high


def held_out(data: Dataset) -> list[Held]:
    """Forecasts of more than two instances by a fit to those up to two."""
    model = gc.fit(data.where(lambda step: (step.instances or 1) <= 2))
    alone = {step.n for step in data.steps}
    cells = sorted({(s.n, s.instances or 1) for s in data.shared_steps})
    return [_held(model, data, n, k) for n, k in cells if k > 2 and n in alone]


def from_use(data: Dataset) -> list[Held]:
    """Forecasts of two instances for each size in turn by the other sizes and its own use."""
    result = []
    for n in sorted({step.n for step in data.steps}):
        rest = data.where(lambda s, n=n: not s.is_shared or (s.n != n and s.instances == 2))
        if rest.shared_steps:
            result.append(_held(gc.fit(rest), data, n, 2))
    return result


def _held(model: gc.Model, data: Dataset, n: float, k: int) -> Held:
    """A forecast of k instances, and how fast they were together beside one alone."""
    alone, together = (
        float(np.median([seconds_of(step) for step in steps]))
        for steps in (
            [s for s in data.steps if s.n == n and s.gpus == 1],
            [s for s in data.shared_steps if (s.n, s.instances) == (n, k)],
        )
    )
    mps = any(step.mps for step in data.shared_steps)
    forecasts = shared_forecasts(model, [n], [k], mps=mps)
    values = (forecasts.speedup, forecasts.speedup_low, forecasts.speedup_high)
    return Held(n, k, k * alone / together, *(float(value[0]) for value in values))
