"""Forecasts steps on another path from the steps of one path and the other path's communication.

T_gpu and T_cpu do not depend on how a GPU is reached. A model fitted on one path becomes a forecast
for another when its communication is replaced by that of the other path's microbenchmarks:
skeletons of steps if there are any, else transfers and launches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from gpucast import _core
from gpucast.data.dataset import Dataset
from gpucast.data.kinds import kind_named
from gpucast.data.loading import Source as DataSource
from gpucast.data.loading import dataset_of
from gpucast.data.records import Entry
from gpucast.data.selection import StepSelection, distinct
from gpucast.errors import InputError
from gpucast.fitting.candidates import Candidate
from gpucast.fitting.fit import check_sampling, combinations, find_breakpoints, parameter
from gpucast.fitting.problem import Problem
from gpucast.fitting.selection import problem_of
from gpucast.fitting.synchronous import terms_left
from gpucast.model.adjustments import OtherPath
from gpucast.model.content import Source
from gpucast.model.fitted import Model
from gpucast.model.intervals import T90
from gpucast.model.kinds import of_its_machine, on_kind, require_kind
from gpucast.paths.curves import require_sizes
from gpucast.paths.path_facts import PathFacts, facts_of
from gpucast.paths.skeletons import communication, known_by_skeletons, known_by_transfers
from gpucast.util.remarks import Kind, remark

Launch = Literal["auto", "measured", "keep", "scale"]

# Least number of bootstrap refits: standard errors need some, even if the model has few.
_FEWEST = 40


def what_if(
    model: Model,
    data: Dataset | DataSource | None = None,
    path: str | None = None,
    *,
    kind: str | None = None,
    like: str | None = None,
    from_kind: str | None = None,
    cells: Dataset | DataSource | None = None,
    further: Mapping[str, Dataset | DataSource] | None = None,
    machine: str | None = None,
    memory: str | None = None,
    launch: Launch = "auto",
    seed: int = 1,
) -> Model:
    """Return ``model`` with the communication of another path, or on another kind of GPU.

    If the other path has skeletons of the model's schedule (``paths.skeletons``), they determine
    the communication term and its parameters. Otherwise transfers and launches give the parameters
    of the model's own term.

    Args:
        data: skeletons, transfers and launches of the other path; its steps, if any, are ignored.
        kind, like, from_kind: another kind of GPU instead of another path
            (``gpucast.model.kinds.on_kind``); ``cells``: steps that were timed there; ``further``:
            steps of the program on further kinds, by name.
        launch: source of t_kernel without skeletons: ``measured`` (launch records), ``keep`` (the
            model's own), ``scale`` (the model's own times the ratio of latencies, which is right if
            a launch is a number of messages to the GPU's host); ``auto`` is measured if there are
            records, else keep. All but ``auto`` ignore skeletons.

    Raises:
        InputError: the other path lacks a route that the model needs, or sizes on it; launch
            records are required and missing; the model's data do not separate its communication
            from its computation; or the model was updated by cells of another machine.
    """
    if kind is not None:
        if data is not None:
            raise InputError("another path and another kind are two questions", field="kind")
        steps = {name: dataset_of(one) for name, one in (further or {}).items()}
        moved = on_kind(model, kind, like=like, from_kind=from_kind, further=steps)
        if cells is None:
            return moved
        cells = dataset_of(cells)
        require_kind(cells, kind_named(kind), "--cells")
        machines = distinct(of_its_machine(moved, cells, cells.steps), "machine")
        only = str(machines[0]) if len(machines) == 1 else None
        told = moved.updated(cells, machine=machine or only)
        # Remarks on the ratio of kinds no longer apply.
        return replace(told, remarks=[*model.remarks, *told.remarks[len(moved.remarks) :]])
    if data is None:
        raise InputError("a dataset of the other path is needed", field="data")
    data = dataset_of(data)
    check_sampling(len(model.integers), seed)
    if launch not in get_args(Launch):
        raise InputError(f"{launch!r} is none of {', '.join(get_args(Launch))}", field="launch")
    if model.machine_factors is not None:
        raise InputError(
            f"is {model.machine_factors.words}; replace the communication of the model that was "
            "fitted",
            file=model.name,
        )
    _refuse_mixed(model)
    problem = _microbenchmarks(model, data, path, machine, memory)
    if problem.skeletons and launch == "auto":
        return _by_skeletons(model, problem, seed)
    return _by_transfers(model, problem, launch, seed)


def _by_skeletons(model: Model, problem: Problem, seed: int) -> Model:
    if model.kernel_start is not None:
        # As in the model's T_gpu: events on another path would include messages.
        problem.kernel_start = model.kernel_start
    terms, gpu = model.terms, model.machine
    own = Candidate(terms.gpu, terms.cpu, terms.com)
    problem.cores, problem.sms, problem.block = int(gpu.cores), int(gpu.sms), int(gpu.block)
    chosen, fitted = communication(problem, own, seed)
    target = model.core_with(
        {route: list(points) for route, points in chosen.breakpoints}, chosen.com
    )
    source = _source(problem, "skeletons")
    known = known_by_skeletons(fitted, problem, model.noise, _facts(problem))
    _remark_one_gpu(model, problem, known.known_gpus)
    result = _merge(model, problem, target, fitted, _measured(model, fitted), source, seed)
    result.terms = replace(terms, com=chosen.com)
    return _as_other_path(model, result, known)


def _assume(about: Problem | Model, text: str) -> None:
    about.remarks.append(remark(Kind.ASSUMED, text))


def _facts(problem: Problem) -> PathFacts:
    return facts_of(problem.dataset, problem.path, problem.machine)


def _measured(model: Model, fitted: _core.Fit) -> set[str]:
    """Return the communication parameters that skeletons depend on, or that the model lacks:
    skeletons of one GPU tell nothing about what several GPUs share."""
    names = [name for name, _, _ in fitted.model.parameters]
    observed = {name for name, seen in zip(names, fitted.observed, strict=True) if seen}
    communication = set(fitted.model.communication)
    return {name for name in communication if name in observed or name not in model.parameters}


def _remark_one_gpu(model: Model, problem: Problem, most: int) -> None:
    """Remark if the other path was measured with one GPU only; ``most``: its most GPUs."""
    if most == 1 and model.domain.gpus[1] > 1:
        _assume(
            problem,
            f"path {problem.path!r} was measured with one GPU alone: times of several are a "
            "guess, and intervals widen with the GPU count; measure skeletons on two",
        )


def _as_other_path(model: Model, result: Model, known: OtherPath) -> Model:
    """Return ``result`` with the other path's uncertainty in place of the model's own."""
    if model.domain.gpus[1] == 1:
        _assume(
            result,
            "the model was fitted to steps of one GPU alone: how its GPU and CPU terms go on "
            "with more is their form's guess",
        )
    result.other_path = known
    result.noise = replace(model.noise, pure_error=None, between_cells=0.0, t90=T90)
    return result


def _by_transfers(model: Model, problem: Problem, wanted: Launch, seed: int) -> Model:
    com = _term_left(model, problem)
    needed, data = _core.COM_TERMS[com].routes, problem.dataset.name
    for route in needed:
        if route not in problem.transfers:
            raise InputError(
                f"path {problem.path!r} has no {route} transfers, which {com} needs",
                file=data,
                field="route",
            )
        require_sizes(problem.transfers[route], f"{problem.machine}, {problem.path}, {route}", data)
        _refuse_other_sizes(model, problem, route)
    problem.transfers = {route: problem.transfers[route] for route in needed}
    problem.skeletons = []
    launch = _launch_source(wanted, problem)
    if launch != "measured":
        problem.launches = []
    breakpoints = find_breakpoints(problem)
    target = model.core_with({route: list(points) for route, points in breakpoints}, com)
    fitted = _core.fit(target, problem.observations(), [target.integer])
    replaced = {name for name, _, _ in _core.Model(curves=target.curves).parameters}
    if launch == "measured":
        replaced.add("t_kernel")
    scale = _latency_ratio(model, target, fitted) if launch == "scale" else None
    _remark_one_gpu(model, problem, 1)
    result = _merge(model, problem, target, fitted, replaced, _source(problem, launch, scale), seed)
    result.terms = replace(model.terms, com=com)
    return _as_other_path(model, result, known_by_transfers(launch, model.noise, _facts(problem)))


def _refuse_other_sizes(model: Model, problem: Problem, route: str) -> None:
    """Refuse transfers that are all larger than any step's: none would determine the latency."""
    n, (_, gpus) = model.domain.n[1], model.domain.gpus
    work = model.workload
    moved = max(
        work.to_gpu(n, 1), work.to_gpu(n, gpus), work.from_gpu(n, 1), work.from_gpu(n, gpus)
    )
    least = min(transfer.bytes for transfer in problem.transfers[route])
    if least > moved:
        raise InputError(
            f"path {problem.path!r} has no {route} transfers below {least} bytes, and steps move "
            f"{moved:.0f} at most; measure smaller ones",
            file=problem.dataset.name,
            field="bytes",
        )


def _term_left(model: Model, problem: Problem) -> str:
    """Return the model's communication term, or the plain one if calls of the other path wait for
    answers and the model's term hides what can then not be hidden.

    A term with parameters of its own cannot be chosen: no transfer measures them.
    """
    own = model.terms.com
    left = terms_left(_core.COM_TERMS[own].schedule, problem.waits)
    if not left or own in left:
        return own
    needed = {name for name, _, _ in _core.COM_TERMS[left[0]].parameters}
    if not needed <= {name for name, _, _ in _core.COM_TERMS[own].parameters}:
        _assume(
            problem,
            f"path {problem.path!r} does not wait for calls as the model's does, and {left[0]} "
            f"cannot be known without skeletons: {own} is kept",
        )
        return own
    _assume(problem, f"calls of path {problem.path!r} are waited for: {left[0]} is taken")
    return left[0]


def _source(problem: Problem, launch: str, scale: float | None = None) -> Source:
    return Source(
        path=problem.path,
        data=problem.dataset.name,
        digest=problem.dataset.digest,
        launch=launch,
        launch_factor=scale,
    )


def _microbenchmarks(
    model: Model, data: Dataset, path: str | None, machine: str | None, memory: str | None
) -> Problem:
    kept: list[Entry] = [*data.transfers, *data.launches, *data.skeletons]
    if not kept:
        raise InputError("there are no transfers", file=data.name)
    only = replace(data, records=kept)
    schedule: str | None = model.data.schedule
    if not any(skeleton.schedule == schedule for skeleton in data.skeletons):
        schedule = None
    return problem_of(
        only,
        StepSelection(machine, path, schedule, memory=memory or model.data.memory),
        unless_stated=model.stated_workload,
    )


def _launch_source(launch: Launch, problem: Problem) -> Literal["measured", "keep", "scale"]:
    if launch == "measured" and not problem.launches:
        raise InputError(
            f"path {problem.path!r} has no launch records",
            file=problem.dataset.name,
            field="launch",
        )
    if launch == "auto":
        if problem.launches:
            return "measured"
        _assume(
            problem, f"path {problem.path!r} has no launch records: t_kernel is kept from the model"
        )
        return "keep"
    return launch


def _refuse_mixed(model: Model) -> None:
    """Refuse a model that only knows combinations of kept and replaced parameters."""
    communication = set(model.core.communication)
    if model.mixture is not None:
        # The usual time of launches separates them from the start of kernels.
        communication -= {"t_kernel"}
    for combination in model.combinations:
        names = set(combination.parameters)
        if names & communication and names - communication:
            raise InputError(
                f"the model's data know only {combination.expression}, so its communication "
                "cannot be replaced; fit its steps together with transfers of the same path",
                file=model.name,
            )


def _merge(
    model: Model,
    problem: Problem,
    target: _core.Model,
    fit: _core.Fit,
    replaced: set[str],
    source: Source,
    seed: int,
) -> Model:
    """Return ``model`` with parameters of ``target`` in place of its own.

    Args:
        fit: the fit of ``target`` to the other path's measurements.
        replaced: names of the parameters that come from ``fit``; the others are the model's.
    """
    count = len(model.integers)
    drawn = np.asarray(fit.bootstrap(max(count, _FEWEST), seed)[0])[:count]
    old = {name: i for i, (name, _, _) in enumerate(model.core.parameters)}
    columns = []
    parameters = {}
    for i, (name, _, _) in enumerate(target.parameters):
        if name in replaced:
            columns.append(drawn[:, i])
            parameters[name] = parameter(fit, i, drawn[:, i])
            continue
        factor = (source.launch_factor or 1.0) if name == "t_kernel" else 1.0
        columns.append(model.replicates[:, old[name]] * factor)
        parameters[name] = model.parameters[name].scaled(factor)
        if name != "t_kernel" and name in target.communication:
            _assume(problem, f"{name} is kept from the model: no transfer measures it")
    fitted_combinations = [
        combination
        for combination in combinations(fit, drawn)
        if replaced.issuperset(combination.parameters)
    ]
    communication = set(model.core.communication)
    kept = [
        combination
        for combination in model.combinations
        if communication.isdisjoint(combination.parameters)
    ]
    return replace(
        model,
        name=f"{model.name} as {problem.path}",
        parameters=parameters,
        combinations=[*fitted_combinations, *kept],
        breakpoints=target.curves,
        data=replace(model.data, what_if=source),
        remarks=[*model.remarks, *problem.remarks],
        replicates=np.column_stack(columns),
        integers=list(model.integers),
    )


def _latency_ratio(model: Model, target: _core.Model, fitted: _core.Fit) -> float:
    """Return the ratio of the new path's latency to the old one's, summed over a step's routes."""
    names = [name for name, _, _ in target.parameters]
    latencies = [name for name in names if name.startswith("L_")]
    new = sum(float(fitted.values[names.index(name)]) for name in latencies)
    return new / sum(model.parameter(name) for name in latencies)
