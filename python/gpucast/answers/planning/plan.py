"""A plan: every answer to a request, JSON-ready."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpucast.answers.caveats import caveats
from gpucast.answers.planning.isoefficiency import break_even_sizes, iso_efficiency_sizes
from gpucast.answers.planning.jobs import Choices, choose, compare, copies_of, fronts, jobs_of
from gpucast.answers.planning.option_table import OptionTable, make
from gpucast.answers.planning.purchase import buying, decided
from gpucast.answers.planning.reading import of_values, read
from gpucast.answers.planning.request import Machine, Request
from gpucast.answers.planning.schedule import mix_answer, mix_of
from gpucast.errors import InputError
from gpucast.model.asked import outer
from gpucast.model.fitted import Model
from gpucast.util import JsonObject, units
from gpucast.util.files import PathLike

if TYPE_CHECKING:
    import pandas

SCHEMA = "gpucast.plan/1"
_MOST_COPIES = 100_000


@dataclass(frozen=True)
class Plan:
    """Answers. ``content``: everything, JSON-ready; its keys stand in docs/plan.md."""

    content: JsonObject

    @property
    def jobs(self) -> pandas.DataFrame:
        """A row for each job and what is best in one respect: fastest, cheapest (where a machine
        states no price: fewest_gpu_hours), advised."""
        import pandas

        return pandas.DataFrame(
            {"job": job["name"], "n": job["n"], "choice": choice, **job[choice]}
            for job in self.content["jobs"]
            for choice in ("fastest", "cheapest", "fewest_gpu_hours", "advised")
            if job[choice] is not None
        )

    @property
    def fronts(self) -> pandas.DataFrame:
        """A row for each option of each job that no other beats in both time and cost."""
        import pandas

        return pandas.DataFrame(
            {"job": job["name"], "n": job["n"], **option}
            for job in self.content["jobs"]
            for option in job["front"]
        )


def plan(
    source: PathLike | Mapping[str, object],
    models: Mapping[str, Model | PathLike] | None = None,
) -> Plan:
    """Plan jobs on machines.

    Args:
        source: a plan's YAML file, or values of the same shape.
        models: of machines by name; they go before the files that the plan names.

    Raises:
        InputError: names file, line and key.
    """
    if isinstance(source, (str, os.PathLike)):
        return plan_request(read(source, models or {}))
    return plan_request(of_values(source, models or {}))


def plan_request(request: Request) -> Plan:
    """Plan what was read already."""
    _refuse_too_many(request)
    _refuse_unknown_energy(request)
    request, purchase = decided(request)
    content: JsonObject = {
        "schema": SCHEMA,
        "currency": request.currencies[0],
        "probability": request.probability,
        "budget": request.budget,
        "interval": str(request.interval),
        "baseline": request.machines[request.base].name,
        "machines": [_machine(machine) for machine in request.machines],
        "same_model": _same_model(request.machines),
        "unpriced": request.unpriced,
        "purchase": purchase,
        "buying": [],
        "jobs": [],
        "capacity": None,
        "mix": None,
        "iso_efficiency": None,
        "break_even": None,
        "replicates": None,
        "caveats": [],
    }
    if request.jobs:
        _plan_jobs(request, content)
    try:
        if request.iso_efficiency is not None:
            content["iso_efficiency"] = iso_efficiency_sizes(request, request.iso_efficiency)
        if request.break_even is not None:
            content["break_even"] = break_even_sizes(request, request.break_even)
    except InputError as error:
        raise request.lines.error(error.message, ("sizes",)) from error
    return Plan(content)


_STATED = ("gpus", "gpus_least", "gpus_per_host", "price_per_gpu_hour", "price_per_host_hour",
           "price_per_job_hour", "whole_hosts", "minimum", "interrupted_every", "checkpoint",
           "restart", "checkpoint_every", "setup", "peak_flops")  # fmt: skip


def _refuse_unknown_energy(request: Request) -> None:
    if any(machine.forecaster.energy is not None for machine in request.machines):
        return
    bought = any(machine.bought is not None for machine in request.machines)
    for key in ("grid_co2",) if bought else ("price_per_kwh", "grid_co2"):
        if getattr(request, key) is not None:
            message = "the steps that these machines' models were fitted to have no joules"
            raise request.lines.error(message, (key,))


def _machine(machine: Machine) -> JsonObject:
    model = machine.forecaster
    return {
        "name": machine.name,
        "model": model.name,
        "unit": model.unit,
        **{key: getattr(model.data, key) for key in ("path", "schedule", "kernel")},
        **{key: getattr(machine, key) for key in _STATED},
        "bought": None if machine.bought is None else vars(machine.bought),
    }


def _same_model(machines: Sequence[Machine]) -> list[list[str]]:
    """Names of machines that one model stands for, together."""
    names: dict[int, list[str]] = {}
    for machine in machines:
        names.setdefault(id(machine.forecaster), []).append(machine.name)
    return [several for several in names.values() if len(several) > 1]


def _plan_jobs(request: Request, content: JsonObject) -> None:
    table = make(request)
    _refuse_impossible(request, table)
    choices = choose(table, request.probability)
    mix = mix_of(request, table)
    tasks = np.array([(task.job, task.option) for task in mix.tasks], dtype=np.intp).reshape(-1, 2)
    comparison = compare(table, tasks)
    content["replicates"] = table.replicates
    content["buying"] = buying(request, table, comparison)
    content["jobs"] = jobs_of(request, table, choices, comparison, fronts(table))
    if request.window is not None:
        content["capacity"] = copies_of(request, table, request.window)
    content["mix"] = mix_answer(request, table, mix, comparison.wanted_seconds)
    content["caveats"] = _caveats(request, table, choices)


def _caveats(request: Request, table: OptionTable, choices: Choices) -> list[JsonObject]:
    """What is to be known of the forecasts behind the options chosen, a model's worst first; of
    counts that nothing is known of, also where they were not chosen."""
    jobs = np.tile(np.arange(len(request.jobs)), 3)
    options = np.concatenate([choices.fastest, choices.cheapest, choices.advised])
    n = table.sizes[jobs, options]
    texts: dict[tuple[str, str], None] = {}
    for m, machine in enumerate(request.machines):
        its = table.machine[options] == m
        # What shares a GPU rests on the forecast of one that has it alone.
        gpus = np.maximum(table.gpus[options[its]], 1.0)
        cells = np.unique(np.column_stack([n[its], gpus]), axis=0)
        if not its.any():
            continue
        model = machine.forecaster
        if model.lone_gpus is not None:
            cells = np.column_stack(outer(np.unique(n[its]), machine.counts))
        for text in caveats(model, cells[:, 0], cells[:, 1], per_host=machine.gpus_per_host):
            texts[model.name, text] = None
    return [{"model": name, "text": text} for name, text in texts]


def _refuse_impossible(request: Request, table: OptionTable) -> None:
    for i, job in enumerate(request.jobs):
        if not table.allowed[i].any():
            on = [
                m
                for m, machine in enumerate(request.machines)
                if not job.machines or machine.name in job.machines
            ]
            most = table.efficiency[i][np.isin(table.machine, on)].max()
            kept = table.efficiency[i] >= (job.efficiency or 0.0) * (1 - 1e-12)
            if job.budget is not None and (kept & np.isin(table.machine, on)).any():
                slow = table.cost_of(table.quantile(request.probability))[i]
                least = slow[kept & np.isin(table.machine, on)].min()
                raise request.lines.error(
                    f"nothing keeps it with {units.whole_percent(request.probability)}; "
                    f"{math.ceil(100 * least) / 100:.2f} would be enough",
                    ("jobs", i, "budget"),
                )
            raise request.lines.error(
                f"no GPU count is so efficient with {units.number(job.n)} {_sizes_of(request)}; "
                f"the most is {most:.3g}",
                ("jobs", i, "efficiency"),
            )


def _sizes_of(request: Request) -> str:
    """What n counts."""
    units_ = {machine.forecaster.unit for machine in request.machines}
    return units_.pop() or "particles" if len(units_) == 1 else "particles"


def _refuse_too_many(request: Request) -> None:
    totals = itertools.accumulate(job.count for job in request.jobs)
    for i, total in enumerate(totals):
        if total > _MOST_COPIES:
            raise request.lines.error(
                f"more than {_MOST_COPIES} simulations in all", ("jobs", i, "count")
            )
