"""``gpucast report``: models as one HTML page that answers, shows, and says how far to trust it."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from gpucast.cli import options, remarks
from gpucast.cli.output import print_json, say, warn
from gpucast.util.number_lists import counts, sizes
from gpucast.util.units import number, percent

Models = Annotated[
    list[str],
    typer.Argument(
        help="Models (gpucast fit DATA -o MODEL.json), or bundled ones: native first, then remote."
    ),
]


def command(
    models: Models,
    output: options.Output,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", help="Dataset or file of records to show beside; may be repeated."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    n: Annotated[
        str | None,
        typer.Option(
            "-n",
            help="Sizes that the page shows: 512..1e6. Default: those fitted, and 4 times beyond.",
        ),
    ] = None,
    gpus: Annotated[
        str | None,
        typer.Option(
            help="GPU counts that the page shows: 1-4,8. Default: 1 to 8 and those measured."
        ),
    ] = None,
    interval: options.Interval = "now",
    explain: options.Explain = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Write one HTML page, for any browser: answer, curves, uncertainty, what to measure next."""
    from gpucast.cli.loading import load
    from gpucast.model.files import load_model
    from gpucast.util import files
    from gpucast.util.version import version

    files.check_output(output, force=force)
    shown_n, shown_gpus = sizes(n) if n else None, counts(gpus) if gpus else None
    loaded = [load_model(path) for path in models]
    dataset = load(*data) if data else None
    # Here, not above: what is refused before costs no time.
    from gpucast.report.content import content
    from gpucast.report.render import page

    said = content(loaded, dataset, title=title, sizes=shown_n, gpus=shown_gpus, interval=interval)
    written = page(
        said,
        version=version(),
        command=shlex.join(["gpucast", *sys.argv[1:]]) if sys.argv[1:2] == ["report"] else None,
    )
    files.write_text(output, written, force=force)
    for model, shown in zip(loaded, said["models"], strict=True):
        remarks.of_forecasts(model, shown["caveats"], explain=explain)
    for text in dataset.warnings if dataset is not None else ():
        warn(text)
    if json:
        print_json({"report": str(output), "bytes": len(written.encode("utf-8")), "content": said})
        return
    say(f"wrote {output}")
    row = next(row for row in said["table"] if row["n"] == said["n"]["start"])
    best = row["choices"][row["best"]]
    sure = percent(best["probability"], 0)
    words = "" if sure is None else f", probability {sure}"
    say(f"n = {number(row['n'])}: {best['gpus']} GPU(s), {best['label']}{words}")
