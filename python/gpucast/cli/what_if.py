"""``gpucast what-if``: one path's steps, another path's communication; of a model or of traces."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gpucast.cli import options
from gpucast.cli.figure_files import check_figure
from gpucast.cli.options import argument, option, refuse, with_options
from gpucast.cli.output import load, print_json, say, tell_fit
from gpucast.errors import InputError
from gpucast.util.files import check_output
from gpucast.util.number_lists import size
from gpucast.util.remarks import Kind, remarks_of
from gpucast.util.tables import Column, print_rows
from gpucast.util.units import duration, number, percent, quantity

if TYPE_CHECKING:
    from gpucast.data.dataset import Dataset
    from gpucast.paths.traced.causes import Cause
    from gpucast.paths.traced.forecast import TraceForecast

MUCH = 0.05
"""Causes with a smaller share of a native step are not worth attention."""


@dataclass(frozen=True)
class Common:
    """Options for models and for traces."""

    transfers: list[str] | None = option(
        "Dataset with skeletons of steps, or transfers and launches, of the other path.",
        "--transfers",
        "--data",
    )
    path: str | None = options.PATH
    machine: str | None = options.MACHINE
    explain: bool = options.EXPLAIN
    json: bool = options.JSON
    force: bool = options.FORCE


@dataclass(frozen=True)
class ForModels:
    """Options that model files alone have."""

    memory: str | None = options.MEMORY
    launch: Literal["auto", "measured", "keep", "scale"] = option(
        "Leave skeletons aside and take t_kernel from launch records, keep it, or scale it with "
        "the latencies; auto: skeletons, else launch records, else kept.",
        default="auto",
    )


@dataclass(frozen=True)
class ForKinds:
    """Options of another kind of GPU, for model files."""

    kind: str | None = option(
        "For a model: the same program on GPUs of this kind, as other programs' ratios of times "
        "say (docs/how-to/kinds.md)."
    )
    cells: list[str] | None = option(
        "For --kind: steps timed on that kind, which go before those ratios."
    )
    like: str | None = option(
        "For --kind: the family of programs that it belongs to: training, molecular-dynamics, ..."
    )
    from_kind: str | None = option(
        "For --kind: the kind that the model was fitted on, where its data do not say."
    )
    further: list[str] | None = option(
        "For --kind: steps of the program on a further kind, as V100-SXM2-16GB=steps.csv, which "
        "tell what programs it is like; for each kind once.",
        metavar="KIND=FILE",
    )


@dataclass(frozen=True)
class ForTraces:
    """Options that traces alone have."""

    network: str | None = option(
        "For a trace: another network than the path was measured on: 25Gb/s,30us (bandwidth, round "
        "trip)."
    )
    range_name: str | None = option(
        "For a trace: NVTX range that is a step; kernel:NAME: from one launch of it to the next.",
        "--range",
    )
    n: str | None = option(
        "For a model of traces (-o): size of those whose command lines do not say it.",
        "-n",
        "--size",
    )
    from_name: str | None = option(
        "For a model of traces: finds in files' names what command lines do not say: groups n, "
        "gpus.",
        metavar="REGEX",
    )
    map_to: Path | None = option(
        "For a trace: figure (png, pdf, svg) of how many times as long a step takes, over round "
        "trip and bandwidth of a network.",
        "--map",
        metavar="FIGURE",
    )


OTHER_PATH = "is of another path; --kind is of another kind of GPU"
"""Why options are refused."""


@with_options
def command(
    *,
    models: list[str] = argument(
        "Model file of the path whose steps are known, or a native trace; with -o, traces of "
        "several sizes and GPU counts.",
        metavar="MODEL|TRACE",
    ),
    output: Path | None = options.MODEL_OUTPUT,
    for_models: ForModels,
    for_kinds: ForKinds,
    for_traces: ForTraces,
    common: Common,
) -> None:
    """Forecast the steps of one path on another, or of one kind of GPU on another.

    From a model file, its communication is replaced, and the model written. Skeletons (steps
    without their work, by gpucast-microbench) say which term describes it. From a trace, what its
    calls take on the path is summed up, one waiting for another as in the program; several traces,
    with -o, give a model of that path.
    """
    from gpucast.data.traces.reading import is_trace

    traces = [is_trace(name) for name in models]
    model = models[0] if all(traces) else models[traces.index(False)]
    if not all(traces):
        if len(models) > 1:
            message = "is no trace; of several files all are, or it is one model"
            raise InputError(message, file=model)
        refuse(for_traces, "is for traces; this is a model file", model)
        if for_kinds.kind is not None:
            refuse(for_models, OTHER_PATH, model)
            _on_kind(model, for_kinds, output, common)
            return
        refuse(for_kinds, "needs --kind", model)
        _from_model(model, common, for_models, output)
        return
    refuse(for_models, "is for model files; a trace says itself what its calls are", model)
    if for_kinds.kind is not None:
        if len(models) > 1 or output is not None:
            raise InputError("takes one trace, and writes no model", field="--kind")
        _trace_on_kind(model, for_kinds, for_traces, common)
        return
    refuse(for_kinds, "needs --kind", model)
    if len(models) == 1 and output is None:
        _from_trace(model, common, for_traces)
    else:
        _from_traces(models, common, for_traces, output)


def _on_kind(file: str, how: ForKinds, output: Path | None, common: Common) -> None:
    """Forecast on another kind of GPU, and compare with forecasts for the model's own kind."""
    from gpucast.model.files import load_model
    from gpucast.paths.what_if import what_if

    other_path = replace(common, json=False, force=False, explain=False, machine=None)
    refuse(other_path, OTHER_PATH, file)
    if output is not None:
        check_output(output, force=common.force)
    known = load_model(file)
    cells = None if how.cells is None else load(*how.cells)
    stated = [_further(text) for text in how.further or ()]
    further = dict(stated)
    if len(further) < len(stated):
        raise InputError("state each further kind once", field="--further")
    options_of_kind = {**vars(how), "cells": cells, "further": further}
    moved = what_if(known, **options_of_kind, machine=common.machine)
    if output is not None:
        moved.save(output, force=common.force)
    added = moved.remarks[len(known.remarks) :]
    tell_fit(moved.remarks if common.explain else added, explain=True)
    counts = known.usual_counts
    sizes = [known.domain.n[1]] * len(counts)
    before, after = known.forecasts(sizes, counts), moved.forecasts(sizes, counts)
    keys = ("n", "gpus", "as_fitted", "seconds", "low", "high")
    arrays = (before.seconds, after.seconds, after.low, after.high)
    columns = (sizes, counts, *(values.tolist() for values in arrays))
    rows = [
        {**dict(zip(keys, row, strict=True)), "ratio": row[3] / row[2]}
        for row in zip(*columns, strict=True)
    ]
    if common.json:
        print_json({**moved.content, "forecasts": rows})
        return
    say(f"A step of n = {number(sizes[0])}, {moved.name}\n")
    print_rows(
        rows,
        [
            Column("GPUs", "gpus"),
            Column("as fitted", "as_fitted", duration),
            Column(how.kind or "", "seconds", duration),
            Column("90 %", lambda row: f"{duration(row['low'])} ... {duration(row['high'])}"),
            Column("ratio", "ratio", ".3g"),
        ],
    )
    if output is not None:
        say(f"\nModel written to {output}")


def _trace_on_kind(file: str, how: ForKinds, of_trace: ForTraces, common: Common) -> None:
    """Forecast a trace's step on another kind of GPU, and print it."""
    from gpucast.data.traces import read
    from gpucast.paths.traced.other_kind import trace_on_kind

    refuse(replace(how, kind=None, like=None, from_kind=None), "is for model files", file)
    of_path = replace(of_trace, range_name=None)
    refuse(of_path, OTHER_PATH, file)
    other_path = replace(common, json=False, explain=False)
    refuse(other_path, OTHER_PATH, file)
    answer = trace_on_kind(
        read(file),
        how.kind or "",
        like=how.like,
        from_kind=how.from_kind,
        range_name=of_trace.range_name,
    )
    tell_fit(remarks_of(Kind.ASSUMED, answer.warnings), explain=common.explain)
    if common.json:
        shares = [vars(share) for share in answer.shares]
        print_json({**vars(answer), "ratio": answer.ratio, "shares": shares})
        return
    low, high = duration(answer.low), duration(answer.high)
    say(
        f"A step on {answer.kind}: {duration(answer.seconds)} (90 %: {low} ... {high}), "
        f"{answer.ratio:.3g} times\nas long as on {answer.own}: {duration(answer.native)}, "
        f"{duration(answer.replayed)} as the sum of its calls ({answer.steps} steps).\n"
    )
    print_rows(
        answer.shares,
        [
            Column("work of a step", "words"),
            Column(answer.own, "native", duration),
            Column(answer.kind, "seconds", duration),
            Column("90 %", lambda share: f"{duration(share.low)} ... {duration(share.high)}"),
            Column("ratio", lambda share: share.seconds / share.native, ".3g"),
        ],
    )


def _further(text: str) -> tuple[str, Dataset]:
    kind, equals, file = text.partition("=")
    if not (kind and equals and file):
        raise InputError(f"{text!r} is no KIND=FILE", field="--further")
    return kind, load(file)


def _from_model(model: str, common: Common, how: ForModels, output: Path | None) -> None:
    from gpucast.model.files import load_model
    from gpucast.paths.what_if import what_if

    loaded = load_model(model)  # reports a wrong file before missing options
    if not common.transfers:
        raise InputError("a dataset of the other path is needed", field="--transfers")
    if output is None:
        raise InputError("where to write the model is needed", field="-o")
    check_output(output, force=common.force)
    known = loaded.of_own_program(
        "what it takes on another path, steps timed there tell (fit them and compare)"
    )
    data, machine = load(*common.transfers), common.machine
    result = what_if(known, data, common.path, machine=machine, **vars(how))
    result.save(output, force=common.force)
    # The warnings of the fit were printed then.
    told = () if common.explain else known.remarks
    tell_fit([remark for remark in result.remarks if remark not in told], explain=common.explain)
    if common.json:
        print_json(result.content)
        return
    before = known.parameters
    print_rows(
        [
            (name, name in before and quantity(before[name].value, after.unit), after)
            for name, after in result.parameters.items()
        ],
        [
            Column("parameter", 0),
            Column("model", lambda row: row[1] or None, side="r"),
            Column("what if", lambda row: quantity(row[2].value, row[2].unit), side="r"),
        ],
    )
    about = result.data.what_if
    assert about is not None  # what_if sets it
    source = "skeletons" if about.launch == "skeletons" else "transfers"
    say(f"\nCommunication: {result.terms.com}, from {source} of path {about.path}")
    say(f"Model written to {output}")


def _other_path(common: Common, how: ForTraces) -> tuple[Dataset, str, dict[str, Any]]:
    """The dataset, its path, and other arguments of a forecast. Raises InputError."""
    from gpucast.paths.traced.network import parse_network

    if common.path is None:
        raise InputError("which path the trace is to be made on", field="--path")
    if not common.transfers:
        raise InputError("a dataset with launches and transfers of that path", field="--data")
    network = None if how.network is None else parse_network(how.network)
    data = load(*common.transfers)
    return data, common.path, {"machine": common.machine, "network": network}


def _from_trace(file: str, common: Common, how: ForTraces) -> None:
    from gpucast.data.traces import find_steps, read
    from gpucast.paths.traced.forecast import trace_on_path

    of_several = replace(how, network=None, range_name=None, map_to=None)
    why = "is for a model of several traces (-o); of one trace nothing depends on it"
    refuse(of_several, why, file)
    if how.map_to is not None:
        check_figure(how.map_to, force=common.force)
    data, path, told = _other_path(common, how)
    trace = read(file)
    steps = find_steps(trace, how.range_name)
    forecast = trace_on_path(trace, data, path, steps=steps, **told)
    tell_fit(remarks_of(Kind.ASSUMED, forecast.warnings), explain=common.explain)
    answer = _content(forecast)
    if how.map_to is not None:
        from gpucast.paths.traced.maps import network_map
        from gpucast.show.plots import network_map as figure
        from gpucast.show.plots import style

        over = network_map(trace, data, path, steps=steps, native=forecast.native, **told)
        style.save(figure.network_map(over), how.map_to, force=common.force)
        bandwidth, ratio = over.measured
        arrays = {key: getattr(over, key) for key in ("round_trips", "bandwidths", "ratios")}
        answer["map"] = {
            **{key: getattr(over, key) for key in ("program", "sentence", "native")},
            **{key: values.tolist() for key, values in arrays.items()},
            "measured": {"bandwidth": bandwidth, "ratio": ratio},
        }
    if common.json:
        print_json(answer)
        return
    show(forecast)
    if how.map_to is not None:
        say(f"\n{over.sentence}.\nwritten: {how.map_to}")


def _from_traces(names: Sequence[str], common: Common, how: ForTraces, output: Path | None) -> None:
    from gpucast.data.formats import Options
    from gpucast.data.formats.several import check_stated
    from gpucast.paths.traced.models import path_model

    if how.map_to is not None:
        raise InputError("is of one trace", field="--map")
    if output is None:
        raise InputError("where to write the model of several traces is needed", field="-o")
    check_output(output, force=common.force)
    data, path, told = _other_path(common, how)
    n = None if how.n is None else size(how.n, "-n")
    stated = Options(range_name=how.range_name, from_name=how.from_name, size=n)
    check_stated(stated)
    modelled = path_model(list(names), data, path, options=stated, **told)
    model = modelled.model
    model.save(output, force=common.force)
    tell_fit(model.remarks, explain=common.explain)
    cells: list[dict[str, Any]] = [
        {
            "n": cell.step.n,
            "gpus": cell.step.gpus,
            "native": cell.native,
            "seconds": cell.seconds,
            **{f"t_{part}": getattr(cell.parts, part) for part in ("gpu", "cpu", "com")},
        }
        for cell in modelled.cells
    ]
    if common.json:
        print_json({**model.content, "traces": cells, **_refused(modelled.refused)})
        return
    _say_refused(modelled.refused, path)
    print_rows(
        sorted(cells, key=lambda cell: (cell["gpus"], cell["n"])),
        [
            Column("n", "n", number),
            Column("GPUs", "gpus"),
            Column("natively", "native", duration),
            Column(f"on {path}", "seconds", duration),
            *(Column(f"T_{part}", f"t_{part}", duration) for part in ("gpu", "cpu", "com")),
        ],
    )
    known = model.simulated
    assert known is not None  # path_model sets it
    say(
        f"\nForm: {model.form}; T_com is known to {percent(known.com, 0)}, with one error for all "
        f"cells, and each measurement differs by {percent(known.visit, 1)} more"
    )
    say(f"Model written to {output}")


def _content(forecast: TraceForecast) -> dict[str, Any]:
    same = ("path", "native", "replayed", "seconds", "low", "high", "ratio", "extra", "steps")
    return {
        **{name: getattr(forecast, name) for name in same},
        "calls_per_step": forecast.calls,
        "causes": [vars(cause) for cause in forecast.causes],
        "helps": [vars(change) for change in forecast.helps],
        **_refused(forecast.refused),
        "warnings": list(forecast.warnings),
    }


def _refused(calls: Sequence[str]) -> Mapping[str, object]:
    return {"runs_there": not calls, "refused_calls": list(calls)}


def _say_refused(refused: tuple[str, ...], path: str) -> None:
    from gpucast.paths.traced.from_trace import refused_in_words

    if refused:
        words = refused_in_words(refused, path)
        say(f"{words[0].upper()}{words[1:]}.")


def _whole_percents(causes: Sequence[Cause]) -> list[int]:
    """Shares in whole per cent that add up to the rounded total: those with the largest remainders
    are rounded up."""
    exact = [100 * cause.share for cause in causes]
    whole = [math.floor(share) for share in exact]
    most_cut = sorted(range(len(exact)), key=lambda at: whole[at] - exact[at])
    for at in most_cut[: round(sum(exact)) - sum(whole)]:
        whole[at] += 1
    return whole


def _signed(seconds: float) -> str:
    return duration(seconds) if seconds >= 0 else f"-{duration(-seconds)}"


def show(forecast: TraceForecast) -> None:
    """Print the answer as text."""
    _say_refused(forecast.refused, forecast.path)
    low, high = duration(forecast.low), duration(forecast.high)
    say(
        f"A step on {forecast.path}: {duration(forecast.seconds)} (90 %: {low} ... {high}), "
        f"{forecast.ratio:.3g} times\n"
        f"as long as natively: {duration(forecast.native)}, {duration(forecast.replayed)} as the "
        f"sum of its calls ({forecast.steps} steps of {forecast.calls:.4g} calls)."
    )
    if forecast.causes:
        longer = f"A step takes {duration(forecast.extra)} more there than natively"
        longer = longer if forecast.extra > 0 else "A step takes no longer there"
        say(f"\n{longer}; these calls take more:\n")
        print_rows(
            zip(forecast.causes, _whole_percents(forecast.causes), strict=True),
            [
                Column("calls", lambda row: row[0].words),
                Column("a step", lambda row: row[0].per_step or None, ".4g"),
                Column("more", lambda row: row[0].seconds, _signed),
                Column("share", lambda row: row[1] if row[0].seconds > 0 else None, "{} %".format),
            ],
        )
    if forecast.helps:
        print("\nWhat would help:\n")
        print_rows(
            forecast.helps, [Column("", "words"), Column("a step then takes", "seconds", duration)]
        )
    elif forecast.extra > MUCH * forecast.native:
        print("\nPinned memory, fewer waits, joined kernels: none would make it 2 % shorter.")
