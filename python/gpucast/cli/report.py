"""``gpucast report``: models as one HTML page that answers, shows, and says how far to trust it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from gpucast.answers.throughput import NONE, Throughput
from gpucast.cli import options
from gpucast.cli.options import argument, option, with_options
from gpucast.cli.output import load, print_json, say, tell_forecasts, warn
from gpucast.util.number_lists import counts, sizes
from gpucast.util.units import number, percent


@with_options
def command(
    *,
    models: list[str] = argument(
        "Models (gpucast fit DATA -o MODEL.json), or bundled ones: native first, then remote."
    ),
    output: Path = options.OUTPUT,
    data: list[str] | None = option(
        "Dataset or file of records to show beside; may be repeated.", "--data"
    ),
    title: str | None = option("Title of the page."),
    n: str | None = option(
        "Sizes that the page shows: 512..1e6. Default: those fitted, and 4 times beyond.", "-n"
    ),
    gpus: str | None = option(
        "GPU counts that the page shows: 1-4,8. Default: 1 to 8, those measured, and of more "
        "than 8 doublings up to 4 times the most."
    ),
    efficiency: float = options.EFFICIENCY,
    per_gpu: float | None = options.PER_GPU,
    throughput: Throughput = NONE,
    interval: options.Interval = options.INTERVAL,
    explain: bool = options.EXPLAIN,
    force: bool = options.FORCE,
    json: bool = options.JSON,
) -> None:
    """Write one HTML page, for any browser: answer, curves, uncertainty, what to measure next."""
    from gpucast.model.files import load_model
    from gpucast.util import files, version

    files.check_output(output, force=force)
    shown_n, shown_gpus = sizes(n) if n else None, counts(gpus) if gpus else None
    loaded = [load_model(path) for path in models]
    dataset = load(*data) if data else None
    # Here, not above: what is refused before takes no time.
    from gpucast.show.report.content import content
    from gpucast.show.report.downloads import downloads
    from gpucast.show.report.render import page

    page_content = content(
        loaded,
        dataset,
        title=title,
        sizes=shown_n,
        gpus=shown_gpus,
        interval=interval,
        efficiency=efficiency,
        per_gpu=per_gpu,
        throughput=throughput,
    )
    written = page(
        page_content,
        version=version(),
        downloads=downloads(loaded, page_content),
        command=shlex.join(["gpucast", *sys.argv[1:]]) if sys.argv[1:2] == ["report"] else None,
    )
    files.write_text(output, written, force=force)
    for model, shown in zip(loaded, page_content["models"], strict=True):
        tell_forecasts(model, shown["caveats"], explain=explain)
    warn(*(dataset.warnings if dataset is not None else ()))
    if json:
        print_json(
            {"report": str(output), "bytes": len(written.encode("utf-8")), "content": page_content}
        )
        return
    say(f"wrote {output}")
    row = next(row for row in page_content["table"] if row["n"] == page_content["n"]["start"])
    best, efficient = row["choices"][row["best"]], row["choices"][row["sensible"]]
    sure, reference = percent(best["probability"], 0), page_content["gpus"][0]
    words = "" if sure is None else f", probability {sure}"
    say(
        f"n = {number(row['n'])}: {efficient['sensible']['gpus']} GPU(s), {efficient['label']}, "
        f"are at least {percent(efficiency, 0)} efficient (N_ref = {reference}); "
        f"{best['gpus']}, {best['label']}, are the fastest{words}"
    )
