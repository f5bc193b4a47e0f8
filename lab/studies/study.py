"""The accuracy study: fit made data again and again, forecast what was left out, count the misses.

Data come from synthetic.py, a second implementation of the paper's equations: 7 sizes times
1 to 4 GPUs times 5 repetitions with 3 % lognormal noise, and the same with 8 % of the samples
1.5 to 4 times too slow. Left out are 8 GPUs at every size, and sizes up to four times larger.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import gpucast
import synthetic
from gpucast.data import jsonl
from gpucast.data.dataset import Dataset, from_records
from synthetic import GPU_GRID, N_GRID, Truth

Array = NDArray[np.float64]

SIGMA = 0.03
OUTLIERS = 0.08
REPEATS = 5
SMS, BLOCK = 12, 256


@dataclass(frozen=True)
class Made:
    """One made data set and what it was made from."""

    truth: Truth
    seed: int
    n: Array
    gpus: Array
    seconds: Array

    def dataset(self) -> Dataset:
        """The steps as records."""
        gpu = {"name": "made", "cores": self.truth.c, "sms": SMS}
        lines: list[dict[str, object]] = [{"kind": "machine", "id": "made", "gpus": [gpu]}]
        cells = pd.Series(self.seconds).groupby([self.n, self.gpus])
        steps = {"kind": "step", "machine": "made", "path": "native", "schedule": "star-serial",
                 "kernel": "claret", "block": BLOCK}  # fmt: skip
        lines += [
            {**steps, "n": int(n), "gpus": int(gpus), "seconds": samples.tolist()}
            for (n, gpus), samples in cells
        ]
        return from_records("made", [jsonl.record(line) for line in lines])


def made(truth: Truth, seed: int, outliers: float) -> Made:
    rng = np.random.default_rng(seed)
    n, gpus = synthetic.grid(N_GRID, GPU_GRID, REPEATS)
    seconds = synthetic.noisy(truth.seconds(n, gpus), rng, SIGMA, outliers)
    return Made(truth, seed, n, gpus, seconds)


def held_out() -> tuple[Array, Array]:
    """8 GPUs at every size fitted; two and four times the largest size on 1 to 4 and 8 GPUs."""
    larger = np.array([2, 4]) * N_GRID[-1]
    a = synthetic.grid(N_GRID, np.array([8.0]), 1)
    b = synthetic.grid(larger, np.array([1.0, 2.0, 3.0, 4.0, 8.0]), 1)
    return np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])


@dataclass(frozen=True)
class Outcome:
    """What one fit achieved."""

    errors: Array  # relative, of held-out cells against the noise-free truth
    k_right: bool
    hits: int
    total: int
    regrets: Array
    covered: Array  # new noisy measurements in the prediction interval
    finite: bool
    lack_of_fit_p: float


def outcome(data: Made) -> Outcome:
    fitted = gpucast.fit(data.dataset())
    n, gpus = held_out()
    found = fitted.forecasts(n, gpus)
    truth = data.truth.seconds(n, gpus)
    rng = np.random.default_rng(data.seed + 2 * 10**6)
    new = synthetic.noisy(truth, rng, SIGMA)
    counts = np.arange(1.0, 9.0)
    sizes = np.concatenate([N_GRID, 4 * N_GRID[-1:]])
    hits, regrets = 0, []
    for size, best in zip(sizes, fitted.best_counts(list(sizes), list(counts)), strict=True):
        times = data.truth.seconds(np.full(counts.size, size), counts)
        regrets.append(times[best["gpus"] - 1] / times.min() - 1)
        hits += int(np.argmin(times)) == best["gpus"] - 1
    return Outcome(
        errors=np.abs(found.seconds / truth - 1),
        k_right=fitted.content["k"] == data.truth.k,
        hits=hits,
        total=sizes.size,
        regrets=np.array(regrets),
        covered=(found.low <= new) & (new <= found.high),
        finite=bool(np.isfinite(found.seconds).all() and (found.seconds > 0).all()),
        lack_of_fit_p=fitted.content["quality"]["lack_of_fit_p"],
    )


def wrong_model(data: Made) -> Made:
    """The same with what no candidate knows.

    4 % load imbalance for each GPU beyond the first, and a synchronization in which every GPU sends
    every other a message: N^2 latencies of the path.
    """
    t_gpu, t_cpu, t_com = data.truth.terms(data.n, data.gpus)
    right = t_gpu + t_cpu + t_com
    synchronization = data.truth.L_h2d * data.gpus**2
    wrong = t_gpu * (1 + 0.04 * (data.gpus - 1)) + t_cpu + t_com + synchronization
    return replace(data, seconds=data.seconds * wrong / right)
