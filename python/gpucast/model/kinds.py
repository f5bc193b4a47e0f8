"""Ratio of a program's times on two kinds of GPUs.

The logarithm of the rate of program p of family f on kind k, of architecture g and vendor v, is

    y = a_p + x . (w + w_f + w_p) + (b + b_f + b_p)[k] + (c + c_f + c_p)[g] + (d + d_f + d_p)[v]
        + noise

where x are the logarithms of a kind's bandwidth, of its fp32 peak and of its peak in the program's
precision. All coefficients are normal with mean 0, and a_p has an uninformative variance. So y is
normal, and the posterior of the ratio for an unknown program follows by Bayes' rule. Programs of
some families differ less than those of others, so that each family has factors on the variances of
its own effects, of its programs' effects and of its noise, whose logarithms are normal with mean 0.
Variances and factors are the most probable ones given the bundled timings. Normal intervals are
widened by a factor that makes those of programs cover of whose campaign nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gpucast.data.dataset import Dataset
from gpucast.data.kinds import (
    GpuKind,
    Timing,
    catalogue,
    kind_named,
    kind_rows,
    known_kind,
    timings,
)
from gpucast.data.records import Step
from gpucast.data.selection import ANY, distinct
from gpucast.data.steps import samples_of
from gpucast.errors import InputError
from gpucast.model.adjustments import MachineFactors
from gpucast.model.fitted import Model
from gpucast.model.intervals import Z90, Array
from gpucast.model.update import steps_of_kind
from gpucast.model.values import Origin, TimedCells
from gpucast.util.remarks import Kind, remark
from gpucast.util.units import number, percent

Indices = NDArray[np.intp]

LEVELS = ("all", "family", "program")
FEATURES = ("bandwidth", "fp32", "peak", "kind", "architecture", "vendor")
NAMES = (*(f"{level} {feature}" for level in LEVELS for feature in FEATURES), "noise")
"""The variances, in the order of their covariance matrices."""

SCALED = ("family", "program", "noise")
"""The variances on which each family has its own factors."""

FACTOR_SD = np.log(2.0)
"""Standard deviation of the logarithm of a family's factors: a factor of two is not unusual."""

OTHER_HOST = 0.3
"""Sd of ln of the factors on T_cpu and T_com if nothing was timed; their median is 1."""

OF_A_SIZE = 0.4
"""Standard deviation of ln of the ratio between sizes of one program, relative to ln of the ratio:
in the bundled timings 0.17 (GROMACS) to 0.71 (sparse convolution)."""


_OFFSET = 100.0
"""Variance of a_p, which makes it uninformative: units of work are arbitrary."""


@dataclass(frozen=True)
class Variances:
    """Variances of the components of ln rates.

    Attributes:
        values: in the order of ``NAMES``.
        factors: factors of each family on those that ``SCALED`` lists; 1 if it is missing.
        widening: factor by which normal intervals have to be widened.
    """

    values: Array
    factors: Mapping[str, Array]
    widening: float = 1.0


@dataclass(frozen=True)
class Ratio:
    """Logarithm of the time on another kind over the time on the program's own kind.

    Attributes:
        mean, sd: its mean and sd; ``sd`` is widened so that a normal 90 % interval covers.
        family: the family of programs that it was assumed to belong to; None: all programs.
    """

    mean: float
    sd: float
    family: str | None

    @property
    def interval(self) -> tuple[float, float]:
        """90 % interval of the ratio."""
        half = Z90 * self.sd
        return float(np.exp(self.mean - half)), float(np.exp(self.mean + half))


def components(rows: Sequence[Timing]) -> list[Array]:
    """Return covariance matrices of the rows' ln rates for unit variances, in the order of
    ``NAMES``."""
    kinds = [catalogue()[row.kind] for row in rows]
    x = np.log([_features(kind, row) for kind, row in zip(kinds, rows, strict=True)])
    # Only differences matter; centred in this way, the matrices are well conditioned.
    x = x - _CENTRE
    by_feature = [
        *(np.outer(column, column) for column in x.T),
        _same([kind.name for kind in kinds]),
        _same([kind.architecture for kind in kinds]),
        _same([kind.vendor for kind in kinds]),
    ]
    levels = (
        np.ones((len(rows), len(rows))),
        _same([row.family for row in rows]),
        _same([row.program for row in rows]),
    )
    return [*(level * matrix for level in levels for matrix in by_feature), np.eye(len(rows))]


_CENTRE = np.log([1e12, 3e13, 1e14])


def _features(kind: GpuKind, row: Timing) -> list[float]:
    return [kind.bandwidth, kind.peaks["fp32"], kind.peaks[row.precision]]


def _same(names: Sequence[str]) -> Array:
    numbers = np.unique(names, return_inverse=True)[1]  # compared faster than texts
    return np.asarray(numbers[:, None] == numbers, dtype=np.float64)


def covariance(rows: Sequence[Timing], variances: Variances) -> Array:
    """Return the covariance matrix of the rows' ln rates."""
    factors = [variances.factors.get(row.family, np.ones(len(SCALED))) for row in rows]
    levels = _levels(components(rows), variances.values, np.array(factors).T)
    return np.asarray(_offset(rows) + sum(levels), dtype=np.float64)


def _levels(parts: Sequence[Array], values: Array, factors: Array) -> list[Array]:
    """Return covariance matrices of the terms of all programs, families, programs, and of noise.

    ``factors``: a row for each entry of ``SCALED``, a column for each row of the table.
    """
    count = len(FEATURES)
    sums = [
        np.add.reduce([value * part for value, part in zip(own, matrices, strict=True)])
        for own, matrices in (
            (values[begin : begin + count], parts[begin : begin + count])
            for begin in range(0, len(NAMES), count)
        )
    ]
    # Rows that share one of these terms are of one family.
    return [sums[0], *(own[:, None] * level for own, level in zip(factors, sums[1:], strict=True))]


def _offset(rows: Sequence[Timing]) -> Array:
    return _OFFSET * _same([row.program for row in rows])


def fit(rows: Sequence[Timing], start: Variances | None = None) -> Variances:
    """Return the most probable variances and factors, and their widening.

    Args:
        start: the start of the search; None: variances of 0.01 and no factors.
    """
    from scipy.optimize import minimize

    y, parts, offset = np.log([row.rate for row in rows]), components(rows), _offset(rows)
    families, family = np.unique([row.family for row in rows], return_inverse=True)
    count = len(FEATURES)

    def loss(logs: Array) -> tuple[float, Array]:
        values, ln_factors = np.exp(logs[: len(NAMES)]), logs[len(NAMES) :].reshape(3, -1)
        factors = np.exp(ln_factors)[:, family]
        levels = _levels(parts, values, factors)
        inverse, determinant = _inverse(offset + sum(levels))
        weights = inverse @ y
        slack = inverse - np.outer(weights, weights)
        scaled = [slack, *(own[:, None] * slack for own in factors)]
        slopes = [
            value * np.vdot(scaled[i // count], part)
            for i, (value, part) in enumerate(zip(values, parts, strict=True))
        ]
        # Only rows of one family share the terms that its factors scale.
        by_row = [(slack * level).sum(axis=1) for level in levels[1:]]
        of_factors = np.array([np.bincount(family, own) for own in by_row])
        prior = ln_factors / FACTOR_SD**2
        return (
            float(determinant + y @ weights + np.vdot(prior, ln_factors)) / 2,
            np.concatenate([np.array(slopes) / 2, (of_factors / 2 + prior).ravel()]),
        )

    begin = start or Variances(np.full(len(NAMES), 0.01), {})
    ones = np.ones(len(SCALED))
    factors = np.array([begin.factors.get(name, ones) for name in families.tolist()]).T
    logs = np.log(np.concatenate([begin.values, factors.ravel()]))
    limits = [(-14.0, 3.0)] * len(NAMES) + [(-5.0, 5.0)] * factors.size
    search = minimize(
        loss, logs, jac=True, method="L-BFGS-B", bounds=limits, options={"ftol": 1e-7}
    )
    best = np.exp(search.x)
    own = dict(zip(families.tolist(), best[len(NAMES) :].reshape(3, -1).T, strict=True))
    variances = Variances(best[: len(NAMES)], own)
    return replace(variances, widening=widening(rows, variances))


def _inverse(matrix: Array) -> tuple[Array, float]:
    factor = np.linalg.cholesky(matrix)
    half = np.linalg.inv(factor)
    return half.T @ half, 2 * float(np.log(np.diag(factor)).sum())


def left_out(rows: Sequence[Timing], variances: Variances, block: Indices) -> tuple[Array, Array]:
    """Return mean and covariance of the ln rates of held-out rows, given all others.

    Args:
        block: indices of the held-out rows.
    """
    y = np.log([row.rate for row in rows])
    inverse, _ = _inverse(covariance(rows, variances))
    return _left_out(inverse, y, block)


def _left_out(inverse: Array, y: Array, block: Indices) -> tuple[Array, Array]:
    covariance_there = np.asarray(np.linalg.inv(inverse[np.ix_(block, block)]), np.float64)
    return y[block] - covariance_there @ (inverse @ y)[block], covariance_there


def widening(rows: Sequence[Timing], variances: Variances) -> float:
    """Return the factor by which normal 90 % intervals must be widened to hold 90 % of the ratios
    of programs whose whole campaign is held out, with equal weight for each program: known on one
    kind, or on a further one as well, whichever needs more."""
    y = np.log([row.rate for row in rows])
    inverse, _ = _inverse(covariance(rows, variances))
    programs, campaigns = np.array([(row.program, row.campaign) for row in rows]).T
    scores: tuple[list[Array], list[Array]] = ([], [])
    for campaign in dict.fromkeys(campaigns.tolist()):
        block = np.flatnonzero(campaigns == campaign)
        mean, spread = _left_out(inverse, y, block)
        error = y[block] - mean
        for program in dict.fromkeys(programs[block].tolist()):
            own = np.flatnonzero(programs[block] == program)
            first, second = pairs([rows[i] for i in block[own].tolist()])
            if first.size:
                for more, score in enumerate(
                    _scores(error[own], spread[np.ix_(own, own)], first, second)
                ):
                    scores[more].append(score)
    return max(_upper_decile(own) for own in scores if own) / Z90


def _scores(error: Array, spread: Array, first: Indices, second: Indices) -> Iterator[Array]:
    """Yield absolute errors of a program's ratios over their sd: with the program known on the
    ``first`` kind, and, where it has a third row, with that known as well."""
    off, variance = error[second] - error[first], ratio_variance(spread, first, second)
    yield np.abs(off) / np.sqrt(variance)
    if error.size > 2:
        further = (second + 1) % error.size
        further = np.where(further == first, (further + 1) % error.size, further)
        shared = spread[second, further] - spread[second, first] - spread[first, further]
        shared += spread[first, first]
        gain = shared / ratio_variance(spread, first, further)
        left = variance - gain * shared
        yield np.abs(off - gain * (error[further] - error[first])) / np.sqrt(left)


def _upper_decile(groups: Sequence[Array]) -> float:
    """Return the 90 % quantile of values, each group weighing the same."""
    value = np.concatenate(groups)
    weight = np.concatenate([np.full(own.size, 1 / own.size) for own in groups])
    order = np.argsort(value)
    at = int(np.searchsorted(np.cumsum(weight[order]), 0.9 * len(groups)))
    return float(value[order][min(at, value.size - 1)])


def pairs(rows: Sequence[Timing]) -> tuple[Indices, Indices]:
    """Return indices of all pairs of one program's rows on two kinds."""
    first, second = np.triu_indices(len(rows), 1)
    kinds, programs = np.array([(row.kind, row.program) for row in rows]).T
    kept = (kinds[first] != kinds[second]) & (programs[first] == programs[second])
    return first[kept], second[kept]


def ratio_variance(spread: Array, first: Indices, second: Indices) -> Array:
    """Return the variance of differences of rows with this covariance."""
    diagonal = np.diag(spread)
    return np.asarray(diagonal[first] + diagonal[second] - 2 * spread[first, second])


@cache
def fitted() -> Variances:
    """Return the variances of the bundled timings, which ``lab/studies/kinds.py`` writes."""
    values = {row["name"]: float(row["value"]) for row in kind_rows("variances.csv")}
    factors = {
        family: np.array([values[f"{family}: {name}"] for name in SCALED])
        for family in {row.family for row in timings()}
    }
    return Variances(np.array([values[name] for name in NAMES]), factors, values["widening"])


def time_ratio(
    own: GpuKind,
    other: GpuKind,
    like: str | None = None,
    further: Mapping[str, float] | None = None,
) -> Ratio:
    """Forecast ln of the time on ``other`` over the time on ``own`` for a program without cells on
    ``other``.

    Args:
        like: the family of bundled timings to which it belongs; None: not known.
        further: ln of the program's time over that on ``own``, by the names of further kinds.

    Raises:
        InputError: one of the kinds has no timings, or no units of the family's precision, or the
            family does not exist.
    """
    rates = (
        {own.name: 1.0, **{name: np.exp(-off) for name, off in further.items()}} if further else {}
    )
    precision = precision_of(like)
    mean, covariance = time_ratios(own, other, [(like, precision)], rates)
    for kind in (own, other):
        if precision not in kind.peaks:
            raise InputError(
                f"{kind.name} has no {precision} units, which {like} uses", field="--kind"
            )
    return Ratio(float(mean[0]), float(np.sqrt(covariance[0, 0])), like)


def precision_of(family: str | None) -> str:
    """Return the precision of a family's bundled timings; fp32 if the family is not known.

    Raises:
        InputError: the family does not exist.
    """
    families = {row.family: row.precision for row in reversed(timings())}
    if family is not None and family not in families:
        raise InputError(f"{family!r} is none of {', '.join(families)}", field="--like")
    return families[family] if family else "fp32"


def time_ratios(
    own: GpuKind,
    other: GpuKind,
    programs: Sequence[tuple[str | None, str]],
    rates: Mapping[str, float] | None = None,
    *,
    timed: Sequence[Timing] | None = None,
    variances: Variances | None = None,
) -> tuple[Array, Array]:
    """Return mean and covariance, widened, of ln of the times on ``other`` over those on ``own``.

    Args:
        programs: family (None: not known) and precision of each program, which computes in fp32 on
            a kind without such units.
        rates: the first program's rates, by kind.
        timed, variances: other timings than the bundled ones, and their variances.

    Raises:
        InputError: one of the kinds has no timings.
    """
    timed = timed or timings()
    calibrated = {row.kind for row in timed}
    for kind in (own, other):
        if kind.name not in calibrated:
            raise InputError(
                f"no bundled timing is of {kind.name}: forecasts for it cannot be calibrated; "
                "time cells there and fit --update",
                field="--kind",
            )

    def row(number: int, kind: str, rate: float = 1.0) -> Timing:
        family, precision = programs[number]
        precision = precision if precision in catalogue()[kind].peaks else "fp32_matrix"
        return Timing(family or "", str(number), precision, kind, rate, "")

    rows = [*timed, *(row(0, kind, rate) for kind, rate in (rates or {}).items())]
    numbers = range(len(programs))
    wanted = [row(number, kind.name) for kind in (own, other) for number in numbers]
    variances = variances or fitted()
    spread = covariance([*rows, *wanted], variances)
    count = len(rows)
    known, across = spread[:count, :count], spread[count:, :count]
    gain = np.linalg.solve(known, across.T).T
    mean = gain @ np.log([timing.rate for timing in rows])
    left = spread[count:, count:] - gain @ across.T
    contrast = np.hstack([np.eye(len(programs)), -np.eye(len(programs))])
    return contrast @ mean, variances.widening**2 * (contrast @ left @ contrast.T)


def on_kind(
    model: Model,
    kind: str,
    *,
    like: str | None = None,
    from_kind: str | None = None,
    further: Mapping[str, Dataset] | None = None,
) -> Model:
    """Return ``model`` for GPUs of another kind; cells timed there update it (``Model.updated``).

    T_gpu gets the ratio of other programs' times, T_cpu and T_com the factor 1 with uncertainty
    ``OTHER_HOST`` (T_com also that of the ratio of the kinds' links). If a step's parts are not
    known, the ratio applies to the whole step; it may not apply to what does not grow with n, which
    widens intervals in proportion to its share.

    Args:
        like: the family of bundled timings to which the program belongs.
        from_kind: the kind on which the model was fitted; by default as its data state.
        further: steps of the program on further kinds, by kind; they tell which programs it
            resembles.

    Raises:
        InputError: a kind is not known or not calibrated, or the model was updated for another
            machine.
    """
    if model.machine_factors is not None:
        raise InputError(
            f"is {model.machine_factors.words}; take the model that was fitted", file=model.name
        )
    fitted_on = from_kind or model.machine.name
    if fitted_on is None and (named := kind_of(model.machine.id)):
        fitted_on = named.name  # the machine is named after its GPUs
    if fitted_on is None:
        raise InputError("the kind of GPU of the fitted steps is not stated", field="--from-kind")
    own, other = kind_named(fitted_on, "--from-kind"), kind_named(kind)
    if from_kind and model.machine.name and own != kind_named(model.machine.name, "--from-kind"):
        raise InputError(
            f"the model was fitted on {model.machine.name}, not on {own.name}", field="--from-kind"
        )
    if own == other:
        raise InputError(f"the model is of {own.name} already", field="--kind")
    known: dict[str, float] = {}
    for name, data in (further or {}).items():
        third = kind_named(name, "--further")
        if third in (own, other) or third.name in known:
            what = "--cells are for that" if third == other else "state each further kind once"
            raise InputError(f"{third.name}: {what}", field="--further")
        require_kind(data, third, "--further")
        known[third.name] = _measured_ratio(model, data)
    ratio = time_ratio(own, other, like, known)
    if model.knows_parts or model.timed_parts:
        means = [ratio.mean, 0.0, 0.0]
        # The factor lies between 1 and the ratio of the kinds' links, which not all copies use.
        links = float(np.log(own.link / other.link))
        spread = np.diag([ratio.sd**2, OTHER_HOST**2, OTHER_HOST**2 + links**2 / 12])
    else:
        means = [ratio.mean] * 3
        # The part that does not grow with n may take as long as on the model's own kind.
        unshared = OTHER_HOST**2 + (ratio.mean / Z90) ** 2
        spread = np.full((3, 3), ratio.sd**2) + np.diag([0.0, unshared, unshared])
    factors = MachineFactors(
        machine=other.name,
        kind=other.name,
        data=Origin(name=f"bundled timings of {like or 'all programs'}"),
        cells=TimedCells(n=[], gpus=[], seconds=[]),
        means=means,
        covariance=spread.tolist(),
        # The ratio's variance is of programs at one size each: at most half of it is a size's own.
        own=min(OF_A_SIZE * abs(ratio.mean), ratio.sd / np.sqrt(2)),
        memory=min(other.memory / own.memory, 1.0),
    )
    return replace(
        model,
        name=f"{model.name} on {other.name}",
        machine_factors=factors,
        remarks=[
            *model.remarks,
            *(remark(Kind.ASSUMED, text) for text in _rests_on(model, own, other, ratio)),
        ],
    )


def of_its_machine(model: Model, data: Dataset, steps: Sequence[Step]) -> list[Step]:
    """Return the steps of a dataset on the machine that a model forecasts, or on its kind of GPUs;
    if no machine is known to be that one, all steps that are not known to be of another kind."""
    factors = model.machine_factors
    if factors is None or factors.kind is None:
        name = model.machine.id if factors is None else factors.machine
        return [step for step in steps if step.machine == name] or list(steps)
    names = map(str, distinct(steps, "machine"))
    there = {name: kind_of(data.gpu_name(name) or name) for name in names}
    wanted = kind_named(factors.kind) if kind_named(factors.kind) in there.values() else None
    return [step for step in steps if there.get(str(step.machine)) == wanted]


def require_kind(data: Dataset, kind: GpuKind, field: str) -> None:
    """Refuse steps that state other kinds of GPU alone.

    Raises:
        InputError: no step is of this kind, or of none that is known.
    """
    names = map(str, distinct(data.steps, "machine"))
    stated = [kind_of(data.gpu_name(name) or name) for name in names]
    others = sorted({one.name for one in stated if one is not None})
    if stated and None not in stated and kind.name not in others:
        text = f"its steps are of {' and '.join(others)}, not of {kind.name}"
        raise InputError(text, file=data.name, field=field)


def kind_of(machine: object) -> GpuKind | None:
    """Return the kind of GPU after which a machine is named; None if the name does not tell."""
    return known_kind(str(machine or "").rpartition(", ")[2])


def _measured_ratio(model: Model, data: Dataset) -> float:
    """Return the median of ln of a dataset's times over the model's forecasts."""
    cells = samples_of(steps_of_kind(model.selection, data, ANY))
    seconds = [np.median(cell.seconds) for cell in cells.values()]
    forecasts = model.seconds(*np.array(list(cells), dtype=np.float64).T)
    return float(np.median(np.log(seconds / forecasts)))


def _rests_on(model: Model, own: GpuKind, other: GpuKind, ratio: Ratio) -> list[str]:
    """Return remarks on the basis of forecasts for the other kind."""
    low, high = (percent(end, 0) for end in ratio.interval)
    knows_parts = model.knows_parts or model.timed_parts
    part = "T_gpu" if knows_parts else "a step"
    rest = (
        "; host work and communication are taken as equal"
        if knows_parts
        else "; the part that does not grow with n may change differently"
    )
    texts = [
        f"{part} on {other.name} is taken as {percent(float(np.exp(ratio.mean)), 0)} (90 %: {low} "
        f"to {high}) of that on {own.name}, from timings of "
        f"{ratio.family or 'programs of all families (--like says which)'}{rest}: a cell timed "
        "there tells more"
    ]
    most = model.most_per_gpu
    if other.memory < own.memory and most is not None:
        fits = most * other.memory / own.memory
        texts.append(
            f"{other.name} has {other.memory / 1e9:.0f} GB, {own.name} has {own.memory / 1e9:.0f} "
            f"GB: more than n = {number(fits)} per GPU was not measured with that much memory"
        )
    return texts
