"""A program for `gpucast measure` that knows the energy of its own steps.

    python lab/benchmarks/energy_steps.py NAME N GPUS [SECONDS]

Runs a program of ``energy.py`` on the first GPUS visible GPUs, with a part of N on each. Prints the
step times (means over 5 ms) and, at the end, ``counter: J joules a step``: the GPUs' power between
the first and the last change of their NVML counters while steps ran, times the mean step time.
`lab/gpu.sh measured-energy` runs it under `gpucast measure`, which reads the counters from outside,
including the program's start and end.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from energy import PROGRAMS, Step


class Counters:
    """The energy counters of GPUs, of which each change is taken with its time."""

    def __init__(self, gpus: int) -> None:
        self._nvml = ctypes.CDLL("libnvidia-ml.so.1")
        if self._nvml.nvmlInit_v2():
            sys.exit("NVML does not start")
        visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(gpus)))
        self._devices = [ctypes.c_void_p() for _ in range(gpus)]
        for name, device in zip(visible.split(","), self._devices, strict=False):
            index = ctypes.c_uint(int(name))
            if self._nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)):
                sys.exit(f"NVML does not know GPU {name}")
        self._last = self._read()
        self.changes: list[list[tuple[float, float]]] = [[] for _ in self._devices]

    def _read(self) -> list[float]:
        values = []
        for device in self._devices:
            value = ctypes.c_ulonglong()
            if self._nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(value)):
                sys.exit("NVML counts no energy here")
            values.append(value.value / 1e3)
        return values

    def look(self) -> None:
        """Take the counters that have changed since the last look."""
        now, values = time.monotonic(), self._read()
        for changes, before, value in zip(self.changes, self._last, values, strict=True):
            if value != before:
                changes.append((now, value))
        self._last = values

    def watts(self) -> float:
        """Power between each counter's first and last change, summed over GPUs, W."""
        return sum(
            (changes[-1][1] - changes[0][1]) / (changes[-1][0] - changes[0][0])
            for changes in self.changes
        )


def main() -> None:
    name, n, gpus = sys.argv[1], round(float(sys.argv[2])), int(sys.argv[3])
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 6.0
    import torch

    steps: list[tuple[int, Step]] = []
    for gpu in range(gpus):
        with torch.cuda.device(gpu):
            steps.append((gpu, PROGRAMS[name][0](torch, n // gpus)))
    together = len(timed(torch, steps, 1, 0.4))
    together = max(1, round(5e-3 * together / 0.4))
    timed(torch, steps, together, 0.4)
    counters = Counters(gpus)
    samples = timed(torch, steps, together, seconds, counters)
    for sample in samples:
        print(f"step: {1e3 * sample:.5f} ms")
    joules = counters.watts() * sum(samples) / len(samples)
    print(f"counter: {joules:.6g} joules a step")


def timed(
    torch: Any,
    steps: list[tuple[int, Step]],
    together: int,
    seconds: float,
    counters: Counters | None = None,
) -> list[float]:
    """Run steps on all GPUs for some seconds; each sample is the mean of ``together`` steps."""
    samples = []
    begin = time.monotonic()
    end = begin + seconds
    while begin < end:
        for _ in range(together):
            for gpu, step in steps:
                with torch.cuda.device(gpu):
                    step()
        for gpu, _ in steps:
            torch.cuda.synchronize(gpu)
        if counters is not None:
            counters.look()
        now = time.monotonic()
        samples.append((now - begin) / together)
        begin = now
    return samples


if __name__ == "__main__":
    main()
