"""A plan from its YAML file or from Python values, checked, with its models read."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from gpucast.answers.planning.replicates import sharing_of
from gpucast.answers.planning.request import FEMTO, MOST_SLOTS, MOST_STEPS, Job, Machine, Request
from gpucast.errors import InputError
from gpucast.model.files import load_model
from gpucast.model.fitted import Model
from gpucast.model.kinds import on_kind
from gpucast.util.files import PathLike
from gpucast.util.typed_json import Location, near
from gpucast.util.yaml_lines import Lines, checked, read_mapping


def read(path: PathLike, models: Mapping[str, Model | PathLike]) -> Request:
    """A plan's file.

    Args:
        path: YAML; docs/plan.md describes its keys.
        models: of machines by name; they go before those that the plan names. The only model of
            the only machine may have any name.

    Raises:
        InputError: names file, line and key.
    """
    values, lines = read_mapping(path, "plan", "machines and jobs")
    request = _checked(values, lines)
    _attach(request, lines, models, Path(path).parent)
    return request


def of_values(values: Mapping[str, object], models: Mapping[str, Model | PathLike]) -> Request:
    """A plan from Python values of the file's shape; models by machine name.

    Raises:
        InputError: names the key.
    """
    lines = Lines(None)
    request = _checked(dict(values), lines)
    _attach(request, lines, models, Path())
    return request


def _checked(values: dict[str, object], lines: Lines) -> Request:
    request = checked(Request, values, lines)
    for machine in request.machines:
        if machine.bought is not None and machine.bought.price_per_kwh is None:
            machine.bought.price_per_kwh = request.price_per_kwh
    for location, message in _contradictions(request):
        raise lines.error(message, location)
    request.lines = lines
    return request


def _contradictions(request: Request) -> Iterable[tuple[Location, str]]:
    """What each value alone does not show."""
    names = [machine.name for machine in request.machines]
    yield from _twice("machines", names)
    yield from _twice("jobs", [job.name for job in request.jobs])
    for i, machine in enumerate(request.machines):
        for j, count in enumerate(machine.gpu_counts or ()):
            if count > machine.gpus:
                message = f"there are only {machine.gpus} GPUs, not {count}"
                yield ("machines", i, "gpu_counts", j), message
        for wrong, message in _of_tenure(machine):
            yield ("machines", i, wrong), message
    yield from _of_purchase(request)
    money = request.currencies
    for i, currency in enumerate(money):
        if currency != money[0]:
            message = f"{currency} beside {money[0]}: convert, and state all prices in one currency"
            yield ("machines", i, "currency"), message
    prices = all(machine.has_price for machine in request.machines)
    for here, budget in (
        (("budget",), request.budget),
        *((("jobs", i, "budget"), job.budget) for i, job in enumerate(request.jobs)),
    ):
        if budget is not None and not prices:
            yield here, "needs the prices of all machines (price_per_gpu_hour)"
    if request.baseline is not None and request.baseline not in names:
        yield ("baseline",), f"no machine {request.baseline!r}{near(request.baseline, names)}"
    if request.sizes is not None and request.sizes[0] >= request.sizes[1]:
        yield ("sizes",), "the first size must be below the second"
    if not request.jobs and request.iso_efficiency is None and request.break_even is None:
        yield ("jobs",), "nothing to plan: no jobs, and neither iso_efficiency nor break_even"
    for i, job in enumerate(request.jobs):
        for key, message in _of_job(job, names):
            yield ("jobs", i, *key), message


def _of_purchase(request: Request) -> Iterable[tuple[Location, str]]:
    """What is wrong with ranges of GPUs."""
    ranges = [i for i, m in enumerate(request.machines) if m.gpus_least is not None]
    timed = request.window is not None or any(
        job.deadline is not None or job.ns_per_day is not None for job in request.jobs
    )
    for i in ranges:
        machine = request.machines[i]
        if (machine.gpus_least or 0) > machine.gpus:
            yield ("machines", i, "gpus"), "the first number must not be above the second"
        if not request.jobs or not timed:
            message = "a range asks how many to buy: that needs jobs, and a window or deadlines"
            yield ("machines", i, "gpus"), message
    if ranges and request.budget is not None:
        yield ("budget",), "leave it out: a range of gpus asks for what costs least"
    for i in ranges[1:]:
        yield ("machines", i, "gpus"), "one machine may have a range, not several"


_NEEDS = {
    "interrupted_every": ["checkpoint"],
    "checkpoint_every": ["checkpoint"],
    "checkpoint": ["interrupted_every", "checkpoint_every"],
    "restart": ["interrupted_every"],
    "like": ["kind"],
    "from_kind": ["kind"],
}
"""Keys of a machine that say nothing without one of others."""


def _of_tenure(machine: Machine) -> Iterable[tuple[str, str]]:
    """What is wrong with how a machine is paid for."""
    bought = machine.bought
    if machine.whole_hosts and machine.gpus % (machine.gpus_per_host or machine.gpus):
        yield "whole_hosts", f"{machine.gpus} GPUs are no hosts of {machine.gpus_per_host}"
    for key, needs in _NEEDS.items():
        if getattr(machine, key) and not any(getattr(machine, need) for need in needs):
            yield key, f"needs {' or '.join(needs)}"
    if bought is None:
        return
    for key in ("price_per_gpu_hour", "price_per_host_hour", "price_per_job_hour"):
        if getattr(machine, key):
            yield key, "leave it out: bought says what hours cost"
    if not bought.price_per_gpu + bought.price_per_host:
        yield "bought", "has no price_per_gpu or price_per_host"
    if bought.price_per_host and machine.gpus_per_host is None:
        yield "bought", "price_per_host needs gpus_per_host"
    if bought.power and bought.price_per_kwh is None:
        yield "bought", "power needs price_per_kwh, there or of the plan"
    if bought.idle_power > bought.power:
        yield "bought", "idle_power is above power"


_LENGTHS = ("steps", "ns", "tokens", "samples", "epochs")


def _of_job(job: Job, machines: Sequence[str]) -> Iterable[tuple[Location, str]]:
    lengths = [key for key in _LENGTHS if getattr(job, key) is not None]
    if not lengths:
        yield ("steps",), "missing; or ns, tokens, samples, epochs"
    elif lengths[1:]:
        yield (lengths[0],), f"either {' or '.join(lengths)}, not both"
    for key, needs in (("epochs", "epoch"), ("epoch", "epochs"), ("sequence", "tokens")):
        if getattr(job, key) is not None and getattr(job, needs) is None:
            yield (key,), f"needs {needs}"
    if job.per_gpu and job.instances:
        yield ("instances",), "a size of each GPU (size_of) is of whole ones"
    if job.deadline is not None and job.ns_per_day is not None:
        yield ("ns_per_day",), "either deadline or ns_per_day, not both"
    for i, count in enumerate(job.instances or ()):
        if count > job.count:
            yield ("instances", i), f"there are only {job.count} simulations (count), not {count}"
    if math.lcm(*job.shares) > MOST_SLOTS:
        yield ("instances",), f"have no common multiple up to {MOST_SLOTS}; name fewer of them"
    for i, name in enumerate(job.machines or ()):
        if name not in machines:
            yield ("machines", i), f"no machine {name!r}{near(name, machines)}"


def _twice(key: str, names: Sequence[str]) -> Iterable[tuple[Location, str]]:
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if name in first:
            yield (key, i, "name"), f"{name!r} is also the name of {key}[{first[name]}]"
        first.setdefault(name, i)


def _attach(
    request: Request, lines: Lines, given: Mapping[str, Model | PathLike], folder: Path
) -> None:
    names = [machine.name for machine in request.machines]
    if len(names) == len(given) == 1 and request.machines[0].model is None:
        given = dict(zip(names, given.values(), strict=True))  # whatever the file is called
    for name in given:
        if name not in names:
            raise InputError(
                f"{name!r} is no machine of the plan{near(name, names)}", field="models"
            )
    # One file may serve several machines: it is read once.
    known: dict[str, Model] = {}
    for i, machine in enumerate(request.machines):
        here: Location = ("machines", i, "model")
        source = given.get(machine.name)
        if source is None and machine.model is None:
            raise lines.error("missing; nor is a model file given for it", here)
        try:
            if isinstance(source, Model):
                model = source
            else:
                path = os.fspath(source or folder / str(machine.model))
                model = known.get(path) or load_model(path)
                known[path] = model
            if machine.kind is not None:
                model = on_kind(model, machine.kind, like=machine.like, from_kind=machine.from_kind)
            if not model.draw_count:
                raise InputError(
                    "has no bootstrap replicates, so no probabilities; fit it without "
                    "--replicates 0",
                    file=model.name,
                )
            model.check_shared_out()
        except InputError as error:
            raise lines.error(str(error), here) from error
        machine.attached = model
        stated = any(job.flops is not None for job in request.jobs)
        if machine.peak_flops is not None and not (model.own_program or stated):
            raise lines.error(
                f"{model.name} is of a program known by its step times alone: nobody knows its "
                "operations; state a job's flops, or leave this out",
                ("machines", i, "peak_flops"),
            )
        try:
            model.forecasts([1000.0], [float(machine.counts[-1])])
        except InputError as error:
            raise lines.error(error.message, ("machines", i, "gpus")) from error
    for i, job in enumerate(request.jobs):
        _refuse_unknown_tokens(request, job, lines, ("jobs", i, "sequence"))
        _take_timestep(request, job, lines, ("jobs", i, "timestep_fs"))
        if job.length(np.ones(1))[0] > MOST_STEPS:
            key = next(key for key in _LENGTHS if getattr(job, key) is not None)
            message = f"are more than {MOST_STEPS:g} steps of n = {job.n:g}"
            raise lines.error(message, ("jobs", i, key))
        _refuse_unknown_shares(request, job, lines, ("jobs", i, "instances"))
    if math.lcm(*(count for job in request.jobs for count in job.shares)) > MOST_SLOTS:
        message = f"instances of all jobs have no common multiple up to {MOST_SLOTS}; name fewer"
        raise lines.error(message, ("jobs",))


def _models(request: Request, job: Job) -> list[Model]:
    """The models of the machines that the job may run on."""
    machines = request.machines
    return [it.forecaster for it in machines if not job.machines or it.name in job.machines]


def _refuse_unknown_tokens(request: Request, job: Job, lines: Lines, here: Location) -> None:
    """How many tokens a step has must be known."""
    known = job.sequence or all(model.unit == "tokens" for model in _models(request, job))
    if job.tokens is not None and not known:
        raise lines.error("missing; tokens needs it: how many each of n has", here)


def _refuse_unknown_shares(request: Request, job: Job, lines: Lines, here: Location) -> None:
    """At least one of the job's machines has to know what instances cost one another."""
    models = _models(request, job)
    if job.shares and all(sharing_of(model) is None for model in models):
        raise lines.error(
            f"{models[0].name} has no measurements of several instances on one GPU: measure some "
            "(gpucast measure --program PROGRAM.yaml --gpus 1/2,1) and fit again",
            here,
        )


def _take_timestep(request: Request, job: Job, lines: Lines, here: Location) -> None:
    """Let a job without a time step have that of its program, as its models know it."""
    if job.timestep_fs is not None:
        return
    models = _models(request, job)
    known = {model.timestep for model in models}
    timestep = known.pop() if len(known) == 1 else None
    if timestep is not None:
        # As people write it: 2 fs is not 2.0000000000000004.
        job.timestep_fs = float(f"{timestep / FEMTO:.12g}")
        return
    for key in ("ns", "ns_per_day"):
        if getattr(job, key) is not None:
            why = "; the models' differ" if known else ""
            raise lines.error(f"missing; {key} needs it{why}", here)
