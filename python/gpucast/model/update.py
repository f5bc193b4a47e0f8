"""A model told by a few cells how another machine, or another time, differs from what was fitted.

The forms, and what the fit found of them, stay; what moves are the factors on T_gpu, T_cpu and
T_com that all cells of a machine share (``gpucast.model.intervals``). Two or three cells of
different n and GPU count tell them apart as far as the parts' shares differ among them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.formats import UNNAMED
from gpucast.data.records import Step
from gpucast.data.selection import FIELDS, StepSelection, distinct, only
from gpucast.data.steps import Cell, samples_of
from gpucast.errors import InputError
from gpucast.model.adjustments import MachineFactors
from gpucast.model.intervals import Array, CommonFactors, common_variance, learnt
from gpucast.model.values import Gpu, Origin, TimedCells, now
from gpucast.util.units import duration, number

OTHER_KIND = 1.0
"""Sd of the logarithms of the factors of GPUs of another kind, of which nothing is known."""

UNLIKELY = 3.0
"""Standard deviations by which machines of one kind hardly differ."""

_FIT_ALONE = "a fit to cells of its own, over sizes and counts, says more than an update"

FARTHEST = 10.0
"""Times that differ by a larger factor are of another program, or in another unit."""


def machine_factors(
    data: Dataset,
    steps: Sequence[Step],
    fitted: Gpu,
    common: CommonFactors,
    parts: Array,
    variance: Array,
    known: MachineFactors | None = None,
) -> tuple[MachineFactors, str | None]:
    """What steps say of the machine they were timed on; a cell's time is its samples' median.

    GPUs of another kind are told by their name, or by times that machines of one kind cannot have:
    then nothing is known beforehand of how much they differ.

    Args:
        data: what the steps are of.
        fitted: the GPUs that the model was fitted to.
        common: by how much machines differ.
        parts: forecasts of T_gpu, T_cpu, T_com of each cell, in the order of ``samples_of``; s.
        variance: of the difference of measured and forecast ln T of each, were both of one machine
            and time.
        known: what is known of the machine's kind of GPU beforehand, without cells.

    Returns:
        The factors, and why the GPUs are of another kind; None: nothing says so.

    Raises:
        InputError: a time is far from its forecast.
    """
    machine = only(steps, "machine", data.name)
    cells = samples_of(steps)
    seconds = np.array([np.median(cell.seconds) for cell in cells.values()])
    before = np.zeros(3) if known is None else np.array(known.means)
    parts = parts * np.exp(before)
    _refuse_far(list(cells), parts.sum(axis=1), seconds, data.name)
    visits = np.array([cell.visits for cell in cells.values()])
    own = common_variance(parts, common.visit) / visits + common_variance(parts, common.cell)
    same_machine = machine == fitted.id != UNNAMED
    prior = common.prior(same_machine=same_machine)
    if known is not None:
        # The covariance holds what is each size's own, on the parts that the ratio is of.
        of_ratio = np.array(known.covariance[0]) != 0
        prior = common.later + known.covariance - known.own**2 * np.outer(of_ratio, of_ratio)
        own = own + known.own**2
    kind = None if known is not None else _other_kind(data, machine, fitted)
    if kind is None and known is None and not same_machine:
        kind = _unlike(prior, parts, seconds, variance + own)
    if kind is not None:
        prior = prior + OTHER_KIND**2 * (np.ones((3, 3)) + np.eye(3)) / 2
    means, covariance = learnt(prior, parts, seconds, variance + own)
    factors = MachineFactors(
        # What was imported without a name is called by its file.
        machine=data.name if machine in (None, UNNAMED) else str(machine),
        data=Origin(name=data.name, digest=data.digest),
        cells=TimedCells(
            n=[float(n) for n, _ in cells],
            gpus=[int(gpus) for _, gpus in cells],
            seconds=seconds.tolist(),
        ),
        means=(before + means).tolist(),
        covariance=covariance.tolist(),
        created=now(),
        kind=None if known is None else known.kind,
        own=0.0 if known is None else known.own,
        memory=1.0 if known is None else known.memory,
    )
    return factors, kind


def _other_kind(data: Dataset, machine: object, fitted: Gpu) -> str | None:
    """What names of GPUs say, where both are known."""
    name = data.gpu_name(None if machine is None else str(machine))
    if name is None or fitted.name is None or name == fitted.name:
        return None
    return f"{name} is another kind of GPU than {fitted.name}: {_FIT_ALONE}"


def _unlike(prior: Array, parts: Array, seconds: Array, variance: Array) -> str | None:
    """What times say that GPUs of one kind would hardly take."""
    shares = parts / parts.sum(axis=1)[:, np.newaxis]
    spread = np.sqrt(np.einsum("ij,jk,ik->i", shares, prior, shares) + variance)
    off = np.log(seconds / parts.sum(axis=1))
    if np.median(np.abs(off) / spread) < UNLIKELY:
        return None
    times = float(np.exp(np.median(off)))
    return f"steps take {times:.3g} times as long: by that another kind of GPU; {_FIT_ALONE}"


def steps_of_kind(about: StepSelection, data: Dataset, selection: StepSelection) -> list[Step]:
    """The steps of a dataset that are of what a model forecasts, of one machine.

    Args:
        about: what the model forecasts.
        selection: which steps, where there are several kinds that it might forecast.

    Raises:
        InputError: there are none, or those of several machines.
    """
    steps = data.select(selection).steps
    kept = [step for step in steps if about.admits(step) and not step.cold]
    if kept:
        only(kept, "machine", data.name)
        return kept
    if not steps:
        raise InputError("there are no steps to update the model by", file=data.name)
    for field in FIELDS:
        wanted, there = getattr(about, field), distinct(steps, field)
        if wanted is not None and there and wanted not in there:
            others = ", ".join(map(str, there))
            raise InputError(
                f"its steps are of {field} {others}, the model's of {wanted}; time the same steps",
                file=data.name,
                field=field,
            )
    raise InputError(f"there are no steps of {about}", file=data.name)


def _refuse_far(cells: Sequence[Cell], forecast: Array, seconds: Array, name: str) -> None:
    """Refuse what cannot be the same work on a machine of the same kind."""
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
