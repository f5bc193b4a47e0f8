"""Traces recorded on H200 GPUs (data/measured/h200-traces) natively and on other paths."""

from pathlib import Path

import numpy as np
import pytest

import gpucast
from gpucast.data.dataset import Dataset
from gpucast.data.traces import find_steps, phases, read
from gpucast.paths.traced.forecast import trace_on_path

FOLDER = Path(__file__).parents[3] / "data" / "measured" / "h200-traces"
CALLS = {
    "mdapp-star-serial-pageable-n64000-gpus1": 3,  # positions out, forces, forces back
    "mdapp-star-async-pinned-n64000-gpus2": 8,
    "pageable_copies-n4-gpus1": 3,  # out, a kernel, back
    "halo_exchange-pageable-n4194304-gpus1": 2,  # a launch and a wait for its stream
}
EACH = pytest.mark.parametrize("name", CALLS)


@pytest.fixture(scope="module")
def costs() -> Dataset:
    return gpucast.load("h200-traces")


@EACH
def test_the_steps_are_found_of_calls_that_the_program_makes(name: str) -> None:
    steps = find_steps(read(FOLDER / f"{name}.zip")).main
    for phase in (phases.FULL, phases.LIGHT):
        kept = steps.kept & (steps.phase == phase)
        assert kept.sum() >= 5
        assert np.median(steps.calls[kept]) == CALLS[name]


@EACH
@pytest.mark.parametrize("path", ["remote", "remote-sync"])
def test_calls_take_as_long_as_the_program_and_remote_steps_longer(
    name: str, path: str, costs: Dataset
) -> None:
    forecast = trace_on_path(read(FOLDER / f"{name}.zip"), costs, path)
    # What a recorder cost is taken off by halves at most: not all of it where steps are short.
    assert forecast.replayed == pytest.approx(forecast.native, rel=0.04)
    assert forecast.native < forecast.seconds < 3 * forecast.native
    assert 0 < forecast.low <= forecast.seconds <= forecast.high < np.inf


def test_steps_of_which_every_eighth_does_more_are_forecast(costs: Dataset) -> None:
    name = (
        "conjugate_gradients-n4194304-gpus1"  # a step reads a scalar back; eight are an outer one
    )
    forecast = trace_on_path(read(FOLDER / f"{name}.zip"), costs, "remote")
    assert forecast.steps >= 20
    assert forecast.replayed == pytest.approx(forecast.native, rel=0.05)
