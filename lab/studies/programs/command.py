"""How well are programs forecast that are not gpucast's? Published tables, and others beside.

    .venv/bin/python -m lab.studies.programs -o docs/results/programs.md [--json F] [--only TEXT]

Writes the page and its picture (images/ beside it) and ends with status 1 if a target is missed.
Each table's series are split three ways (splits.py) and forecast by gpucast, by Extra-P 4.2.5,
whose best way of use in hindsight counts, and by three laws (rivals.py).
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import extra_p
from gpucast.errors import GpucastError, InputError
from gpucast.show.plots import style
from gpucast.util import files
from programs import plots, series, study
from programs.page import page, splits_csv, summary
from programs.summing import TARGETS, Sum


def examine(only: Sequence[str]) -> list[study.Outcome]:
    """The outcomes of all series whose names have one of ``only``."""
    every = [*series.bundled(), *series.published()]
    kept = [each for each in every if not only or any(text in each.name for text in only)]
    if not kept:
        raise InputError(f"no series of {', '.join(only)}")
    return study.outcomes(kept, show_progress)


def show_progress(done: int, total: int) -> None:
    """A line on stderr that is overwritten where that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r{done} of {total} splits", end="\n" if done == total else "", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lab.studies.programs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="the page")
    parser.add_argument("--json", type=Path, help="all numbers, cell by cell")
    parser.add_argument("--from-json", type=Path, help="write the page of these numbers again")
    parser.add_argument("--only", action="append", default=[], help="series whose name has this")
    options = parser.parse_args(arguments)
    if not extra_p.available():
        print(f"Extra-P left out: no {extra_p.PYTHON} (make extrap makes it)", file=sys.stderr)
    try:
        if options.from_json:
            text = options.from_json.read_text(encoding="utf-8")
            outcomes = [study.Outcome.of(each) for each in json.loads(text)]
        else:
            outcomes = examine(options.only)
        write(outcomes, options)
    except GpucastError as error:
        print(f"lab.studies.programs: {error}", file=sys.stderr)
        return 2
    print(summary(outcomes))
    return int(any(not target.reached(Sum(outcomes)) for target in TARGETS))


def write(outcomes: Sequence[study.Outcome], options: argparse.Namespace) -> None:
    """The page, its picture and, if asked for, the numbers."""
    images = options.output.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    picture = images / f"{options.output.stem}.png"
    style.save(plots.shares(outcomes), picture, force=True)
    given = ["-o", str(options.output), *(word for o in options.only for word in ("--only", o))]
    command = shlex.join(["python", "-m", "lab.studies.programs", *given])
    numbers = options.output.with_suffix(".csv")
    files.write_text(numbers, splits_csv(outcomes), force=True)
    text = page(outcomes, command, f"images/{picture.name}", numbers.name)
    files.write_text(options.output, text, force=True)
    if options.json is not None:
        content = [each.content() for each in outcomes]
        files.write_text(options.json, json.dumps(content, indent=1) + "\n", force=True)
