"""``gpucast figures``: draw measurements and models; a sub-command a subject."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import typer

from gpucast.cli import figure_files, options, step_figures
from gpucast.cli.options import argument, flag, option, with_options
from gpucast.cli.output import load, print_json, say, warn
from gpucast.data.selection import ANY, StepSelection
from gpucast.errors import InputError
from gpucast.util.files import write_all
from gpucast.util.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from gpucast.data.dataset import Dataset
    from gpucast.show.plots.transfers import Panels


app = typer.Typer(rich_markup_mode=None)

Subject = Literal["time", "bandwidth", "contention", "launches", "overlap"]


INPUTS = argument(
    "Bundled datasets, files of records, and model files, in any order.",
    autocompletion=options.dataset_names,
)
OUTPUT = option("Folder, or a file ending in .png, .pdf or .svg.", "-o", "--output", default=...)
NATIVE = option("The native path; by its name, else the first, if not given.")


def formats_of(usual: str) -> Any:
    """The option for the endings of files in a folder."""
    return option("Endings of the files in a folder.", "--formats", default=usual)


ALL_FORMATS = formats_of("pdf,svg,png")


@dataclass(frozen=True)
class Drawn:
    """What figures of steps draw, and how it is fitted."""

    n: str | None = option("Sizes: 1000,64000; where n is no axis, a line or a figure each.", "-n")
    gpus: str | None = option("GPU counts: 1-4,8; where they are no axis, a line each.", "--gpus")
    formats: str = ALL_FORMATS
    model: str = option(
        "What to fit to paths that no model file is about: auto, paper, ... or none.",
        "--model",
        default="auto",
    )


@app.command()
@with_options
def scaling(
    *,
    source: str = options.MODEL_OR_TABLE,
    output: Path = OUTPUT,
    what: str = option(
        "time, rate, speed-up, efficiency, or several: a panel each.", default="time,efficiency"
    ),
    over: Literal["gpus", "nodes"] = option("What the horizontal axis counts.", default="gpus"),
    n: str | None = option("Sizes, a line each. Default: those measured.", "-n"),
    gpus: str | None = option(
        "GPU counts: 1-4,8. Default: those measured, and doublings up to 4 times the most."
    ),
    per_gpu: float | None = option("n / N, of weak scaling instead of sizes."),
    gpus_per_node: int | None = option("GPUs of a node, where the data do not say.", min=1),
    efficiency: float = options.EFFICIENCY,
    title: str = option("Above the figure.", default=""),
    x_label: str | None = option("Of the horizontal axis.", metavar="TEXT"),
    y_label: list[str] | None = option(
        "Of the vertical axes, in the order of --what; may be repeated.", metavar="TEXT"
    ),
    size: str | None = options.SIZE,
    selection: StepSelection = ANY,
    interval: options.Interval = options.INTERVAL,
    formats: str = ALL_FORMATS,
    force: bool = options.FORCE,
    json: bool = options.JSON,
) -> None:
    """Your program over GPUs or nodes, a line an n.

    Measured points, forecast with its 90 % interval, ideal line.
    """
    from gpucast.fitting.source import model_of
    from gpucast.model.intervals import Interval
    from gpucast.show.plots import scaling as plots
    from gpucast.util.number_lists import counts, sizes, words

    shown: Any = words(what, get_args(plots.What), "--what")
    labels = dict(zip(shown, y_label or (), strict=False))
    labels |= {"x": x_label} if x_label is not None else {}
    inches = options.inches(size)
    targets = figure_files.targets(["scaling"], output, formats, force=force)
    model, _ = model_of(source, selection, gpus_per_node)
    per = gpus_per_node or int(model.gpus_per_node or 0) or None
    asked = (sizes(n) if n else None, counts(gpus) if gpus else None, per_gpu, per)
    lines = plots.lines_of(model, *asked, Interval(interval))
    how: Any = {"over": over, "per_node": per, "threshold": efficiency, "labels": labels}
    draw = partial(plots.figure, lines, shown, title=title, size=inches, **how)
    _write({"scaling": draw}, targets, force=force, json=json)


def _write(
    draws: dict[str, figure_files.Draw],
    files: dict[str, list[Path]],
    texts: dict[Path, bytes] | None = None,
    *,
    force: bool,
    json: bool,
) -> None:
    contents = figure_files.drawn(draws, files) | (texts or {})
    write_all(contents, force=force)
    if json:
        print_json({"figures": [str(path) for path in contents]})
        return
    for path in contents:
        say(f"wrote {path}")


def _figures(
    dataset: Dataset, only: Subject | None
) -> tuple[dict[str, Callable[[Panels], Figure]], dict[str, figure_files.Draw]]:
    """What draws each figure, by name, of what there is and was asked for.

    Apart: those of fitted curves, which are not fitted yet, and the others.
    """
    from gpucast.paths import contention
    from gpucast.paths.curves import FEWEST_SIZES
    from gpucast.paths.overlap import overlap_efficiencies
    from gpucast.paths.series import series_of
    from gpucast.show.plots import transfers

    title = ", ".join(dataset.machines)
    curves: dict[str, Callable[[Panels], Figure]] = {}
    if any(len(series.samples) >= FEWEST_SIZES for series in series_of(dataset)):
        drawn = {"time": transfers.transfer_times, "bandwidth": transfers.bandwidths}
        curves = {
            f"transfer-{kind}": partial(
                draw, title=f"Transfer {kind}s, {title}: medians and fitted curves"
            )
            for kind, draw in drawn.items()
            if only in (None, kind)
        }
    others: dict[str, figure_files.Draw] = {}
    if only in (None, "contention") and any(copy.concurrent for copy in dataset.transfers):
        sets = [timed_set for timed_set in contention.contention(dataset) if timed_set.pairs]
        for at, timed_set in enumerate(sets, start=1):
            words = f"Copies beside others, {timed_set.setting.machine}"
            name = f"contention-{at}" if len(sets) > 1 else "contention"
            others[name] = partial(transfers.contention_matrix, timed_set, words)
    if dataset.launches and only in (None, "launches"):
        others["launches"] = partial(transfers.launch_costs, dataset, f"Kernel launches, {title}")
    if overlap_efficiencies(dataset) and only in (None, "overlap"):
        words = f"Overlap on {title}: share of what could be hidden"
        others["overlap"] = partial(transfers.overlaps, dataset, words)
    return curves, others


def _of_steps(name: str, text: str) -> Callable[..., None]:
    @with_options
    def command(
        *,
        inputs: list[str] = INPUTS,
        output: Path = OUTPUT,
        drawn: Drawn,
        selection: StepSelection = ANY,
        force: bool = options.FORCE,
        json: bool = options.JSON,
    ) -> None:
        # Before anything is fitted.
        figure = step_figures.module(name)
        axis = figure.AXIS
        if {"-n": drawn.n, "--gpus": drawn.gpus}[axis] is not None:
            message = f"is the axis of figures {name}, which draws {figure.CHOSEN}; leave it out"
            raise InputError(message, field=axis)
        figure_files.targets([name], output, drawn.formats, force=force)
        subject = step_figures.subject(inputs, selection, drawn.model)
        draws = step_figures.draws(subject, drawn.n, drawn.gpus, (name,))
        if not draws:
            raise InputError(figure.why_not(subject.series), file=" + ".join(inputs))
        files = figure_files.targets(list(draws), output, drawn.formats, force=force)
        _write(draws, files, force=force, json=json)

    command.__doc__ = text
    return command


FIGURES = step_figures.helps()
for _name, _text in FIGURES.items():
    app.command(_name)(_of_steps(_name, _text))


@app.command()
def transfer(
    data: list[str] = options.DATA,
    output: Path = OUTPUT,
    only: Subject | None = option("This figure only; a file holds one."),
    formats: str = formats_of("png,pdf"),
    machine: str | None = options.MACHINE,
    force: bool = options.FORCE,
    json: bool = options.JSON,
) -> None:
    """Transfers, contention, launches, overlaps."""
    from gpucast.paths.series import series_of
    from gpucast.show.plots import transfers

    if figure_files.is_file(output) and only is None:
        message = "a file holds one figure; name it with --only, or give a folder"
        raise InputError(message, file=output)
    dataset = load(*data).select(machine=machine)
    curves, others = _figures(dataset, only)
    if not curves and not others:
        what = f"of {only} " if only else "of transfers, launches or overlaps "
        raise InputError(f"there is nothing {what}to draw", file=dataset.name)
    warn(*dataset.warnings)
    files = figure_files.targets([*curves, *others], output, formats, force=force)
    if curves:  # two figures show the same fits, made once and only if nothing was refused
        panels = transfers.drawn(series_of(dataset))
        others = {name: partial(draw, panels) for name, draw in curves.items()} | others
    _write(others, files, force=force, json=json)


@app.command()
@with_options
def paper(
    *,
    inputs: list[str] = INPUTS,
    output: Path = option("Folder.", "-o", "--output", default=...),
    drawn: Drawn,
    selection: StepSelection = ANY,
    native: str | None = NATIVE,
    beside: str = option(
        "Own transfers beside the documents' tables, or none.", default="h200-transfers"
    ),
    force: bool = options.FORCE,
    json: bool = options.JSON,
) -> None:
    """All figures of paper and documents; findings."""
    from gpucast.show.paper import findings as paper_findings
    from gpucast.show.plots.transfers import remote_costs

    if figure_files.is_file(output):
        raise InputError("is a file; all figures need a folder", file=output)
    # Whatever would be refused is refused before anything is fitted.
    figure_files.targets(list(FIGURES), output, drawn.formats, force=force,
                         beside=paper_findings.FILES)  # fmt: skip
    subject = step_figures.subject(inputs, selection, drawn.model)
    draws = step_figures.draws(subject, drawn.n, drawn.gpus, FIGURES)
    others: dict[Path, bytes] = {}
    if subject.data is not None:
        judged = paper_findings.findings(subject.data, subject.models, native)
        remote = paper_findings.remote_ratios(judged)
        if remote:
            whose = step_figures.whose(subject.data)
            caption = f"Medians (lines: by their 95 % intervals). {whose}"
            title = "L, 1/B and t_kernel when remote"
            draws["remote-costs"] = partial(remote_costs, remote, title, caption)
        texts = paper_findings.files(judged, subject.data)
        others = {output / name: text.encode() for name, text in texts.items()}
    draws |= _documents(beside, None)
    for label, model in subject.fitted.items():
        name = f"model-{label.replace('/', '-').replace(', ', '-')}.json"
        others[output / name] = model.to_json().encode()
    names = [path.name for path in others]
    files = figure_files.targets(list(draws), output, drawn.formats, force=force, beside=names)
    _write(draws, files, others, force=force, json=json)


@app.command()
def documents(
    output: Path = OUTPUT,
    beside: str = option(
        "Own transfers to stand beside; none: only published.", default="h200-transfers"
    ),
    only: str | None = option("One plot, for a file: p2p-copy, dscuda-transfer, ..."),
    machine: str | None = options.MACHINE,
    formats: str = ALL_FORMATS,
    force: bool = options.FORCE,
    json: bool = options.JSON,
) -> None:
    """The source documents' tables as plots.

    A machine's own transfers stand beside them.
    """
    draws = _documents(beside, machine)
    if only is not None:
        known = [name.removeprefix("document-") for name in draws]
        if only not in known:
            raise InputError(f"{only!r} is none of {', '.join(known)}", field="--only")
        draws = {f"document-{only}": draws[f"document-{only}"]}
    files = figure_files.targets(list(draws), output, formats, force=force)
    _write(draws, files, force=force, json=json)


@app.command()
def findings(
    inputs: list[str] = INPUTS,
    native: str | None = NATIVE,
    everything: bool = flag("--all", "Show every group of steps, too."),
    json: bool = options.JSON,
) -> None:
    """The paper's findings: true or false here?

    Each on these data, with the number.
    """
    from gpucast.show.paper import findings as paper

    data, models = step_figures.read(inputs)
    if data is None:
        raise InputError("findings are about measurements: name a dataset, too")
    judged = paper.findings(data, step_figures.models_of_groups(data, models), native)
    if json:
        print_json({"data": data.name, "findings": [finding.to_dict() for finding in judged]})
        return
    print_table(paper.HEADERS, paper.rows(judged), "llll")
    for finding in judged if everything else ():
        if finding.rows:
            say(f"\n{finding.statement}\n")
            print_table(finding.headers, finding.rows)


def _documents(beside: str, machine: str | None) -> dict[str, figure_files.Draw]:
    from gpucast.show.paper import document_figures

    own = None if beside == step_figures.NO_MODEL else load(beside).select(machine=machine)
    return document_figures.figures_of_documents(own)
