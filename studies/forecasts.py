"""How good are forecasts from measured steps? Every group of a dataset, targets, others beside.

    .venv/bin/python studies/forecasts.py -o docs/accuracy.md [DATA...] [--only TEXT] [--json F]

Writes the report and its pictures (images/ beside it) and ends with status 1 if a target is missed.
Trained on few GPUs and forecasting more (with --train DATA: trained on that dataset, of a machine
with fewer GPUs); on small n and forecasting larger; with cells left out at random; on a quarter of
the cells; remote steps from native ones; the paper's findings. Extra-P and the paper's form, fitted
with scipy and with gpucast, get the same cells. The parts are in forecasting/.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from pathlib import Path

import extra_p
import gpucast
from forecasting import plots
from forecasting.outcome import About, Outcome, machine_facts
from forecasting.remote import what_ifs
from forecasting.report import report, summary
from forecasting.studies import ALONE, Settings, run, subject
from gpucast.data.steps import groups_of, names_of
from gpucast.data.thinning import thinned
from gpucast.errors import GpucastError, InputError
from gpucast.paper.findings import findings_of
from gpucast.plots import style
from gpucast.util import files

DATA = "h200-x4"


def examine(options: argparse.Namespace, settings: Settings, command: str) -> Outcome:
    """All that there is to find out about the groups whose name contains one of ``only``."""
    data, only, native = gpucast.load(*options.data), options.only, options.native
    earlier = gpucast.load(*options.train) if options.train else None
    named = names_of(groups_of(data))
    kept = {g: name for g, name in named.items() if not only or any(o in name for o in only)}
    if not kept:
        raise InputError(f"no steps of {', '.join(only)}; there are: {'; '.join(named.values())}")
    subjects = [subject(data, group, settings, earlier) for group in kept]
    studies = run(subjects, options.jobs, show_progress)
    remote = what_ifs(data, thinned(data, settings.samples), studies, native)
    machines = dict.fromkeys(group.machine for group in kept)
    return Outcome(
        about=About(
            data=data.name,
            digest=data.digest,
            earlier=earlier and earlier.name,
            command=command,
            machines=[machine_facts(data.machines[machine]) for machine in machines],
            samples=sum(len(step.seconds) for one in subjects for step in one.full.steps),
            settings=settings,
        ),
        cells={kept[group]: len(study.measured) for group, study in studies.items()},
        held_out={
            kind: {kept[g]: s.results[kind] for g, s in studies.items() if kind in s.results}
            for kind in ALONE
        },
        quarter={kept[group]: study.quarter for group, study in studies.items()},
        what_if={kept[group]: each for group, each in remote.items()},
        findings=findings_of(data, studies, kept, native),
    )


def show_progress(done: int, total: int) -> None:
    """A line on stderr that is overwritten where that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r{done} of {total} parts", end="\n" if done == total else "", file=sys.stderr)


def draw(outcome: Outcome, folder: Path) -> dict[str, str]:
    """Write the pictures; their titles by path as seen from beside ``folder``."""
    own = {name: each["gpucast"] for name, each in outcome.held_out["gpus"].items()}
    cells = {name: each.cells for name, each in own.items() if each.refused is None}
    if not cells:
        return {}
    counts = sorted({cell["gpus"] for each in cells.values() for cell in each})
    words = f"N = {', '.join(map(str, counts))}, trained on fewer GPUs"
    folder.mkdir(parents=True, exist_ok=True)
    titles = {}
    for file, picture, what in (
        ("forecasts-measured.png", plots.forecast_against_measured, "Forecast and measured time"),
        ("forecasts-error.png", plots.error_over_n, "Error of forecasts over n"),
    ):
        titles[f"{folder.name}/{file}"] = title = f"{what}: {words}"
        style.save(picture(cells, title), folder / file, force=True)
    return titles


def as_json(outcome: Outcome) -> str:
    """All numbers."""
    return json.dumps(
        outcome.to_dict(), ensure_ascii=False, indent=1, allow_nan=False,
        default=lambda number: number.item(),  # of numpy
    ) + "\n"  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    usual = Settings()
    parser.add_argument("data", nargs="*", default=[DATA], help=f"names or files (default {DATA})")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the page")
    parser.add_argument("--json", type=Path, help="all numbers, cell by cell")
    parser.add_argument("--only", action="append", default=[], help="groups whose name has this")
    fewer = "forecast more GPUs from this dataset of fewer (default: from half of DATA's)"
    parser.add_argument("--train", action="append", default=[], metavar="DATA", help=fewer)
    parser.add_argument("--native", default="native", help="the path that remote ones are held to")
    parser.add_argument("--largest-n", type=int, default=usual.largest_n)
    parser.add_argument("--seeds", type=int, default=usual.seeds, help="random splits of a kind")
    parser.add_argument("--samples", type=int, default=usual.samples, help="of a record, to train")
    parser.add_argument("--replicates", type=int, default=usual.replicates)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    settings = Settings(options.samples, options.replicates, options.seeds, options.largest_n)
    if not extra_p.available():
        print(f"Extra-P left out: no {extra_p.PYTHON} (make extrap makes it)", file=sys.stderr)
    given = sys.argv[1:] if arguments is None else arguments
    command = shlex.join(["python", "studies/forecasts.py", *given])
    try:
        outcome = examine(options, settings, command)
        images = draw(outcome, options.output.parent / "images")
        files.write_text(options.output, report(outcome, images), force=True)
        if options.json is not None:
            files.write_text(options.json, as_json(outcome), force=True)
    except GpucastError as error:
        print(f"forecasts.py: {error}", file=sys.stderr)
        return 2
    print(summary(outcome))
    reached, total = outcome.counted()
    return int(reached < total)


if __name__ == "__main__":
    sys.exit(main())
