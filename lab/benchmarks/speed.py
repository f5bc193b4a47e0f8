"""How long do fits, forecasts, commands, plans and figures take? Each time has a bound.

    .venv/bin/python lab/benchmarks/speed.py [SUBJECT...] [--models NATIVE.json REMOTE.json]
        [--keep]

The shortest of several runs is reported, as wall time and processor time (all threads, all
processes): machines are shared, and the shortest time is the least disturbed. Bounds are for two
idle cores of the machine on which README's figures were measured. Subjects are the functions below,
by default all. Plans and figures need the models of two paths, by default fitted here. ``--keep``
adds the figures to history.jsonl. Exits with status 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import pandas

import gpucast as gc
from gpucast import _core
from gpucast.answers.planning.plan import plan_request
from gpucast.answers.planning.reading import of_values, read
from gpucast.data import jsonl
from gpucast.fitting.selection import problem_of
from gpucast.util.tables import print_table
from gpucast.util.typed_json import to_json
from lab.forecasters.asking import answers
from lab.forecasters.rivals import EXTRAP, OF_SAMPLES
from lab.forecasters.series import samples_of
from lab.studies import synthetic
from lab.studies.accuracy import made
from lab.studies.synthetic import GPU_GRID, N_GRID, TRUTHS

HISTORY = Path(__file__).with_name("history.jsonl")
"""Figures of earlier runs, one per line."""
GPUCAST = Path(sys.executable).parent / "gpucast"
LARGEST_K = 128
JOBS, COUNTS = 1000, 64
PICTURES = 30
SAMPLES = Path(__file__).resolve().parents[2] / "tests" / "data" / "logs"
LOGS, LOG_BYTES = 1000, 50_000
THERMO = "   100000   299.84512     -5757722.4     1111356.7    -4646365.7     0.99731\n"


@dataclass(frozen=True)
class Figure:
    """Wall and processor seconds of some work (all threads, and all processes that were waited
    for); ``bound``: of the wall time, on an idle machine of two cores."""

    what: str
    seconds: float
    processor: float
    bound: float | None = None

    @property
    def verdict(self) -> str:
        if self.bound is None:
            return ""
        return "reached" if self.seconds <= self.bound else "MISSED"


def least(what: str, work: Callable[[], object], runs: int, bound: float | None = None) -> Figure:
    """The shortest of several runs, after one that is not counted."""
    work()
    runs_taken = []
    for _ in range(runs):
        begin, busy = time.perf_counter(), processor_seconds()
        work()
        runs_taken.append((time.perf_counter() - begin, processor_seconds() - busy))
    return Figure(what, *(min(column) for column in zip(*runs_taken, strict=True)), bound)


def processor_seconds() -> float:
    """Processor seconds of this process and of the processes that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def finish(figures: Sequence[Figure], keep: bool) -> int:
    """Print the figures and those kept last on a machine like this one; the exit status is 1 if a
    bound is missed."""
    here = machine()
    entries = map(json.loads, HISTORY.read_text(encoding="utf-8").splitlines())
    before = {
        entry["what"]: entry["seconds"]
        for entry in entries
        if (entry["cpu"], entry["cores"]) == here
    }
    print_table(
        ["what", "seconds", "of processor", "kept last", "bound", ""],
        [
            [figure.what, f"{figure.seconds:.4f}", f"{figure.processor:.4f}",
             f"{before[figure.what]:.4f}" if figure.what in before else "",
             "" if figure.bound is None else f"{figure.bound:.3g}", figure.verdict]
            for figure in figures
        ],
        "lrrrrl",
    )  # fmt: skip
    if keep:
        add(figures)
    return int(any(figure.verdict == "MISSED" for figure in figures))


def machine() -> tuple[str, int]:
    """The processor's name, and the number of cores that this process may use."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "unknown"), len(os.sched_getaffinity(0))


def add(figures: Sequence[Figure]) -> None:
    """Add figures to the history."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=HISTORY.parent, check=True, capture_output=True, text=True,
    )  # fmt: skip
    cpu, cores = machine()
    about = {"date": datetime.date.today().isoformat(), "commit": described.stdout.strip(),
             "cpu": cpu, "cores": cores, "load": round(os.getloadavg()[0], 1),
             "benchmark": "speed"}  # fmt: skip
    with open(HISTORY, "a", encoding="utf-8") as stream:
        for figure in figures:
            entry = about | {
                "what": figure.what,
                "seconds": float(f"{figure.seconds:.4g}"),
                "processor_seconds": float(f"{figure.processor:.4g}"),
            }
            stream.write(json.dumps(entry) + "\n")


def samples(repeats: int) -> _core.Observations:
    truth = TRUTHS["native"]
    n, gpus = synthetic.grid(N_GRID, GPU_GRID, repeats)
    seconds = synthetic.noisy(truth.seconds(n, gpus), np.random.default_rng(1), outliers=0.08)
    zeros = np.zeros(len(n))
    kinds = zeros.astype(np.uint8)
    return _core.Observations(kinds, kinds, n, gpus, zeros, zeros, zeros, seconds, zeros)


def library(folder: Path, paths: Sequence[Path]) -> Iterator[Figure]:
    """Time fits, forecasts and the reading of records, as Python calls."""
    model = _core.Model("wave", "linear", "star-serial", cores=TRUTHS["native"].c)
    integers = _core.default_integers(model, LARGEST_K)
    few = samples(5)
    many = samples(100_000 // (len(N_GRID) * len(GPU_GRID)) + 1)
    fitted = _core.fit(model, few, integers)
    data = made(TRUTHS["native"], 1, 0.08).dataset()
    named = gc.fit(data, model="paper")
    whole = gc.fit(data)
    whole.save(folder / "model.json")
    campaign = gc.load("h200-x4")
    group = {"path": "native", "schedule": "star-serial", "kernel": "tuned", "memory": "pageable"}
    n = np.repeat(np.geomspace(1e3, 1e6, 125_000).round(), 8)
    gpus = np.tile(np.arange(1.0, 9.0), 125_000)
    posed = problem_of(data)
    lines = (jsonl.to_line(data.steps[0]) + "\n").encode() * 100_000
    for what, work, runs, bound in (
        ("fit of 140 samples, k from 1 to 128", lambda: _core.fit(model, few, integers), 20, 0.02),
        ("1000 bootstrap refits of it", lambda: fitted.bootstrap(1000, 1), 5, 1.0),
        (f"fit of {many.sample_count} samples", lambda: _core.fit(model, many, integers), 3, 2.0),
        ("1,000,000 forecasts of a form named", lambda: named.forecasts(n, gpus), 3, 1.0),
        ("1,000 forecasts of a mixture", lambda: whole.forecasts(n[::1000], gpus[::1000]), 20, 0.1),
        ("gpucast.fit of 140 samples, forms weighed", lambda: gc.fit(data), 10, 0.3),
        ("the same of 224 records, with transfers", lambda: gc.fit(campaign, **group), 3, 3.0),
        ("records to arrays", posed.observations, 20, 0.02),
        ("100,000 records read", lambda: jsonl.parse(lines, "data.jsonl"), 2, 2.0),
        ("model file read", lambda: gc.load_model(folder / "model.json"), 20, 0.05),
    ):
        yield least(what, work, runs, bound)


def commands(folder: Path, paths: Sequence[Path]) -> Iterator[Figure]:
    """Time commands, from the shell to the answer."""
    gc.fit(made(TRUTHS["native"], 1, 0.08).dataset()).save(folder / "of-steps.json")
    for path in ("native", "remote"):
        gc.fit(
            gc.load("h200-x4"), path=path, schedule="star-async", kernel="tuned",
            model="work+linear+star-async", replicates=100,
        ).save(folder / f"async-{path}.json")  # fmt: skip
    predict = command(folder, "predict", "of-steps.json", "-n", "1000,1e5", "--gpus", "1-8")
    yield least("gpucast predict, shell to answer", predict, 10, 0.5)
    models = ("async-native.json", "async-remote.json")
    report = command(folder, "report", *models, "--data", "h200-x4", "-o", "report.html", "--force")
    yield least("gpucast report of two measured paths", report, 3, 5.0)


def command(folder: Path, *words: object) -> Callable[[], object]:
    whole = [GPUCAST, *map(str, words)]
    return lambda: subprocess.run(whole, check=True, capture_output=True, cwd=folder)


def beside_extrap(folder: Path, paths: Sequence[Path]) -> Iterator[Figure]:
    """Time Extra-P's fit, and gpucast's without the intervals that Extra-P does not give."""
    if not EXTRAP.exists():
        return
    data = [made(TRUTHS["native"], seed, 0.0).dataset() for seed in range(3)]
    query = pandas.DataFrame({"n": [1000.0], "gpus": [8.0]})
    questions = [(samples_of(steps.steps), query) for steps in data]
    elapsed = min(float(a.elapsed.min()) for way in OF_SAMPLES for a in answers(way, questions))
    yield least("fit without intervals", lambda: gc.fit(data[0], replicates=0), 5, elapsed)
    yield Figure("Extra-P's fit of the same", elapsed, elapsed)


def plans(folder: Path, paths: Sequence[Path]) -> Iterator[Figure]:
    """Time plans of 1,000 jobs, all of different sizes, on 3 machines with 64 GPU counts each: with
    probabilities, deadlines, fronts, schedule and bounds; and with iso-efficiency and break-even
    sizes."""
    if paths:
        native, remote = (gc.load_model(path) for path in paths)
    else:
        native, remote = (
            gc.fit(made(TRUTHS[name], 1, 0.0).dataset()) for name in ("native", "virtualized")
        )
    models = {"a": native, "b": remote, "c": remote}
    machines = "".join(
        f"  - {{name: {name}, gpus: {COUNTS}, gpus_per_host: 8, price_per_gpu_hour: {price}, "
        "price_per_host_hour: 0.5}\n"
        for name, price in (("a", 3.0), ("b", 2.0), ("c", 1.5))
    )
    jobs = "".join(
        f"  - {{name: j{i}, n: {n + i:.0f}, steps: 1e6, deadline: 2h}}\n"
        for i, n in enumerate(np.geomspace(1000, 200_000, JOBS).round())
    )
    file = folder / "plan.yaml"
    file.write_text(f"window: 24h\nmachines:\n{machines}jobs:\n{jobs}")
    request = read(file, models)
    sizes = of_values({**to_json(request), "iso_efficiency": 0.8, "break_even": 0.2}, models)
    yield least("the file read and checked", lambda: read(file, models), 5, 1.0)
    yield least("planned", lambda: plan_request(request), 5, 1.0)
    yield least("planned, with sizes", lambda: plan_request(sizes), 5, 2.0)


def figures(folder: Path, paths: Sequence[Path]) -> Iterator[Figure]:
    """Time ``gpucast figures paper``: ten figures of h200-x4 and of the documents, each as PDF, SVG
    and PNG, with the paper's model of the native and of the remote path."""
    if not paths:
        paths = [folder / "native.json", folder / "remote.json"]
        kind = {"schedule": "star-serial", "kernel": "claret", "memory": "pageable"}
        for path in paths:
            machine = f"h200-f/{path.stem}"
            data = gc.load("h200-x4")
            gc.fit(data, machine=machine, model="paper", replicates=60, **kind).save(path)
    output = folder / "figures"
    draw = command(
        folder, "figures", "paper", "h200-x4", *(path.resolve() for path in paths),
        "--model", "none", "-o", output, "--force",
    )  # fmt: skip
    yield least(f"{PICTURES} files of figures", draw, 2, 10.0)
    drawn = sum(path.suffix in (".pdf", ".svg", ".png") for path in output.iterdir())
    assert drawn == PICTURES, f"{drawn} files of figures, not {PICTURES}"


def imports(folder: Path, paths: Sequence[Path]) -> Iterator[Figure]:
    """Time ``gpucast import`` of a folder of logs of five programs, mostly thermodynamic output."""
    logs = folder / "logs"
    logs.mkdir()
    names = ("lammps-gpu-screen", "gromacs", "namd3", "amber-mdout", "carpetx")
    samples = [(SAMPLES / f"{name}.txt").read_text().splitlines(keepends=True) for name in names]
    for at in range(LOGS):
        lines = samples[at % len(samples)]
        middle = len(lines) // 2
        filling = LOG_BYTES - sum(map(len, lines))
        output = (THERMO * (filling // len(THERMO) + 1))[:filling]
        text = "".join((*lines[:middle], output, "\n", *lines[middle:]))
        # All sizes differ, so that no two logs describe the same run.
        for size in ("108000", "81743", "64871", "408609", "16777216"):
            text = text.replace(size, str(int(size) + at))
        (logs / f"{at}.log").write_text(text)
    work = command(folder, "import", logs, "-o", "logs.jsonl", "--force")
    yield least(f"{LOGS} logs of {LOG_BYTES // 1000} kB imported", work, 3, 10.0)


def programs(folder: Path, paths: Sequence[Path]) -> Iterator[Figure]:
    """Time a fit of any program: twenty sizes on ten GPU counts, with noise of 2 %."""
    n, gpus = np.meshgrid(np.geomspace(1e4, 1e8, 20).round(), 2 ** np.arange(10))
    share = n / gpus
    seconds = 1e-4 + 2.6e-9 * share + (gpus > 1) * (5e-5 * np.log2(gpus) + 1e-7 * share ** (2 / 3))
    noise = np.exp(np.random.default_rng(0).normal(0, 0.02, n.shape))
    table = {"n": n.ravel(), "gpus": gpus.ravel(), "seconds": (seconds * noise).ravel()}
    data = gc.read(pandas.DataFrame(table))
    yield least("200 cells of any program fitted, all candidates", lambda: gc.fit(data), 3, 1.0)


SUBJECTS = {
    subject.__name__: subject
    for subject in (library, commands, beside_extrap, plans, figures, imports, programs)
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--models", nargs=2, type=Path, default=[], metavar="MODEL.json")
    parser.add_argument("--keep", action="store_true", help=f"add the figures to {HISTORY.name}")
    options = parser.parse_args()
    if unknown := set(options.subjects) - set(SUBJECTS):
        parser.error(f"no subject {', '.join(unknown)}; there are: {', '.join(SUBJECTS)}")
    taken: list[Figure] = []
    for name in options.subjects or SUBJECTS:
        with tempfile.TemporaryDirectory() as folder:
            taken += SUBJECTS[name](Path(folder), options.models)
    return finish(taken, options.keep)


if __name__ == "__main__":
    sys.exit(main())
