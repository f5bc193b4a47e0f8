"""The accuracy study: fit made data again and again, forecast what was left out, count the misses.

Data come from synthetic.py, a second implementation of the paper's equations: 7 sizes times
1 to 4 GPUs times 5 repetitions with 3 % lognormal noise, and the same with 8 % of the samples
1.5 to 4 times too slow. Left out are 8 GPUs at every size, and sizes up to four times larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import gpucast
import synthetic
from gpucast.data import jsonl
from gpucast.data.dataset import Dataset, from_records
from synthetic import GPU_GRID, N_GRID, TRUTHS, Truth

Array = NDArray[np.float64]

SIGMA = 0.03
OUTLIERS = 0.08
REPEATS = 5
SMS, BLOCK = 12, 256
TRANSFER_SIZES = 2.0 ** np.arange(6, 27, 2)


@dataclass(frozen=True)
class Made:
    """One made data set and what it was made from."""

    truth: Truth
    seed: int
    outliers: float
    n: Array
    gpus: Array
    seconds: Array

    def dataset(self, microbenchmarks: bool = False) -> Dataset:
        """The steps (and transfers and launches) as records."""
        lines = [machine(self.truth)]
        cells: dict[tuple[float, float], list[float]] = {}
        for n, gpus, seconds in zip(self.n, self.gpus, self.seconds, strict=True):
            cells.setdefault((n, gpus), []).append(float(seconds))
        lines += [step(n, gpus, samples) for (n, gpus), samples in cells.items()]
        if microbenchmarks:
            lines += microbenchmark_records(self.truth, np.random.default_rng(self.seed + 10**6))
        return from_records("made", [jsonl.record(line) for line in lines])


def machine(truth: Truth) -> dict[str, object]:
    gpu = {"name": "made", "cores": truth.c, "sms": SMS}
    return {"schema": "gpucast.record/1", "kind": "machine", "id": "made", "gpus": [gpu]}


def step(n: float, gpus: float, seconds: list[float]) -> dict[str, object]:
    return {
        "schema": "gpucast.record/1",
        "kind": "step",
        "machine": "made",
        "path": "native",
        "schedule": "star-serial",
        "kernel": "claret",
        "n": int(n),
        "gpus": int(gpus),
        "block": BLOCK,
        "seconds": seconds,
    }


def microbenchmark_records(truth: Truth, rng: np.random.Generator) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = []
    for route, ends in (("h2d", ("host", "gpu0")), ("d2h", ("gpu0", "host"))):
        for size in TRANSFER_SIZES:
            times = synthetic.transfer_seconds(truth, route, np.full(REPEATS, size))
            lines.append(
                {
                    "schema": "gpucast.record/1",
                    "kind": "transfer",
                    "machine": "made",
                    "path": "native",
                    "memory": "pageable",
                    "engine": "copy",
                    "route": route,
                    "from": ends[0],
                    "to": ends[1],
                    "bytes": int(size),
                    "concurrent": [],
                    "valid": True,
                    "seconds": synthetic.noisy(times, rng, SIGMA).tolist(),
                }
            )
    for count in (1, 16, 256):
        times = np.full(REPEATS, truth.t_kernel * count)
        lines.append(
            {
                "schema": "gpucast.record/1",
                "kind": "launch",
                "machine": "made",
                "path": "native",
                "method": "submit",
                "count": count,
                "seconds": synthetic.noisy(times, rng, SIGMA).tolist(),
            }
        )
    return lines


def made(truth: Truth, seed: int, outliers: float) -> Made:
    rng = np.random.default_rng(seed)
    n, gpus = synthetic.grid(N_GRID, GPU_GRID, REPEATS)
    seconds = synthetic.noisy(truth.seconds(n, gpus), rng, SIGMA, outliers)
    return Made(truth, seed, outliers, n, gpus, seconds)


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
    covered_single: Array  # new noisy measurements in the prediction interval
    covered_mean: Array  # true times in the interval of the expected time
    finite: bool
    chosen: str
    lack_of_fit_p: float


def outcome(data: Made, model: str = "auto", microbenchmarks: bool = False) -> Outcome:
    fitted = gpucast.fit(data.dataset(microbenchmarks), model=model)
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
        covered_single=(found.low <= new) & (new <= found.high),
        covered_mean=(found.mean_low <= truth) & (truth <= found.mean_high),
        finite=bool(np.isfinite(found.seconds).all() and (found.seconds > 0).all()),
        chosen=fitted.content["chosen"],
        lack_of_fit_p=fitted.content["quality"]["lack_of_fit_p"],
    )


def outcomes(
    seeds: int, outliers: float, model: str = "auto", truths: tuple[str, ...] = tuple(TRUTHS)
) -> Iterator[tuple[str, Outcome]]:
    for name in truths:
        for seed in range(seeds):
            yield name, outcome(made(TRUTHS[name], seed, outliers), model)


def wrong_model(data: Made) -> Made:
    """The same with what no candidate knows.

    4 % load imbalance for each GPU beyond the first, and a synchronization in which every GPU sends
    every other a message: N^2 latencies of the path.
    """
    t_gpu, t_cpu, t_com = data.truth.terms(data.n, data.gpus)
    right = t_gpu + t_cpu + t_com
    synchronization = data.truth.L_h2d * data.gpus**2
    wrong = t_gpu * (1 + 0.04 * (data.gpus - 1)) + t_cpu + t_com + synchronization
    seconds = data.seconds * wrong / right
    return Made(data.truth, data.seed, data.outliers, data.n, data.gpus, seconds)
