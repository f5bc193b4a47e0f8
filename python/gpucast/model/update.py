"""Updates a model for another machine, or another time, from a few cells that were timed there.

The forms and their fitted parameters stay; only the factors on T_gpu, T_cpu and T_com change, which
all cells of a machine share (``gpucast.model.intervals``). Two or three cells of different n and
GPU count separate these factors as far as the parts' shares differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag

from gpucast import _core
from gpucast.data.dataset import Dataset
from gpucast.data.formats import UNNAMED
from gpucast.data.records import Step
from gpucast.data.selection import FIELDS, StepSelection, distinct, only
from gpucast.data.steps import Cell, Samples, samples_of
from gpucast.errors import InputError
from gpucast.model.adjustments import MachineFactors, SizeEffect
from gpucast.model.intervals import Array, CommonFactors, common_variance, learnt, shares_of
from gpucast.model.mixtures import DISPUTED
from gpucast.model.size_features import size_covariance, size_features
from gpucast.model.values import Gpu, Origin, TimedCells, now
from gpucast.util.order_statistics import disagreeing, own_deviation
from gpucast.util.units import duration, gpus_in_words, number

OTHER_KIND = 1.0
"""Prior sd of the logarithms of the factors for an unknown kind of GPU."""

UNLIKELY = 3.0
"""Deviation, in standard deviations, that is unlikely between machines of one kind, or between a
cell and the others timed there ..."""

CONTRADICTS = 6.0
"""... and of a cell that is named: totals whose parts are not known deviate by more than 3."""

_FIT_ALONE = "a fit to its own cells, over sizes and counts, tells more than an update"

ENOUGH_ALONE = 6
"""Number of cells on another kind from which a fit to these alone is worth trying."""

FARTHEST = 10.0
"""Times that differ by a larger factor belong to another program, or have another unit."""


def machine_factors(
    data: Dataset,
    steps: Sequence[Step],
    fitted: Gpu,
    common: CommonFactors,
    parts: Array,
    variance: Array,
    known: MachineFactors | None = None,
) -> tuple[MachineFactors, list[str]]:
    """Estimate a machine's factors from steps timed there; a cell's time is its samples' median.

    GPUs of another kind are recognized by their name, or by times that are impossible on machines
    of one kind; the prior of their factors is then wide.

    Args:
        data: the dataset of the steps.
        fitted: the GPUs on which the model was fitted.
        common: scatter between machines.
        parts: forecasts of T_gpu, T_cpu, T_com of each cell (s), in the order of ``samples_of``.
        variance: variance of the difference of measured and forecast ln T of each cell if both were
            of one machine and time.
        known: factors of the machine's kind of GPU that are known without cells.

    Returns:
        The factors, and remarks: a cell that contradicts the others, and why a fit to the cells
        alone tells more.

    Raises:
        InputError: a time is far from its forecast, or repetitions of a cell are far apart.
    """
    machine = only(steps, "machine", data.name)
    cells = samples_of(steps)
    _refuse_disputed(cells, data.name)
    seconds = np.array([np.median(cell.seconds) for cell in cells.values()])
    before = np.zeros(3) if known is None else np.array(known.means)
    parts = parts * np.exp(before)
    _refuse_far(list(cells), parts.sum(axis=1), seconds, data.name)
    visits = np.array([cell.visits for cell in cells.values()])
    noise = variance + common_variance(parts, common.visit) / visits
    noise += common_variance(parts, common.cell)
    noise = np.maximum(noise, [_scatter(cell.seconds) for cell in cells.values()])
    if known is not None:
        all_n = np.array([float(n) for n, _ in cells])
        sizes = np.unique(all_n)
        prior, alone = _prior_of_kind(known, common, sizes, len(cells))
        features = size_features(all_n, sizes, known.own)
    else:
        same_machine = machine == fitted.id != UNNAMED
        prior, features = common.prior(same_machine=same_machine), None
        alone = _other_kind(data, machine, fitted)
        if alone is None and not same_machine:
            alone = _unlike(prior, parts, seconds, noise)
        if alone is not None:
            prior = prior + OTHER_KIND**2 * (np.ones((3, 3)) + np.eye(3)) / 2
    design = shares_of(parts) if features is None else np.hstack([shares_of(parts), features])
    off = np.log(seconds / parts.sum(axis=1))
    conflict, text = _conflict(list(cells), design @ prior @ design.T, off, seconds, noise)
    # What contradicts itself is known less well: Birge's ratio.
    noise = noise * max(1.0, conflict / UNLIKELY) ** 2
    means, covariance = learnt(prior, parts, seconds, noise, features)
    remarks = [text] if conflict > CONTRADICTS else []
    remarks += [alone] if alone is not None else []
    factors = MachineFactors(
        # A machine that was imported without a name is named after its file.
        machine=data.name if machine in (None, UNNAMED) else str(machine),
        data=Origin(name=data.name, digest=data.digest),
        cells=TimedCells(
            n=[float(n) for n, _ in cells],
            gpus=[int(gpus) for _, gpus in cells],
            seconds=seconds.tolist(),
        ),
        means=(before + means[:3]).tolist(),
        covariance=covariance[:3, :3].tolist(),
        created=now(),
    )
    if known is not None:
        of_size = SizeEffect(
            sizes=sizes.tolist(), means=means[3:].tolist(), covariance=covariance[3:].tolist()
        )
        of_kind = {name: getattr(known, name) for name in ("kind", "own", "memory")}
        factors = replace(factors, **of_kind, of_size=of_size)
    return factors, remarks


def _prior_of_kind(
    known: MachineFactors, common: CommonFactors, sizes: Array, cells: int
) -> tuple[Array, str | None]:
    """Return the prior covariance of a kind's factors and of ``size_features``' variables, and why
    a fit to its cells alone tells more, or None."""
    # The covariance includes the sizes' own variance, on the parts to which the ratio applies.
    has_ratio = np.array(known.covariance[0]) != 0
    of_parts = common.later + known.covariance - known.own**2 * np.outer(has_ratio, has_ratio)
    prior = block_diag(of_parts, size_covariance(sizes, known.own))
    enough = cells >= ENOUGH_ALONE
    return prior, f"{cells} cells of {known.kind} were timed: {_FIT_ALONE}" if enough else None


def _other_kind(data: Dataset, machine: object, fitted: Gpu) -> str | None:
    """Return why the GPUs are of another kind, by their names if both are known; else None."""
    name = data.gpu_name(None if machine is None else str(machine))
    if name is None or fitted.name is None or name == fitted.name:
        return None
    return f"{name} is another kind of GPU than {fitted.name}: {_FIT_ALONE}"


def _unlike(prior: Array, parts: Array, seconds: Array, variance: Array) -> str | None:
    """Return why the GPUs are of another kind, by their times; None if they seem the same."""
    spread = np.sqrt(common_variance(parts, prior) + variance)
    off = np.log(seconds / parts.sum(axis=1))
    if np.median(np.abs(off) / spread) < UNLIKELY:
        return None
    times = float(np.exp(np.median(off)))
    return f"steps take {times:.3g} times as long, as on another kind of GPU; {_FIT_ALONE}"


def _scatter(seconds: Sequence[float]) -> float:
    """Return the variance of ln of a cell's median by its repetitions; 0 if there is one alone."""
    return own_deviation(seconds) ** 2 * _core.median_variance(len(seconds))


def _conflict(
    cells: Sequence[Cell], prior: Array, off: Array, seconds: Array, noise: Array
) -> tuple[float, str]:
    """Return by how many standard deviations the worst cell differs from its forecast by the
    others, 0 if there are none, and what to say of it.

    Differences and standard deviations are those of leave-one-out prediction (Rasmussen and
    Williams, Gaussian Processes for Machine Learning, 5.4.2).

    Args:
        prior: covariance of the cells' ln T without noise.
        off: ln of measured over forecast times.
    """
    if len(cells) < 2:
        return 0.0, ""
    precision = np.linalg.inv(prior + np.diag(noise))
    away = precision @ off / np.diag(precision)
    unlikely = np.abs(away) * np.sqrt(np.diag(precision))
    worst = int(np.argmax(unlikely))
    n, gpus = cells[worst]
    expected = float(seconds[worst] * np.exp(-away[worst]))
    return float(unlikely[worst]), (
        f"n = {number(n)} on {gpus_in_words(gpus)} took {duration(float(seconds[worst]))}, the "
        f"other cells timed there suggest {duration(expected)}: one of them may be wrong"
    )


def steps_of_kind(about: StepSelection, data: Dataset, selection: StepSelection) -> list[Step]:
    """Return the steps of a dataset that a model forecasts, all of one machine.

    Args:
        about: the steps that the model forecasts.
        selection: chooses among several kinds of steps that it might forecast.

    Raises:
        InputError: there are none, or they are of several machines.
    """
    steps = data.select(selection).steps
    kept = [step for step in steps if about.admits(step) and not step.cold]
    if kept:
        only(kept, "machine", data.name)
        return kept
    if not steps:
        raise InputError("there are no steps to update the model by", file=data.name)
    for field in FIELDS:
        wanted, available = getattr(about, field), distinct(steps, field)
        if wanted is not None and available and wanted not in available:
            others = ", ".join(map(str, available))
            raise InputError(
                f"its steps are of {field} {others}, the model's of {wanted}; time the same steps",
                file=data.name,
                field=field,
            )
    raise InputError(f"there are no steps of {about}", file=data.name)


def _refuse_disputed(cells: Mapping[Cell, Samples], name: str) -> None:
    """Refuse repetitions of which nobody can tell which are right."""
    samples = {cell: own.seconds for cell, own in cells.items()}
    for n, gpus in disagreeing(samples):
        if own_deviation(samples[n, gpus]) >= DISPUTED:
            times = sorted(samples[n, gpus])
            raise InputError(
                f"repetitions of n = {number(n)} on {gpus_in_words(gpus)} took "
                f"{duration(times[0])} to {duration(times[-1])}; leave out those that are wrong",
                file=name,
                field="seconds",
            )


def _refuse_far(cells: Sequence[Cell], forecast: Array, seconds: Array, name: str) -> None:
    """Refuse times that cannot be of the same work on a machine of the same kind."""
    far = np.flatnonzero(np.abs(np.log(seconds / forecast)) > np.log(FARTHEST))
    if far.size:
        i = int(far[0])
        n, gpus = cells[i]
        raise InputError(
            f"n = {number(n)} on {gpus} GPU(s) took {duration(float(seconds[i]))}, the model says "
            f"{duration(float(forecast[i]))}: no machine of the same kind; is it the same program, "
            "in seconds?",
            file=name,
            field="seconds",
        )
