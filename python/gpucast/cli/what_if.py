"""``gpucast what-if``: one path's steps, another path's communication.

Of a model file, or of a trace (``what_if_trace``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from gpucast.cli import options, remarks
from gpucast.cli.output import print_json, say
from gpucast.errors import InputError
from gpucast.util.number_lists import size
from gpucast.util.tables import print_table
from gpucast.util.units import quantity


def command(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL|TRACE",
            help="Model file of the path whose steps are known, or a native trace; with -o, traces "
            "of several sizes and GPU counts.",
        ),
    ],
    transfers: Annotated[
        list[str] | None,
        typer.Option(
            "--transfers",
            "--data",
            help="Dataset with skeletons of steps, or transfers and launches, of the other path.",
            show_default=False,
        ),
    ] = None,
    output: options.OptionalOutput = None,
    path: options.PathName = None,
    machine: options.Machine = None,
    memory: options.Memory = None,
    launch: Annotated[
        Literal["auto", "measured", "keep", "scale"],
        typer.Option(
            help="Leave skeletons aside and take t_kernel from launch records, keep it, or scale "
            "it with the latencies; auto: skeletons, else launch records, else kept."
        ),
    ] = "auto",
    network: Annotated[
        str | None,
        typer.Option(
            help="Of a trace: another network than the path was measured on: 25Gb/s,30us "
            "(bandwidth, round trip).",
            show_default=False,
        ),
    ] = None,
    range_name: Annotated[
        str | None,
        typer.Option(
            "--range",
            help="Of a trace: NVTX range that is a step; kernel:NAME: from one launch of it to the "
            "next.",
            show_default=False,
        ),
    ] = None,
    n: Annotated[
        str | None,
        typer.Option(
            "-n",
            "--size",
            help="Of traces for a model (-o): size of those whose command lines do not say it.",
            show_default=False,
        ),
    ] = None,
    from_name: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Of traces for a model: finds in files' names what command lines do not say: "
            "groups n, gpus.",
            show_default=False,
        ),
    ] = None,
    map_to: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FIGURE",
            help="Of a trace: figure (png, pdf, svg) of how many times as long a step takes, over "
            "round trip and bandwidth of a network.",
            show_default=False,
        ),
    ] = None,
    explain: options.Explain = False,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Forecast the steps of one path on another.

    Of a model file: its communication is replaced, and the model written. Skeletons (steps without
    their work, of gpucast-microbench) say which term describes it. Of a trace: its calls are made
    again in a simulation, each at what it costs on the path; of several, with -o, a model of that
    path is written.
    """
    from gpucast.traces.reading import is_trace

    traces = [is_trace(each) for each in models]
    model = models[0] if all(traces) else models[traces.index(False)]
    if all(traces):
        from gpucast.cli import what_if_trace

        of_models = (("--memory", memory), ("--launch", None if launch == "auto" else launch))
        for name, given_value in of_models:
            if given_value is not None:
                raise InputError(
                    "is for model files; a trace says itself what its calls are",
                    file=model,
                    field=name,
                )
        asked = what_if_trace.Asked(
            transfers or [],
            path,
            machine,
            network,
            range_name,
            from_name,
            None if n is None else size(n, "-n"),
            explain,
            json,
            force,
        )
        if len(models) == 1 and output is None:
            what_if_trace.answer(model, asked, map_to=map_to)
        else:
            what_if_trace.write_model(models, asked, output, map_to=map_to)
        return
    if len(models) > 1:
        raise InputError("is no trace; of several files all are, or it is one model", file=model)
    of_traces: tuple[tuple[str, object], ...] = (
        ("--network", network), ("--range", range_name), ("--map", map_to),
        ("--from-name", from_name), ("-n", n),
    )  # fmt: skip
    for name, for_traces in of_traces:
        if for_traces is not None:
            raise InputError("is for traces; this is a model file", file=model, field=name)
    from gpucast.model.files import load_model

    loaded = load_model(model)  # that it is none comes before what else is missing
    if not transfers:
        raise InputError("a dataset of the other path is needed", field="--transfers")
    if output is None:
        raise InputError("where to write the model is needed", field="-o")
    from gpucast.cli.loading import load
    from gpucast.forecast.what_if import what_if
    from gpucast.model.fitted import own
    from gpucast.util import files

    files.check_output(output, force=force)
    given = own(
        loaded,
        "what it costs on another path, steps timed there tell (fit them and compare)",
    )
    result = what_if(given, load(*transfers), path, machine=machine, memory=memory, launch=launch)
    result.save(output, force=force)
    # What the fit of the model has to say, it said.
    known = () if explain else given.remarks
    remarks.of_fit([one for one in result.remarks if one not in known], explain=explain)
    if json:
        print_json(result.content)
        return
    before = given.parameters
    print_table(
        ["parameter", "model", "what if"],
        [
            [
                name,
                quantity(before[name].value, each.unit) if name in before else None,
                quantity(each.value, each.unit),
            ]
            for name, each in result.parameters.items()
        ],
        "lrr",
    )
    about = result.data.what_if
    assert about is not None  # what_if sets it
    source = "skeletons" if about.launch == "skeletons" else "transfers"
    say(f"\nCommunication: {result.terms.com}, from {source} of path {about.path}")
    say(f"Model written to {output}")
