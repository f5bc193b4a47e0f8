"""``gpucast fit``: parameters with uncertainty, from steps, transfers and launches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from gpucast.cli import options, predict_sharing
from gpucast.cli.options import option, with_options
from gpucast.cli.output import load, print_json, say, tell_fit, warn
from gpucast.data import vocabulary
from gpucast.data.selection import ANY, StepSelection
from gpucast.errors import InputError
from gpucast.util.remarks import once, texts_of
from gpucast.util.tables import Column, print_rows
from gpucast.util.units import duration, interval, number, p_value, percent, quantity, whole_percent

if TYPE_CHECKING:
    from gpucast.data.dataset import Dataset
    from gpucast.model.adjustments import MachineFactors
    from gpucast.model.content import FittedSteps, Quality
    from gpucast.model.fitted import Model
    from gpucast.paths.curves import Crossover, TransferFit
    from gpucast.paths.launches import LaunchCost

SHOWN_INTEGERS = 8
SHOWN_FORMS = 6

AUTO, SEED = "auto", 1
"""The default of ``--model``."""

PAPERS = "paper"


@with_options
def command(
    data: list[str] = options.DATA,
    selection: StepSelection = ANY,
    method: str | None = option(
        "How transfers were timed, where both: call (blocking) or gated (queued).",
        autocompletion=options.one_of(lambda: get_args(vocabulary.TransferMethod)),
    ),
    model: str = option(
        "auto, paper, or GPU+CPU+COM such as occupancy+linear+star-async.", default=AUTO
    ),
    update: list[str] | None = option(
        "Instead of a fit: tell the model (in place of DATA) how another machine differs, by a few "
        "cells timed there; may be repeated.",
        metavar="CELLS",
    ),
    output: Path | None = options.MODEL_OUTPUT,
    replicates: int | None = option("Bootstrap refits (default: 100; of a form named 400).", min=0),
    seed: int = option("Seed of folds and bootstrap.", default=SEED, min=0),
    bytes_per_step: float | None = option(
        "Bytes that a step exchanges by the collective whose nccl-tests or OSU table is in DATA "
        "too (all-reduce of gradients: 2 or 4 a parameter)."
    ),
    explain: bool = options.EXPLAIN,
    json: bool = options.JSON,
    force: bool = options.FORCE,
) -> None:
    """Fit step times (or, in a dataset without steps, transfer times)."""
    from gpucast.util import files

    if output is not None:
        files.check_output(output, force=force)
    if update:
        usual = (method, model, replicates, seed, bytes_per_step) == (None, AUTO, None, SEED, None)
        _update(data, update, selection, usual, output, json=json, force=force)
        return
    from gpucast.fitting.fit import REPLICATES, fit

    dataset = load(*data)
    chosen = dataset.select(machine=selection.machine, path=selection.path)
    if not chosen.steps and chosen.transfers:
        count = REPLICATES if replicates is None else replicates
        how = {"memory": selection.memory, "method": method, "replicates": count, "seed": seed}
        _fit_transfers(chosen, explain=explain, json=json, output=output, **how)
        return
    fitted = fit(
        dataset,
        selection,
        method=method,
        model=model,
        replicates=replicates,
        seed=seed,
        bytes_per_step=bytes_per_step,
    )
    if output is not None:
        fitted.save(output, force=force)
    tell_fit(fitted.remarks, fitted.notes, explain=explain)
    if json:
        print_json(fitted.content)
        return
    if fitted.own_program:
        _print_fit(fitted)
    else:
        _print_scaling(fitted)
    predict_sharing.show_fitted(fitted)
    if fitted.energy is not None and fitted.energy.quality is not None:
        say(f"energy of a step: {_errors(fitted.energy.quality)}")
    if output is not None:
        say(f"\nModel written to {output}")


def _print_scaling(model: Model) -> None:
    from gpucast._core import SCALING_TERMS

    data, counts, quality = model.data, model.observations, model.quality
    assert counts is not None
    assert quality is not None
    say(
        f"{', '.join(filter(None, (data.name, data.program, data.case)))}, path {data.path}: "
        f"{counts.step_samples} step times in {counts.step_cells} cells\n"
    )
    forms = model.candidates[:SHOWN_FORMS]
    print_rows(forms, [Column("form", "model"), Column("weight", "weight", whole_percent)])
    shown = " + ".join(form.model.partition(",")[0] for form in forms).split(" + ")
    print()
    print_rows(
        [(term, text) for term, (text, *_) in SCALING_TERMS.items() if term in shown],
        [Column("term", 0), Column("what it is", 1)],
    )
    say(f"\n{_errors(quality)}")


def _errors(quality: Quality) -> str:
    left_out = {
        "the most GPUs": quality.held_out_gpus_error,
        "the largest n": quality.held_out_n_error,
    }
    return (
        f"error of fitted cells: median {percent(quality.median_relative_error)}, "
        f"95th percentile {percent(quality.p95_relative_error)}"
        + "".join(
            f"; of forecasts of {word} by the rest: {percent(error)}"
            for word, error in left_out.items()
            if error is not None
        )
    )


def _print_fit(model: Model) -> None:
    data, counts = model.data, model.observations
    if counts is not None:
        say(
            f"{data.name}, path {data.path}{_kind_of(data)}: "
            f"{counts.step_samples} step samples in {counts.step_cells} cells, "
            f"{counts.samples - counts.step_samples} other samples"
        )
    terms = model.terms
    if model.mixture is not None:
        _print_forms(model)
    say(f"Model {terms.gpu} + {terms.cpu} + {terms.com}{model.integer_in_words()}\n")
    print_rows(
        model.parameters.items(),
        [
            Column("parameter", 0),
            Column(
                "value",
                lambda row: quantity(row[1].value, row[1].unit) if row[1].identified else None,
                side="r",
            ),
            Column("std. error", lambda row: quantity(row[1].stderr, row[1].unit), side="r"),
            Column(
                "95 % interval",
                lambda row: (
                    interval(row[1].ci95, row[1].unit) if row[1].identified else "not identified"
                ),
            ),
            Column("meaning", lambda row: row[1].meaning),
        ],
    )
    _print_structure(model)
    if model.quality is not None:
        _print_quality(model, model.quality)


def _print_forms(model: Model) -> None:
    """Print the forms over which forecasts are averaged; the paper's is always shown."""
    print()
    print_rows(
        [
            form
            for i, form in enumerate(model.candidates)
            if i < SHOWN_FORMS or form.model == PAPERS
        ],
        [
            Column("form", "model"),
            Column("weight", "weight", whole_percent),
            Column("error of cells left out", "cv_error", lambda share: percent(share, 2)),
        ],
    )
    print()


def _kind_of(data: FittedSteps) -> str:
    words = (data.schedule, data.kernel and f"kernel {data.kernel}", data.program, data.case)
    return "".join(f", {word}" for word in words if word is not None)


def _print_structure(model: Model) -> None:
    for one in model.combinations:
        known = f" ({interval(one.ci95, 's')})" if one.ci95 is not None else ""
        say(f"known together: {one.expression} = {quantity(one.value, 's')}{known}")
    for route, points in model.breakpoints.items():
        if points:
            say(f"breakpoints of {route}: {breakpoints(points)} bytes")
    if model.k_profile:
        near = sorted(model.k_profile, key=lambda tried: (tried.cost, tried.k))
        say(
            "k against the cost of the fit above the best: "
            + ", ".join(f"{k.k}: {k.cost - near[0].cost:.3g}" for k in near[:SHOWN_INTEGERS])
            + (", ..." if len(near) > SHOWN_INTEGERS else "")
        )


def _print_quality(model: Model, quality: Quality) -> None:
    known = f"rank {model.rank} of {len(model.parameters)}" + (
        f"; lack of fit {p_value(quality.lack_of_fit_p)}, "
        f"reduced chi-square {quality.reduced_chi2:.3g}"
        if quality.lack_of_fit_p is not None
        else ""
    )
    if model.mixture is not None:
        say(f"\nparameters: {known}\n{_errors(quality)}")
        return
    say(f"\n{_errors(quality)}; {known}\n")
    print_rows(
        sorted(model.candidates, key=lambda it: (it.cv_error is None, it.cv_error or 0.0)),
        [
            Column("model", "model"),
            Column("held-out error", "cv_error", lambda share: percent(share, 2)),
            Column("", lambda it: "chosen" if it.model == model.chosen else ""),
        ],
    )


def _fit_transfers(
    dataset: Dataset, *, explain: bool, json: bool, output: Path | None, **how: Any
) -> None:
    """Fit and print transfers. ``how``: arguments of ``fit_transfers``."""
    from gpucast.errors import InputError
    from gpucast.paths.curves import crossovers, fit_transfers
    from gpucast.paths.launches import launch_costs

    if output is not None:
        raise InputError(
            "a model file needs steps; this dataset has transfers only", file=dataset.name
        )
    fits = fit_transfers(dataset, **how)
    compared = crossovers(fits)
    costs = launch_costs(dataset)
    known = once(one for curve in fits for one in curve.remarks)
    tell_fit(known, explain=explain)
    if json:
        print_json(
            {
                "transfers": [fit.to_dict() for fit in fits],
                "crossovers": [vars(cross) for cross in compared],
                "launches": [cost.to_dict() for cost in costs],
                "warnings": texts_of(known),
            }
        )
        return
    _print_transfers(fits)
    _print_launches(costs)
    for cross in compared:
        say(_describe_crossover(cross))


def _print_transfers(fits: list[TransferFit]) -> None:
    """Print a line for each parameter of each route's curve."""
    print_rows(
        [
            (
                *(("", "", "") if i else (fit.machine, fit.path, fit.route)),
                *(name, entry, _piece(fit.breakpoints, i - 1)),
            )
            for fit in fits
            for i, (name, entry) in enumerate(fit.parameters.items())
        ],
        [
            *(Column(word, at) for at, word in enumerate(("machine", "path", "route"))),
            Column("parameter", 3),
            Column("value", lambda row: quantity(row[4]["value"], row[4]["unit"]), side="r"),
            Column("95 % interval", lambda row: interval(row[4]["ci95"], row[4]["unit"])),
            Column("", 5),
        ],
    )


def _print_launches(costs: list[LaunchCost]) -> None:
    """Print a line for each method; nothing if no launch was timed."""
    if not costs:
        return
    print()
    print_rows(
        costs,
        [
            *(Column(name, name) for name in ("machine", "path")),
            Column("launch", "method"),
            Column("t_kernel", lambda cost: cost.t_kernel.value, duration),
            Column("95 % interval", lambda cost: interval(cost.t_kernel.ends, "s")),
            Column("", lambda cost: f"one of {cost.count}" if cost.count > 1 else ""),
        ],
    )


def breakpoints(points: Sequence[float]) -> str:
    """Return breakpoints in bytes; a jump, which is listed twice, is named and given once."""
    return ", ".join(
        f"{point:.0f} (jump)" if points.count(point) > 1 else f"{point:.0f}"
        for point in dict.fromkeys(points)
    )


def _piece(points: Sequence[float], piece: int) -> str:
    """The sizes to which the parameter of a piece below a breakpoint applies; empty for others."""
    if not 0 <= piece < len(points):
        return ""
    jump = piece > 0 and points[piece] == points[piece - 1]
    return f"{'just above' if jump else 'up to'} {points[piece]:.0f} bytes"


def _describe_crossover(cross: Crossover) -> str:
    who = f"{cross.machine}: {cross.faster}"
    tail = f"; {cross.speedup:.2f} times as fast at {cross.largest} bytes"
    if cross.bytes is None:
        return f"{who} is never faster for good than {cross.slower}{tail}"
    if cross.bytes <= cross.smallest:
        return f"{who} is faster than {cross.slower} at every size{tail}"
    known = "" if cross.ci95 is None else " (95 %: {:.3g} ... {:.3g})".format(*cross.ci95)
    return f"{who} is faster than {cross.slower} from {cross.bytes:.3g} bytes up{known}{tail}"


# --- an update for another machine ---


_PARTS = ("T_gpu", "T_cpu", "T_com")
_TIMES = ("measured", "before", "updated")


def _update(
    model: Sequence[str],
    cells: Sequence[str],
    selection: StepSelection,
    as_usual: bool,
    output: Path | None,
    *,
    json: bool,
    force: bool,
) -> None:
    """Read a model, update it, write it, and print the result.

    Args:
        model: the arguments that are data in an ordinary fit.
        cells: the data for the update.
        as_usual: whether no option of an ordinary fit was given.

    Raises:
        InputError: not exactly one model, options without effect, or cells that cannot update it.
    """
    from gpucast.model.files import load_model

    if len(model) != 1:
        raise InputError(
            f"an update is of one model file, not of {len(model)}: "
            "gpucast fit MODEL.json --update CELLS -o NEW.json",
            field="--update",
        )
    if not as_usual:
        raise InputError(
            "an update fits nothing anew: leave out --model, --method, --replicates and --seed",
            field="--update",
        )
    before = load_model(model[0])
    data = load(*cells)
    after = before.updated(data, selection)
    if output is not None:
        after.save(output, force=force)
    warn(*data.warnings, *after.warnings[len(before.warnings) :])
    if json:
        print_json(after.content)
        return
    factors = after.machine_factors
    assert factors is not None  # just made
    _print_update(before, after, factors)
    if output is not None:
        say(f"\nModel written to {output}")


def _print_update(before: Model, after: Model, factors: MachineFactors) -> None:
    say(f"{before.name}: {factors.words}\n")
    spread = np.sqrt(np.diag(factors.covariance))
    names = _PARTS if before.knows_parts else ("T",)
    print_rows(
        list(zip(names, factors.means, spread, strict=False)),
        [
            Column("part", 0),
            Column("times as long", lambda row: np.exp(row[1]), ".3f"),
            Column("68 % interval", lambda row: _ends(row[1] - row[2], row[1] + row[2])),
        ],
    )
    print()
    n, gpus = np.array(factors.cells.n), np.array(factors.cells.gpus, dtype=np.float64)
    times = (model.seconds(n, gpus).tolist() for model in (before, after))
    print_rows(
        zip(n.tolist(), factors.cells.gpus, factors.cells.seconds, *times, strict=True),
        [
            Column("n", 0, number),
            Column("GPUs", 1),
            *(Column(word, 2 + i, duration) for i, word in enumerate(_TIMES)),
        ],
    )


def _ends(low: float, high: float) -> str:
    return f"{np.exp(low):.3f} ... {np.exp(high):.3f}"
