"""What is to be planned: machines with their prices, jobs with their deadlines."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np

from gpucast import _core
from gpucast.answers.planning.tenure import Bought, stretch
from gpucast.data.records import Size, whole
from gpucast.data.workload import LARGEST_GPUS
from gpucast.model.energy import Grid
from gpucast.model.fitted import Model
from gpucast.model.intervals import SURE, Array, Interval
from gpucast.util.typed_json import Bounds, Length, Pattern
from gpucast.util.yaml_lines import Lines, seconds

FEMTO = 1e-15
NANO = 1e-9
DAY = 86400.0

MOST_SLOTS = 1000
"""Parts of equal size that a GPU is cut into at most, so that all shares are whole parts."""

MOST_STEPS = 1e18
"""Steps of one simulation that can still be counted."""

Name = Annotated[str, Length(most=40), Pattern(r"[^\x00-\x1f\x7f]*", "has control characters")]
Amount = Annotated[float, Bounds(least=0, most=1e12)]
Positive = Annotated[float, Bounds(above=0, least=1e-30, most=1e30)]
Share = Annotated[float, Bounds(above=0, below=1)]
Duration = Annotated[Positive, seconds]
Setup = Annotated[Amount, seconds]
Steps = Annotated[int, whole, Bounds(least=1, most=10**18)]
Gpus = Annotated[int, whole, Bounds(least=1, most=LARGEST_GPUS)]
Copies = Annotated[int, whole, Bounds(least=1, most=10_000)]


@dataclass(kw_only=True)
class Machine:
    """GPUs that are reached in one way, their model, and what they cost.

    Attributes:
        model: model file, relative to the plan's folder.
        kind: the kind of its GPUs, where the model was fitted on another; ``like``: the family of
            programs that tell the ratio of times, ``from_kind``: the kind that it was fitted on
            (``gpucast.model.kinds``).
        gpus: how many GPUs there are; ``8-32``: as many of these as are to be bought.
        gpus_least: the fewest that may be bought; None: they are there.
        gpu_counts: counts that one job may get; any up to ``gpus`` where not given.
        gpus_per_host: GPUs of one host, all where not given. A job pays for whole hosts.
        price_per_gpu_hour, price_per_host_hour, price_per_job_hour: in the plan's currency, for
            each GPU, each host that a job's GPUs need, and each running job (the client of remote
            GPUs).
        currency: of its prices; that of the plan where not given.
        bought: what it costs where it is one's own, instead of prices an hour.
        whole_hosts: whether a job holds and pays all GPUs of its hosts.
        minimum: seconds that a job pays for at least.
        interrupted_every: mean seconds between interruptions of a host, as of spot prices.
        checkpoint, restart: seconds of a checkpoint, and from an interruption to the work after it.
        checkpoint_every: seconds of work between checkpoints; the best (``tenure``).
        setup: seconds from a job's start to its first step.
        peak_flops: of one GPU, flop/s: cores x clock x 2.
        flops_per_pair: how many operations a unit of work (an ordered pair) counts; the workload
            of the model says it where this does not.
        attached: the model, once it is read.
    """

    name: Name
    model: Annotated[str, Length(most=4096)] | None = None
    kind: Name | None = None
    like: Name | None = None
    from_kind: Name | None = None
    gpus: Gpus
    gpus_least: Gpus | None = None
    gpu_counts: Annotated[list[Gpus], Length()] | None = None
    gpus_per_host: Gpus | None = None
    price_per_gpu_hour: Amount = 0.0
    price_per_host_hour: Amount = 0.0
    price_per_job_hour: Amount = 0.0
    currency: Name | None = None
    bought: Bought | None = None
    whole_hosts: bool = False
    minimum: Setup = 0.0
    interrupted_every: Duration | None = None
    checkpoint: Setup = 0.0
    restart: Setup = 0.0
    checkpoint_every: Duration | None = None
    setup: Setup = 0.0
    peak_flops: Annotated[float, Bounds(least=1e6, most=1e30)] | None = None
    flops_per_pair: Positive | None = None
    attached: Model | None = field(default=None, metadata={"key": None})

    @property
    def workload(self) -> _core.Workload:
        """What a step does, with the operations that the plan counts."""
        of_model = self.forecaster.of_own_program("nobody knows its operations").workload
        return of_model if self.flops_per_pair is None else of_model.counting(self.flops_per_pair)

    @property
    def forecaster(self) -> Model:
        """The fitted model, which has been attached."""
        assert self.attached is not None
        return self.attached

    @property
    def counts(self) -> list[int]:
        """GPU counts that a job may get, ascending."""
        if self.gpu_counts is None:
            return list(range(1, self.gpus + 1))
        return sorted(set(self.gpu_counts))

    @property
    def has_price(self) -> bool:
        """Whether a job on it costs anything."""
        return self.price_per_hour(1) > 0

    def hosts(self, gpus: float) -> float:
        """Hosts that a job needs; of 1/k of a GPU, its share of one."""
        return math.ceil(gpus / (self.gpus_per_host or self.gpus)) if gpus >= 1 else gpus

    def held(self, gpus: float) -> float:
        """GPUs that a job on some GPUs has to itself."""
        if not self.whole_hosts or gpus < 1:
            return gpus
        return self.hosts(gpus) * (self.gpus_per_host or self.gpus)

    @property
    def hosts_per_gpu(self) -> float:
        """Hosts that its GPUs are in, all of them together, over their number."""
        return math.ceil(self.gpus / (self.gpus_per_host or self.gpus)) / self.gpus

    @property
    def gpu_hour(self) -> float:
        """What a GPU hour costs, rented or bought."""
        if self.bought is None:
            return self.price_per_gpu_hour
        return self.bought.price_per_gpu_hour(self.hosts_per_gpu)

    def price_per_hour(self, gpus: float) -> float:
        """What a job on so many GPUs costs an hour; on 1/k of one, its share of GPU and host."""
        return (
            self.held(gpus) * self.gpu_hour
            + self.hosts(gpus) * self.price_per_host_hour
            + self.price_per_job_hour
        )

    def stretch(self, gpus: float, work: Array) -> tuple[Array, Array]:
        """How many times as long so many seconds of steps take with what interruptions add, and the
        part of that which are checkpoints. Any of a job's hosts interrupts it."""
        between = self.interrupted_every
        if between is not None:
            between /= max(self.hosts(gpus), 1)
        return stretch(between, self.checkpoint, self.restart, self.checkpoint_every, work)


def _range(values: Any) -> Any:
    """A machine's values, with both ends of a range of GPUs."""
    gpus = values.get("gpus") if isinstance(values, dict) else None
    ends = re.fullmatch(r"(\d{1,9})-(\d{1,9})", str(gpus))
    return {**values, "gpus_least": int(ends[1]), "gpus": int(ends[2])} if ends else values


@dataclass(kw_only=True)
class Job:
    """Simulations of one size.

    Attributes:
        n: what the work grows with: particles, cells.
        size_of: whether n is of all GPUs or of each (its batch): then the work grows with them.
        steps, ns, tokens, samples or epochs: length of one simulation.
        sequence: tokens of each of n; 1 where n counts tokens.
        epoch: samples of an epoch.
        flops: operations of a token or sample, in which the length is; else of a step.
        budget: the most that one simulation may cost.
        deadline or ns_per_day: when it must be done (s), or how fast it must run, set-up not
            counted.
        timestep_fs: simulated time a step, which ``ns`` and ``ns_per_day`` need; that of its models
            where they know one.
        count: how many there are.
        instances: how many of them may run on one GPU at once, beside one on whole GPUs.
        efficiency: least parallel efficiency that is allowed.
        machines: names of those it may run on; all where not given.
    """

    name: Name
    n: Size
    steps: Steps | None = None
    ns: Positive | None = None
    tokens: Positive | None = None
    samples: Positive | None = None
    epochs: Positive | None = None
    size_of: Literal["all", "gpu"] = "all"
    sequence: Positive | None = None
    epoch: Positive | None = None
    flops: Positive | None = None
    timestep_fs: Positive | None = None
    budget: Positive | None = None
    deadline: Duration | None = None
    ns_per_day: Positive | None = None
    count: Copies = 1
    instances: Annotated[list[Copies], Length()] | None = None
    efficiency: Annotated[float, Bounds(above=0, most=1)] | None = None
    machines: Annotated[list[Name], Length()] | None = None

    @property
    def shares(self) -> list[int]:
        """Instances on one GPU, where it is not one alone."""
        return sorted({count for count in self.instances or () if count > 1})

    @property
    def per_gpu(self) -> bool:
        """Whether n is of each GPU."""
        return self.size_of == "gpu"

    def sizes(self, gpus: Array) -> Array:
        """n of the work on each GPU count."""
        return np.asarray(float(self.n) * (gpus if self.per_gpu else np.ones(gpus.shape)))

    @property
    def unit(self) -> str | None:
        """What the length counts, where it is tokens or samples."""
        if self.tokens is not None:
            return "tokens"
        return None if self.samples is None and self.epochs is None else "samples"

    def units_of_step(self, gpus: Array) -> Array:
        """Tokens or samples that a step takes; NaN where the length is in neither."""
        factor = (self.sequence or 1.0) if self.tokens is not None else 1.0
        return self.sizes(gpus) * (factor if self.unit else np.nan)

    def length(self, gpus: Array) -> Array:
        """Steps of one simulation on each GPU count."""
        if self.steps is not None:
            return np.full(gpus.shape, float(self.steps))
        if self.ns is not None:
            assert self.timestep_fs is not None
            ratio = self.ns * NANO / (self.timestep_fs * FEMTO) * np.ones(gpus.shape)
        else:
            units = self.tokens or self.samples or (self.epochs or 0.0) * (self.epoch or 0.0)
            ratio = units / self.units_of_step(gpus)
        return np.asarray(np.maximum(np.ceil(np.round(ratio, 6)), 1.0))

    def limit(self, setup: Array, length: Array) -> Array:
        """Seconds by which so many steps must be done after ``setup``; inf without a limit."""
        if self.deadline is not None:
            return np.full(setup.shape, self.deadline)
        if self.ns_per_day is None or self.timestep_fs is None:
            return np.full(setup.shape, math.inf)
        return setup + length * self.timestep_fs * FEMTO * DAY / (self.ns_per_day * NANO)


@dataclass(kw_only=True)
class Request:
    """A whole plan.

    Attributes:
        currency: of all prices; USD where nobody says another.
        price_per_kwh, grid_co2: of electricity, the latter in g a kWh; None: not said.
        probability: that a job must have of meeting its deadline.
        interval: when and where jobs run, for probabilities and intervals: now, in the minutes that
            were measured; later on these machines; or on other machines of the kind.
        window: seconds within which as many jobs as possible are to be done.
        budget: the most that all jobs together may cost.
        baseline: name of the machine that the others are compared with; the first by default.
        iso_efficiency: the efficiency whose sizes n_e(N) are wanted.
        break_even: the surcharge whose break-even sizes are wanted.
        sizes: least and largest n to look for them.
        lines: where the values stand in the plan's file, for messages.
    """

    currency: Name | None = None
    price_per_kwh: Amount | None = None
    grid_co2: Amount | None = None
    probability: Share = SURE
    interval: Interval = Interval.later
    window: Duration | None = None
    budget: Positive | None = None
    baseline: Name | None = None
    iso_efficiency: Share | None = None
    break_even: Positive | None = None
    sizes: tuple[Size, Size] | None = None
    machines: Annotated[list[Annotated[Machine, _range]], Length(most=100)]
    jobs: Annotated[list[Job], Length(least=0, most=100_000)] = field(default_factory=list)
    lines: Lines = field(default_factory=lambda: Lines(None), metadata={"key": None})

    @property
    def grid(self) -> Grid:
        """What electricity is here."""
        return Grid(self.price_per_kwh, self.grid_co2)

    @property
    def currencies(self) -> list[str]:
        """What each machine is paid in."""
        return [machine.currency or self.currency or "USD" for machine in self.machines]

    @property
    def unpriced(self) -> list[str]:
        """Machines that state no price beside others that do: what they cost is not known."""
        free = [machine.name for machine in self.machines if not machine.has_price]
        return free if len(free) < len(self.machines) else []

    @property
    def base(self) -> int:
        """Position of the baseline among the machines."""
        names = [machine.name for machine in self.machines]
        return 0 if self.baseline is None else names.index(self.baseline)
