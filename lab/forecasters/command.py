"""Which forecaster comes nearest to times held out of published tables, or of your own?

    .venv/bin/python -m lab.forecasters [RIVAL.py[:FUNCTION] ...] [--tables FOLDER] [-o PAGE]

The series of each table are split in three ways (splits.py) and forecast by gpucast, the rivals in
rivals/ and those named here (asking.py describes their function). Prints the ranking; with -o it
writes the page and its picture (in images/). Exits with status 1 if gpucast misses a target.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

import pandas as pd

from gpucast.errors import GpucastError, InputError
from gpucast.show.plots import style
from gpucast.util import files
from gpucast.util.tables import print_table
from lab.forecasters import series, study
from lab.forecasters.asking import rival_at
from lab.forecasters.page import by, page, picture, ranking, splits_csv, summary
from lab.forecasters.rivals import RIVALS
from lab.forecasters.summing import TARGETS
from lab.studies.pages import show_progress


def examined(options: argparse.Namespace) -> pd.DataFrame:
    """The cells of the chosen series by all rivals; results in ``--from-cells`` are not computed
    again."""
    rivals = [rival_at(place, options.python) for place in options.rivals]
    known = []
    if options.from_cells:
        rows = pd.read_csv(options.from_cells, dtype={"refused": str}).fillna({"refused": ""})
        known = [rows[~rows.forecaster.isin(options.rivals)]]
        if not rivals:
            return rows
    else:
        rivals = [*RIVALS, *rivals]
    for rival in rivals:
        if not rival.available():
            why = f"no {rival.python} (make extrap makes .venv-extrap)"
            print(f"{rival.name} left out: {why}", file=sys.stderr)
    every = [*([] if options.tables else series.bundled()), *series.published(folder_of(options))]
    only = options.only or [""]
    tasks = study.tasks_of([one for one in every if any(text in one.name for text in only)])
    if not tasks:
        which = f"series of {', '.join(options.only)}" if options.only else "CSV table"
        raise InputError(f"no {which} with three cells to train on and others to forecast",
                         file=options.tables)  # fmt: skip
    available = [rival for rival in rivals if rival.available()]
    return pd.concat([*known, study.cells(tasks, available, show_progress)])


def folder_of(options: argparse.Namespace) -> Path:
    return options.tables or series.TABLES


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lab.forecasters",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rivals", nargs="*", help="FILE.py or FILE.py:FUNCTION")
    parser.add_argument("--python", type=Path, default=Path(sys.executable),
                        help="the interpreter of these rivals")  # fmt: skip
    parser.add_argument("--tables", type=Path, help="judge only the CSV tables of this folder")
    parser.add_argument(
        "--only", action="append", default=[], help="series whose name contains this"
    )
    parser.add_argument("-o", "--output", type=Path, help="the page")
    parser.add_argument("--cells", type=Path, help="all numbers, cell by cell (CSV)")
    parser.add_argument(
        "--from-cells", type=Path, help="take the results of all other rivals from this file"
    )
    options = parser.parse_args(arguments)
    try:
        rows = examined(options)
        splits = study.splits(rows, series.families(folder_of(options)))
        if options.output is not None:
            write(splits, options)
        if options.cells is not None:
            files.write_text(options.cells, rows.to_csv(index=False), force=True)
    except GpucastError as error:
        print(f"lab.forecasters: {error}", file=sys.stderr)
        return 2
    for (name, why), refused in splits[splits.refused != ""].groupby(["forecaster", "refused"]):
        print(f"{name}: no forecast of {len(refused)} splits: {why}", file=sys.stderr)
    unseen = splits[~splits.tuned]
    print_table(*ranking(unseen if len(unseen) else splits))
    print(summary(splits))
    own = by(study.GPUCAST, unseen)
    return int(any(not target.reached(own) for target in TARGETS))


def write(splits: pd.DataFrame, options: argparse.Namespace) -> None:
    """Write the page, its picture and the table of splits."""
    images = options.output.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    image = images / f"{options.output.stem}.png"
    style.save(picture(splits[~splits.tuned]), image, force=True)
    given = [*options.rivals, *(word for o in options.only for word in ("--only", o))]
    given += ["--tables", str(options.tables)] if options.tables else []
    command = shlex.join(["python", "-m", "lab.forecasters", *given, "-o", str(options.output)])
    numbers = options.output.with_suffix(".csv")
    files.write_text(numbers, splits_csv(splits), force=True)
    text = page(splits, command, f"images/{image.name}", numbers.name)
    files.write_text(options.output, text, force=True)
