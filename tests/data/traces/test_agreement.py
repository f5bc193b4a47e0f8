"""Steps of several traces of one program are the same part of it, or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import gpucast as gc
from command_line import Run, assert_refused
from gpucast.data.formats import Options
from gpucast.data.formats.several import read_files
from gpucast.data.records import Step
from gpucast.data.traces import find_steps
from gpucast.data.traces.agreement import Shape, repeats, said_of_repeats, shape_of
from gpucast.data.traces.records import TRACES
from gpucast.data.traces.trace import RunDescription
from gpucast.data.traces.writing import write
from gpucast.errors import InputError
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
    (line,) = said_of_repeats(shapes, times)
    assert line == "one.zip: 4 of what repeats there are one step, as with more GPUs"


@pytest.mark.parametrize(
    "other", [shape(73, 219), shape(5, 5, gpus=2), shape(40, 40, gpus=2)], ids=str
)
def test_steps_that_cannot_be_brought_to_one_are_refused(other: Shape) -> None:
    with pytest.raises(InputError, match="the repeating part is not one step") as error:
        repeats([shape(1, 1, file="short.zip"), replace(other, file="long.zip")])
    assert error.value.file == "short.zip"
    message = error.value.message
    assert "3 calls a step (1 launches, 1 waits) here" in message
    assert "in long.zip" in message
    assert "--range kernel:NAME" in message


def test_calls_of_a_step_are_those_of_the_usual_one() -> None:
    made = MadeTrace()
    for number in range(30):
        made.launch("a", seconds=20 * US)
        made.launch("b", seconds=20 * US)
        for _ in range(3):  # a polling loop is one wait
            made.call("cudaEventQuery", cost=US)
        made.copy(8, "d2h")
        if number % 10 == 9:
            made.copy(8, "d2h")
    trace = made.trace()
    shape_of_both = shape_of(trace, find_steps(trace), "T", 1)
    assert shape_of_both == Shape("T", 1, calls=4, launches=2, waits=2)


def written(path: Path, n: int, kernels: str, *, gpus: int = 1) -> str:
    """A file with steps of these kernels, each of which runs on all GPUs and is waited for."""
    made = MadeTrace(program="./made")
    for _ in range(60):
        for kernel in kernels:
            made.host(5 * US)
            for device in range(gpus):
                made.launch(kernel, seconds=20 * US, device=device, stream=20 + device)
            for device in range(gpus):
                made.copy(8, "d2h", device=device, stream=20 + device)
    trace = made.trace()
    command = ["./made", "--n", str(n)]
    run = RunDescription(source="cupti", command=command, machine=trace.run.machine)
    write(replace(trace, run=run), path)
    return str(path)


@pytest.fixture
def unlike_files(tmp_path: Path) -> list[str]:
    """Two traces with a launch in a step, and one with three."""
    sizes = ((1000, "a"), (2000, "a"), (4000, "abc"))
    return [written(tmp_path / f"n{n}.zip", n, kernels) for n, kernels in sizes]


def test_steps_that_are_not_one_are_refused_alike_by_all_commands(
    unlike_files: list[str], tmp_path: Path, run: Run
) -> None:
    outputs = []
    for command in (
        ("what-if", *unlike_files, "--path", "remote", "--data", "h200-traces", "-o"),
        ("import", *unlike_files, "-o"),
        ("fit", *unlike_files, "-o"),
    ):
        finished = run(*command, tmp_path / "out")
        assert_refused(finished, "the repeating part is not one step")
        outputs.append(finished[2])
        assert not (tmp_path / "out").exists()
    assert len(set(outputs)) == 1


def test_of_a_folder_what_is_not_one_step_is_left_out(
    unlike_files: list[str], tmp_path: Path, run: Run
) -> None:
    status, _, err = run("import", Path(unlike_files[0]).parent, "-o", tmp_path / "out.jsonl")
    assert status == 0, err
    assert "left out" in err
    assert "the repeating part is not one step" in err
    assert [step.n for step in gc.load(tmp_path / "out.jsonl").steps] == [4000]


def test_repeats_that_are_one_step_are_imported_as_one(tmp_path: Path) -> None:
    """A sweep repeats on one GPU; on two GPUs, four of them."""
    alone = written(tmp_path / "one.zip", 1000, "a")
    both = written(tmp_path / "two.zip", 1000, "abcd", gpus=2)
    (apart,) = read_files([alone], Options(), others=[TRACES]).read
    sweep = apart.imported.entries[0]
    several = read_files([alone, both], Options(), others=[TRACES])
    step = several.read[0].imported.entries[0]
    assert isinstance(sweep, Step)
    assert isinstance(step, Step)
    assert step.seconds == pytest.approx([4 * seconds for seconds in sweep.seconds])
    assert step.bytes is not None
    assert sweep.bytes is not None
    assert step.bytes.d2h == 4 * sweep.bytes.d2h
    assert step.phases is not None
    assert sweep.phases is not None
    for name in ("kernel", "cpu", "calls"):
        once, four = (getattr(record.phases, name) for record in (sweep, step))
        assert four == pytest.approx([4 * seconds for seconds in once])
    line = "4 of what repeats there are one step, as with more GPUs"
    assert f"{alone}: {line}" in several.warnings
    (note,) = several.read[0].imported.notes
    assert "4 launches, 4 copies, 4 waits" in note


def test_where_the_user_says_what_a_step_is_nothing_is_put_together(
    unlike_files: list[str], tmp_path: Path, run: Run
) -> None:
    named = ("--range", "kernel:a")
    status, _, err = run("import", *unlike_files, *named, "-o", tmp_path / "out.jsonl")
    assert status == 0, err
    assert len(gc.load(tmp_path / "out.jsonl").steps) == 3


def test_traces_of_several_programs_are_not_held_beside_one_another(
    tmp_path: Path, run: Run
) -> None:
    files = [written(tmp_path / f"{kernels}.zip", 1000, kernels) for kernels in ("a", "abc")]
    named = ("--from-name", "(?P<case>[a-c]+)[.]zip")
    assert run("import", *files, "-o", tmp_path / "a.jsonl")[0] == 2
    assert run("import", *files, *named, "-o", tmp_path / "b.jsonl")[0] == 0
