"""``gpucast plan``: which GPUs each job should get, what a deadline costs, how many jobs fit."""

from __future__ import annotations

import json as json_module
from pathlib import Path

from gpucast.cli import options, plan_tables
from gpucast.cli.options import argument, option
from gpucast.cli.output import print_json, tell_forecasts


def command(
    plan: str = argument("Machines, prices and jobs (docs/plan.md).", metavar="PLAN.yaml"),
    models: list[str] | None = argument(
        "Models, each named for its machine (native.json: native); may stand in the plan.",
        None,
        metavar="MODEL.json",
    ),
    interval: options.Interval | None = option(
        "What intervals and probabilities are of: times now, later on these machines, or on other "
        "machines of the kind. Default: the plan's interval, else later."
    ),
    output: Path | None = option("Also write the whole answer here, as JSON.", "-o", "--output"),
    force: bool = options.FORCE,
    explain: bool = options.EXPLAIN,
    json: bool = options.JSON,
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
    models_by_name = {machine.forecaster.name: machine.forecaster for machine in request.machines}
    for name, model in models_by_name.items():
        texts = [caveat["text"] for caveat in content["caveats"] if caveat["model"] == name]
        tell_forecasts(model, texts, explain=explain)
