"""Workloads that steps state: in records, fits, model files, rates and checks."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast import _core
from gpucast.data import jsonl, workload
from gpucast.data.steps import byte_contradictions
from made_data import dataset, machine, steps_alone

NEIGHBOURS: dict[str, Any] = {
    "name": "neighbours",
    "visits": {"factor": 40.0},
    "to_gpu": {"factor": 24.0, "n": 1.0, "gpus": -1.0},
    "halo": {"factor": 9.5, "n": 2 / 3, "gpus": -2 / 3},
    "operations": 25.0,
}
SIZES, COUNTS = (10_000, 40_000, 160_000, 640_000), (1, 2, 3, 4)
T_0, T_PAIR, T_CPU, T_KERNEL = 2e-5, 3e-11, 4e-9, 8e-6
L_H2D, B_H2D, L_D2H = 1.2e-5, 5.5e9, 1.1e-5


def seconds(n: int, gpus: int) -> float:
    """A step that gives each GPU its share and needs no answer, written out by hand."""
    work = math.ceil(n / gpus) * 40
    each_gpu = T_KERNEL + L_H2D + 24 * n / gpus / B_H2D + L_D2H
    return T_0 + work * T_PAIR + T_CPU * n + gpus * each_gpu


def step(n: int, gpus: int, **more: Any) -> dict[str, Any]:
    noise = np.random.default_rng(n + gpus).normal(0, 0.005, 5)
    return {
        "schema": "gpucast.record/1", "kind": "step", "machine": "m", "path": "p",
        "schedule": "star-serial", "kernel": "own", "n": n, "gpus": gpus,
        "seconds": (seconds(n, gpus) * np.exp(noise)).tolist(), "workload": NEIGHBOURS, **more,
    }  # fmt: skip


def neighbours(**more: Any) -> gc.Dataset:
    return dataset([machine(), *(step(n, gpus, **more) for n in SIZES for gpus in COUNTS)])


@pytest.fixture(scope="module")
def fitted() -> gc.Model:
    return gc.fit(neighbours(), model="work+linear+star-serial", replicates=0)


def test_records_keep_the_workload() -> None:
    (again,) = (jsonl.to_line(record) for record in neighbours().steps[:1])
    kept = json.loads(again)["workload"]
    assert kept["visits"] == {"factor": 40.0, "n": 0.0, "gpus": 0.0}
    assert kept["halo"] == {"factor": 9.5, "n": 2 / 3, "gpus": -2 / 3}
    assert kept["operations"] == 25.0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "x"}, "workload.visits: missing"),
        ({**NEIGHBOURS, "visits": {"factor": -1}}, "workload.visits.factor: must be at least 0"),
        ({**NEIGHBOURS, "to_gpus": {"factor": 1}}, "to_gpus"),
        ({**NEIGHBOURS, "operations": 0}, "workload.operations"),
    ],
)
def test_a_wrong_workload_is_refused_by_key(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(gc.InputError, match=said):
        neighbours(workload=wrong)


def test_a_fit_counts_the_work_that_steps_state(fitted: gc.Model) -> None:
    assert fitted.parameter("t_pair") == pytest.approx(T_PAIR, rel=0.05)
    n, gpus = 320_000.0, 8.0
    assert fitted.forecasts([n], [gpus]).t_gpu[0] == pytest.approx(
        T_0 + 40 * n / gpus * T_PAIR, rel=0.05
    )


def test_the_model_file_keeps_the_workload(fitted: gc.Model, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m.json")
    again = gc.load_model(tmp_path / "m.json")
    assert again.workload == fitted.workload != _core.ALL_PAIRS
    assert again.forecasts([1e6], [8]).seconds == fitted.forecasts([1e6], [8]).seconds


def test_rates_count_the_operations_that_steps_state(fitted: gc.Model) -> None:
    # A million elements x 40 neighbours x 25 operations in 0.1 s.
    assert fitted.workload.gflops(1e6, 0.1) == pytest.approx(10.0)
    uncounted = {key: value for key, value in NEIGHBOURS.items() if key != "operations"}
    of_unknown = gc.fit(neighbours(workload=uncounted), model="work+linear+star-serial")
    assert math.isnan(of_unknown.workload.gflops(1e6, 0.1))


def test_all_pairs_needs_no_statement() -> None:
    plain = gc.fit(steps_alone(), model="paper", replicates=0)
    assert plain.workload == _core.ALL_PAIRS
    assert plain.workload.gflops(1000, 78e-3) == pytest.approx(1.0)


def test_steps_of_several_workloads_are_refused() -> None:
    other = {**NEIGHBOURS, "name": "bonds"}
    mixed = [machine(), step(10_000, 1), step(20_000, 1, workload=other)]
    with pytest.raises(gc.InputError, match="several workloads: neighbours, bonds"):
        gc.fit(dataset(mixed))


def moved(n: int, gpus: int, h2d: int, d2h: int, exchange: int = 0) -> gc.Dataset:
    bytes_moved = {"h2d": h2d, "d2h": d2h, "exchange": exchange}
    return dataset([machine(), step(n, gpus, bytes=bytes_moved, workload=None)])


@pytest.mark.parametrize(
    ("bytes_", "wrong"),
    [
        ((64_000, 12_000), False),
        ((64_000, 12_048), False),  # shares of whole particles
        ((0, 0, 48_000), False),  # positions stay on the GPUs
        ((128_000, 12_000), True),
        ((64_000, 24_000), True),
        ((0, 0, 96_000), True),
    ],
)
def test_bytes_that_contradict_the_workload_are_told(bytes_: tuple[int, ...], wrong: bool) -> None:
    remarks = byte_contradictions(moved(1000, 4, *bytes_).steps, _core.ALL_PAIRS)
    assert [("1 step record(s) moved other bytes" in remark.text) for remark in remarks] == [
        True
    ] * wrong


def test_a_halo_is_compared_with_what_is_exchanged() -> None:
    n, gpus = 64_000, 8
    halo = round(9.5 * (n / gpus) ** (2 / 3) * gpus)
    for exchange, wrong in ((halo, False), (3 * halo, True)):
        bytes_moved = {"h2d": 24 * n, "d2h": 0, "exchange": exchange}
        steps = dataset([machine(), step(n, gpus, bytes=bytes_moved)]).steps
        assert bool(byte_contradictions(steps, workload.of(steps[0].workload))) == wrong


@pytest.mark.parametrize("name", ["h200-x2", "h200-x4", "h200-mdapp"])
def test_measured_bytes_are_those_of_all_pairs(name: str) -> None:
    steps = gc.load(name).steps
    assert any(record.bytes for record in steps)
    assert byte_contradictions(steps, _core.ALL_PAIRS) == []


def test_a_fit_warns_of_other_bytes() -> None:
    data = neighbours(bytes={"h2d": 10**9, "d2h": 0})
    fitted_anew = gc.fit(data, model="work+linear+star-serial", replicates=0)
    assert any("moved other bytes" in warning for warning in fitted_anew.warnings)
