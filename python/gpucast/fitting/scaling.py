"""Fits a program that is known by its step times only (``gpucast.model.averaged_totals``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.data.records import Step
from gpucast.data.selection import distinct
from gpucast.data.steps import medians_of
from gpucast.errors import InputError
from gpucast.fitting.cells import (
    Array,
    Cells,
    cells_of,
    parts_of,
    samples_of,
    settled,
    suspected,
)
from gpucast.fitting.mixed_units import require_one_unit
from gpucast.fitting.problem import Problem
from gpucast.model import lone_count
from gpucast.model.content import Domain, Noise, Observed, Parameter, Quality, Tried
from gpucast.model.fitted import Model
from gpucast.model.intervals import Z90
from gpucast.model.mixtures import MeasuredCells, Scaling, ScalingComponent
from gpucast.model.values import Gpu, now
from gpucast.util.remarks import Kind, Remark, Severity, once, remark
from gpucast.util.units import bytes_in_words, number, percent, ranges, whole_percent

# Quantile of Student's t with the core's 8 degrees of freedom for a two-sided 90 % interval.
_T90 = 1.8595480375

# A coefficient counts as identified if the standard error of its logarithm is below this.
_KNOWN = 0.5

# Least weight of forms that are listed.
_LISTED = 0.01

# Least held-out error that is shown with forecasts.
LARGE_ERROR = 0.1

FEWEST_CELLS = 3

# Many forms fit fewer cells.
FEW_CELLS = 4

_COLUMNS = ("n", "nodes", "seconds", "variance")

# Least weight of forms with the measured network from which stated bytes agree with the steps.
AGREEING = 0.5

# The time of a fit grows with the cube of the number of cells; more would add nothing.
MOST_CELLS = 400


def fit_scaling(problem: Problem, *, look_ahead: bool = True) -> Model:
    """Fit the steps of a problem, of any program.

    ``look_ahead``: whether to find held-out errors of the largest GPU count and n.
    """
    notes = list(problem.notes)
    unshared = _unshared(problem)
    cells = replace(cells_of(problem.steps), network=problem.network)
    _require_both(cells, problem.dataset.name)
    require_one_unit(cells, problem.dataset.name)
    if cells.n.size > MOST_CELLS:
        notes.append(
            f"{cells.n.size} cells: fitted to {MOST_CELLS} of them, even over GPU counts and sizes"
        )
        cells = cells.where(_evenly(cells, MOST_CELLS))
    samples = samples_of(problem.steps)
    cells, disputes = settled(cells, samples.kept)
    suspect = suspected(cells)
    if suspect is not None:
        cells = suspect.stated(cells)
    fitted, ahead = _fitted(cells, look_ahead=look_ahead)
    traced = any(step.phases is not None and step.phases.calls for step in problem.steps)
    remarks = [
        *problem.remarks,
        *disputes,
        *samples.remarks(),
        *_thin(cells, traced=traced, unshared=unshared),
        *_timed_once(fitted, cells, traced=traced),
        *_unlike(fitted, cells),
        *([suspect.question()] if suspect is not None else []),
        *ahead.remarks(),
        *_exchange(fitted, cells),
    ]
    quality = _quality(fitted, cells)
    quality.held_out_gpus_error, quality.held_out_n_error = ahead.gpus, ahead.n
    gpu_name = problem.dataset.gpu_name(problem.machine)
    columns = [column.name for column in fields(ScalingComponent)]
    components = [
        ScalingComponent(**dict[str, Any](zip(columns, values, strict=True)))
        for values in fitted.components
    ]
    counts = set(cells.gpus.tolist())
    lone = int(counts.pop()) if len(counts) == 1 else None
    names = [lone_count.name_with(form, lone) for form in fitted.forms]
    weights = _weights(fitted, names)
    chosen = max(weights, key=lambda name: weights[name])
    steps = problem.steps
    return Model(
        name=problem.selection.program or problem.path,
        parameters=_parameters(fitted, names, chosen),
        quality=quality,
        candidates=[
            Tried(model=name, cv_error=None, weight=weight)
            for name, weight in weights.items()
            if weight >= _LISTED
        ],
        chosen=chosen,
        observations=Observed(
            samples=int(cells.repetitions.sum()),
            cells=cells.n.size,
            step_samples=int(cells.repetitions.sum()),
            step_cells=cells.n.size,
        ),
        noise=Noise(
            sample=float(np.hypot(fitted.noise, cells.within or 0.0)),
            pure_error=cells.within,
            between_cells=fitted.noise,
            t90=_T90,
        ),
        domain=Domain(
            n=(float(cells.n.min()), float(cells.n.max())),
            gpus=(int(cells.gpus.min()), int(cells.gpus.max())),
        ),
        machine=Gpu(id=problem.machine, name=gpu_name, cores=0, sms=0, block=0),
        data=problem.fitted_steps,
        created=now(),
        remarks=once(remarks),
        notes=notes,
        scaling=Scaling(
            unit=common(steps, "unit"),
            timestep=common(steps, "timestep"),
            traced=traced,
            unshared=unshared,
            cells=MeasuredCells(
                **{name: getattr(cells, name).tolist() for name in _COLUMNS},
                gpus=[int(count) for count in cells.gpus],
                local=np.asarray(fitted.local).tolist(),
            ),
            # A fit without the counts beyond a boundary does not know the boundary, but this one
            # does.
            slope_error=ahead.slope_error if suspect is None else 0.0,
            size_error=ahead.size_error,
            per_node=None if suspect is None else suspect.gpus,
            network=problem.network,
            parts=parts_of(steps),
            components=components,
        ),
    )


def _unshared(problem: Problem) -> str | None:
    """Return the name of a workload that is not divided among GPUs, so that no form describes its
    dependence on N; None if it is divided.

    Raises:
        InputError: steps of such a workload are of several GPU counts.
    """
    stated = problem.workload
    if stated is None or stated.is_shared_out:
        return None
    counts = sorted({step.gpus for step in problem.steps})
    if len(counts) > 1:
        listed = ", ".join(map(str, counts))
        raise InputError(
            f"{stated.name} is not divided among GPUs, and there are {listed} GPUs; fit each "
            "count separately, from files of its own",
            file=problem.dataset.name,
            field="gpus",
        )
    return stated.name


def _require_both(cells: Cells, name: str) -> None:
    """Refuse a network that says nothing about cells: it has no GPU count among theirs, or they
    have one alone."""
    network, counts = cells.network, np.unique(cells.gpus)
    if network is None:
        return
    if counts.size == 1:
        text = "beside steps of one GPU count; time the program on a second count, too"
    elif network.gpus[0] > counts.max():
        text = (
            f"about steps of at most {counts.max():g} GPUs, being timed from {network.gpus[0]} on; "
            f"time it on {counts.max():g} or fewer, too"
        )
    else:
        return
    raise InputError(f"{network.program} tells nothing {text}", file=name, field="gpus")


def _exchange(fitted: _core.Scaling, cells: Cells) -> list[Remark]:
    """Return a remark on what the network's measurement says about the steps."""
    network = cells.network
    if network is None:
        return []
    weight = sum(part[-1] for part in fitted.components if "collective" in part[0])
    text = (
        f"exchange follows {network.program}, timed on {ranges(network.gpus)} GPUs, in forms with "
        f"{whole_percent(weight)} of the weight"
    )
    severity = Severity.DOUBT
    if network.bytes is None:
        text += "; --bytes-per-step states how much a step exchanges, which narrows forecasts"
    elif weight < AGREEING:
        text += (
            f": {bytes_in_words(network.bytes)} a step are hardly what the steps show; check that "
            "--bytes-per-step is in bytes, as the table counts its sizes"
        )
    else:
        severity = Severity.MINOR
    return [remark(Kind.ASSUMED, text, about="network", severity=severity)]


def _thin(cells: Cells, *, traced: bool, unshared: str | None) -> list[Remark]:
    """Return remarks on what the cells are too few to tell."""
    remarks = []
    if np.unique(cells.gpus).size == 1:
        text = (
            f"{unshared} is not divided among GPUs: other GPU counts are not forecast"
            if unshared is not None
            else lone_count.NOT_KNOWN
            if traced
            else "steps of one GPU count only: how time changes with N is taken from other programs"
        )
        remarks.append(remark(Kind.ONE_VALUE, text))
    if np.unique(cells.n).size == 1:
        text = "steps of one n only: how time grows with n is taken from other programs"
        remarks.append(remark(Kind.ONE_VALUE, text))
    if cells.n.size < FEW_CELLS:
        text = (
            f"{cells.n.size} measured cell(s), which many forms go through: forecasts are those of "
            "programs in general"
        )
        remarks.append(remark(Kind.FEW_CELLS, text))
    return remarks


def _timed_once(fitted: _core.Scaling, cells: Cells, *, traced: bool) -> list[Remark]:
    """Return a remark that no repetition tells noise from how a program's times are."""
    if traced or cells.within is not None:
        return []
    text = (
        f"one repetition a cell: runs are assumed to differ by {percent(fitted.noise)}, as in "
        "other programs' tables; if they differ more, intervals are too narrow; repeat some cells"
    )
    return [remark(Kind.ONE_REPETITION, text, severity=Severity.MINOR)]


def _unlike(fitted: _core.Scaling, cells: Cells) -> list[Remark]:
    """Return remarks on outlying cells, which no form and no neighbour explains, the worst
    first."""
    apart = np.flatnonzero(np.asarray(fitted.local) > 0)
    if not apart.size:
        return []
    n, gpus, zero = cells.n[apart], cells.gpus[apart], np.zeros(apart.size)
    # The forecast of a neighbouring size does not include the cell's own deviation.
    others = fitted.forecast(n * (1 + 1e-9), gpus, cells.nodes[apart], zero)[0]
    factor = cells.seconds[apart] / others
    farthest = np.argsort(-np.abs(np.log(factor)))
    return [
        remark(
            Kind.UNLIKE,
            f"n = {number(n[i])} on {int(gpus[i])} GPU(s) took {factor[i]:.2g} times what all "
            "other cells say: other forecasts leave it out; measure it again",
            n=float(n[i]),
            gpus=int(gpus[i]),
        )
        for i in farthest
    ]


def _evenly(cells: Cells, most: int) -> NDArray[np.bool_]:
    """Choose ``most`` cells, evenly in the order of GPU count and size, with the first and last."""
    order = np.lexsort((cells.n, cells.gpus))
    kept = np.zeros(order.size, dtype=np.bool_)
    kept[order[np.linspace(0, order.size - 1, most).round().astype(np.intp)]] = True
    return kept


def _weights(fitted: _core.Scaling, names: Sequence[str]) -> dict[str, float]:
    """Return the weight of each form, the largest first; ``names``: the form of each component."""
    weights: dict[str, float] = defaultdict(float)
    for name, component in zip(names, fitted.components, strict=True):
        weights[name] += component[-1]
    rounded = {name: min(1.0, weight) for name, weight in weights.items()}
    return dict(sorted(rounded.items(), key=lambda item: -item[1]))


def _parameters(fitted: _core.Scaling, names: Sequence[str], form: str) -> dict[str, Parameter]:
    """Return the coefficients of the most plausible form, from its heaviest component."""
    candidates = [i for i, name in enumerate(names) if name == form]
    at = max(candidates, key=lambda i: float(fitted.components[i][-1]))
    terms, _, _, _, coefficients, _ = fitted.components[at]
    result = {}
    errors = fitted.log_errors(at)
    # The power of the work may follow the terms' coefficients.
    for name, value, error in zip(terms, coefficients, errors, strict=False):
        if name not in form.partition(", ")[0].split(" + "):
            continue
        known = bool(error < _KNOWN)
        result[f"t_{name}"] = Parameter(
            value=value,
            unit="s",
            identified=known,
            stderr=float(value * error) if known else None,
            ci95=(float(value * np.exp(-1.96 * error)), float(value * np.exp(1.96 * error)))
            if known
            else None,
            meaning=_core.SCALING_TERMS[name][0],
        )
    return result


def _quality(mixture: _core.Scaling, cells: Cells) -> Quality:
    """Return the errors in the fitted cells."""
    fitted = mixture.forecast(cells.n, cells.gpus, cells.nodes, np.zeros(cells.n.size))[0]
    error = np.abs(fitted / cells.seconds - 1)
    return Quality(
        median_relative_error=float(np.median(error)),
        p95_relative_error=float(np.percentile(error, 95)),
        max_relative_error=float(error.max()),
    )


@dataclass(frozen=True)
class _Ahead:
    """Held-out errors of the largest GPU count and n.

    Attributes:
        gpus, n: median errors; None if too few cells remain.
        slope_error: excess of the error for the largest GPU count over its sd, per unit of ln N;
            ``size_error``: the same for the largest n.
    """

    gpus: float | None = None
    n: float | None = None
    slope_error: float = 0.0
    size_error: float = 0.0

    def remarks(self) -> list[Remark]:
        return [
            remark(
                Kind.HELD_OUT,
                f"without the largest {word} measured, the fit misses it by {100 * error:.0f} % "
                "(median): beyond the data expect no better",
            )
            for word, error in (("GPU count", self.gpus), ("n", self.n))
            if error is not None and error >= LARGE_ERROR
        ]


def _fitted(cells: Cells, *, look_ahead: bool) -> tuple[_core.Scaling, _Ahead]:
    if not look_ahead:
        return cells.fit(), _Ahead()
    # The core releases the GIL while it fits.
    with ThreadPoolExecutor(3) as pool:
        whole = pool.submit(cells.fit)
        gpus = pool.submit(_held_out, cells, cells.gpus)
        n = pool.submit(_held_out, cells, cells.n, counts_measured=True)
        counts, sizes = gpus.result(), n.result()
        return whole.result(), _Ahead(
            gpus=None if counts is None else counts.error,
            n=None if sizes is None else sizes.error,
            slope_error=0.0 if counts is None else counts.slope_error,
            size_error=0.0 if sizes is None else sizes.slope_error,
        )


@dataclass(frozen=True)
class _HeldOut:
    """Errors of the cells with the largest value, forecast by a fit to the others.

    Attributes:
        error: median relative error.
        slope_error: excess of the error of ln T over its standard deviation, per unit of ln of the
            value.
    """

    error: float
    slope_error: float


def _held_out(cells: Cells, values: Array, *, counts_measured: bool = False) -> _HeldOut | None:
    """Forecast the cells with the largest value by a fit to the others; None if these are too few.

    ``counts_measured``: whether only left-out cells of GPU counts that remain tell the slope's
    error, as n may grow with N.
    """
    rest = values < values.max()
    if np.unique(values[rest]).size < 2 or rest.sum() < FEWEST_CELLS:
        return None
    left_out = cells.where(~rest)
    fitted = cells.where(rest).fit()
    zero = np.zeros(left_out.n.size)
    forecast, low, high = fitted.forecast(left_out.n, left_out.gpus, left_out.nodes, zero)[:3]
    telling = left_out.gpus <= (cells.gpus[rest].max() if counts_measured else np.inf)
    slope_error = 0.0
    if telling.any():
        off = float(np.median(np.log(left_out.seconds / forecast)[telling]))
        end = high if off > 0 else low
        sd = float(np.median(np.abs(np.log(end / forecast)[telling]))) / Z90
        # An error at less than twice the next smaller value counts as one at twice.
        reach = max(np.log(values.max() / values[rest].max()), np.log(2))
        slope_error = float(np.sqrt(max(0.0, off**2 - sd**2)) / reach)
    return _HeldOut(float(np.median(np.abs(forecast / left_out.seconds - 1))), slope_error)


def common(steps: list[Step], field: str) -> Any:
    """Return the value of a field that all steps state; None if they differ or state none."""
    values = distinct(steps, field)
    return values[0] if len(values) == 1 else None


# Chooses between scaling forms and our own programs' terms for a program without a schedule.
#
# Our own programs' terms describe work that grows as n^2: all pairs, divided in blocks, with
# positions sent to every GPU. Another program of this kind gains from these terms. Other kinds of
# programs are not considered, since their work does not grow as n^2.

# Least weight of forms with growth n^2 in the forecast.
_LIKELY = 0.5

# With more than this number of sizes, the largest ones are held out, a share of all sizes.
_FEWEST_SIZES = 3
_LARGEST_SIZES = 0.3

# Relative held-out errors below this count as equal.
_SAME = 0.003

# The schedule that is assumed: the paper's.
_SCHEDULE = "star-serial"


def nearer(problem: Problem, scaling: Model, fit_terms: Callable[[Problem, bool], Model]) -> Model:
    """Return the scaling model or that of our own programs' terms, whichever forecasts the held-out
    largest GPU count and sizes better. ``fit_terms`` fits the terms, with bootstrap replicates or
    without.
    """
    measured = problem.network is not None
    if measured or not _is_of_all_pairs(scaling) or scaling.lone_gpus is not None:
        return scaling  # our terms would imply another dependence on N than the measured one
    paper = replace(problem, selection=replace(problem.selection, schedule=_SCHEDULE))
    by_terms: list[float] = []
    by_scaling: list[float] = []
    for trained, left_out in _folds(problem.steps):
        try:
            terms = fit_terms(replace(paper, steps=trained, remarks=[], notes=[]), False)
            by_terms += _errors(terms, left_out)
        except InputError:
            return scaling
        without = fit_scaling(replace(problem, steps=trained, remarks=[]), look_ahead=False)
        by_scaling += _errors(without, left_out)
    if not by_terms or np.mean(by_terms) >= np.mean(by_scaling):
        return scaling
    by_terms_in_full = fit_terms(paper, True)
    # The schedule was an assumption: the program's steps state none.
    by_terms_in_full.data = replace(by_terms_in_full.data, schedule=problem.schedule)
    return by_terms_in_full


def _is_of_all_pairs(scaling: Model) -> bool:
    components = [] if scaling.scaling is None else scaling.scaling.components
    return sum(part.weight for part in components if part.growth == "n^2") >= _LIKELY


def _folds(steps: list[Step]) -> list[tuple[list[Step], list[Step]]]:
    """Return pairs of training and held-out steps, for the largest GPU count and for the largest
    n."""
    sizes = sorted({step.n for step in steps})
    counts = sorted({step.gpus for step in steps})
    folds = []
    if len(counts) > 1:
        folds.append(_parted(steps, lambda step: step.gpus < counts[-1]))
    if len(sizes) > _FEWEST_SIZES:
        largest = sizes[-max(1, round(_LARGEST_SIZES * len(sizes)))]
        folds.append(_parted(steps, lambda step: step.n < largest))
    return folds


def _parted(steps: list[Step], keep: Callable[[Step], bool]) -> tuple[list[Step], list[Step]]:
    return [step for step in steps if keep(step)], [step for step in steps if not keep(step)]


def _errors(model: Model, steps: list[Step]) -> list[float]:
    """Return logarithms of the relative errors in the cells of steps."""
    medians = medians_of(steps)
    n, gpus = (np.array(column, dtype=np.float64) for column in zip(*medians, strict=True))
    measured = np.array(list(medians.values()))
    error = np.abs(np.log(model.seconds(n, gpus) / measured))
    return np.log(error + _SAME).tolist()  # type: ignore[no-any-return]
