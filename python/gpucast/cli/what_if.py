"""``gpucast what-if``: one path's steps, another path's communication.

A model file is answered here, traces in ``what_if_trace``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpucast.cli import options, what_if_trace
from gpucast.cli.options import argument, option, refuse, with_options
from gpucast.cli.output import load, print_json, say, tell_fit
from gpucast.cli.what_if_trace import Asked, OfTraces
from gpucast.errors import InputError
from gpucast.util.tables import print_table
from gpucast.util.units import quantity


@dataclass(frozen=True)
class OfModels:
    """Options that model files alone have."""

    memory: str | None = options.MEMORY
    launch: Literal["auto", "measured", "keep", "scale"] = option(
        "Leave skeletons aside and take t_kernel from launch records, keep it, or scale it with "
        "the latencies; auto: skeletons, else launch records, else kept.",
        default="auto",
    )


@with_options
def command(
    *,
    models: list[str] = argument(
        "Model file of the path whose steps are known, or a native trace; with -o, traces of "
        "several sizes and GPU counts.",
        metavar="MODEL|TRACE",
    ),
    output: Path | None = options.MODEL_OUTPUT,
    of_models: OfModels,
    of_traces: OfTraces,
    asked: Asked,
) -> None:
    """Forecast the steps of one path on another.

    From a model file, its communication is replaced, and the model written. Skeletons (steps
    without their work, by gpucast-microbench) say which term describes it. From a trace, its calls
    are made again in a simulation, each with the time that it takes on the path; several traces,
    with -o, give a model of that path.
    """
    from gpucast.data.traces.reading import is_trace

    traces = [is_trace(name) for name in models]
    model = models[0] if all(traces) else models[traces.index(False)]
    if all(traces):
        refuse(of_models, "is for model files; a trace says itself what its calls are", model)
        if len(models) == 1 and output is None:
            what_if_trace.answer(model, asked, of_traces)
        else:
            what_if_trace.write_model(models, asked, of_traces, output)
        return
    if len(models) > 1:
        raise InputError("is no trace; of several files all are, or it is one model", file=model)
    refuse(of_traces, "is for traces; this is a model file", model)
    _of_model(model, asked, of_models, output)


def _of_model(model: str, asked: Asked, of_models: OfModels, output: Path | None) -> None:
    from gpucast.model.files import load_model
    from gpucast.model.fitted import own
    from gpucast.paths.what_if import what_if
    from gpucast.util import files

    loaded = load_model(model)  # that it is none comes before what else is missing
    if not asked.transfers:
        raise InputError("a dataset of the other path is needed", field="--transfers")
    if output is None:
        raise InputError("where to write the model is needed", field="-o")
    files.check_output(output, force=asked.force)
    given = own(
        loaded,
        "what it costs on another path, steps timed there tell (fit them and compare)",
    )
    data, kind = load(*asked.transfers), of_models
    result = what_if(
        given, data, asked.path, machine=asked.machine, memory=kind.memory, launch=kind.launch
    )
    result.save(output, force=asked.force)
    # What the fit of the model has to say, it said.
    known = () if asked.explain else given.remarks
    tell_fit([one for one in result.remarks if one not in known], explain=asked.explain)
    if asked.json:
        print_json(result.content)
        return
    before = given.parameters
    print_table(
        ["parameter", "model", "what if"],
        [
            [
                name,
                quantity(before[name].value, after.unit) if name in before else None,
                quantity(after.value, after.unit),
            ]
            for name, after in result.parameters.items()
        ],
        "lrr",
    )
    about = result.data.what_if
    assert about is not None  # what_if sets it
    source = "skeletons" if about.launch == "skeletons" else "transfers"
    say(f"\nCommunication: {result.terms.com}, from {source} of path {about.path}")
    say(f"Model written to {output}")
