"""``gpucast proposal``: what a proposal for computing time has to show, as a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gpucast.cli import options
from gpucast.cli.figure_files import check_folder
from gpucast.cli.options import option, with_options
from gpucast.cli.output import note, print_json, say
from gpucast.data.selection import ANY, StepSelection
from gpucast.errors import InputError
from gpucast.show.proposal import Form
from gpucast.util import files, number_lists
from gpucast.util.tables import one_line, print_table
from gpucast.util.units import number, whole_percent

if TYPE_CHECKING:
    from gpucast.show.proposal.tables import Numerals
    from gpucast.util import JsonObject


@with_options
def command(
    *,
    source: str = options.MODEL_OR_TABLE,
    output: Path = option("Folder.", "-o", "--output", default=Path("proposal"), metavar="FOLDER"),
    n: str | None = option("Sizes of the runs. Default: the largest measured.", "-n"),
    size_of: Literal["all", "gpu"] = options.SIZE_OF,
    gpus: str | None = option(
        "GPU counts to show: 1-4,8. Default: those measured, and doublings up to 4 times the most."
    ),
    at: int | None = option("GPUs that hours are asked for. Default: the sensible count.", min=1),
    gpus_per_node: int | None = option("GPUs of a node, where the data do not say.", min=1),
    per_gpu: float | None = options.PER_GPU,
    efficiency: float = options.EFFICIENCY,
    runs: int = option("Runs of each size.", default=1, min=1),
    steps: str | None = option("Steps of a run. Default: 1e6."),
    work: str | None = option("Instead of --steps: tokens, samples, ... of a run (what n counts)."),
    reserve: float = option("Hours asked for beyond the forecast, as a share.", default=0.1),
    queue_limit: str | None = option(
        "Longest time of a job, such as 24h; longer runs are restarted.", metavar="TIME"
    ),
    setup: str | None = option("Time from a job's start to its first step.", metavar="TIME"),
    grid_co2: float | None = options.GRID_CO2,
    energy_price: str | None = options.ENERGY_PRICE,
    name: str | None = option("What the program is called in the text."),
    selection: StepSelection = ANY,
    interval: options.Interval = options.INTERVAL,
    form: Form = option("Whose form the text follows.", default="general"),
    template: Path | None = option("A Jinja template of your own, instead of a form."),
    size: str | None = options.SIZE,
    locale: str = option("How numbers are written: de for decimal commas.", default="en"),
    force: bool = options.FORCE,
    json: bool = options.JSON,
) -> None:
    """Write what a proposal for computing time has to show: scaling, hours, and how they are known.

    Figures as PDF, SVG and PNG; tables as Markdown, LaTeX, CSV, XLSX and DOCX; the text of a form.
    """
    # What is missing is said before anything is fitted, with the extra that has all of it.
    import docx  # noqa: F401

    from gpucast.answers.proposal import Asked, proposal_of
    from gpucast.fitting.source import model_of
    from gpucast.model.energy import Grid
    from gpucast.model.intervals import Interval
    from gpucast.show.proposal.folder import files_of
    from gpucast.show.proposal.tables import numerals_of

    check_folder(output)
    if output.exists():
        files.check_output(output / "table.md", force=force)
    if steps and work:
        raise InputError("either --steps or --work, not both", field="--work")
    asked = Asked(
        size_of=size_of,
        work=number_lists.size(work, "--work") if work else None,
        n=number_lists.sizes(n) if n else (),
        gpus=number_lists.counts(gpus) if gpus else None,
        at=at,
        gpus_per_node=gpus_per_node,
        per_gpu=per_gpu,
        program=name,
        efficiency=efficiency,
        runs=runs,
        steps=number_lists.size(steps or "1e6", "--steps"),
        reserve=reserve,
        queue_limit=number_lists.duration(queue_limit, "--queue-limit") if queue_limit else None,
        setup=number_lists.duration(setup, "--setup") if setup else 0.0,
        interval=Interval(interval),
        grid=Grid.stated(energy_price, grid_co2),
    )
    numerals, inches = numerals_of(locale), options.inches(size)
    if template is not None and not template.is_file():
        raise InputError("is no file", file=template, field="--template")
    model, sha256 = model_of(source, selection, gpus_per_node)
    made = proposal_of(model, asked)
    contents = files_of(made, numerals, form=form, template=template, sha256=sha256, size=inches)
    files.write_all({output / name: content for name, content in contents.items()}, force=force)
    if json:
        print_json({"folder": str(output), "files": sorted(contents), **made.content})
        return
    _print(made.content, numerals)
    say(f"\nwrote {output}: {', '.join(sorted(contents))}")
    if asked.runs == 1 and not (steps or work):
        note("hours are of 1 run of 1000000 steps: --runs and --steps state yours")
    if made.content["gpus_per_node"] is None:
        note("how many GPUs a node has is not known, so there are no node hours: --gpus-per-node")


def _print(content: JsonObject, numerals: Numerals) -> None:
    from gpucast.answers.scaling import hedged
    from gpucast.show.proposal.tables import tables_of

    per_gpu = " a GPU" * (content["size_of"] == "gpu")
    for one in content["sensible"]:
        sure = one["probability"]
        words = "" if sure is None else f", P = {whole_percent(sure)}"
        more = "; more may be" if one["open"] else ""
        hedge = f": {hedged(one)}" if hedged(one) else ""
        enough = one["efficiency"] >= one["threshold"]
        what = "sensible" if enough else "the fewest, and no count is sensible"
        many = "1 GPU is" if one["gpus"] == 1 else f"{one['gpus']} GPUs are"
        say(
            f"n = {number(one['n'])}{per_gpu}: {many} {what}, with an efficiency of "
            f"{whole_percent(one['efficiency'])} (N_ref = {one['reference_gpus']}; at least "
            f"{whole_percent(one['threshold'])}{words}{more}){hedge}"
        )
    hours = tables_of(content, numerals)[-1]
    print()
    print_table(hours.headings, hours.rows, "l" + "r" * (len(hours.headings) - 1))
    say(f"\n{one_line(hours.caption)}")
