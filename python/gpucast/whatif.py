"""Forecast another path from one path's steps: its GPU and CPU terms, the other's communication.

T_gpu and T_cpu do not know how a GPU is reached. A model fitted on one path becomes a forecast for
another when its communication parameters are replaced by those that the other path's
microbenchmarks give.
"""

from __future__ import annotations

import copy
from typing import Literal, get_args

import numpy as np

from gpucast import _core
from gpucast.datasets import Dataset
from gpucast.errors import InputError
from gpucast.fitting import check_sampling, find_breakpoints
from gpucast.models import Model
from gpucast.problem import Problem, pose
from gpucast.records import Entry
from gpucast.transfers import require_sizes

Launch = Literal["auto", "measured", "keep", "scale"]

# Communication parameters that no transfer or launch measures.
_OWN = ("B_host", "t_queue", "s_next")


def what_if(
    model: Model,
    data: Dataset,
    path: str | None = None,
    *,
    machine: str | None = None,
    memory: str | None = None,
    launch: Launch = "auto",
    seed: int = 1,
) -> Model:
    """``model`` with the communication parameters of another path.

    Args:
        data: transfers (and launches) of the other path; its steps, if any, are not looked at.
        launch: where t_kernel comes from: ``measured`` (launch records), ``keep`` (the model's
            own), ``scale`` (the model's own times the ratio of latencies: right where a launch is a
            number of messages to the GPU's host); ``auto`` is measured if there are records, else
            keep.

    Raises:
        InputError: the other path lacks a route that the model needs, or sizes on it; launches
            are asked for and missing; or the model's data do not tell its communication from its
            computation.
    """
    check_sampling(len(model.integers), seed)
    if launch not in get_args(Launch):
        raise InputError(f"{launch!r} is none of {', '.join(get_args(Launch))}", field="launch")
    _refuse_mixed(model)
    problem = _microbenchmarks(data, path, machine, memory)
    com = model.content["model"]["com"]
    needed = list(_core.Model("work", "linear", com).curves)
    for route in needed:
        if route not in problem.transfers:
            raise InputError(
                f"path {problem.path!r} has no {route} transfers, which {com} needs",
                file=data.name,
                field="route",
            )
        require_sizes(problem, route)
    problem.transfers = {route: problem.transfers[route] for route in needed}
    launch = _launch_source(launch, problem)
    if launch != "measured":
        problem.launches = []

    breakpoints = find_breakpoints(problem)
    curves = {route: list(points) for route, points in breakpoints}
    target = model.core_with(curves)
    found = _core.fit(target, problem.observations(), [target.integer])
    count = len(model.integers)
    drawn = np.asarray(found.bootstrap(max(count, 40), seed)[0])[:count]
    return _merge(model, problem, target, found, drawn, launch)


def _microbenchmarks(
    data: Dataset, path: str | None, machine: str | None, memory: str | None
) -> Problem:
    kept: list[Entry] = [*data.transfers, *data.launches]
    if not kept:
        raise InputError("there are no transfers", file=data.name)
    only = Dataset(data.name, data.machines, kept, list(data.warnings))
    return pose(only, path=path, machine=machine, memory=memory)


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
        problem.warnings.append(
            f"path {problem.path!r} has no launch records: t_kernel is kept from the model"
        )
        return "keep"
    return launch


def _refuse_mixed(model: Model) -> None:
    """A combination of kept and replaced parameters cannot be taken apart."""
    communication = set(model.core.communication)
    for combination in model.content["combinations"]:
        names = set(combination["parameters"])
        if names & communication and names - communication:
            raise InputError(
                f"the model's data know only {combination['expression']}, so its communication "
                "cannot be replaced; fit its steps together with transfers of the same path",
                file=model.name,
            )


def _merge(
    model: Model,
    problem: Problem,
    target: _core.Model,
    found: _core.Fit,
    drawn: np.ndarray,
    launch: str,
) -> Model:
    content = copy.deepcopy(model.content)
    old = {name: i for i, (name, _, _) in enumerate(model.core.parameters)}
    curve_names = {name for name, _, _ in _core.Model(curves=target.curves).parameters}
    scale = _latency_ratio(model, target, found)
    columns = []
    parameters = {}
    for i, (name, unit, meaning) in enumerate(target.parameters):
        if name in curve_names or (name == "t_kernel" and launch == "measured"):
            columns.append(drawn[:, i])
            parameters[name] = {
                "value": float(found.values[i]),
                "unit": unit,
                "identified": True,
                "observed": True,
                "stderr": float(found.relative_error[i] * found.values[i]),
                "ci95": [float(x) for x in np.percentile(drawn[:, i], [2.5, 97.5])]
                if len(drawn)
                else None,
                "meaning": meaning,
            }
            continue
        factor = scale if name == "t_kernel" and launch == "scale" else 1.0
        columns.append(model.replicates[:, old[name]] * factor)
        parameters[name] = _scaled(model.content["parameters"][name], factor)
        if name in _OWN:
            problem.warnings.append(f"{name} is kept from the model: no transfer measures it")
    content["parameters"] = parameters
    content["breakpoints"] = target.curves
    content["data"] = {
        **content["data"],
        "what_if": {
            "path": problem.path,
            "data": problem.dataset.name,
            "digest": problem.dataset.digest,
            "launch": launch,
            "launch_factor": scale if launch == "scale" else None,
        },
    }
    content["warnings"] = [*content["warnings"], *problem.warnings]
    return Model(
        f"{model.name} as {problem.path}", content, np.column_stack(columns), list(model.integers)
    )


def _scaled(entry: dict[str, object], factor: float) -> dict[str, object]:
    result = dict(entry)
    for key in ("value", "stderr"):
        value = entry[key]
        if isinstance(value, float):
            result[key] = value * factor
    if isinstance(entry["ci95"], list):
        result["ci95"] = [x * factor for x in entry["ci95"]]
    return result


def _latency_ratio(model: Model, target: _core.Model, found: _core.Fit) -> float:
    """Latency of the new path over that of the old, all routes of a step together."""
    names = [name for name, _, _ in target.parameters]
    latencies = [name for name in names if name.startswith("L_")]
    new = sum(float(found.values[names.index(name)]) for name in latencies)
    return new / sum(model.parameter(name) for name in latencies)
