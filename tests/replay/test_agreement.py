"""Steps of several traces of one program: the same stretch of it, or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import gpucast as gc
from gpucast.errors import InputError
from gpucast.replay.agreement import Shape, repeats, said_of_repeats
from gpucast.replay.models import path_model
from gpucast.traces.trace import RunDescription
from gpucast.traces.writing import write
from made_traces import MadeTrace

US = 1e-6


def shape(launches: float, waits: float, gpus: int = 1, file: str = "T") -> Shape:
    return Shape(file, gpus, 3 * launches, launches, waits)


def test_steps_that_launch_as_much_are_one() -> None:
    assert repeats([shape(3, 1), shape(3, 1), shape(6, 2, gpus=2)]) == [1, 1, 1]


def test_more_kernels_between_as_many_waits_are_the_work_of_a_step() -> None:
    assert repeats([shape(20, 1), shape(200, 1), shape(600, 1), shape(40, 2, gpus=2)]) == [1] * 4


def test_what_repeats_within_a_step_of_more_gpus_is_put_together() -> None:
    # Four sweeps, of two GPUs, with ten waits; without neighbours a sweep has one.
    shapes = [shape(1, 1, file="one.zip"), shape(8, 10, gpus=2, file="two.zip")]
    times = repeats(shapes)
    assert times == [4, 1]
    (said,) = said_of_repeats(shapes, times)
    assert said == "one.zip: 4 of what repeats there are one step, as with more GPUs"


@pytest.mark.parametrize(
    "other", [shape(73, 219), shape(5, 5, gpus=2), shape(40, 40, gpus=2)], ids=str
)
def test_steps_that_cannot_be_brought_to_one_are_refused(other: Shape) -> None:
    with pytest.raises(InputError, match="what repeats is not one step") as found:
        repeats([shape(1, 1, file="short.zip"), replace(other, file="long.zip")])
    assert found.value.file == "short.zip"
    said = found.value.message
    assert "3 calls a step (1 launches, 1 waits) here" in said
    assert "in long.zip" in said
    assert "--range kernel:NAME" in said


def test_a_model_of_two_steps_in_one_trace_and_one_in_others_is_refused(tmp_path: Path) -> None:
    def written(n: int, kernels: tuple[str, ...]) -> str:
        made = MadeTrace(program="./made")
        for _ in range(30):
            for kernel in kernels:
                made.host(5 * US)
                made.launch(kernel, seconds=20 * US)
                made.copy(8, "d2h")
            made.copy(16 * n, "h2d")
        trace = made.trace()
        run = RunDescription(
            source="cupti", command=["./made", "--n", str(n)], machine=trace.run.machine
        )
        file = tmp_path / f"n{n}.zip"
        write(replace(trace, run=run), file)
        return str(file)

    files = [written(1000, ("a",)), written(2000, ("a",)), written(4000, ("a", "b", "c"))]
    data = gc.load("h200-traces")
    with pytest.raises(InputError, match="what repeats is not one step"):
        path_model(files, data, "remote")
