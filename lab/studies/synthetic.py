"""Synthetic data from the paper's equations, in plain numpy: an oracle for model/ and fit/.

Nothing here calls gpucast, so that tests compare two implementations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """The paper's parameters: seconds, bytes/second; c cores; k integer."""

    k: int
    c: int
    t_gpu: float
    t_cpu: float
    L_h2d: float
    B_h2d: float
    L_d2h: float
    B_d2h: float
    t_kernel: float

    def terms(self, n: Array, gpus: Array) -> tuple[Array, Array, Array]:
        """T_gpu, T_cpu, T_com in seconds: equations (1), (2), (3)."""
        n = np.asarray(n, dtype=float)
        gpus = np.asarray(gpus, dtype=float)
        threads = self.k * self.c
        t_gpu = np.ceil(n / (threads * gpus)) * n * threads * self.t_gpu
        t_com = (
            (16 * n * gpus / self.B_h2d + gpus * self.L_h2d)
            + (12 * n / self.B_d2h + gpus * self.L_d2h)
            + self.t_kernel * gpus
        )
        return t_gpu, self.t_cpu * n, t_com

    def seconds(self, n: Array, gpus: Array) -> Array:
        return sum(self.terms(n, gpus))  # type: ignore[return-value]


# GTX-780-like: 2304 cores, about 4e10 interactions a second; native over an expansion box, and
# virtualized over InfiniBand with latencies like DS-CUDA's (about 80 us, 0.5 GB/s).
TRUTHS = {
    "native": Truth(4, 2304, 2.5e-11, 4e-8, 1.2e-5, 5.5e9, 1.1e-5, 5.0e9, 8e-6),
    "virtualized": Truth(4, 2304, 2.5e-11, 4e-8, 7.8e-5, 6.1e8, 7.7e-5, 4.4e8, 6e-5),
    "fast-gpu": Truth(2, 2880, 8e-12, 3e-8, 9e-6, 1.1e10, 9e-6, 1.0e10, 5e-6),
    "slow-host": Truth(6, 1536, 4e-11, 2e-7, 1.5e-5, 3.0e9, 1.5e-5, 2.5e9, 1e-5),
}

N_GRID = np.array([1000, 2000, 4000, 8000, 16000, 32000, 64000], dtype=float)
GPU_GRID = np.array([1, 2, 3, 4], dtype=float)


def grid(n: Array, gpus: Array, repeats: int) -> tuple[Array, Array]:
    """All pairs of n and gpus, each `repeats` times: two flat arrays."""
    nn, gg = np.meshgrid(n, gpus, indexing="ij")
    return np.repeat(nn.ravel(), repeats), np.repeat(gg.ravel(), repeats)


def noisy(
    seconds: Array, rng: np.random.Generator, sigma: float = 0.03, outliers: float = 0.0
) -> Array:
    """Add lognormal noise; a share `outliers` of the samples is 1.5 to 4 times too slow."""
    result = seconds * np.exp(sigma * rng.standard_normal(seconds.shape))
    slow = rng.random(seconds.shape) < outliers
    return np.where(slow, result * rng.uniform(1.5, 4.0, seconds.shape), result)


def transfer_seconds(truth: Truth, route: str, size: Array) -> Array:
    """The time L + bytes/B on a route, "h2d" or "d2h"."""
    return getattr(truth, f"L_{route}") + size / getattr(truth, f"B_{route}")
