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
    programs: dict[float, Program],
    counts: Iterable[int],
    *,
    steps: int = 150,
    noise: float = 0.01,
    busy: bool = True,
    seed: int = 1,
) -> Dataset:
    """Cells of simulated programs by size, each timed in two visits with a relative noise."""
    random = np.random.default_rng(seed)
    lines = [{"kind": "machine", "id": "simulated"}]
    for n, program in programs.items():
        for count in counts:
            times = simulated(program, count, steps, seed + count)
            alone = {"busy": program.gpu / times[0]} if busy and count == 1 else {}
            together = {"instances": count, "at_once": float(count)} if count > 1 else {}
            for _ in range(2):
                factor = float(np.exp(random.normal(0, noise)))
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


def held_out(data: Dataset, most: int = 2) -> list[Held]:
    """Forecasts of more instances than ``most`` by a fit to those up to it."""
    model = gc.fit(data.where(lambda step: (step.instances or 1) <= most))
    one = {n: float(np.median([seconds_of(s) for s in data.steps if s.n == n and s.gpus == 1]))
           for n in {s.n for s in data.steps}}  # fmt: skip
    result = []
    for n, k in sorted({(s.n, s.instances or 1) for s in data.shared_steps}):
        if k <= most or n not in one:
            continue
        times = [seconds_of(s) for s in data.shared_steps if (s.n, s.instances) == (n, k)]
        measured = k / (float(np.median(times)) / one[n])
        forecasts = shared_forecasts(model, [n], [k], mps=under_service(data))
        values = (forecasts.speedup, forecasts.speedup_low, forecasts.speedup_high)
        result.append(Held(n, k, measured, *(float(value[0]) for value in values)))
    return result


def from_use(data: Dataset) -> list[Held]:
    """Forecasts of two instances for each size in turn by the other sizes and its own use."""
    result = []
    for n in sorted({step.n for step in data.steps}):
        rest = data.where(lambda s, n=n: not s.is_shared or (s.n != n and s.instances == 2))
        if not rest.shared_steps:
            continue
        model = gc.fit(rest)
        forecasts = shared_forecasts(model, [n], [2], mps=under_service(data))
        one = float(np.median([seconds_of(s) for s in data.steps if s.n == n and s.gpus == 1]))
        times = [seconds_of(s) for s in data.shared_steps if (s.n, s.instances) == (n, 2)]
        values = (forecasts.speedup, forecasts.speedup_low, forecasts.speedup_high)
        measured = 2 / (float(np.median(times)) / one)
        result.append(Held(n, 2, measured, *(float(value[0]) for value in values)))
    return result


def under_service(data: Dataset) -> bool:
    """Whether what ran at once was under the Multi-Process Service."""
    return any(step.mps for step in data.shared_steps)
