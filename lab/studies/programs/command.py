"""How well are programs forecast that are not gpucast's? Published tables, and others beside.

    .venv/bin/python -m lab.studies.programs -o docs/results/programs.md [--cells F] [--only TEXT]

Writes the page and its picture (images/ beside it) and ends with status 1 if a target is missed.
Each table's series are split three ways (splits.py) and forecast by gpucast, by Extra-P 4.2.5,
whose best way of use in hindsight counts, and by three laws (rivals.py).
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

import extra_p
from gpucast.errors import GpucastError, InputError
from gpucast.show.plots import style
from gpucast.util import files
from pages import show_progress
from programs import series, study
from programs.page import page, picture, splits_csv, summary
from programs.summing import TARGETS, Sum


def examined(only: Sequence[str]) -> pd.DataFrame:
    """The cells of all series whose names have one of ``only``."""
    every = [*series.bundled(), *series.published()]
    kept = [one for one in every if not only or any(text in one.name for text in only)]
    if not kept:
        raise InputError(f"no series of {', '.join(only)}")
    return study.cells(kept, show_progress)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lab.studies.programs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="the page")
    parser.add_argument("--cells", type=Path, help="all numbers, cell by cell (CSV)")
    parser.add_argument("--from-cells", type=Path, help="write the page of these numbers again")
    parser.add_argument("--only", action="append", default=[], help="series whose name has this")
    options = parser.parse_args(arguments)
    if not extra_p.available():
        print(f"Extra-P left out: no {extra_p.PYTHON} (make extrap makes it)", file=sys.stderr)
    try:
        if options.from_cells:
            rows = pd.read_csv(options.from_cells, dtype={"refused": str})
            rows = rows.fillna({"refused": ""})
        else:
            rows = examined(options.only)
        splits = study.splits(rows)
        write(splits, options)
        if options.cells is not None:
            files.write_text(options.cells, rows.to_csv(index=False), force=True)
    except GpucastError as error:
        print(f"lab.studies.programs: {error}", file=sys.stderr)
        return 2
    print(summary(splits))
    return int(any(not target.reached(Sum(splits)) for target in TARGETS))


def write(splits: pd.DataFrame, options: argparse.Namespace) -> None:
    """The page, its picture and the table of splits."""
    images = options.output.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    image = images / f"{options.output.stem}.png"
    style.save(picture(splits[~splits.tuned]), image, force=True)
    given = ["-o", str(options.output), *(word for o in options.only for word in ("--only", o))]
    command = shlex.join(["python", "-m", "lab.studies.programs", *given])
    numbers = options.output.with_suffix(".csv")
    files.write_text(numbers, splits_csv(splits), force=True)
    text = page(splits, command, f"images/{image.name}", numbers.name)
    files.write_text(options.output, text, force=True)
