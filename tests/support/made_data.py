"""Datasets made from known parameters, for tests of what a fit says about them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpucast.data import jsonl
from gpucast.data.dataset import Dataset, from_records
from synthetic import GPU_GRID, N_GRID, TRUTHS, Truth, noisy, transfer_seconds

Array = NDArray[np.float64]

NATIVE = TRUTHS["native"]
VIRTUALIZED = TRUTHS["virtualized"]

HERE = {"machine": "m", "path": "native"}

SMS = 12
BLOCK = 256
TRANSFER_SIZES = tuple(4**power for power in range(5, 14))  # 1 KiB to 64 MiB
LAUNCH_COUNTS = (1, 10, 100)


def machine(cores: int | None = 2304, name: str = "m", **facts: Any) -> dict[str, Any]:
    """A machine record."""
    gpu = {"name": "GPU", "sms": SMS, "cores": cores, **facts}
    known = {key: value for key, value in gpu.items() if value is not None}
    return {"kind": "machine", "id": name, "gpus": [known]}


def step(n: float, gpus: float, seconds: Sequence[float], **other: Any) -> dict[str, Any]:
    """A step record."""
    cell = {"n": int(n), "gpus": int(gpus), "seconds": [float(time) for time in seconds]}
    return {"kind": "step", **HERE, "schedule": "star-serial", "kernel": "claret"} | cell | other


def transfer(route: str, size: float, seconds: Sequence[float], **other: Any) -> dict[str, Any]:
    """A transfer record of a copy that was alone."""
    ends = {"d2h": ("gpu0", "host"), "peer": ("gpu0", "gpu1"), "staged": ("gpu0", "gpu1")}
    start, end = ends.get(route, ("host", "gpu0"))
    made = {"kind": "transfer", **HERE, "memory": "pinned", "engine": "copy", "route": route}
    made |= {"from": start, "to": end, "bytes": int(size), "concurrent": []}
    return made | {"seconds": [float(time) for time in seconds], "valid": True} | other


def launch(count: int, seconds: Sequence[float], **other: Any) -> dict[str, Any]:
    """A launch record: each sample times `count` launches together."""
    made = {"kind": "launch", **HERE, "method": "submit", "count": count}
    return made | {"seconds": [float(time) for time in seconds]} | other


def skeleton(
    schedule: str, n: float, gpus: float, busy: float, seconds: Sequence[float], **other: Any
) -> dict[str, Any]:
    """A skeleton record: 16 n bytes to each GPU, 12 n / N from each."""
    made = {"kind": "skeleton", **HERE, "schedule": schedule, "memory": "pinned"}
    made |= {"gpus": int(gpus), "h2d_bytes": int(16 * n), "d2h_bytes": int(12 * n / gpus)}
    made |= {"busy": busy, "kernel_seconds": busy}
    return made | {"seconds": [float(time) for time in seconds]} | other


def dataset(records: Sequence[dict[str, Any]], name: str = "made") -> Dataset:
    """A dataset of records given as JSON objects."""
    return from_records(name, [jsonl.record(record) for record in records])


def steps(
    time: Callable[[Array, Array], Array],
    rng: np.random.Generator,
    *,
    n: Sequence[float] | Array = N_GRID,
    gpus: Sequence[float] | Array = GPU_GRID,
    repeats: int = 5,
    sigma: float = 0.03,
    outliers: float = 0.0,
    **other: Any,
) -> list[dict[str, Any]]:
    """Step records of every n with every GPU count; `time` gives the true seconds."""
    result = []
    for size in n:
        for count in gpus:
            true = time(np.full(repeats, float(size)), np.full(repeats, float(count)))
            result.append(step(size, count, noisy(true, rng, sigma, outliers), **other))
    return result


def microbenchmarks(
    truth: Truth,
    rng: np.random.Generator,
    *,
    launches: bool = True,
    routes: Sequence[str] = ("h2d", "d2h"),
    repeats: int = 5,
    sigma: float = 0.03,
    **other: Any,
) -> list[dict[str, Any]]:
    """Transfer and launch records."""
    result = []
    for route in routes:
        for size in TRANSFER_SIZES:
            true = transfer_seconds(truth, route, np.full(repeats, float(size)))
            result.append(transfer(route, size, noisy(true, rng, sigma), **other))
    for count in LAUNCH_COUNTS if launches else ():
        true = np.full(repeats, count * truth.t_kernel)
        result.append(launch(count, noisy(true, rng, sigma), **other))
    return result


def steps_alone(truth: Truth = NATIVE, seed: int = 0, **how: Any) -> Dataset:
    """Steps of the paper's equations and nothing else."""
    rng = np.random.default_rng(seed)
    return dataset([machine(truth.c), *steps(truth.seconds, rng, **how)])


def whole(truth: Truth = NATIVE, seed: int = 0, **how: Any) -> Dataset:
    """Steps, transfers and launches of the paper's equations."""
    rng = np.random.default_rng(seed)
    return dataset(
        [machine(truth.c), *steps(truth.seconds, rng, **how), *microbenchmarks(truth, rng)]
    )


def occupancy_seconds(n: Array, gpus: Array, *, p: int = 4) -> Array:
    """A step whose kernel is limited by blocks on the busiest multiprocessor:

        w     = ceil(ceil(ceil(n/N)/b) / s)
        T_gpu = t_0 + n (t_lat^p + (w t_blk)^p)^(1/p)

    with the native path's CPU and communication.
    """
    t_0, t_lat, t_blk = 2e-5, 3e-8, 2.5e-9
    blocks = np.ceil(np.ceil(n / gpus) / BLOCK)
    w = np.ceil(blocks / SMS)
    t_gpu = t_0 + n * (t_lat**p + (w * t_blk) ** p) ** (1 / p)
    _, t_cpu, t_com = NATIVE.terms(n, gpus)
    return t_gpu + t_cpu + t_com
