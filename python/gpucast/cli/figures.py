"""``gpucast figures``: draw measurements; a sub-command a subject."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gpucast.cli import options
from gpucast.cli.output import print_json, warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from gpucast.datasets import Dataset

app = typer.Typer(rich_markup_mode=None)

Subject = Literal["time", "bandwidth", "contention", "launches", "overlap"]
ENDINGS = (".png", ".pdf", ".svg")


@app.callback()
def callback() -> None:
    """Draw measurements."""


@app.command()
def transfer(
    data: options.Data,
    output: Annotated[
        Path, typer.Option("-o", help="Folder, or a file ending in .png, .pdf or .svg.")
    ],
    only: Annotated[
        Subject | None, typer.Option(help="This figure only; a file holds one.")
    ] = None,
    formats: Annotated[
        str, typer.Option("--formats", help="Endings of the files in a folder.")
    ] = "png,pdf",
    machine: options.Machine = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Draw transfers, contention, launches and overlaps: what there is of them."""
    from gpucast import atomic, figures
    from gpucast.datasets import load
    from gpucast.errors import InputError

    is_file = output.suffix.lower() in ENDINGS
    if is_file and only is None:
        message = "a file holds one figure; name it with --only, or give a folder"
        raise InputError(message, file=output)
    endings = [output.suffix[1:].lower()] if is_file else _endings(formats)
    dataset = load(*data).select(machine=machine)
    found = _figures(dataset, only)
    if not found:
        what = f"of {only} " if only else "of transfers, launches or overlaps "
        raise InputError(f"there is nothing {what}to draw", file=dataset.name)
    targets = {
        output if is_file else output / f"{name}.{ending}": (name, ending)
        for name in found
        for ending in endings
    }
    if not is_file and output.exists() and not output.is_dir():
        raise InputError("is no folder", file=output)
    for path in targets:
        if is_file or output.exists():
            atomic.check_output(path, force=force)
    made = {name: draw() for name, draw in found.items()}
    drawn = {path: figures.render(made[name], ending) for path, (name, ending) in targets.items()}
    if not is_file:
        output.mkdir(parents=True, exist_ok=True)
    for path, content in drawn.items():
        atomic.write_bytes(path, content, force=force)
    for text in dataset.warnings:
        warn(text)
    if json:
        print_json({"figures": [str(path) for path in drawn]})
        return
    for path in drawn:
        print(f"wrote {path}")


def _endings(formats: str) -> list[str]:
    from gpucast.errors import InputError

    found = [each.strip().lower() for each in formats.split(",")]
    for each in found:
        if f".{each}" not in ENDINGS:
            known = ", ".join(ending[1:] for ending in ENDINGS)
            raise InputError(f"{each!r} is no format; it is one of {known}", field="--formats")
    return list(dict.fromkeys(found))


def _figures(dataset: Dataset, only: Subject | None) -> dict[str, Callable[[], Figure]]:
    """What draws each figure, by name, of what there is and was asked for.

    Curves are fitted when the first of them is drawn: what is refused before costs nothing.
    """
    from gpucast import contention, transfer_figures
    from gpucast.overlaps import overlap_efficiencies
    from gpucast.transfer_series import series_of
    from gpucast.transfers import FEWEST_SIZES

    title = ", ".join(dataset.machines)
    found: dict[str, Callable[[], Figure]] = {}
    series = [each for each in series_of(dataset) if len(each.samples) >= FEWEST_SIZES]
    panels = cache(lambda: transfer_figures.drawn(series))
    if series and only in (None, "time"):
        found["transfer-time"] = lambda: transfer_figures.transfer_times(
            panels(), f"Transfer times, {title}: medians and fitted curves"
        )
    if series and only in (None, "bandwidth"):
        found["transfer-bandwidth"] = lambda: transfer_figures.bandwidths(
            panels(), f"Transfer bandwidths, {title}: medians and fitted curves"
        )
    beside = any(transfer.concurrent for transfer in dataset.transfers)
    if beside and only in (None, "contention"):
        settings = [each for each in contention.contention(dataset) if each.pairs]
        for index, each in enumerate(settings):
            number = f"-{index + 1}" if len(settings) > 1 else ""
            found[f"contention{number}"] = partial(
                transfer_figures.contention_matrix,
                each,
                f"Copies beside others, {each.setting.machine}",
            )
    if dataset.launches and only in (None, "launches"):
        found["launches"] = partial(
            transfer_figures.launch_costs, dataset, f"Kernel launches, {title}"
        )
    if overlap_efficiencies(dataset) and only in (None, "overlap"):
        found["overlap"] = partial(
            transfer_figures.overlaps, dataset, f"Overlap on {title}: share of what could be hidden"
        )
    return found
