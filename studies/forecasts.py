"""How good are forecasts from measured steps? Datasets of our own program, targets, others beside.

    .venv/bin/python studies/forecasts.py -o docs/accuracy.md [DATA...] [--train DATA] [--rivals]

Writes the page, its picture (images/ beside it) and a table a dataset (results/accuracy/ beside it:
every cell's measured and forecast time), and ends with status 1 if a target is missed. Without
DATA: all that the page is about. Extra-P and scipy get the same cells; what they said is kept in
the tables, and --rivals asks them again. The parts are in forecasting/.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

import extra_p
import gpucast
from forecasting import questions
from forecasting.answers import KEY, answered
from forecasting.outcome import Outcome, outcome
from forecasting.page import page
from forecasting.picture import shares
from forecasting.questions import Measured, Question
from forecasting.rivals import RIVALS, rivals_of
from forecasting.splits import HELD_OUT
from gpucast.errors import GpucastError
from gpucast.plots import style
from gpucast.util import files
from gpucast.util.processes import spread

USUAL = ["h200-x4-mixed", "h200-x4", "h200-x2", "h200-x2-other"]
FIRST = "h200-x2"
"""From the first machine, the engine's settings are; on it only what-ifs are judged."""
OF_FIRST = {"h200-x2-other": FIRST}
"""Datasets of another machine, and of the one whose steps forecast theirs."""


def asked(name: str, options: argparse.Namespace) -> list[Question]:
    """All that is forecast of a dataset."""

    def measured(of: str, only: Sequence[str] = ()) -> Measured:
        return Measured(gpucast.load(of), options.samples, only)

    own = measured(name, options.only)
    train = options.train or OF_FIRST.get(name)
    if train is not None:
        return list(questions.on_another_machine(measured(train), own))
    over = list(questions.over_other_paths(own, options.native))
    return over if name == FIRST else [*questions.left_out(own), *over]


def run(options: argparse.Namespace, command: str, folder: Path) -> Outcome:
    """Everything anew but what the others said, unless they are asked again."""
    tasks = {name: asked(name, options) for name in options.data or USUAL}
    every = [partial(answered, each, options.replicates) for of in tasks.values() for each in of]
    found = iter(spread(every, options.jobs, show_progress))
    rows = {}
    for name, of in tasks.items():
        own = pd.concat([next(found) for _ in of], ignore_index=True)
        rows[name] = own.merge(others(name, options, folder), how="left", on=KEY)
    datasets = {name: gpucast.load(name) for name in rows}
    return outcome(command, not options.only, datasets, rows, gpucast.load(FIRST))


def others(name: str, options: argparse.Namespace, folder: Path) -> pd.DataFrame:
    """What Extra-P and scipy say of a dataset's cells: kept, or asked for anew."""
    kept = folder / table_name(name)
    if not options.rivals and kept.exists():
        return pd.read_csv(kept)[KEY + RIVALS]
    if not options.rivals or options.train or name in (FIRST, *OF_FIRST):
        return pd.DataFrame(columns=KEY + RIVALS)
    own = Measured(gpucast.load(name), options.samples, options.only)
    tasks = [partial(rivals_of, own, each, group) for each, group in own.groups.items()]
    return pd.concat(spread(tasks, options.jobs, show_progress), ignore_index=True)


def table_name(dataset: str) -> str:
    """Of the file with a dataset's cells."""
    return f"{Path(dataset).stem}.csv"


def show_progress(done: int, total: int) -> None:
    """A line on stderr that is overwritten where that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r{done} of {total} parts", end="\n" if done == total else "", file=sys.stderr)


def write(found: Outcome, to: Path, folder: Path) -> None:
    """The page, its picture and its tables."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in found.rows.items():
        text = rows.to_csv(index=False, float_format="%.6g")
        files.write_text(folder / table_name(name), text, force=True)
    groups = found.groups.to_csv(index=False, float_format="%.4g")
    files.write_text(folder / "groups.csv", groups, force=True)
    picture = ""
    for name, rows in found.rows.items():
        if rows.split.isin(HELD_OUT).any():
            (to.parent / "images").mkdir(exist_ok=True)
            picture = "images/accuracy.png"
            style.save(shares(rows, name), to.parent / picture, force=True)
            break
    relative = folder.relative_to(to.parent).as_posix()
    files.write_text(to, page(found, picture, relative), force=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="*", help="names or files")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the page")
    parser.add_argument("--json", type=Path, help="sums over groups, and targets")
    parser.add_argument("--only", action="append", default=[], help="groups whose name has this")
    earlier = "forecast from all of this dataset's cells, of another machine"
    parser.add_argument("--train", metavar="DATA", help=earlier)
    parser.add_argument("--native", default="native", help="the path that what-ifs start from")
    parser.add_argument("--rivals", action="store_true", help="ask Extra-P and scipy again")
    parser.add_argument("--samples", type=int, help="of a record, to train (default: all)")
    parser.add_argument("--replicates", type=int, default=40, help="bootstrap refits")
    parser.add_argument("--jobs", type=int, help="processes (default: as many as cores)")
    options = parser.parse_args(arguments)
    if options.rivals and not extra_p.available():
        print(f"Extra-P left out: no {extra_p.PYTHON} (make extrap makes it)", file=sys.stderr)
    given = sys.argv[1:] if arguments is None else arguments
    command = shlex.join(["python", "studies/forecasts.py", *given])
    folder = options.output.parent / "results" / options.output.stem
    try:
        found = run(options, command, folder)
        write(found, options.output, folder)
        if options.json is not None:
            text = json.dumps(found.to_dict(), indent=1, default=lambda number: number.item())
            files.write_text(options.json, text + "\n", force=True)
    except GpucastError as error:
        print(f"forecasts.py: {error}", file=sys.stderr)
        return 2
    missed, total = found.missed(), len(list(found.targets()))
    print(f"{total - len(missed)} of {total} targets reached")
    for each in missed:
        of = ", ".join(filter(None, (each.dataset, each.split, each.part)))
        print(f"missed: {of}: {each.figure.replace('_', '-')}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
