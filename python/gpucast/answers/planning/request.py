"""What is to be planned: machines with their prices, jobs with their deadlines."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    model_validator,
)

from gpucast import _core
from gpucast.data.limits import LARGEST_GPUS
from gpucast.data.records import Size
from gpucast.model.fitted import own
from gpucast.model.forecaster import Forecaster
from gpucast.model.intervals import SURE, Interval
from gpucast.util.yaml_lines import Lines
from gpucast.util.yaml_models import seconds, whole

FEMTO = 1e-15
NANO = 1e-9
DAY = 86400.0

Name = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[^\x00-\x1f\x7f]*$")]
Amount = Annotated[float, Field(strict=True, ge=0, le=1e12, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0, le=1e30, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, gt=0, lt=1)]
Duration = Annotated[Positive, BeforeValidator(seconds)]
Setup = Annotated[Amount, BeforeValidator(seconds)]
Steps = Annotated[int, Field(strict=True, ge=1, le=10**18), BeforeValidator(whole)]
Gpus = Annotated[int, Field(strict=True, ge=1, le=LARGEST_GPUS), BeforeValidator(whole)]
Copies = Annotated[int, Field(strict=True, ge=1, le=10_000), BeforeValidator(whole)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, protected_namespaces=())


class Machine(_Strict):
    """GPUs that are reached in one way, their model, and what they cost.

    Attributes:
        model: model file, relative to the plan's folder.
        gpus: how many GPUs there are; ``8-32``: as many of these as are to be bought.
        gpus_least: the fewest that may be bought; None: they are there.
        gpu_counts: counts that one job may get; any up to ``gpus`` where not given.
        gpus_per_host: GPUs of one host, all where not given. A job pays for whole hosts.
        price_per_gpu_hour, price_per_host_hour, price_per_job_hour: in the plan's currency, for
            each GPU, each host that a job's GPUs need, and each running job (the client of remote
            GPUs).
        setup: seconds from a job's start to its first step.
        peak_flops: of one GPU, flop/s: cores x clock x 2.
        flops_per_pair: how many operations a unit of work (an ordered pair) counts; the workload
            of the model says it where this does not.
    """

    name: Name
    model: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    gpus: Gpus
    gpus_least: Gpus | None = None
    gpu_counts: Annotated[list[Gpus], Field(min_length=1)] | None = None
    gpus_per_host: Gpus | None = None
    price_per_gpu_hour: Amount = 0.0
    price_per_host_hour: Amount = 0.0
    price_per_job_hour: Amount = 0.0
    setup: Setup = 0.0
    peak_flops: Positive | None = None
    flops_per_pair: Positive | None = None
    _model: Forecaster | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _range(cls, values: Any) -> Any:
        gpus = values.get("gpus") if isinstance(values, dict) else None
        ends = re.fullmatch(r"(\d{1,9})-(\d{1,9})", str(gpus))
        if ends is None:
            return values
        return {**values, "gpus_least": int(ends[1]), "gpus": int(ends[2])}

    @property
    def workload(self) -> _core.Workload:
        """What a step does, with the operations that the plan counts."""
        of_model = own(self.forecaster, "nobody knows its operations").workload
        return of_model if self.flops_per_pair is None else of_model.counting(self.flops_per_pair)

    def attach(self, model: Forecaster) -> None:
        """Let this model forecast the machine's steps."""
        self._model = model

    @property
    def forecaster(self) -> Forecaster:
        """The fitted model, which has been attached."""
        assert self._model is not None
        return self._model

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

    def price_per_hour(self, gpus: float) -> float:
        """What a job on so many GPUs costs an hour; on 1/k of one, its share of GPU and host."""
        hosts = math.ceil(gpus / (self.gpus_per_host or self.gpus)) if gpus >= 1 else gpus
        return (
            gpus * self.price_per_gpu_hour
            + hosts * self.price_per_host_hour
            + self.price_per_job_hour
        )


class Job(_Strict):
    """Simulations of one size.

    Attributes:
        n: what the work grows with: particles, cells.
        steps or ns: length of one simulation.
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
    timestep_fs: Positive | None = None
    deadline: Duration | None = None
    ns_per_day: Positive | None = None
    count: Copies = 1
    instances: Annotated[list[Copies], Field(min_length=1)] | None = None
    efficiency: Annotated[float, Field(strict=True, gt=0, le=1)] | None = None
    machines: Annotated[list[Name], Field(min_length=1)] | None = None

    @property
    def shares(self) -> list[int]:
        """Instances on one GPU, where it is not one alone."""
        return sorted({count for count in self.instances or () if count > 1})

    @property
    def length(self) -> float:
        """Steps of one simulation."""
        if self.steps is not None:
            return float(self.steps)
        assert self.ns is not None
        assert self.timestep_fs is not None
        return math.ceil(round(self.ns * NANO / (self.timestep_fs * FEMTO), 6))

    def limit(self, setup: float) -> float:
        """Seconds by which it must be done on a machine that needs ``setup``; inf without."""
        if self.deadline is not None:
            return self.deadline
        if self.ns_per_day is None or self.timestep_fs is None:
            return math.inf
        return setup + self.length * self.timestep_fs * FEMTO * DAY / (self.ns_per_day * NANO)


class Request(_Strict):
    """A whole plan.

    Attributes:
        currency: of all prices; for show.
        probability: that a job must have of meeting its deadline.
        interval: when and where jobs run, for probabilities and intervals: now, in the minutes that
            were measured; later on these machines; or on other machines of the kind.
        window: seconds within which as many jobs as possible are to be done.
        baseline: name of the machine that the others are compared with; the first by default.
        iso_efficiency: the efficiency whose sizes n_e(N) are wanted.
        break_even: the surcharge whose break-even sizes are wanted.
        sizes: least and largest n to look for them.
    """

    currency: Name = "USD"
    probability: Share = SURE
    interval: Interval = Interval.later
    window: Duration | None = None
    baseline: Name | None = None
    iso_efficiency: Share | None = None
    break_even: Positive | None = None
    sizes: Annotated[list[Size], Field(min_length=2, max_length=2)] | None = None
    machines: Annotated[list[Machine], Field(min_length=1, max_length=100)]
    jobs: Annotated[list[Job], Field(max_length=100_000)] = []
    _lines: Lines = PrivateAttr(default_factory=lambda: Lines(None))

    def locate(self, lines: Lines) -> None:
        """Let messages name the lines of the file that the values were read from."""
        self._lines = lines

    @property
    def lines(self) -> Lines:
        """Where its values stand, for messages."""
        return self._lines

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
