"""Memory in use on GPUs: a made-up driver, and what a recording keeps of it."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpucast.data.traces.trace import RunDescription
from gpucast.measure import nvml
from gpucast.measure.nvml import MemoryWatch, memory_in_use
from gpucast.measure.tracing.recording import into
from waiting import until


class Driver(SimpleNamespace):
    """Two GPUs, the memory of which is in use as ``used`` says (bytes)."""

    def __init__(self) -> None:
        super().__init__(
            used=[1 << 30, 2 << 30],
            status=0,
            looks=0,
            nvmlInit_v2=lambda: 0,
            nvmlDeviceGetCount_v2=self._count,
            nvmlDeviceGetHandleByIndex_v2=self._handle,
            nvmlDeviceGetMemoryInfo=self._memory,
        )

    def _count(self, count: Any) -> int:
        count._obj.value = len(self.used)
        return 0

    def _handle(self, index: Any, handle: Any) -> int:
        handle._obj.value = index.value + 1
        return 0

    def _memory(self, handle: Any, memory: Any) -> int:
        memory._obj.used = self.used[handle.value - 1]
        self.looks += 1
        return int(self.status)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    made = Driver()
    nvml.nvml.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: made)
    yield made
    nvml.nvml.cache_clear()


def test_the_layout_is_that_of_nvml() -> None:
    assert ctypes.sizeof(nvml._Memory) == 24
    assert nvml._Memory.used.offset == 16


def test_the_most_of_any_gpu_counts_beyond_what_was_in_use_before(driver: Driver) -> None:
    watch = MemoryWatch()
    assert memory_in_use() == [1 << 30, 2 << 30]
    for in_use in ([2 << 30, 2 << 30], [2 << 30, 6 << 30], [4 << 30, 1 << 30]):
        watch.look(in_use)
    assert watch.most == 4 << 30


def test_a_driver_without_an_answer_is_no_memory(driver: Driver) -> None:
    driver.status = 15  # the GPU is lost
    assert memory_in_use() == []
    with MemoryWatch() as watch:
        watch.look([1 << 30])
    assert watch.most is None


def test_a_recording_states_the_memory_of_its_run(driver: Driver, tmp_path: Path) -> None:
    def run() -> int:
        driver.used = [1 << 30, 9 << 30]
        until(lambda: driver.looks >= 6)  # a reading of both GPUs began after the change
        return 0

    into(tmp_path, ["program"], run)
    about = json.loads((tmp_path / "run.json").read_text())
    assert about["gpu_memory"] == 7 << 30
    assert RunDescription(**{**about, "exit": None, "machine": None}).gpu_memory == 7 << 30


def test_without_a_driver_it_states_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def absent(name: str) -> None:
        raise OSError

    nvml.nvml.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", absent)
    into(tmp_path, ["program"], lambda: 0)
    assert "gpu_memory" not in json.loads((tmp_path / "run.json").read_text())
