"""What one must know to believe a forecast, short enough to stand beside it; the worst first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from gpucast.answers.doubts import WITHIN, widest
from gpucast.model import lone_count
from gpucast.model.averaged_parts import STEPS_ALONE
from gpucast.model.fitted import Model
from gpucast.model.forecasts import Forecasts, missed
from gpucast.model.intervals import Array
from gpucast.model.mixtures import DISPUTED, MeasuredCells, Scaling
from gpucast.model.values import TimedCells
from gpucast.util.remarks import Kind
from gpucast.util.units import change, duration, gpus_in_words, number, percent

Ranked = tuple[float, str]
"""A relative error, and what to say of it."""

MISFIT = 0.02
"""Relative; a form that is off by less beyond noise is not worth a word beside every forecast."""

LEFT_OUT = 0.1
"""Held-out errors of the chosen form from here on are said."""

FLAT = 0.1
"""Relative; times that grow by less from the smallest to the largest n are as good as constant."""

SUPERLINEAR = 1.5
"""Efficiency relative to the fewest measured GPUs beyond which a slow cell of theirs is as likely
as memory or caches that they lack."""

_UNKNOWN = 0.5
"""Where nobody knows the error, it ranks as one of so much."""

_FEWEST_VALUES = 3
"""GPU counts, or sizes: two to learn growth from, and one to forecast."""

_DOUBTED = 1.0
"""That steps of cells may not be one another's, or what was timed beside steps not theirs."""

_NOT_TRIED = 1.5
"""That a run may end for want of memory."""

_NOT_KNOWN = 2.0
"""That times on other counts, or across hosts, are open."""

_MAYBE_NOT_KNOWN = 0.1
"""That they may be: before what small errors of forecasts on one host say of others."""


def caveats(
    model: Model,
    n: Array,
    gpus: Array,
    forecasts: Forecasts | None = None,
    per_host: int | None = None,
    within: float | None = WITHIN,
) -> list[str]:
    """All that is to be said of forecasts for pairs of ``n`` and ``gpus``, the worst first.

    Args:
        forecasts: these, where they are there already.
        per_host: how many GPUs a host has, where that is known.
        within: factor between the ends of an interval beyond which a doubt is said; None: it is
            said elsewhere.
    """
    ranked = [*_ranked(model, n, gpus, forecasts), *_across_hosts(model, gpus, per_host)]
    if within is not None and n.size:
        ranked += _doubted(model, n, gpus, within)
    return [text for _, text in sorted(ranked, key=lambda remark: -remark[0])]


def in_line(name: str, texts: Sequence[str]) -> str:
    """The first of some caveats of a model, and how many more there are.

    What else the fit warned of, it said itself, and a report says again.
    """
    more = f" (and {len(texts) - 1} more: --explain)" if len(texts) > 1 else ""
    return f"{name}: {texts[0]}{more}"


def _ranked(model: Model, n: Array, gpus: Array, forecasts: Forecasts | None) -> Iterator[Ranked]:
    """Relative errors, and what each is of."""
    for one in model.remarks:
        if one.kind == Kind.REHEARSED:
            yield math.inf, one.text
    if model.reconstruction is not None:
        yield math.inf, model.reconstruction.label
    if model.scaling is not None:
        yield from _of_traces(model, model.scaling, gpus)
        yield from _of_repetitions(model.scaling.cells, n, gpus)
        yield from _of_boundary(model.scaling.per_node, gpus)
    yield from _missed(model, n, gpus, forecasts)
    yield from _beyond(model, n, gpus)
    yield from _overfilled(model, n, gpus)
    yield from _superlinear(model, n, gpus, forecasts)
    quality = model.quality
    if quality is None:
        return
    if model.mixture is not None and model.mixture.steps_alone:
        yield _DOUBTED, STEPS_ALONE
    if not quality.converged and model.mixture is None:
        yield 1.0, "the fit did not converge"
    # What follows the data is not off by what a form is.
    off = model.between_cells
    if off >= MISFIT and model.knows_parts:
        yield off, f"the form is off by {percent(off, 0)} beyond noise"
    errors = {candidate.model: candidate.cv_error for candidate in model.candidates}
    left_out = errors.get(model.chosen or "") or 0.0
    if left_out >= LEFT_OUT:
        yield left_out, f"cells left out of the fit were missed by {percent(left_out, 0)}"


def _doubted(model: Model, n: Array, gpus: Array, within: float) -> Iterator[Ranked]:
    """The cell that is known least, of those that lie outermost."""
    size, count = np.log(n), np.log(gpus)
    ends = (size, count, size + count, size - count)
    at = np.unique([end for values in ends for end in (np.argmin(values), np.argmax(values))])
    doubt = widest(model, model.forecasts(n[at], gpus[at]), within)
    if doubt is not None:
        yield _NOT_KNOWN, str(doubt)


def _of_traces(model: Model, scaling: Scaling, gpus: Array) -> Iterator[Ranked]:
    """What traces leave open that no interval holds, or that makes it as wide as it is."""
    if _lone(model) and gpus.size and (gpus != model.lone_gpus).any():
        yield _NOT_KNOWN, lone_count.NOT_KNOWN
    for text in scaling.doubts:
        yield _DOUBTED, text


def _of_boundary(per_node: int | None, gpus: Array) -> Iterator[Ranked]:
    """That a node may end where steps get longer."""
    if per_node is not None and gpus.size and gpus.max() > per_node:
        yield (
            _NOT_KNOWN,
            f"beyond {per_node} GPUs steps took longer: forecasts hold both another node from "
            "there and exchange that grows; state the nodes",
        )


def _of_repetitions(cells: MeasuredCells, n: Array, gpus: Array) -> Iterator[Ranked]:
    """The cells asked about whose repetitions leave their time open."""
    rows = zip(cells.n, cells.gpus, cells.variance, strict=True)
    # Where all times scatter as much, no cell is doubted more than another.
    least = max(DISPUTED**2, 4 * float(np.median(cells.variance)))
    open_ = {(float(size), int(count)) for size, count, variance in rows if variance >= least}
    asked = dict.fromkeys(zip(n.tolist(), map(int, gpus.tolist()), strict=True))
    for size, count in (cell for cell in asked if cell in open_):
        cell = f"n = {number(size)} on {gpus_in_words(count)}"
        yield _DOUBTED, f"repetitions of {cell} disagree: its forecast is by the other cells"


def _missed(model: Model, n: Array, gpus: Array, forecasts: Forecasts | None) -> Iterator[Ranked]:
    """The measured cell asked about that is missed most, of those beyond their interval."""
    known = model.measured(n, gpus)
    at = np.flatnonzero(~np.isnan(known))
    if not at.size:
        return
    if forecasts is None:
        forecasts, known, at = model.forecasts(n[at], gpus[at]), known[at], np.arange(at.size)
    at = at[missed(forecasts, known)[at]]
    if not at.size:
        return
    error = forecasts.seconds[at] / known[at] - 1
    most = int(np.argmax(np.abs(error)))
    worst = at[most]
    cell = f"n = {number(float(forecasts.n[worst]))} on {gpus_in_words(int(forecasts.gpus[worst]))}"
    yield (
        float(np.abs(error[most])),
        f"{cell} took {duration(float(known[worst]))}, the model says "
        f"{duration(float(forecasts.seconds[worst]))} ({change(error[most])})",
    )


def _beyond(model: Model, n: Array, gpus: Array) -> Iterator[Ranked]:
    """How well the model forecast the largest GPU count and n that were measured without them."""
    if model.observations is None or not n.size:
        return
    quality, cells = model.quality, model.timed
    (least, most), (smallest, largest) = model.domain.gpus, model.domain.n

    def beyond(name: str, asked: float, where: str, error: float | None) -> Ranked | None:
        values = None if cells is None else cells.gpus if name == "N" else cells.n
        if error is not None:
            without = f"N = {most}" if name == "N" else "that n"
            text = f"forecasts without {without} missed it by {_share(error)}"
            return error, f"{where}: {text}{_further(f'{name} = {number(asked)}', asked, values)}"
        wanting = _wanting(model, "GPU counts" if name == "N" else "sizes", values)
        return (_UNKNOWN, f"{where}: {wanting}") if wanting else None

    remarks: list[Ranked | None] = []
    asked = float(gpus.max())
    if asked > most and not _lone(model):
        where = f"beyond {gpus_in_words(most)}"
        error = None if quality is None else quality.held_out_gpus_error
        alone = error is None and least == most
        no_other = _UNKNOWN, f"{where}: no other count was measured"
        remarks.append(no_other if alone else beyond("N", asked, where, error))
    asked, where = float(n.max()), f"beyond n = {number(largest)}"
    if asked > largest and model.scaling is not None and _flat(model.scaling.cells):
        flat = "measured times do not grow with n, so they say nothing of larger n; time one"
        remarks.append((_NOT_KNOWN, f"{where}: {flat}"))
    elif asked > largest or (smallest == largest and n.min() < largest):
        error = None if quality is None else quality.held_out_n_error
        guess = f"n = {number(largest)} alone was measured: growth with n is a guess"
        alone = error is None and smallest == largest
        remarks.append((_UNKNOWN, guess) if alone else beyond("n", asked, where, error))
    yield from filter(None, remarks)


def _flat(cells: TimedCells) -> bool:
    """Whether no GPU count's times grow from its smallest to its largest n, of at least twice the
    size: a GPU that so little work does not fill says nothing of one that is full."""
    n, gpus, seconds = (np.array(column) for column in (cells.n, cells.gpus, cells.seconds))
    grown = []
    for count in np.unique(gpus):
        at = np.flatnonzero(gpus == count)
        least, most = at[np.argmin(n[at])], at[np.argmax(n[at])]
        if n[most] >= 2 * n[least]:
            grown.append(seconds[most] / seconds[least] - 1)
    return bool(grown) and max(grown) < FLAT


def _superlinear(
    model: Model, n: Array, gpus: Array, forecasts: Forecasts | None
) -> Iterator[Ranked]:
    """The cell asked about whose efficiency is the highest, if it is too high."""
    fewest = model.domain.gpus[0]
    if not (gpus > fewest).any() or _lone(model):
        return
    seconds = model.seconds(n, gpus) if forecasts is None else forecasts.seconds
    of_fewest = dict(zip(n[gpus == fewest], seconds[gpus == fewest], strict=True))
    more = gpus > fewest
    n, gpus, seconds = n[more], gpus[more], seconds[more]
    others = np.setdiff1d(n, list(of_fewest))
    if others.size:
        times = model.seconds(others, np.full(others.size, fewest))
        of_fewest.update(zip(others, times, strict=True))
    few = np.array([of_fewest[size] for size in n])
    efficiency = fewest * few / (gpus * seconds)
    at = int(np.argmax(efficiency))
    if efficiency[at] > SUPERLINEAR:
        yield (
            _DOUBTED,
            f"n = {number(float(n[at]))} on {gpus_in_words(int(gpus[at]))} has an efficiency of "
            f"{percent(float(efficiency[at]), 0)} relative to {gpus_in_words(fewest)}: either "
            "these lack memory or caches for it, or a cell of theirs is too slow; time that again",
        )


def _overfilled(model: Model, n: Array, gpus: Array) -> Iterator[Ranked]:
    """The size that gives a GPU most, among those that were measured on more GPUs only; another
    remark says that larger sizes lie beyond the data."""
    most, other = model.most_per_gpu, model.machine_factors
    smaller = other is not None and other.memory < 1
    at = np.flatnonzero(model.overfills(n, gpus) & (smaller | (n <= model.domain.n[1])))
    if most is None or not at.size:
        return
    worst = at[np.argmax(n[at] / gpus[at])]
    cell = f"n = {number(float(n[worst]))} on {gpus_in_words(int(gpus[worst]))}"
    yield (
        _NOT_TRIED,
        f"{cell}: no GPU {'of so little memory ' * smaller}had more than n = {number(most)}; "
        "whether its memory holds that was not tried",
    )


def _across_hosts(model: Model, gpus: Array, per_host: int | None) -> Iterator[Ranked]:
    """That the most GPUs asked about take several hosts, or may, where one alone was measured."""
    most = int(gpus.max()) if gpus.size else 0
    if model.observations is None:
        return
    nodes = model.nodes
    known = bool(nodes) and min(nodes) > 0
    if per_host is None:
        if known and max(nodes) == 1 and most > model.domain.gpus[1]:
            yield (
                _MAYBE_NOT_KNOWN,
                f"all measured within one host: if {gpus_in_words(most)} take several, the network "
                "between them was not measured",
            )
    elif most > per_host and (max(nodes) == 1 if known else model.domain.gpus[1] <= per_host):
        yield (
            _NOT_KNOWN,
            f"all measured within one host; {gpus_in_words(most)} take "
            f"{math.ceil(most / per_host)} hosts: the network between them was not measured",
        )


def _further(name: str, asked: float, measured: Sequence[float] | None) -> str:
    """That an error is of a nearer forecast, where what is asked about lies further beyond what was
    measured than the largest of that beyond the others."""
    values = sorted(set(measured or ()))
    near = len(values) > 1 and asked / values[-1] <= values[-1] / values[-2]
    return "" if near else f"; {name} lies further out"


def _wanting(model: Model, what: str, measured: Sequence[float] | None) -> str | None:
    """Why nobody knows how well the model forecasts beyond its cells; None where it was not asked
    for, as of a form that the user named."""
    if measured is None:
        return None
    if len(set(measured)) < _FEWEST_VALUES:
        return f"forecasts could not be tried for want of {what}"
    return "forecasts could not be tried for want of cells" if model.weighed else None


def _lone(model: Model) -> bool:
    """Whether one count alone was timed, and nothing tells of others."""
    scaling = model.scaling
    open_ = scaling is not None and (scaling.traced or scaling.unshared is not None)
    return open_ and model.lone_gpus is not None


def _share(error: float) -> str:
    return f"{100 * error:.{0 if error >= 0.01 else 1}f} %"
