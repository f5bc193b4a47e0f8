"""The content of a report as a plain dict of numbers and texts, independent of the page.

All values are JSON values in SI units without HTML or formatting. ``render`` makes the page.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpucast.answers.advice import next_cells
from gpucast.answers.caveats import caveats
from gpucast.answers.comparison import compare
from gpucast.answers.planning.replicates import slow_by
from gpucast.answers.scaling import THRESHOLD, sensible_count, weak
from gpucast.answers.throughput import NONE, Throughput
from gpucast.answers.validation import Cell, refuted, validate
from gpucast.data.dataset import Dataset
from gpucast.data.selection import StepSelection, distinct
from gpucast.data.workload import LARGEST_N
from gpucast.errors import InputError
from gpucast.model.asked import outer, spaced
from gpucast.model.facts import MORE_PER_GPU
from gpucast.model.fitted import Model
from gpucast.model.forecasts import Forecasts
from gpucast.model.intervals import SURE, Interval, interval_named
from gpucast.model.kinds import of_its_machine
from gpucast.show.report import curves
from gpucast.show.report.picture import decades
from gpucast.util import JsonObject
from gpucast.util.typed_json import to_json
from gpucast.util.units import plain

Array = NDArray[np.float64]

SIZES = 161
"""Number of stops of the page's slider for n, at which forecasts are the model's own."""

BEYOND = 4.0
"""The page goes up to this factor times the largest fitted n and, if more than the usual GPUs were
fitted, times the most GPUs."""

USUAL_GPUS = 8
"""The page shows GPU counts at least up to this one, if the model can forecast them."""

STEPS = {
    Interval.now: "single steps",
    Interval.later: "single steps, later on the same machines,",
    Interval.machine: "single steps on other machines of the kind",
}
"""Texts about what 90 % intervals hold."""

MOST_MODELS = 6
MOST_COUNTS = 1000


def content(
    models: Sequence[Model],
    data: Dataset | None = None,
    *,
    title: str | None = None,
    sizes: Sequence[float] | None = None,
    gpus: Sequence[float] | None = None,
    interval: str = Interval.now,
    efficiency: float = THRESHOLD,
    per_gpu: float | None = None,
    throughput: Throughput = NONE,
) -> JsonObject:
    """Return the content of a report of some models.

    Args:
        models: one, or several to compare (native first, then remote).
        data: measured steps for comparison; each model uses those of its own path.
        title: title of the page.
        sizes: n to show; the least and the largest are the range.
        gpus: GPU counts to show; by default 1 to 8, and more if measured.
        interval: whether intervals and probabilities are about steps now, later, or on another
            machine.
        efficiency: default of the least efficiency of a sensible GPU count.
        per_gpu: n / N of weak scaling; by default as measured.
        throughput: units of work per step.

    Returns:
        ``title``, ``steps`` (what intervals hold 90 % of), ``unit`` (what n counts),
        ``n`` {values, start}, ``gpus``, ``most`` (GPUs that the first answer may take), ``sure``
        (probability of being in time that counts as sure), ``efficiency``, ``measured_gpus``,
        ``models`` (a dict each: label, curves, shares, cells, parameters, ...), ``extra`` (each
        further model over the first), ``table`` (the answer for round n), ``weak``
        (each model's steps with the same n on each GPU), ``throughput`` (what its rows count),
        ``warnings``.

    Raises:
        InputError: there are no or too many models, a count cannot be forecast, or the data hold no
            steps of any model.
    """
    if not 1 <= len(models) <= MOST_MODELS:
        raise InputError(f"a report is about 1 to {MOST_MODELS} models, not {len(models)}")
    for model in models:
        model.check_shared_out()
    kind = interval_named(interval)
    counts = _counts(models, gpus)
    n = _sizes(models, data, sizes)
    labels = _labels(models)
    most = _most(models, counts) if gpus is None else int(counts[-1])
    described = [
        _model(model, label, n, counts, data, most, kind)
        for model, label in zip(models, labels, strict=True)
    ]
    if data is not None and not any(model["cells"] for model in described):
        wanted = "; ".join(model["about"] for model in described)
        raise InputError(f"there are no steps of {wanted}", file=data.name)
    # The page starts at the largest requested n, else at the largest fitted one.
    first = min(model.usual_sizes[1] for model in models) if sizes is None else max(sizes)
    start = float(n[np.argmin(np.abs(np.log(n / first)))])
    return {
        "title": title or _title(models, described),
        "steps": STEPS[kind],
        "unit": _unit(models),
        "n": {"values": _plain(n), "start": plain(start)},
        "gpus": _plain(counts),
        "most": most,
        "sure": SURE,
        "efficiency": efficiency,
        "measured_gpus": _measured_gpus(models),
        "models": described,
        "extra": [
            _extra(models[0], other, n, counts, at, kind)
            for at, other in enumerate(models[1:], start=1)
        ],
        "table": _table(models, labels, n, counts[counts <= most], kind, efficiency),
        "weak": [
            _weak(model, per_gpu, counts[counts <= most], kind, throughput) for model in models
        ],
        "throughput": throughput.unit,
        "data": None if data is None else {"name": data.name, "digest": data.digest},
        "warnings": [] if data is None else list(data.warnings),
    }


def _counts(models: Sequence[Model], gpus: Sequence[float] | None) -> Array:
    """Return GPU counts that all models can forecast."""
    measured = _measured_gpus(models)
    wanted = np.array(
        sorted({*range(1, USUAL_GPUS + 1), *_doublings(measured)} if gpus is None else set(gpus)),
        dtype=np.float64,
    )
    if wanted.size > MOST_COUNTS:
        raise InputError(
            f"a page shows at most {MOST_COUNTS} GPU counts, not {wanted.size}", field="gpus"
        )
    for model in models:
        try:
            model.forecasts(np.full(wanted.size, 1000.0), wanted)
        except InputError:
            if gpus is not None:
                raise
            wanted = wanted[wanted <= model.domain.gpus[1]]
    return wanted


def _measured_gpus(models: Sequence[Model]) -> int:
    return max(model.domain.gpus[1] for model in models)


def _most(models: Sequence[Model], counts: Array) -> int:
    """Return the default of the most GPUs of an answer: the most measured, if there are several."""
    measured = counts[counts <= _measured_gpus(models)]
    return int((measured if measured.size > 1 else counts)[-1])


def _doublings(measured: int) -> set[int]:
    most = BEYOND * measured if measured > USUAL_GPUS else measured
    beyond = {USUAL_GPUS * 2**power for power in range(1, 18)}
    return {count for count in beyond if count <= most} | {measured}


def _sizes(models: Sequence[Model], data: Dataset | None, sizes: Sequence[float] | None) -> Array:
    """Return the slider's stops: even in log n, including measured sizes and fitted ends."""
    ends = [end for model in models for end in model.usual_sizes]
    least, largest = min(ends), min(max(ends) * BEYOND, LARGEST_N)
    if sizes is not None:
        least, largest = min(sizes), max(sizes)
    measured = [step.n for step in data.steps] if data is not None else []
    # Answers at these sizes depend on measurements.
    measured += [size for model in models if model.timed for size in model.timed.n]
    wanted = np.unique(
        [*spaced(least, largest, SIZES), *ends, *measured, *(sizes or ()), *decades(least, largest)]
    )
    wanted = np.asarray(wanted[(wanted >= least) & (wanted <= largest)], dtype=np.float64)
    if wanted.size < 2:
        raise InputError("needs two different sizes at least", field="n")
    return wanted


def _labels(models: Sequence[Model]) -> list[str]:
    paths = [_path(model) for model in models]
    if len(models) == 1 and models[0].data.program is not None:
        return [models[0].data.program]
    names = paths if len(set(paths)) == len(paths) else [model.name for model in models]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: at + 1].count(name)})"
        for at, name in enumerate(names)
    ]


def _path(model: Model) -> str:
    what_if = model.data.what_if
    return model.data.path if what_if is None else f"{what_if.path} (what if)"


def _unit(models: Sequence[Model]) -> str | None:
    """Return what n counts (particles for our own programs); None if models differ or do not state
    it."""
    units = {"particles" if model.own_program else model.unit for model in models}
    return units.pop() if len(units) == 1 else None


def _title(models: Sequence[Model], described: Sequence[JsonObject]) -> str:
    if len(described) == 1:
        unit = _unit(models)
        return f"How many GPUs should n {unit} get?" if unit else "How many GPUs for size n?"
    return f"How many GPUs, and {' or '.join(model['label'] for model in described)}?"


def _model(
    model: Model,
    label: str,
    n: Array,
    counts: Array,
    data: Dataset | None,
    most: int,
    interval: Interval,
) -> JsonObject:
    """Describe a model; ``most``: most GPUs of the first answer."""
    about = model.data
    # The part that is shown as in the file.
    content = model.content
    cells = _cells(model, data, interval)
    drawn = [curves.curve(model, int(count), n, interval) for count in counts]
    times = _times(model, drawn, n)
    is_fitted_data = data is not None and about.what_if is None and data.digest == about.digest
    held = refuted(cells, data.name) if data is not None else None
    about_cells = [] if held is None else [held]
    # Caveats of answers inside the fitted range, beyond its sizes, beyond its GPU counts, and both.
    n_by_range = {"inside": n[(n >= model.domain.n[0]) & (n <= model.domain.n[1])], "beyond": n}
    gpus_by_range = {"inside": counts[counts <= model.domain.gpus[1]], "beyond": counts}
    caveats_at = {
        f"n {sizes}, gpus {gpus}": about_cells + caveats(model, *_filled(model, some, few))
        for sizes, some in n_by_range.items()
        for gpus, few in gpus_by_range.items()
    }
    return {
        "name": model.name,
        "label": label,
        "about": ", ".join(filter(None, (f"path {_path(model)!r}", about.words))),
        "chosen": model.chosen or model.form,
        "unit": model.unit,
        "timestep": model.timestep,
        "parts": model.knows_parts,
        "forms": content["candidates"] if model.weighed else [],
        "believed": _believed(n, counts, times),
        "domain": {
            **content["domain"],
            "n": _plain(np.array(model.domain.n)),
            "per_gpu": model.most_per_gpu and MORE_PER_GPU * model.most_per_gpu,
        },
        "curves": [
            {
                "gpus": curve.gpus,
                "n": _plain(curve.forecasts.n),
                "seconds": _digits(curve.forecasts.seconds, 6),
                # Factors to the ends of both intervals and to the time that is not exceeded with
                # probability SURE, and shares of two terms.
                **{
                    end: _digits(getattr(curve.forecasts, end) / curve.forecasts.seconds, 5)
                    for end in ("low", "high", "mean_low", "mean_high")
                },
                "sure": _digits(slow_by(model, curve.forecasts.n, curve.gpus, SURE, interval), 5),
                "gpu": _digits(curve.forecasts.t_gpu / curve.forecasts.seconds, 4),
                "com": _digits(curve.forecasts.t_com / curve.forecasts.seconds, 4),
            }
            for curve in drawn
        ],
        "interpolation_error": curves.largest_error(model, drawn),
        "shares": _shares(model, n, counts, times, most, interval),
        "cells": cells,
        "caveats": caveats_at["n beyond, gpus beyond"],
        "caveat_at": {place: next(iter(texts), None) for place, texts in caveats_at.items()},
        "refuted": held,
        "of_fit": is_fitted_data,
        # Intervals that measurements contradict cannot tell what to measure.
        "next": None if held is not None and not is_fitted_data else _next(model, cells, data),
        **_terms(model),
        "quality": content["quality"] or {},
        "candidates": sorted(
            content["candidates"],
            key=lambda form: np.inf if form["cv_error"] is None else form["cv_error"],
        ),
        "observations": content["observations"] or {},
        **{key: content[key] for key in ("machine", "data")},
        **{key: getattr(model, key) for key in ("created", "warnings", "notes")},
    }


def _terms(model: Model) -> JsonObject:
    """Return what is known about the parameters; nothing if only step times are known, because such
    parameters mean little."""
    if not model.own_program:
        identified: JsonObject = {"rank": None, "parameters": 0, "not_alone": []}
        empty: JsonObject = {key: [] for key in ("parameters", "combinations", "k_profile")}
        return {**empty, "identified": identified, "k": None, "k_plausible": []}
    known = model.parameters
    return {
        "parameters": [{"name": name, **to_json(value)} for name, value in known.items()],
        "identified": {
            "rank": model.rank,
            "parameters": len(known),
            "not_alone": [name for name, value in known.items() if not value.identified],
        },
        **{key: model.content[key] for key in ("combinations", "k_profile")},
        **{key: getattr(model, key) for key in ("k", "k_plausible")},
    }


def _times(model: Model, drawn: Sequence[curves.Curve], n: Array) -> tuple[Array, Array]:
    """Return the model's ``times`` from its curves, which contain the forecasts of every n."""
    columns = []
    for curve in drawn:
        forecasts, here = curve.forecasts, np.isin(curve.forecasts.n, n)
        believed = model.believed(forecasts)
        columns.append((forecasts.seconds[here], believed[here]))
    forecast, believed = (np.column_stack(column) for column in zip(*columns, strict=True))
    return forecast, believed


def _believed(n: Array, counts: Array, times: tuple[Array, Array]) -> JsonObject:
    """Return the cells whose measured times replace the forecasts."""
    forecast, believed = times
    n_index, gpus_index = np.nonzero(believed != forecast)
    return {
        "n": _plain(n[n_index]),
        "gpus": _plain(counts[gpus_index]),
        "seconds": _digits(believed[n_index, gpus_index], 6),
    }


def _shares(
    model: Model,
    n: Array,
    counts: Array,
    times: tuple[Array, Array],
    most: int,
    interval: Interval,
) -> list[list[list[float]]] | None:
    """Return probabilities of being the fastest of the first 1, 2, ... counts,
    [choice][n][count]."""
    if not model.draw_count:
        return None
    by_size = list(model.believed_shares_of_first(n, counts, times, interval))
    by_choice = [
        [_digits(size_shares[at, : at + 1], 3) for size_shares in by_size]
        for at in range(counts.size)
    ]
    # Other draws change shares by some per cent. Few counts, and those of the page's first answer,
    # use the same draws as the other commands.
    for some in {*range(1, USUAL_GPUS + 1), int(np.sum(counts <= most))}:
        if some < counts.size:
            known = (times[0][:, :some], times[1][:, :some])
            shares = model.believed_shares(n, counts[:some], interval, known)[1]
            by_choice[some - 1] = [_digits(row, 3) for row in shares]
    return by_choice


def _cells(model: Model, data: Dataset | None, interval: Interval) -> list[Cell]:
    """Compare measured with forecast cells; empty without data of the model's kind of steps."""
    if data is None:
        return []
    about = model.selection
    kind = ("path", "schedule", "kernel", "program", "case")
    wanted = StepSelection(**{name: getattr(about, name) for name in kind})
    of_model = [step for step in data.steps if wanted.admits(step)]
    machines = distinct(of_its_machine(model, data, of_model), "machine")
    if len(machines) != 1:
        return []
    return validate(model, data, wanted, interval, machine=str(machines[0]))["cells"]


def _next(model: Model, cells: Sequence[Cell], data: Dataset | None) -> JsonObject | None:
    if data is None or not cells:
        return None
    machine = data.machines.get(str(model.machine.id))
    gpus = len(machine.gpus or []) if machine is not None else 0
    return next_cells(model, [(cell["n"], cell["gpus"]) for cell in cells], gpus, data)


def _extra(
    first: Model, other: Model, n: Array, counts: Array, at: int, interval: Interval
) -> JsonObject:
    """Return the ratio of another model's step times to the first's, [n][count], with intervals."""
    rows = compare(first, other, n, counts, interval)["ratio"]
    shape = (n.size, counts.size)
    return {
        "model": at,
        **{
            key: [_digits(line, 5) for line in np.reshape([row[key] for row in rows], shape)]
            for key in ("ratio", "low", "high", "probability_first_faster")
        },
    }


def _table(
    models: Sequence[Model],
    labels: Sequence[str],
    n: Array,
    counts: Array,
    interval: Interval,
    efficiency: float,
) -> list[JsonObject]:
    """Return the best of all models for round n, for the page without scripts."""
    ends = np.array([model.usual_sizes for model in models], dtype=np.float64)
    shown = {*n[[0, -1]].tolist(), *ends.min(axis=0).tolist(), *decades(*n[[0, -1]].tolist())}
    round_sizes = sorted(size for size in shown if n[0] <= size <= n[-1])
    choices = [
        _choices(model, label, round_sizes, counts, interval, efficiency)
        for model, label in zip(models, labels, strict=True)
    ]
    return [
        {
            "n": plain(size),
            "best": min(range(len(models)), key=lambda at: by_model[at]["trusted"]),
            "sensible": min(range(len(models)), key=lambda at: by_model[at]["sensible"]["seconds"]),
            "choices": by_model,
        }
        for size, *by_model in zip(round_sizes, *choices, strict=True)
    ]


def _weak(
    model: Model, per_gpu: float | None, counts: Array, interval: Interval, throughput: Throughput
) -> JsonObject:
    sweep = weak(model, per_gpu, counts, None, interval)
    further = throughput.columns(sweep.n, sweep.gpus, sweep.forecasts.seconds)
    return {
        "per_gpu": plain(float(sweep.n[0] / sweep.gpus[0])),
        "rows": [
            row | {key: float(values[at]) for key, values in further.items()}
            for at, row in enumerate(sweep.rows(None))
        ],
    }


def _choices(
    model: Model,
    label: str,
    sizes: Sequence[float],
    counts: Array,
    interval: Interval,
    efficiency: float,
) -> list[JsonObject]:
    """Return the best and the sensible count of one model for each size."""
    best = model.best_counts(sizes, list(counts), interval)
    least = float(counts[0])
    sensible = [sensible_count(model, n, counts, efficiency, interval, least) for n in sizes]
    forecasts, efficient = (
        model.forecasts(sizes, [row["gpus"] for row in rows], interval) for rows in (best, sensible)
    )
    known = model.measured(forecasts.n, forecasts.gpus)
    return [
        {
            "label": label,
            "measured": bool(np.isfinite(known[at])),
            **{key: row[key] for key in ("gpus", "probability")},
            # The choice uses measured times that contradict forecasts; the page shows forecasts.
            "trusted": row["seconds"],
            **_shown(model, forecasts, at),
            "sensible": {
                **{key: sensible[at][key] for key in ("gpus", "efficiency", "probability")},
                **_shown(model, efficient, at),
            },
        }
        for at, row in enumerate(best)
    ]


def _shown(model: Model, forecasts: Forecasts, at: int) -> JsonObject:
    return {
        **{
            key: getattr(forecasts, key)[at].item()
            for key in ("seconds", "low", "high", "extrapolated")
        },
        "place": _place(model, float(forecasts.n[at]), float(forecasts.gpus[at])),
    }


def _filled(model: Model, n: Array, counts: Array) -> tuple[Array, Array]:
    """Combine every n with every count, except cells that give a GPU more than any had, which have
    their own mark and caveats."""
    size, count = outer(n, counts)
    kept = ~model.overfills(size, count) | (size > model.domain.n[1])
    return size[kept], count[kept]


def _place(model: Model, n: float, gpus: float) -> str:
    """Return the place of a cell as a key of ``caveat_at``."""
    ends = {"n": (n, model.domain.n), "gpus": (gpus, model.domain.gpus)}
    return ", ".join(
        f"{name} {'inside' if least <= value <= most else 'beyond'}"
        for name, (value, (least, most)) in ends.items()
    )


def _plain(values: Array) -> list[float]:
    return [plain(value) for value in values]


def _digits(values: Array, digits: int) -> list[float]:
    return [float(f"{value:.{digits}g}") for value in values]
