"""What a network was measured to take informs forecasts of a program on it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.selection import ANY, StepSelection
from gpucast.data.workload import Amount, Workload
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
    rest, network = network_apart(data, ANY, None)
    assert network is not None
    assert {step.unit for step in rest.steps} == {None}
    assert network.gpus == [2, 4, 8, 16, 32]
    assert network.program == "nccl-tests all_reduce"
    # By the formula: 14 us log2 N in a node, 22 us beyond; 2 (N - 1) / N at 180 or 24 GB/s.
    assert network.latency == pytest.approx([14e-6, 28e-6, 42e-6, 88e-6, 110e-6], rel=0.1)
    ring = [2 * (n - 1) / n / (180e9 if n <= 8 else 24e9) for n in network.gpus]
    assert network.per_byte == pytest.approx(ring, rel=0.1)


def changed(data: Dataset, change: Callable[[Step], Step | None]) -> Dataset:
    """The data with other collectives; None leaves one out."""
    records = [
        change(record) if isinstance(record, Step) and record.unit == "B" else record
        for record in data.records
    ]
    return replace(data, records=[record for record in records if record is not None])


def test_a_table_of_each_count_keeps_its_operation_and_version() -> None:
    operations = [
        (step.program, str(step.case).removesuffix(", in place")) for step in gc.load(NETWORK).steps
    ]
    assert set(operations) == {("nccl-tests all_reduce", "2.17.6, float, sum")}


@pytest.mark.parametrize("name", ["nccl-tests alltoall", "nccl-tests"])
def test_several_collectives_are_refused(data: Dataset, name: str) -> None:
    other = changed(data, lambda step: replace(step, program=name) if step.gpus == 16 else step)
    with pytest.raises(InputError, match="several collectives: nccl-tests all_reduce, nccl-tests"):
        gc.fit(other)


def test_a_table_among_two_gpus_may_lack_its_name(data: Dataset) -> None:
    unnamed = changed(
        data, lambda step: replace(step, program="nccl-tests") if step.gpus == 2 else step
    )
    _, network = network_apart(unnamed, ANY, None)
    assert network is not None
    assert (network.program, network.gpus[0]) == ("nccl-tests all_reduce", 2)


def test_collectives_of_a_few_bytes_are_refused(data: Dataset) -> None:
    small = changed(data, lambda step: step if step.n <= 2**20 else None)
    with pytest.raises(InputError, match="which tells no bandwidth; time 8 B and 1 GiB"):
        gc.fit(small)


def test_one_count_over_several_numbers_of_nodes_is_refused(data: Dataset) -> None:
    spread = changed(
        data, lambda step: replace(step, nodes=4) if step.n == 8 and step.gpus == 8 else step
    )
    with pytest.raises(InputError, match="of 8 GPUs on 4 and 1 nodes; keep those that are"):
        gc.fit(spread)


def test_a_program_that_is_chosen_by_name_is_fitted_without_other_tables(data: Dataset) -> None:
    named = replace(
        data,
        records=[
            replace(record, program="mine") if isinstance(record, Step) and record.unit is None
            else replace(record, program=f"nccl-tests {record.gpus}") if isinstance(record, Step)
            else record
            for record in data.records
        ],
    )  # fmt: skip
    model = gc.fit(named, program="mine")
    assert model.scaling is not None
    assert model.scaling.network is None
    collective = gc.fit(changed(data, lambda step: step if step.gpus == 8 else None),
                        program="nccl-tests all_reduce", case="2.17.6, float, sum")  # fmt: skip
    assert collective.data.program == "nccl-tests all_reduce"


def test_the_network_is_that_of_the_chosen_machine(data: Dataset) -> None:
    (machine,) = {step.machine for step in data.steps if step.unit is None}
    slow = [
        replace(step, machine="other", seconds=[10 * seconds for seconds in step.seconds])
        for step in data.steps if step.unit == "B"
    ]  # fmt: skip
    own = changed(data, lambda step: replace(step, machine=machine))
    both = replace(own, records=[*own.records, *slow])
    with pytest.raises(InputError, match="collectives of several machines"):
        network_apart(both, ANY, BYTES)
    _, network = network_apart(both, StepSelection(machine=machine), BYTES)
    _, alone = network_apart(own, ANY, BYTES)
    assert network is not None
    assert alone is not None
    assert network.per_byte == alone.per_byte


@pytest.mark.parametrize(
    "change",
    [
        {"path": "host"},
        {"workload": Workload("OSU Latency", visits=Amount(1.0, gpus=1.0)), "program": "OSU"},
    ],
    ids=["host memory", "point to point"],
)
def test_what_is_no_collective_of_gpus_is_no_network(data: Dataset, change: dict[str, Any]) -> None:
    other = changed(data, lambda step: replace(step, **change))
    with pytest.raises(InputError, match="needs steps of a program and, beside them, a table"):
        gc.fit(other, bytes_per_step=BYTES)


def test_a_network_needs_steps_of_two_gpu_counts(data: Dataset) -> None:
    records = [record for record in data.records if not isinstance(record, Step)
               or record.unit == "B" or record.gpus == 1]  # fmt: skip
    with pytest.raises(InputError, match="tells nothing beside steps of one GPU count; time the"):
        gc.fit(replace(data, records=records))


def test_a_network_has_to_reach_down_to_the_steps(data: Dataset) -> None:
    far = changed(data, lambda step: step if step.gpus > 8 else None)
    with pytest.raises(InputError, match="nothing about steps of at most 8 GPUs, being timed from"):
        gc.fit(far, bytes_per_step=BYTES)


def test_bytes_that_the_steps_contradict_are_doubted_and_narrow_nothing(data: Dataset) -> None:
    model = gc.fit(data, bytes_per_step=2.6e11)
    assert any("are hardly what the steps show" in remark.text for remark in model.remarks)
    (width,), (alone,) = (
        np.log(forecasts.high / forecasts.low)
        for forecasts in (model.forecasts([256], [32]), gc.fit(STEPS).forecasts([256], [32]))
    )
    assert width > 0.9 * alone


@pytest.mark.parametrize("wrong", [2.6, 2600])
def test_bytes_in_another_unit_are_refused(data: Dataset, wrong: float) -> None:
    with pytest.raises(InputError, match="take less than the latency of nccl-tests all_reduce"):
        gc.fit(data, bytes_per_step=wrong)


def test_a_model_that_lost_its_network_is_damaged(with_bytes: Model, tmp_path: Path) -> None:
    with_bytes.save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    del content["scaling"]["network"]
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="have a network's terms, and there is no network"):
        gc.load_model(tmp_path / "m.json")


@pytest.mark.parametrize("source", [[STEPS], [NETWORK]], ids=["steps", "collectives"])
def test_bytes_need_steps_and_a_collective(source: list[Path]) -> None:
    with pytest.raises(InputError, match="needs steps of a program and, beside them, a table"):
        gc.fit(gc.load(*source), bytes_per_step=BYTES)


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf")])
def test_bytes_are_above_zero(data: Dataset, wrong: float) -> None:
    with pytest.raises(InputError, match="must be a number of bytes above 0"):
        gc.fit(data, bytes_per_step=wrong)


def test_our_own_programs_take_no_collectives(data: Dataset) -> None:
    with pytest.raises(InputError, match="tells nothing about our own programs' terms"):
        gc.fit(data, model="paper")
