"""What a proposal for computing time has to show: how a program scales, which GPU count is
sensible, and the hours that the runs take; JSON-ready, in SI units but for hours."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from gpucast.answers.caveats import caveats
from gpucast.answers.scaling import (
    THRESHOLD,
    Sensible,
    Sweep,
    sensible_count,
    strong,
    weak,
    whole_node_counts,
)
from gpucast.errors import InputError
from gpucast.model import energy
from gpucast.model.energy import Grid
from gpucast.model.fitted import Model
from gpucast.model.forecasts import Forecasts
from gpucast.model.intervals import Interval
from gpucast.model.kinds import kind_of
from gpucast.util import JsonObject
from gpucast.util.remarks import Kind
from gpucast.util.typed_json import to_json

HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked for.

    Attributes:
        n: sizes of the runs; by default the largest that was measured.
        size_of: whether n is of all GPUs, or of each (its batch): then the work grows with them,
            and sensible count and hours are those of the weak scaling.
        gpus: GPU counts to show; by default those measured, and further ones.
        at: the GPU count that hours are asked for; by default the sensible one.
        gpus_per_node: of a node, which jobs take whole; None where nobody knows.
        program: what the program is called.
        per_gpu: n / N of the weak scaling; by default as measured, or the n of each GPU.
        efficiency: the least that is sensible.
        runs, steps: how many runs of each size, and steps of each.
        work: what each run does, in what n counts (tokens, samples), instead of steps.
        reserve: hours asked for beyond those forecast, as a share of them.
        queue_limit: the longest time (s) that a job may take; longer runs are restarted.
        setup: time (s) from each job's start to its first step.
        interval: what the intervals of step times are of; hours are of later runs at least.
        grid: what electricity costs and carries.
    """

    n: Sequence[float] = ()
    size_of: Literal["all", "gpu"] = "all"
    gpus: Sequence[float] | None = None
    at: int | None = None
    gpus_per_node: int | None = None
    per_gpu: float | None = None
    program: str | None = None
    efficiency: float = THRESHOLD
    runs: int = 1
    steps: float = 1e6
    work: float | None = None
    reserve: float = 0.1
    queue_limit: float | None = None
    setup: float = 0.0
    interval: Interval = Interval.now
    grid: Grid = field(default_factory=Grid)

    def __post_init__(self) -> None:
        if not 0 <= self.reserve <= 1:
            raise InputError(f"{self.reserve:g} is no share such as 0.1", field="reserve")
        if self.queue_limit is not None and self.queue_limit <= self.setup:
            raise InputError("leaves no time after --setup", field="queue_limit")
        if self.size_of == "gpu" and len({*self.n, *filter(None, [self.per_gpu])}) > 1:
            raise InputError("of each GPU one size is asked about, not several", field="n")
        for name in ("runs", "steps", "work"):
            number = getattr(self, name)
            if number is not None and not 1 <= number < math.inf:
                raise InputError(f"{number:g} is no number of at least 1", field=name)

    @property
    def grows(self) -> bool:
        """Whether n is of each GPU."""
        return self.size_of == "gpu"

    def steps_of(self, n: float) -> float:
        """Steps of a run, each of size n."""
        return self.steps if self.work is None else math.ceil(self.work / n)


@dataclass(frozen=True)
class Proposal:
    """What a proposal shows.

    Attributes:
        strong: a sweep a size; weak: one with sizes in proportion to the GPU counts.
        content: all of it, JSON-ready.
    """

    strong: list[Sweep]
    weak: Sweep
    content: JsonObject


def proposal_of(model: Model, asked: Asked) -> Proposal:
    """All that a proposal says of a model.

    Raises:
        InputError: a size, a count or a share out of range.
    """
    asked.grid.check(model)
    per_node = asked.gpus_per_node or int(model.gpus_per_node or 0) or None
    asked = replace(asked, gpus_per_node=per_node)
    cells = model.timed
    measured = [] if cells is None else list(map(float, cells.n))
    usual = [max(measured, default=model.usual_sizes[1])]
    if asked.grows:  # beside it stands the size that was measured on most counts
        asked = replace(asked, per_gpu=next(iter(asked.n), asked.per_gpu), n=())
        usual = _evidence((), measured) or usual
    sizes = list(dict.fromkeys(asked.n or usual))
    shown = sorted({*sizes, *_evidence(sizes, measured)})
    how = (asked.gpus, per_node, asked.interval)
    sweeps = {n: strong(model, n, *how) for n in shown}
    growing = weak(model, asked.per_gpu, *how)
    run = [growing] if asked.grows else [sweeps[n] for n in sizes]
    sensible = [_sensible(sweep, asked) for sweep in run]
    swept = [sweep.forecasts for sweep in (*sweeps.values(), growing)]
    known = [one.text for one in model.remarks if one.kind == Kind.ASSUMED]
    known += [text for one in swept for text in caveats(model, one.n, one.gpus)]
    kind, moved = kind_of(model.machine.id), model.machine_factors
    content = {
        "model": model.name,
        "program": asked.program or model.data.program,
        "gpu": model.machine.name or (kind and kind.name),
        "moved": moved and moved.words,
        "unit": model.unit,
        "timestep": model.timestep,
        "gpus_per_node": per_node,
        "strong": [_sweep(sweep, per_node) for sweep in sweeps.values()],
        "weak": _sweep(growing, per_node),
        "sensible": sensible,
        "jobs": [
            job for of_size in zip(run, sensible, strict=True) for job in _jobs(*of_size, asked)
        ],
        **{key: getattr(asked, key) for key in _SAID},
        "interval": str(asked.interval),
        "energy_currency": asked.grid.currency,
        "quality": to_json(model.quality),
        "observations": to_json(model.observations),
        "domain": to_json(model.domain),
        "form": model.form,
        "data": {"name": _plain_name(model.data.name), "digest": model.data.digest},
        "caveats": list(dict.fromkeys(known)),
    }
    return Proposal(list(sweeps.values()), growing, content)


_SAID = ("size_of", "efficiency", "runs", "steps", "work", "reserve", "queue_limit", "setup")


def _plain_name(name: str) -> str:
    """Files by their names: folders say nothing to a reader."""
    return " + ".join(os.path.basename(one) for one in name.split(" + "))


def _evidence(sizes: Iterable[float], measured: list[float]) -> list[float]:
    """The size that was measured on most GPU counts, where none that is asked for was measured."""
    if not measured or any(n in measured for n in sizes):
        return []
    return [max(measured, key=lambda n: (measured.count(n), n))]


def _sweep(sweep: Sweep, per_node: int | None) -> JsonObject:
    rows = sweep.rows(per_node)
    return {
        "n": None if sweep.weak else rows[0]["n"],
        "per_gpu": float(sweep.n[0] / sweep.gpus[0]) if sweep.weak else None,
        "reference_gpus": rows[0]["gpus"],
        "rows": rows,
    }


def _sensible(sweep: Sweep, asked: Asked) -> Sensible:
    counts = _counts(sweep, asked)
    how = (asked.efficiency, asked.interval, sweep.gpus[0])
    n = float(sweep.n[0] / (sweep.gpus[0] if asked.grows else 1))
    return sensible_count(sweep.model, n, counts, *how, per_gpu=asked.grows)


def _counts(sweep: Sweep, asked: Asked) -> list[int]:
    per_node = asked.gpus_per_node or 1
    return whole_node_counts(sweep.model, float(sweep.n[0]), sweep.gpus.tolist(), per_node)


def _jobs(sweep: Sweep, sensible: Sensible, asked: Asked) -> list[JsonObject]:
    """What the runs of a size take: on the count asked for, or the sensible one, and for those who
    judge it on the fastest, on that of fewest GPU hours and, where known, of least energy."""
    model = sweep.model
    choices = {
        "sensible": sensible["gpus"],
        "fastest": sensible["fastest"],
        "fewest GPU hours": sensible["cheapest"],
    }
    if model.energy is not None and not asked.grows:
        counts = list(map(float, _counts(sweep, asked)))
        (least,) = energy.least_energy(model, [float(sweep.n[0])], counts)
        choices["least energy"] = least["gpus"]
    if asked.at is not None:
        choices = {"asked for": asked.at, **choices}
    return [
        {"choice": word, "requested": at == 0, **_hours(model, sensible["n"], gpus, asked)}
        for at, (word, gpus) in enumerate(choices.items())
    ]


def _hours(model: Model, n: float, gpus: int, asked: Asked) -> JsonObject:
    """Time and hours of all runs of a size on a GPU count, with the 90 % interval of the expected
    step time."""
    interval = Interval.later if asked.interval is Interval.now else asked.interval
    whole = n * gpus if asked.grows else n
    step, steps = model.forecasts([whole], [float(gpus)], interval), asked.steps_of(whole)
    nodes = math.ceil(gpus / asked.gpus_per_node) if asked.gpus_per_node else None
    ends = [float(one[0]) for one in (step.seconds, step.mean_low, step.mean_high)]
    jobs = [_jobs_of_run(steps * seconds, asked) for seconds in ends]
    runs = [steps * end + count * asked.setup for end, count in zip(ends, jobs, strict=True)]
    ranges: dict[str, list[float]] = {"run_seconds": runs}
    for kind, held in (("gpu_hours", gpus), ("node_hours", nodes)):
        ranges[kind] = [asked.runs * (held or math.nan) * run / HOUR for run in runs]
    values = {
        f"{key}{end}": value
        for key, both in ranges.items()
        for end, value in zip(("", "_low", "_high"), both, strict=True)
    }
    for kind in ("gpu_hours", "node_hours"):
        values[f"{kind}_with_reserve"] = values[kind] * (1 + asked.reserve)
    return {
        "n": n,
        "gpus": gpus,
        "nodes": nodes,
        "steps": steps,
        "step_seconds": ends[0],
        "jobs_per_run": jobs[0],
        **_energy(model, step, asked.runs * steps, asked.grid),
        **{key: None if value != value else value for key, value in values.items()},
        "extrapolated": bool(step.extrapolated[0]),
    }


def _energy(model: Model, step: Forecasts, steps: float, grid: Grid) -> dict[str, float]:
    """kWh of all runs' steps, GPUs only, with the 90 % interval, their price and CO2; empty where
    no energy was measured."""
    joules = {key: float(ends[0]) for key, ends in model.joules(step).items()}
    if not joules:
        return {}
    ends = {f"kwh_{end}": steps * joules[f"joules_{end}"] / energy.KWH for end in ("low", "high")}
    return grid.of(steps * joules["joules"]) | ends


def _jobs_of_run(seconds: float, asked: Asked) -> int:
    """Jobs that a run is cut into, so that none takes longer than the queue lets it."""
    if asked.queue_limit is None:
        return 1
    return max(1, math.ceil(seconds / (asked.queue_limit - asked.setup) * (1 - 1e-12)))
