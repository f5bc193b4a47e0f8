"""How long does ``gpucast figures --paper`` take, from the shell to 30 files? At most 10 s.

    .venv/bin/python benchmarks/figures_speed.py [NATIVE.json REMOTE.json]

Ten figures of dataset h200-x4 and of the documents, each as PDF, SVG and PNG, with models of the
native and of the remote path; without model files, the paper's model is fitted first. The least of
several runs is reported, in seconds of the clock and of the processor (all processes). The bound is
for two idle cores. Ends with status 1 if it is missed.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import gpucast as gc
from gpucast.util.tables import print_table

DATA, FILES, BOUND = "h200-x4", 30, 10.0
MACHINES = {"native": "h200-f/native", "remote": "h200-f/remote"}
KIND = {"schedule": "star-serial", "kernel": "claret", "memory": "pageable"}


def fitted(folder: Path) -> list[str]:
    """Files of models of both paths."""
    data = gc.load(DATA)
    paths = []
    for name, machine in MACHINES.items():
        path = folder / f"{name}.json"
        gc.fit(data, machine=machine, model="paper", replicates=60, **KIND).save(path)
        paths.append(str(path))
    return paths


def processor_seconds() -> float:
    """Of all processes that this one waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(models: Sequence[str], output: Path) -> tuple[float, float]:
    """Seconds of the clock and of the processor of one run."""
    begin, busy = time.perf_counter(), processor_seconds()
    subprocess.run(
        [sys.executable, "-m", "gpucast.cli", "figures", "--paper", DATA, *models,
         "--model", "none", "-o", str(output)],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    seconds = time.perf_counter() - begin, processor_seconds() - busy
    drawn = sum(path.suffix in (".pdf", ".svg", ".png") for path in output.iterdir())
    assert drawn == FILES, f"{drawn} files of figures, not {FILES}"
    return seconds


def main(runs: int = 3) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = sys.argv[1:] or fitted(folder)
        found = [measured(models, folder / str(run)) for run in range(runs)]
    clock, busy = (min(column) for column in zip(*found, strict=True))
    print_table(
        ["what", "seconds", "of processor", "bound", ""],
        [[f"{FILES} files of figures", f"{clock:.1f}", f"{busy:.1f}", BOUND,
          "reached" if clock <= BOUND else "MISSED"]],
        "lrrrl",
    )  # fmt: skip
    return int(clock > BOUND)


if __name__ == "__main__":
    sys.exit(main())
