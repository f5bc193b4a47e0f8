"""What bytes cost in a step, told by steps without their work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpucast.data import jsonl
from gpucast.data.records import Skeleton
from gpucast.paths.replay import Operation
from gpucast.paths.replay.measured import Curve
from gpucast.paths.replay.path import PathCosts, path_costs
from gpucast.paths.replay.program import Memory
from gpucast.paths.replay.skeletons import in_steps, skeleton_program, step_seconds
from made_data import dataset, launch, machine, skeleton, transfer

SENDING = 0.2e-9
"""s a byte."""
SIZES = (65536, 262144, 1 << 20, 1 << 22)


def records() -> list[dict[str, Any]]:
    """Launches and copies of a path."""
    found = [
        launch(1, [3e-6] * 7, path="remote"),
        launch(1, [15e-6] * 7, path="remote", method="sync"),
    ]
    for size in (4, 4096, *SIZES):
        found.append(
            transfer("h2d", size, [3e-6 + SENDING * size] * 7, path="remote", method="call")
        )
        found.append(
            transfer("d2h", size, [16e-6 + 0.3e-9 * size] * 7, path="remote", method="call")
        )
    return found


def made(schedule: str, size: int, gpus: int = 1) -> dict[str, Any]:
    return skeleton(schedule, size / 16, gpus, 20e-6, [1.0], path="remote")


def read(record: dict[str, Any]) -> Skeleton:
    found = jsonl.record(record)
    assert isinstance(found, Skeleton)
    return found


def taken(record: dict[str, Any], costs: PathCosts) -> float:
    """By simulation."""
    return step_seconds(read(record), costs)


def elsewhere(costs: PathCosts) -> PathCosts:
    """On another host, whose line only many GPUs show."""
    return replace(costs, bulk_line=0.0)


def test_how_much_more_bytes_cost_in_a_step_is_found_again() -> None:
    loops = path_costs(dataset([machine(), *records()]), "remote")
    truth = replace(loops, in_step=Curve(np.array([1.0, 1e9]), np.array([1.4, 1.4])))
    steps = [
        {**each, "seconds": [taken(each, truth)] * 7}
        for each in (made("star-serial", size) for size in SIZES)
    ]
    found = in_steps(loops, dataset([machine(), *records(), *steps]))
    assert found.in_step is not None
    assert found.in_step.seconds[1:] == pytest.approx(1.4, rel=0.12)
    other = made("star-async", 1 << 20, 2)
    assert taken(other, found) == pytest.approx(taken(other, truth), rel=0.08)


def test_what_connections_share_is_found_again() -> None:
    """Four GPUs are sent 4 MiB each at once: 16 MiB that one line has to carry."""
    loops = elsewhere(path_costs(dataset([machine(), *records()]), "remote"))
    truth = replace(loops, bulk_line=0.15e-9)
    measured = [made("star-serial", size) for size in SIZES]
    measured += [made("star-async", 1 << 22, gpus) for gpus in (1, 2, 4)]
    steps = [{**each, "seconds": [taken(each, truth)] * 7} for each in measured]
    found = in_steps(loops, dataset([machine(), *records(), *steps]))
    assert found.bulk_line == pytest.approx(truth.bulk_line, rel=0.1)


def test_what_waking_the_threads_of_large_copies_takes_is_found_again() -> None:
    """Whatever the size: 2 and 4 MiB up, and back three quarters of a sixteenth, in a message."""
    loops = path_costs(dataset([machine(), *records()]), "remote")
    truth = replace(loops, bulk_wake=150e-6)
    measured = [made("star-serial", size) for size in (*SIZES, 1 << 21)]
    steps = [{**each, "seconds": [taken(each, truth)] * 7} for each in measured]
    found = in_steps(loops, dataset([machine(), *records(), *steps]))
    assert found.bulk_wake == pytest.approx(150e-6, rel=0.05)
    assert taken(made("star-serial", 1 << 23), found) == pytest.approx(
        taken(made("star-serial", 1 << 23), truth), rel=0.05
    )


def test_connections_that_share_nothing_have_no_line() -> None:
    """None that holds four of them up: each takes SENDING for a byte."""
    loops = elsewhere(path_costs(dataset([machine(), *records()]), "remote"))
    measured = [made("star-serial", size) for size in SIZES] + [made("star-async", 1 << 22, 4)]
    steps = [{**each, "seconds": [taken(each, loops)] * 7} for each in measured]
    assert in_steps(loops, dataset([machine(), *records(), *steps])).bulk_line < 1.1 * SENDING / 4


def test_without_skeletons_costs_stay_as_they_are() -> None:
    data = dataset([machine(), *records()])
    loops = path_costs(data, "remote")
    assert in_steps(loops, data) is loops


@pytest.mark.parametrize(("schedule", "calls"), [("star-serial", 6), ("star-async", 8)])
def test_a_skeleton_is_made_of_its_calls(schedule: str, calls: int) -> None:
    program = skeleton_program(read(made(schedule, 65536, 2)))
    step = program.operation[:calls].tolist()
    copy, kernel, wait = Operation.copy, Operation.launch, Operation.sync_stream
    expected = {
        "star-serial": [copy, copy, kernel, kernel, copy, copy],
        "star-async": [copy, kernel, copy, copy, kernel, copy, wait, wait],
    }
    assert step == expected[schedule]
    assert len(program) == 12 * calls
    assert set(program.memory[program.operation == copy]) == {Memory.pinned}
    assert np.isfinite(program.simulate().end).all()
