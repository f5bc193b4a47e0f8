"""What a network was measured to take informs forecasts of a program on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gpucast as gc
from gpucast.data.dataset import Dataset
from gpucast.errors import InputError
from gpucast.fitting.network import network_apart
from gpucast.model.fitted import Model

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "network"
STEPS, NETWORK = EXAMPLE / "steps.csv", EXAMPLE / "nccl.txt"
BYTES = 2.6e9


def true_seconds(n: float, gpus: int) -> float:
    """The step that the example's files were made of, beyond a node: an all-reduce hides behind
    0.6 of the computing, or a tenth of it shows."""
    computing = 0.006 + n / gpus / 420
    exchange = 2 * (gpus - 1) / gpus * BYTES / 24e9
    return computing + max(0.1 * exchange, exchange - 0.6 * computing)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return gc.load(STEPS, NETWORK)


@pytest.fixture(scope="module")
def with_bytes(data: Dataset) -> Model:
    return gc.fit(data, bytes_per_step=BYTES)


def test_a_slow_network_that_no_step_has_met_is_forecast(with_bytes: Model) -> None:
    alone = gc.fit(STEPS)
    true = np.array([true_seconds(256, gpus) for gpus in (16, 32)])
    forecasts = with_bytes.forecasts([256, 256], [16, 32])
    assert forecasts.seconds == pytest.approx(true, rel=0.15)
    assert ((forecasts.low < true) & (true < forecasts.high)).all()
    assert (alone.forecasts([256, 256], [16, 32]).seconds < 0.4 * true).all()


def test_without_bytes_the_network_still_widens_what_the_steps_leave_open(data: Dataset) -> None:
    forecasts = gc.fit(data).forecasts([256], [16])
    assert forecasts.low[0] < true_seconds(256, 16) < forecasts.high[0]


def test_a_saved_model_remembers_the_network(with_bytes: Model, tmp_path: Path) -> None:
    with_bytes.save(tmp_path / "m.json")
    again = gc.load_model(tmp_path / "m.json")
    ours, theirs = (model.forecasts([256, 256], [16, 64]) for model in (with_bytes, again))
    assert np.array(theirs.seconds) == pytest.approx(np.array(ours.seconds), rel=1e-12)
    assert np.array(theirs.low) == pytest.approx(np.array(ours.low), rel=1e-12)


def test_latency_and_time_per_byte_are_those_of_the_smallest_and_largest(data: Dataset) -> None:
    rest, network = network_apart(data, None)
    assert network is not None
    assert {step.unit for step in rest.steps} == {None}
    assert network.gpus == [2, 4, 8, 16, 32]
    assert network.program == "nccl-tests all_reduce"
    # By the formula: 14 us log2 N in a node, 22 us beyond; 2 (N - 1) / N at 180 or 24 GB/s.
    assert network.latency == pytest.approx([14e-6, 28e-6, 42e-6, 88e-6, 110e-6], rel=0.1)
    ring = [2 * (n - 1) / n / (180e9 if n <= 8 else 24e9) for n in network.gpus]
    assert network.per_byte == pytest.approx(ring, rel=0.1)


def test_several_collectives_are_refused(data: Dataset) -> None:
    records = [
        replace(record, program="nccl-tests alltoall") if getattr(record, "gpus", 0) == 16
        and getattr(record, "unit", None) == "B" else record
        for record in data.records
    ]  # fmt: skip
    with pytest.raises(InputError, match="several collectives: nccl-tests all_reduce, nccl-tests"):
        gc.fit(replace(data, records=records))


def test_collectives_of_a_few_bytes_are_refused(data: Dataset) -> None:
    small = [r for r in data.records if getattr(r, "unit", None) != "B" or r.n < 2**20]  # type: ignore[union-attr]
    message = r"the largest nccl-tests all_reduce on 2 GPUs is of 8 B, which tells latency alone"
    with pytest.raises(InputError, match=message):
        gc.fit(replace(data, records=small))


@pytest.mark.parametrize("source", [[STEPS], [NETWORK]], ids=["steps", "collectives"])
def test_bytes_need_steps_and_a_collective(source: list[Path]) -> None:
    with pytest.raises(InputError, match="needs steps of a program and, beside them, a table"):
        gc.fit(gc.load(*source), bytes_per_step=BYTES)


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf")])
def test_bytes_are_above_zero(data: Dataset, wrong: float) -> None:
    with pytest.raises(InputError, match="is a number of bytes above 0"):
        gc.fit(data, bytes_per_step=wrong)


def test_our_own_programs_take_no_collectives(data: Dataset) -> None:
    with pytest.raises(InputError, match="tells nothing about our own programs' terms"):
        gc.fit(data, model="paper")
