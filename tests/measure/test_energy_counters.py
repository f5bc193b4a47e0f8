"""Energy counters of GPUs: a made-up driver, and counters with known readings."""

import ctypes
import os
import time
from types import SimpleNamespace

import pytest

import gpucast as gc
from command_line import executable
from gpucast.data import jsonl
from gpucast.measure import energy
from gpucast.measure.energy import Meter, counter, metered
from gpucast.measure.nvml import NvmlError, nvml
from gpucast.measure.own import _with_joules


def of_index(index, handle):
    handle._obj.value = index.value + 1
    return 0 if index.value < 2 else 2


def of_uuid(name, handle):
    handle._obj.value = 2
    return 0 if name == b"GPU-b" else 6


def used(handle, value):
    value._obj.value = 1000 * handle.value
    return 0


DRIVER = SimpleNamespace(
    nvmlInit_v2=lambda: 0,
    nvmlDeviceGetHandleByIndex_v2=of_index,
    nvmlDeviceGetHandleByUUID=of_uuid,
    nvmlDeviceGetTotalEnergyConsumption=used,
)
"""The part of NVML that is used; GPU i has used 1000 (i + 1) mJ."""


@pytest.fixture
def driver(monkeypatch):
    nvml.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: DRIVER)
    yield
    nvml.cache_clear()


def read(meter, power, *, until, tick=0.1, since=0.0):
    """Readings each 20 ms of a counter that changes each ``tick``; power(t) in W."""
    joules, step = 0.0, 0.001
    shown, t, k = 0.0, since, 0
    while t < until:
        joules += power(t) * step
        t = since + (k := k + 1) * step
        if k % round(tick / step) == 0:
            shown = joules
        if k % 20 == 0:
            meter.look(t, shown)


def test_joules_of_several_gpus_are_added(driver):
    assert counter(["0", "1"])() == 3.0
    assert counter(["GPU-b"])() == 2.0


def test_a_gpu_without_counter_is_named(driver):
    with pytest.raises(NvmlError, match="no energy of GPU 7"):
        counter(["7"])


def test_without_nvml_the_reason_is_told_and_nothing_is_recorded(monkeypatch):
    nvml.cache_clear()

    def absent(name):
        raise OSError

    monkeypatch.setattr(ctypes, "CDLL", absent)
    told = []
    with metered(["0"], told.append) as meter:
        assert meter is None
    assert told == ["energy is not recorded: no NVML here (libnvidia-ml.so.1)"]


def test_a_run_without_gpus_of_its_own_has_no_meter_and_tells_nothing():
    with metered(None, pytest.fail) as meter:
        assert meter is None


def test_energy_between_two_times_is_power_times_time():
    meter = Meter(float)
    read(meter, lambda t: 300.0, until=5)
    joules, uncertainty = meter.between(1.23, 4.31)
    assert joules == pytest.approx(300 * 3.08, rel=0.01)
    assert 0.1 / 3.08 <= uncertainty <= 0.13 / 3.08


def test_energy_to_now_goes_on_as_before_the_last_change():
    meter = Meter(float)
    read(meter, lambda t: 300.0, until=2.98, tick=0.2)
    joules, _ = meter.between(1.0, 2.98)
    assert joules == pytest.approx(300 * 1.98, rel=0.01)


def test_a_counter_that_stopped_knows_no_energy_behind():
    meter = Meter(float)
    read(meter, lambda t: 300.0, until=2)
    assert meter.between(1, 60) is None
    joules, uncertainty = meter.between(1, 2.4)
    assert joules == pytest.approx(300 * 1.4, rel=0.01)
    assert uncertainty >= 0.39 / 1.4


def test_what_is_shorter_than_half_a_second_has_no_joules():
    meter = Meter(float)
    read(meter, lambda t: 300.0, until=5)
    assert meter.between(1.0, 1.4) is None


def test_start_and_end_of_a_run_are_not_its_work():
    """80 W but from 3 s to 11 s, in which the GPU works for half of each second."""
    meter = Meter(float)
    at_work = lambda t: 500.0 if 3 <= t < 11 and t % 1 < 0.5 else 80.0  # noqa: E731
    read(meter, at_work, until=14)
    watts, uncertainty = meter.at_work()
    assert watts == pytest.approx(290, rel=0.08)
    assert abs(watts - 290) / 290 <= uncertainty < 0.12


@pytest.mark.parametrize(
    ("peak", "steps", "watts"), [((0.5, 1.4), (2, 12), 250), ((0.5, 0.8), (1, 4), 200)]
)
def test_a_peak_before_the_steps_is_not_their_power(peak, steps, watts):
    meter = Meter(float)
    levels = ((peak, 700.0), (steps, float(watts)))
    power = lambda t: next((w for (a, b), w in levels if a <= t < b), 80.0)  # noqa: E731
    read(meter, power, until=steps[1] + 1)
    known, uncertainty = meter.at_work()
    assert known == pytest.approx(watts, rel=0.02)
    assert uncertainty < 0.25


@pytest.mark.parametrize(("begin", "off"), [(7, 0.01), (13, 0.2), (20, 0.3)])
def test_a_long_start_is_left_out_or_makes_the_energy_uncertain(begin, off):
    """80 W, a start at 250 W, and 6 s of steps at 390 W."""
    meter = Meter(float)
    power = lambda t: 80.0 if t < 1 else 250.0 if t < begin else 390.0  # noqa: E731
    read(meter, power, until=begin + 6)
    watts, uncertainty = meter.at_work()
    assert abs(watts - 390) / 390 <= min(off, uncertainty)


def test_steady_power_counts_from_start_to_end():
    meter = Meter(float)
    read(meter, lambda t: 200 + 5 * (t % 2), until=6)
    watts, _ = meter.at_work()
    assert watts == pytest.approx(205, rel=0.01)


def test_a_meter_reads_beside_a_program():
    joules = iter(range(1000))
    meter = Meter(lambda: float(next(joules)))
    with meter:
        while len(meter._changes) < 3:
            pass
    assert [value for _, value in meter._changes[:3]] == [0.0, 1.0, 2.0]


def test_a_described_program_has_the_joules_of_its_mean_step(run, tmp_path, monkeypatch):
    """200 W by the clock, whatever the run takes; a step takes 3 ms on average."""
    steady = lambda gpus: lambda: 200 * time.monotonic()  # noqa: E731
    monkeypatch.setattr(energy, "counter", steady)
    asked = "#!/bin/sh\ncase \"$*\" in *index*) echo '0, GPU-a' ;; esac\n"
    smi = executable(tmp_path / "bin" / "nvidia-smi", asked)
    monkeypatch.setenv("PATH", f"{smi.parent}:{os.environ['PATH']}")
    for name in ("SLURM_JOB_ID", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    for path in ("native", "elsewhere"):
        description = tmp_path / f"{path}.yaml"
        description.write_text(
            f"program: sleeper\npath: {path}\n"
            "command: [sh, -c, 'sleep 1.5; echo 2 ms; echo 4 ms']\n"
            "sizes: [1000]\ngpus: [1]\nresult: {regex: '(?P<time>[0-9]+) ms', unit: ms}\n"
        )
        data = tmp_path / f"{path}.jsonl"
        status, _, err = run("measure", "--program", description, "-o", data)
        assert status == 0, err
        (step,) = gc.load(data).steps
        if path == "native":
            assert step.joules == pytest.approx(200 * 0.003, rel=0.01)
            assert step.joules_uncertainty is not None
        else:
            assert step.joules is None


def test_a_cell_of_the_mini_app_has_the_joules_of_its_timed_steps():
    meter = SimpleNamespace(between=lambda begin, end: (100 * (end - begin), 0.1))
    record = {"kind": "step", "machine": "m", "path": "native", "n": 1000, "gpus": 2}
    step = _with_joules(jsonl.record(record | {"seconds": [0.5, 1.0, 1.5]}), meter)
    assert step.joules == pytest.approx(100 * 3.0 / 3)
    assert step.joules_uncertainty == 0.1
    assert step.seconds == [0.5, 1.0, 1.5]
