"""Timing of benchmarks, and the history of what they found: history.jsonl, a line a figure."""

from __future__ import annotations

import datetime
import json
import os
import resource
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpucast.util.tables import print_table

HISTORY = Path(__file__).with_name("history.jsonl")


@dataclass(frozen=True)
class Figure:
    """What some work takes: seconds of the clock, and of the processor (all threads, all processes
    that were waited for); ``bound``: of the clock, on an idle machine of two cores."""

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
    """The least of several runs, after one that is not counted: machines are shared, and the least
    is what the work costs."""
    work()
    found = []
    for _ in range(runs):
        begin, busy = time.perf_counter(), processor_seconds()
        work()
        found.append((time.perf_counter() - begin, processor_seconds() - busy))
    return Figure(what, *(min(column) for column in zip(*found, strict=True)), bound)


def processor_seconds() -> float:
    """Processor seconds of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def finish(benchmark: str, figures: Sequence[Figure], keep: bool) -> int:
    """Prints the figures beside those kept last on a machine like this; exit status 1 if a bound is
    missed."""
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
            [each.what, f"{each.seconds:.4f}", f"{each.processor:.4f}",
             f"{before[each.what]:.4f}" if each.what in before else "",
             "" if each.bound is None else f"{each.bound:.3g}", each.verdict]
            for each in figures
        ],
        "lrrrrl",
    )  # fmt: skip
    if keep:
        add(benchmark, figures)
    return int(any(each.verdict == "MISSED" for each in figures))


def machine() -> tuple[str, int]:
    """The processor's name, and the cores that this process may use."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "unknown"), len(os.sched_getaffinity(0))


def add(benchmark: str, figures: Sequence[Figure]) -> None:
    """Add figures to the history."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=HISTORY.parent, check=True, capture_output=True, text=True,
    )  # fmt: skip
    cpu, cores = machine()
    about = {"date": datetime.date.today().isoformat(), "commit": described.stdout.strip(),
             "cpu": cpu, "cores": cores, "load": round(os.getloadavg()[0], 1),
             "benchmark": benchmark}  # fmt: skip
    with open(HISTORY, "a", encoding="utf-8") as stream:
        for each in figures:
            entry = about | {
                "what": each.what,
                "seconds": float(f"{each.seconds:.4g}"),
                "processor_seconds": float(f"{each.processor:.4g}"),
            }
            stream.write(json.dumps(entry) + "\n")
