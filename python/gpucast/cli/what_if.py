"""``gpucast what-if``: one path's steps, another path's communication."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from gpucast.cli import options
from gpucast.cli.output import print_json, warn
from gpucast.util.tables import print_table
from gpucast.util.units import quantity


def command(
    model: Annotated[str, typer.Argument(help="Model file of the path whose steps are known.")],
    transfers: Annotated[
        list[str],
        typer.Option(
            help="Dataset with skeletons of steps, or transfers and launches, of the other path."
        ),
    ],
    output: options.Output,
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
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Replace a model's communication by that of another path.

    Skeletons (steps without their work, of gpucast-microbench) say which term describes it.
    """
    from gpucast.cli.loading import load
    from gpucast.forecast.what_if import what_if
    from gpucast.model.files import load_model
    from gpucast.model.fitted import own
    from gpucast.util import files

    files.check_output(output, force=force)
    given = own(
        load_model(model),
        "what it costs on another path, steps timed there tell (fit them and compare)",
    )
    result = what_if(given, load(*transfers), path, machine=machine, memory=memory, launch=launch)
    result.save(output, force=force)
    for text in result.warnings:
        warn(text)
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
    print(f"\nCommunication: {result.terms.com}, from {source} of path {about.path}")
    print(f"Model written to {output}")
