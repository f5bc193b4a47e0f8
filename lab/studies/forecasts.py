"""How good are forecasts from measured steps? Datasets of our own program, targets, and rivals.

    .venv/bin/python lab/studies/forecasts.py -o docs/accuracy.md [DATA...] [--train DATA]
        [--rivals]

Writes the page, its picture (in images/) and a table for each dataset (in results/accuracy/: every
cell's measured and forecast time), and exits with status 1 if a target is missed. Without DATA, all
datasets of the page are used. Extra-P and scipy get the same cells; their forecasts are kept in the
tables, and --rivals computes them again. The parts are in forecasting/.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Collection
from functools import lru_cache, partial
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gpucast
from forecasting import questions
from forecasting.answers import KEY, answered
from forecasting.outcome import Outcome, outcome
from forecasting.page import page, shares
from forecasting.questions import HELD_OUT, Measured, Question
from forecasting.rivals import RIVALS, rivals_of
from gpucast.errors import GpucastError, InputError
from gpucast.show.plots import style
from gpucast.util import files
from gpucast.util.processes import spread
from lab.forecasters.rivals import EXTRAP
from pages import show_progress

USUAL = ["h200-x4-mixed", "h200-x4", "h200-x2", "h200-x2-other"]
FIRST = "h200-x2"
"""The engine's settings were chosen on the first machine; only what-ifs are judged on it."""
OF_FIRST = {"h200-x2-other": FIRST}
"""Datasets of other machines, and the dataset from whose steps theirs are forecast."""


def measured(data: str, options: argparse.Namespace, only: Collection[str] = ()) -> Measured:
    """The groups of a dataset."""
    return Measured(loaded(data), options.samples, only)


loaded = lru_cache(gpucast.load)


def all_questions(data: str, options: argparse.Namespace) -> list[Question]:
    """All questions about a dataset."""
    own, train = measured(data, options, options.only), options.train or OF_FIRST.get(data)
    if train is not None:
        return list(questions.on_another_machine(measured(train, options), own))
    over = list(questions.over_other_paths(own, options.native))
    return over if data == FIRST else [*questions.left_out(own), *over]


def run(options: argparse.Namespace, command: str, folder: Path) -> Outcome:
    """Compute all forecasts; those of the rivals are read from tables unless ``--rivals`` is
    given."""
    tasks = {data: all_questions(data, options) for data in options.data or USUAL}
    if empty := [data for data, questions_of in tasks.items() if not questions_of]:
        raise InputError("has nothing to forecast", file=empty[0])
    every = [partial(answered, q, options.replicates) for own in tasks.values() for q in own]
    answers = iter(spread(every, options.jobs, show_progress))
    datasets, rows = {}, {}
    for data, questions_of in tasks.items():
        own = pd.concat([next(answers) for _ in questions_of], ignore_index=True)
        name = Path(data).stem
        datasets[name] = loaded(data)
        held_out = bool(own.split.isin(HELD_OUT).any())
        by_others = others(data, options, folder / f"{name}.csv", held_out)
        rows[name] = own.merge(by_others, how="left", on=KEY)
    return outcome(command, not options.only, datasets, rows, loaded(FIRST))


def others(data: str, options: argparse.Namespace, kept: Path, held_out: bool) -> pd.DataFrame:
    """Forecasts of a dataset's held-out cells by Extra-P and scipy: computed, or read from
    ``kept``."""
    if not held_out or not (options.rivals or kept.exists()):
        return pd.DataFrame(columns=KEY + RIVALS)
    if not options.rivals:
        return pd.read_csv(kept)[KEY + RIVALS]
    own = measured(data, options, options.only)
    tasks = [partial(rivals_of, own, name, group) for name, group in own.groups.items()]
    return pd.concat(spread(tasks, options.jobs, show_progress), ignore_index=True)


def write(found: Outcome, to: Path, folder: Path) -> None:
    """Write the page, its picture and its tables."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in found.rows.items():
        text = rows.to_csv(index=False, float_format="%.6g")
        files.write_text(folder / f"{name}.csv", text, force=True)
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
    parser.add_argument(
        "--only", action="append", default=[], help="groups whose name contains this"
    )
    earlier = "forecast from all cells of this dataset, which is of another machine"
    parser.add_argument("--train", metavar="DATA", help=earlier)
    parser.add_argument("--native", default="native", help="the path from which what-ifs start")
    parser.add_argument(
        "--rivals", action="store_true", help="compute the forecasts of Extra-P and scipy again"
    )
    fewer = "train on this number of evenly spaced quantiles of a record (default: all samples)"
    parser.add_argument("--samples", type=int, help=fewer)
    parser.add_argument("--replicates", type=int, default=40, help="bootstrap refits")
    parser.add_argument("--jobs", type=int, help="processes (default: as many as cores)")
    options = parser.parse_args(arguments)
    if options.rivals and not EXTRAP.exists():
        print(f"Extra-P left out: no {EXTRAP} (make extrap makes it)", file=sys.stderr)
    given = sys.argv[1:] if arguments is None else arguments
    command = shlex.join(["python", "lab/studies/forecasts.py", *given])
    folder = options.output.parent / "results" / options.output.stem
    try:
        answer = run(options, command, folder)
        write(answer, options.output, folder)
    except GpucastError as error:
        print(f"forecasts.py: {error}", file=sys.stderr)
        return 2
    missed, total = answer.missed(), len(list(answer.targets()))
    print(f"{total - len(missed)} of {total} targets reached")
    for target in missed:
        which = ", ".join(filter(None, (target.dataset, target.split, target.part)))
        print(f"missed: {which}: {target.figure.replace('_', '-')}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
