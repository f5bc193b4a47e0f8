"""How long do fits, bootstraps and forecasts take? Each figure with its bound.

    .venv/bin/python benchmarks/speed.py

The least of several runs is reported: machines are shared, and the least is what the work costs.
Bounds are for a machine that does a fixed piece of numpy's work as fast as the one that README's
figures are of; how much slower this one is just now is printed beside. Ends with status 1 if a
bound is missed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import gpucast
from gpucast import _core
from gpucast.fitting import selection
from gpucast.fitting.fit import fit
from gpucast.model.fitted import load_model
from gpucast.util.tables import print_table
from study import GPU_GRID, N_GRID, TRUTHS, made, synthetic

GPUCAST = Path(sys.executable).parent / "gpucast"
LARGEST_K = 128

REFERENCE = 0.027
"""Seconds of `slowness`'s work on two virtual cores of an AMD EPYC 7003 with nothing else to do."""


def least(work: Callable[[], object], runs: int) -> float:
    """Seconds of the fastest of several runs, after one that is not counted."""
    work()
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def slowness() -> float:
    """How many times longer than `REFERENCE` two threads take here for logarithms; at least 1."""
    values = np.geomspace(1e-6, 1e6, 1_000_000)

    def logarithms(_: int) -> None:
        for _ in range(5):
            np.log(values)

    with ThreadPoolExecutor(2) as pool:
        return max(1.0, least(lambda: list(pool.map(logarithms, range(2))), 10) / REFERENCE)


def core_model() -> _core.Model:
    return _core.Model("wave", "linear", "star-serial", cores=TRUTHS["native"].c)


def samples(repeats: int) -> _core.Observations:
    truth = TRUTHS["native"]
    n, gpus = synthetic.grid(N_GRID, GPU_GRID, repeats)
    seconds = synthetic.noisy(truth.seconds(n, gpus), np.random.default_rng(1), outliers=0.08)
    zeros = np.zeros(len(n))
    kinds = zeros.astype(np.uint8)
    return _core.Observations(kinds, kinds, n, gpus, zeros, zeros, zeros, seconds, zeros)


def measurements() -> list[tuple[str, float, float]]:
    """(what, seconds, bound)."""
    model = core_model()
    integers = _core.default_integers(model, LARGEST_K)
    few = samples(5)
    many = samples(100_000 // (len(N_GRID) * len(GPU_GRID)) + 1)
    fitted = _core.fit(model, few, integers)
    dataset = made(TRUTHS["native"], 1, 0.08).dataset()
    whole = gpucast.fit(dataset)
    n = np.repeat(np.geomspace(1e3, 1e6, 125_000).round(), 8)
    gpus = np.tile(np.arange(1.0, 9.0), 125_000)
    posed = selection.pose(dataset)
    result = [
        (
            "fit of 140 samples, k from 1 to 128",
            least(lambda: _core.fit(model, few, integers), 20),
            0.02,
        ),
        ("1000 bootstrap refits of it", least(lambda: fitted.bootstrap(1000, 1), 5), 1.0),
        (
            f"fit of {many.sample_count} samples",
            least(lambda: _core.fit(model, many, integers), 3),
            2.0,
        ),
        ("1,000,000 forecasts with intervals", least(lambda: whole.forecasts(n, gpus), 3), 1.0),
        (
            "gpucast.fit: model chosen, 400 refits",
            least(lambda: fit(dataset), 10),
            0.5,
        ),
        ("records to arrays", least(lambda: posed.observations(), 20), 0.02),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        whole.save(path)
        result.append(("model file read", least(lambda: load_model(path), 20), 0.05))
        command = [GPUCAST, "predict", path, "-n", "1000,1e5", "--gpus", "1-8"]
        result.append(
            (
                "gpucast predict, shell to answer",
                least(lambda: subprocess.run(command, check=True, capture_output=True), 10),
                0.5,
            )
        )
    return result


def main() -> int:
    found = measurements()
    print_table(
        ["what", "seconds", "bound", ""],
        [
            [what, f"{seconds:.4f}", bound, "reached" if seconds <= bound else "MISSED"]
            for what, seconds, bound in found
        ],
        "lrrl",
    )
    print(f"\nslower than the machine of the bounds: {slowness():.2f} times")
    return int(any(seconds > bound for _, seconds, bound in found))


if __name__ == "__main__":
    sys.exit(main())
