"""Fits a dataset: chooses the model, estimates its parameters and their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.data.dataset import Dataset
from gpucast.data.loading import Source, dataset_of
from gpucast.data.selection import ANY, SelectionArguments, StepSelection
from gpucast.errors import InputError
from gpucast.fitting.candidates import Candidate, Curves, candidates, routes_of
from gpucast.fitting.mixture import Choice, by_evidence
from gpucast.fitting.network import network_apart
from gpucast.fitting.problem import Problem, transfer_observations
from gpucast.fitting.scaling import common, fit_scaling, nearer
from gpucast.fitting.selection import problem_of
from gpucast.fitting.sharing import fit_sharing
from gpucast.model.content import (
    Combination,
    IntegerCost,
    Noise,
    Observed,
    Parameter,
    Quality,
    Tried,
)
from gpucast.model.fitted import Model
from gpucast.model.values import TimedCells, now
from gpucast.util.remarks import Kind, once, remark
from gpucast.util.units import p_value, ranges

Array = NDArray[np.float64]

SCALING = "scaling"
"""The value of ``model`` for forms of any program."""

REPLICATES = 400
"""Default number of bootstrap refits of a named form, for its intervals and probabilities."""

OF_PARAMETERS = 100
"""Default number of bootstrap refits for the parameters of one form if a mixture forecasts."""

LARGEST_REPLICATES = 100_000
LARGEST_SEED = 2**63 - 1
FOLDS = 10
FOLDS_OF_MANY = 5
MANY_CELLS = 50
LARGEST_BREAKPOINTS = 4

# The form of the model is rejected below this p-value.
LACK_OF_FIT = 0.05

# Candidates are compared on at most this many samples of a record, which determine its median well
# enough.
SAMPLES_TO_CHOOSE = 15

# Directions along which a misfit is tested (fit/noise.h), in words.
MISFITS = {
    "imbalance": "GPU time that does not shrink as 1/N",
    "synchronization": "a cost that grows as N^2",
    "host": "host work for every GPU's copy of the particles",
}

# A parameter whose share of every measured time is below this is negligible.
NEGLIGIBLE_SHARE = 1e-4


def fit(
    data: Dataset | Source,
    selection: StepSelection = ANY,
    *,
    method: str | None = None,
    model: str = "auto",
    replicates: int | None = None,
    seed: int = 1,
    bytes_per_step: float | None = None,
    **choice: Unpack[SelectionArguments],
) -> Model:
    """Fit the step time of one program on one path.

    Steps of our own programs, which state a schedule, are fitted jointly with transfers and
    launches by terms that describe these programs; steps of any other program are fitted by scaling
    forms. Collectives of nccl-tests or OSU beside the steps of another program tell what its
    exchange takes on the GPU counts that they were timed on.

    Args:
        data: records (see ``gpucast.load``), or a data frame or file as for ``gpucast.read``.
        selection: chooses records if there are several kinds.
        method: ``call`` or ``gated``, if transfers were timed in both ways.
        model: ``auto``; ``scaling`` for any program; for our own programs also ``paper`` or
            ``GPU+CPU+COM``.
        replicates: number of bootstrap refits for intervals of parameters and, if a form is named,
            of forecasts; 0: none. The default depends on ``model``.
        seed: seed of folds and bootstrap; the same seed gives the same result.
        bytes_per_step: bytes that a step exchanges by the collective beside its steps; None: not
            known.
        choice: fields of the selection: path, schedule, kernel, machine, memory, block, graph,
            boundary, program, case.

    Raises:
        InputError: there are no steps or too few observations, a selection is needed and missing,
            or replicates or seed are out of range.
    """
    if replicates is None:
        replicates = OF_PARAMETERS if model == "auto" else REPLICATES
    check_sampling(replicates, seed)
    selection = replace(selection, **choice)
    data, network = network_apart(dataset_of(data), selection, bytes_per_step)
    problem = problem_of(data, selection, method=method)
    problem.network = network
    if network is not None and (problem.schedule is not None or model not in ("auto", SCALING)):
        raise InputError(
            f"{network.program} tells nothing about our own programs' terms; leave it out",
            file=data.name,
        )
    if not problem.steps:
        raise InputError("there are no steps to fit", file=data.name)
    forecaster = _fitted(problem, model, replicates, seed)
    forecaster.sharing = fit_sharing(forecaster, problem)
    forecaster.joules_per_gpu = _fit_energy(problem)
    return forecaster


def _fit_energy(problem: Problem) -> dict[str, Any] | None:
    """Fit scaling forms to a GPU's energy in a step (J); None if no step has joules."""
    steps = [
        replace(step, seconds=[step.joules / step.gpus], phases=None, uncertainty=None, joules=None)
        for step in problem.steps
        if step.joules is not None and not step.is_shared
    ]
    if not steps:
        return None
    metered = replace(problem.steps_alone(), steps=steps, network=None, remarks=[], notes=[])
    return fit_scaling(metered, look_ahead=False).content


def _fitted(problem: Problem, model: str, replicates: int, seed: int) -> Model:
    """Fit by the terms of our own programs, or by scaling forms."""
    if model == SCALING:
        return fit_scaling(problem)
    if model == "auto" and problem.schedule is None:
        return nearer(
            problem,
            fit_scaling(problem),
            lambda posed, full: _fit_terms(posed, model, replicates if full else 0, seed),
        )
    return _fit_terms(problem, model, replicates, seed)


def fit_own(
    data: Dataset,
    selection: StepSelection,
    *,
    model: str = "auto",
    replicates: int | None = None,
    seed: int = 1,
) -> Model:
    """Fit steps of our own programs alone.

    Raises:
        InputError: as for ``fit``, or the steps do not state a schedule.
    """
    fitted = fit(data, selection, model=model, replicates=replicates, seed=seed)
    return fitted.of_own_program("terms are known only for steps with a schedule")


def _fit_terms(problem: Problem, model: str, replicates: int, seed: int) -> Model:
    """Choose among the terms of our own programs, and fit them."""
    needed = routes_of(problem)
    problem.transfers = {
        route: transfers for route, transfers in problem.transfers.items() if route in needed
    }
    observations = problem.observations()
    _warn_of_thin_data(problem, observations)
    breakpoints = find_breakpoints(problem)
    if model == "auto":
        choice = by_evidence(problem, breakpoints)
        if choice.steps_alone:
            problem = problem.steps_alone()
            observations = problem.observations()
    else:
        choice = _as_named(problem, model, breakpoints, seed)
    winner = choice.form
    core = winner.model(problem)
    fitted = _core.fit(core, observations, _core.default_integers(core, problem.largest_k))
    enough = observations.sample_count > fitted.rank
    if not enough:
        _require_observations(problem, observations, fitted, choice)
    values, integers = (
        fitted.bootstrap(replicates, seed)
        if enough and replicates > 0
        else (np.empty((0, len(core.parameters))), [])
    )
    return Model(
        name=problem.path,
        terms=winner.terms,
        **_structure(fitted, problem),
        breakpoints=fitted.model.curves,
        parameters=_parameters(fitted, values, problem, enough),
        combinations=combinations(fitted, values),
        rank=fitted.rank,
        quality=_quality(fitted, observations, problem, choice),
        candidates=choice.tried,
        chosen=choice.name,
        mixture=choice.mixture,
        observations=Observed(
            samples=observations.sample_count,
            cells=observations.cell_count,
            step_samples=sum(len(step.seconds) for step in problem.steps),
            step_cells=len(observations.step_cells),
        ),
        noise=_noise(fitted, observations),
        kernel_start=problem.kernel_start,
        domain=problem.domain,
        cells=_timed(observations),
        stated_workload=problem.workload,
        stated_unit=common(problem.steps, "unit"),
        stated_timestep=common(problem.steps, "timestep"),
        machine=problem.gpus,
        data=problem.fitted_steps,
        bootstrap_seed=seed,
        created=now(),
        remarks=once(problem.remarks),
        notes=problem.notes,
        replicates=np.asarray(values),
        integers=list(integers),
    )


def check_sampling(replicates: int, seed: int) -> None:
    """Check the bootstrap's arguments.

    Raises:
        InputError: replicates or seed is out of range.
    """
    for field, value, largest in (
        ("replicates", replicates, LARGEST_REPLICATES),
        ("seed", seed, LARGEST_SEED),
    ):
        if not 0 <= value <= largest:
            raise InputError(f"{value} is no whole number from 0 to {largest}", field=field)


def find_breakpoints(problem: Problem) -> Curves:
    """Find the breakpoints (bytes) of each measured route's transfer curve."""
    points_by_route = {
        route: _core.find_breakpoints(
            transfer_observations(route, problem.transfer_cells(route)), LARGEST_BREAKPOINTS
        )
        for route in problem.transfers
    }
    return tuple((route, tuple(points)) for route, points in points_by_route.items())


def _warn_of_thin_data(problem: Problem, observations: _core.Observations) -> None:
    cells = observations.step_cells
    if len({n for n, _, _, _ in cells}) == 1:
        problem.remarks.append(
            remark(Kind.ONE_VALUE, "steps of one n only: how time grows with n is not known")
        )
    if len({gpus for _, gpus, _, _ in cells}) == 1:
        problem.remarks.append(
            remark(
                Kind.ONE_VALUE,
                "steps of one GPU count only: how time changes with N rests on the model's form",
            )
        )
    if all(count == 1 for _, _, _, count in cells):
        problem.remarks.append(
            remark(
                Kind.ONE_REPETITION,
                "one repetition a cell: noise and lack of fit cannot be told apart",
            )
        )


def _require_observations(
    problem: Problem, observations: _core.Observations, fitted: _core.Fit, choice: Choice
) -> None:
    """Warn, or refuse, if there are as many quantities as observations, so that the noise is not
    known. Forms with priors can still forecast, with wide intervals.

    Raises:
        InputError: the form was named and has no priors.
    """
    lack = (
        f"{observations.sample_count} observations cannot determine {fitted.rank} quantities "
        "and their noise"
    )
    if choice.mixture is None:
        raise InputError(
            f"{lack}; measure more cells or repetitions, or take --model auto, which has priors",
            file=problem.dataset.name,
        )
    problem.remarks.append(
        remark(
            Kind.UNDERDETERMINED,
            f"{lack}: forecasts rest on typical programs; measure more cells or repetitions",
        )
    )


def _as_named(problem: Problem, model: str, breakpoints: Curves, seed: int) -> Choice:
    """Return the form that the user named, and the paper's, with their errors in held-out cells."""
    tried = candidates(problem, model, breakpoints)
    compared = problem.observations(most_samples=SAMPLES_TO_CHOOSE)
    errors = _cross_validate(problem, compared, tried, seed)
    tried_models = [
        Tried(model=candidate.name, cv_error=_finite(np.mean(error)))
        for candidate, error in zip(tried, errors, strict=True)
    ]
    if not np.isfinite(errors[0]).all():
        problem.remarks.append(remark(Kind.NOT_TESTED, "too few cells for cross-validation"))
    return Choice(form=tried[0], name=tried[0].name, tried=tried_models)


def _cross_validate(
    problem: Problem, observations: _core.Observations, tried: Sequence[Candidate], seed: int
) -> list[Array]:
    if not tried:
        return []
    cores = [candidate.model(problem) for candidate in tried]
    pairs = [(core, _core.default_integers(core, problem.largest_k)) for core in cores]
    many = len(observations.step_cells) >= MANY_CELLS
    errors = _core.cross_validate(pairs, observations, FOLDS_OF_MANY if many else FOLDS, seed)
    return [np.array(error) for error in errors]


def _structure(fitted: _core.Fit, problem: Problem) -> dict[str, Any]:
    name = fitted.model.integer_name
    plausible = sorted(fitted.plausible)
    if name == "k" and len(plausible) > 1:
        # Between these sizes, a GPU needs one wave with the largest k and more with the least.
        least, largest = (k * problem.cores for k in (plausible[0], plausible[-1]))
        problem.remarks.append(
            remark(
                Kind.OPEN_INTEGER,
                f"k is not determined: {ranges(plausible)} fit equally well; steps with "
                f"{least} to {largest} particles per GPU would tell",
            )
        )
    return {
        "k": fitted.model.integer if name == "k" else None,
        "k_profile": [IntegerCost(k=k, cost=cost) for k, cost in sorted(fitted.profile)]
        if name == "k"
        else [],
        "k_plausible": plausible if name == "k" else [],
    }


def _parameters(
    fitted: _core.Fit, replicates: Array, problem: Problem, enough: bool
) -> dict[str, Parameter]:
    """Return the parameters; ``enough``: whether there are more observations than quantities."""
    shares = fitted.largest_shares
    result = {}
    for i, (name, _, _) in enumerate(fitted.model.parameters):
        if fitted.identified[i] and shares[i] < NEGLIGIBLE_SHARE:
            problem.remarks.append(
                remark(
                    Kind.TOO_SMALL,
                    f"{name} is too small to matter: at most {shares[i]:.1e} of any measured time",
                )
            )
        told = parameter(fitted, i, replicates[:, i])
        result[name] = told if enough else replace(told, identified=False, stderr=None, ci95=None)
    hidden = [name for name, entry in result.items() if not entry.identified]
    if hidden:
        problem.remarks.append(
            remark(
                Kind.NOT_IDENTIFIED,
                f"not identified alone by these data: {', '.join(hidden)}; "
                "transfers, launches or CPU timings of the same path would tell them apart",
            )
        )
    return result


def parameter(fitted: _core.Fit, at: int, draws: Array) -> Parameter:
    """Return parameter ``at`` of a fit with its replicates (``draws``)."""
    _, unit, meaning = fitted.model.parameters[at]
    value = float(fitted.values[at])
    identified = bool(fitted.identified[at])
    known = identified and np.isfinite(fitted.relative_error[at])
    return Parameter(
        value=value,
        unit=unit,
        identified=identified,
        observed=bool(fitted.observed[at]),
        stderr=float(fitted.relative_error[at]) * value if known else None,
        ci95=_interval(draws) if identified else None,
        meaning=meaning,
    )


def combinations(fitted: _core.Fit, replicates: Array) -> list[Combination]:
    """Return the combinations of parameters that are known although the parameters are not."""
    parameters = fitted.model.parameters
    result = []
    for expression, terms, value, error in fitted.combinations:
        draws = np.zeros(replicates.shape[0])
        for index, coefficient in terms:
            reciprocal = parameters[index][1] == "B/s"
            column = replicates[:, index]
            draws += coefficient * (1 / column if reciprocal else column)
        result.append(
            Combination(
                expression=expression,
                parameters=[parameters[index][0] for index, _ in terms],
                value=value,
                stderr=_finite(error),
                ci95=_interval(draws),
            )
        )
    return result


def _interval(draws: Array) -> tuple[float, float] | None:
    # Percentiles of fewer than forty draws do not reach 2.5 %.
    if draws.size < 40:
        return None
    low, high = np.percentile(draws, [2.5, 97.5])
    return float(low), float(high)


def _quality(
    fitted: _core.Fit, observations: _core.Observations, problem: Problem, choice: Choice
) -> Quality:
    cells = observations.step_cells
    n, gpus, measured, _ = (
        np.array(column, dtype=np.float64) for column in zip(*cells, strict=True)
    )
    if choice.fitted is None:
        none = np.empty((0, len(fitted.values)))
        t_gpu, t_cpu, t_com, _ = _core.forecast(fitted.model, fitted.values, none, [], n, gpus)
        forecast = t_gpu + t_cpu + t_com
    else:
        zero = np.zeros(n.size)
        forecast = choice.fitted.forecast(n, gpus, np.ones(n.size), zero, zero)[0]
    error = np.abs(forecast / measured - 1)
    result = Quality(
        median_relative_error=float(np.median(error)),
        p95_relative_error=float(np.percentile(error, 95)),
        max_relative_error=float(error.max()),
        disturbed_samples=int(np.sum(np.asarray(fitted.weights) == 0)),
        converged=bool(fitted.converged),
        held_out_gpus_error=choice.gpus_error,
        held_out_n_error=choice.n_error,
        **_lack_of_fit(fitted, problem, mixed=choice.mixture is not None),
    )
    if not fitted.converged:
        what = "the fit" if choice.mixture is None else "the fit of the parameters"
        problem.remarks.append(remark(Kind.NOT_CONVERGED, f"{what} did not converge"))
    return result


def _lack_of_fit(fitted: _core.Fit, problem: Problem, *, mixed: bool) -> dict[str, Any]:
    """Test whether the form of the model is wrong, over all cells and along named directions.

    There are two tests, so the smaller p is doubled (Bonferroni). ``mixed``: whether forecasts use
    a mixture and not the form alone.
    """
    from scipy.special import fdtrc

    noise = fitted.noise["step"]
    f, freedom, pure_freedom = noise.lack_of_fit
    if not np.isfinite(f):
        if np.isfinite(noise.pure_error):
            problem.remarks.append(
                remark(
                    Kind.NOT_TESTED,
                    "too few cells with repetitions to test whether the form of the model is right",
                )
            )
        return {}
    everywhere = float(fdtrc(freedom, pure_freedom, f))
    misfits = {
        name: float(fdtrc(along, pure, value))
        for name, (value, along, pure) in fitted.misfits.items()
    }
    together = misfits.pop("any", None)
    p = everywhere if together is None else min(1.0, 2 * min(everywhere, together))
    if p < LACK_OF_FIT:
        likely = min(misfits, key=lambda name: misfits[name], default="")
        mean, what_follows = (
            ("form", "forecasts follow the times, parameters are those of the form")
            if mixed
            else ("model", "intervals are widened by that")
        )
        hint = (
            f" (looks like {MISFITS[likely]})" if likely and misfits[likely] < LACK_OF_FIT else ""
        )
        lack = f"lack of fit, {p_value(p)}"
        by = f"times differ from the {mean} by {100 * noise.between_cells:.2g} % beyond noise"
        problem.remarks.append(
            remark(Kind.LACK_OF_FIT, f"{lack}{hint}: {by}; {what_follows}", short=f"{lack}: {by}")
        )
    return {
        "reduced_chi2": (f * freedom + pure_freedom) / (freedom + pure_freedom),
        "lack_of_fit_p": p,
        "misfits": misfits,
    }


def _noise(fitted: _core.Fit, observations: _core.Observations) -> Noise:
    """Return the noise of step times, for prediction intervals."""
    from scipy.special import stdtrit

    noise = fitted.noise["step"]
    repeated = bool(np.isfinite(noise.pure_error))
    freedom = max(1.0, observations.sample_count - fitted.rank)
    between = noise.between_cells
    if repeated and not np.isfinite(noise.lack_of_fit[0]):
        # There are too few cells to test the form of the model: attribute the rest of the noise to
        # it.
        between = float(np.sqrt(max(0.0, noise.total**2 - noise.pure_error**2)))
    elif repeated and between > 0:
        freedom = max(1.0, noise.lack_of_fit[1])
    single = float(np.hypot(noise.pure_error, between)) if repeated else noise.total
    return Noise(
        sample=single,
        pure_error=noise.pure_error if repeated else None,
        between_cells=between,
        t90=float(stdtrit(freedom, 0.95)),
    )


def _timed(observations: _core.Observations) -> TimedCells:
    """Return the measured cells of steps."""
    cells = observations.step_cells
    return TimedCells(
        n=[float(n) for n, _, _, _ in cells],
        gpus=[int(gpus) for _, gpus, _, _ in cells],
        seconds=[float(seconds) for _, _, seconds, _ in cells],
    )


def _finite(value: float | np.floating[Any]) -> float | None:
    return float(value) if np.isfinite(value) else None
