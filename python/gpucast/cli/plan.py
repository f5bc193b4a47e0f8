"""``gpucast plan``: which GPUs each job should get, what a deadline costs, how many jobs fit."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Literal

import typer

from gpucast.cli import options, plan_tables, remarks
from gpucast.cli.output import print_json


def command(
    plan: Annotated[
        str, typer.Argument(metavar="PLAN.yaml", help="Machines, prices and jobs (docs/plan.md).")
    ],
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL.json",
            help="Models, each named for its machine (native.json: native); may stand in the plan.",
        ),
    ] = None,
    interval: Annotated[
        Literal["now", "later", "machine"] | None,
        typer.Option(
            help="What intervals and probabilities are of: times now, later on these machines, or "
            "on other machines of the kind. Default: the plan's interval, else later.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Also write the whole answer here, as JSON.", show_default=False
        ),
    ] = None,
    force: options.Force = False,
    explain: options.Explain = False,
    json: options.Json = False,
) -> None:
    """Fastest and cheapest GPU counts of jobs, native or remote; deadlines; how many jobs fit."""
    from gpucast.model.intervals import Interval
    from gpucast.planning.plan import plan_request
    from gpucast.planning.reading import read
    from gpucast.util import files

    if output is not None:
        files.check_output(output, force=force)
    request = read(plan, {Path(path).stem: path for path in models or ()})
    if interval is not None:
        request.interval = Interval(interval)
    content = plan_request(request).content
    if output is not None:
        text = json_module.dumps(content, ensure_ascii=False, allow_nan=False)
        files.write_text(output, text + "\n", force=force)
    if json:
        print_json(content)
    else:
        plan_tables.show(content)
    for model in {
        machine.forecaster.name: machine.forecaster for machine in request.machines
    }.values():
        said = [each["text"] for each in content["caveats"] if each["model"] == model.name]
        remarks.of_forecasts(model, said, explain=explain)
