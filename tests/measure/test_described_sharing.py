"""``gpucast measure --program --gpus 1/2,1``: simultaneous instances, and their records."""

import sys
from pathlib import Path

import pytest

import gpucast as gc
from command_line import Run, answer_of, assert_refused, executable, only_json
from gpucast.measure.described.results import Times, together
from gpucast.measure.described.sharing import at_once
from waiting import HANG

# Each instance waits until all of them are there: one after the other, they would
# never end.
MEETING = """\
import os, sys, time
folder, instances = sys.argv[1], int(sys.argv[2])
open(f"{folder}/{os.getpid()}", "w").close()
print(sorted(os.sched_getaffinity(0)))
while len(os.listdir(folder)) < instances:
    time.sleep(0.01)
for i in range(3):
    print(f"step {i}: {instances + i} ms", flush=True)
if os.path.exists(f"{folder}.fails"):
    sys.exit("out of luck")
"""


def described(tmp_path: Path, instances: int, *, cores: str = "cores_per_gpu: 1") -> Path:
    (tmp_path / "meeting.py").write_text(MEETING)
    (tmp_path / "met").mkdir()
    path = tmp_path / "program.yaml"
    path.write_text(
        "program: meeting\n"
        "path: host\n"
        f"{cores}\n"
        f"command: [{sys.executable}, '{{here}}/meeting.py', '{{here}}/met', '{instances}']\n"
        "sizes: [1000]\n"
        f"gpus: [1/{instances}]\n"
        "result: {regex: '(?P<time>[0-9]+) ms', unit: ms, skip: 1}\n"
        f"time_limit: {HANG}s\n"
    )
    return path


def test_instances_run_at_once_each_with_a_log_and_one_record(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    measure = ("measure", "--program", described(tmp_path, 3), "--json", "-o", path)
    assert answer_of(run(*measure))["measured"] == 1
    data = gc.load(path)
    assert data.steps == []
    (step,) = data.shared_steps
    assert (step.gpus, step.instances, step.mps) == (1, 3, None)
    assert step.seconds == [0.004, 0.005] * 3  # as many of each instance, one after the other
    assert 1 <= step.at_once <= 3
    logs = sorted((tmp_path / "data.logs").iterdir())
    assert len(logs) == 3
    assert all("gpus1of3" in log.name for log in logs)
    cores = {log.read_text().splitlines()[0] for log in logs}
    assert len(cores) == 1
    assert "," not in cores.pop()  # one core, the same for all

    status, out, _ = run(*measure)
    assert (status, only_json(out)["skipped"]) == (0, 1)


def test_steps_that_take_longer_than_their_instance_are_doubted_once(
    run: Run, tmp_path: Path
) -> None:
    program = described(tmp_path, 2)
    # 1 to 4 of the unit: no run of a test takes a day.
    program.write_text(program.read_text().replace("unit: ms", "unit: days"))
    measure = ("measure", "--program", program, "-o", tmp_path / "data.jsonl")
    status, _, err = run(*measure, "--visits", 2)
    assert status == 0, err
    assert err.count("longer than the whole run: is the unit of result right?") == 1
    (tmp_path / "right").mkdir()
    program = described(tmp_path / "right", 2)
    status, _, err = run("measure", "--program", program, "-o", tmp_path / "right.jsonl")
    assert status == 0, err
    assert "longer than the whole run" not in err


def test_an_instance_that_fails_fails_the_cell(run: Run, tmp_path: Path) -> None:
    (tmp_path / "met.fails").touch()
    path = tmp_path / "data.jsonl"
    status, _, err = run("measure", "--program", described(tmp_path, 2), "-o", path)
    assert status == 1
    assert "n=1000 gpus=1/2: exit status 1: out of luck" in err
    assert gc.load(path).shared_steps == []


def test_a_run_alone_has_the_cores_that_instances_would_share(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    program = described(tmp_path, 1)
    status, _, err = run("measure", "--program", program, "--gpus", 1, "-o", path)
    assert status == 0, err
    (log,) = (tmp_path / "data.logs").iterdir()
    assert "," not in log.read_text().splitlines()[0]


@pytest.mark.parametrize("instances", [1, 2])
def test_more_cores_than_there_are_cannot_be_shared(
    run: Run, tmp_path: Path, instances: int
) -> None:
    path = tmp_path / "data.jsonl"
    program = described(tmp_path, instances, cores="cores_per_gpu: 100000")
    status, _, err = run("measure", "--program", program, "-o", path)
    assert status == 1
    assert "needs 100000 processor cores (cores_per_gpu)" in err
    assert gc.load(path).shared_steps == []


def test_cores_that_instances_share_must_be_named(run: Run, tmp_path: Path) -> None:
    program = described(tmp_path, 2, cores="")
    assert_refused(
        run("measure", "--program", program, "-o", tmp_path / "data.jsonl"),
        "cores_per_gpu: missing: the processor cores that the instances of gpus 1/2",
    )
    assert not (tmp_path / "data.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--gpus", "3/4"), "'3/4' is no GPU count"),
        (("--gpus", "1/0"), "'1/0' is no GPU count"),
        (("--gpus", "1/2,1", "--budget", "5m"), "no budget, no --until"),
        (("--gpus", "1/2,1", "--mps"), "--mps"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(
    run: Run, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    program = described(tmp_path, 2)
    assert_refused(
        run("measure", "--program", program, *options, "-o", tmp_path / "data.jsonl"), said
    )
    assert not (tmp_path / "data.jsonl").exists()


def test_the_service_is_asked_for_where_there_is_none(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = described(tmp_path, 2, cores="")
    program.write_text(program.read_text().replace("path: host", "path: native"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert_refused(
        run("measure", "--program", program, "--mps", "-o", tmp_path / "data.jsonl"),
        "no program nvidia-cuda-mps-control here",
    )


def test_a_service_of_our_own_serves_the_instances_and_quits(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for the daemon, which notes what it is told and where it listens."""
    tools, notes = tmp_path / "tools", tmp_path / "told"
    executable(
        tools / "nvidia-cuda-mps-control",
        f"#!{sys.executable}\n"
        "import os, sys, time\n"
        "pipe = os.environ['CUDA_MPS_PIPE_DIRECTORY']\n"
        "if sys.argv[1:] == ['-f']:\n"
        "    open(f'{pipe}/up', 'w').close()\n"
        "    while not os.path.exists(f'{pipe}/quit'):\n"
        "        time.sleep(0.01)\n"
        "else:\n"
        "    word = sys.stdin.read().strip()\n"
        f"    open({str(notes)!r}, 'a').write(f'{{word}} {{pipe}}\\n')\n"
        "    if word == 'quit':\n"
        "        open(f'{pipe}/quit', 'w').close()\n"
        "    sys.exit(not os.path.exists(f'{pipe}/up'))\n",
    )
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    program = described(tmp_path, 2, cores="")
    program.write_text(program.read_text().replace("path: host", "path: native"))
    meeting = tmp_path / "meeting.py"
    meeting.write_text(
        meeting.read_text() + "print(os.environ['CUDA_MPS_PIPE_DIRECTORY'], "
        "os.environ['CUDA_VISIBLE_DEVICES'])\n"
    )
    path = tmp_path / "data.jsonl"
    status, _, err = run("measure", "--program", program, "--mps", "-o", path)
    assert status == 0, err
    (step,) = gc.load(path).shared_steps
    assert step.mps is True
    told = [line.split() for line in notes.read_text().splitlines()]
    assert told[-1][0] == "quit"
    (pipe,) = {line[1] for line in told}
    last_lines = {log.read_text().splitlines()[-1] for log in (tmp_path / "data.logs").iterdir()}
    assert last_lines == {f"{pipe} 0"}
    assert not Path(pipe).exists()


def test_how_many_ran_at_once_is_an_average_over_their_runs() -> None:
    assert at_once([(0, 4), (0, 4)]) == 2
    assert at_once([(0, 4), (2, 6)]) == 1.5
    assert at_once([(0, 4), (4, 8)]) == 1
    # The longer one has another beside it for half of its run, the shorter one always.
    assert at_once([(0, 4), (0, 2)]) == pytest.approx((1.5 + 2) / 2)


def test_samples_follow_one_another_instance_by_instance() -> None:
    first = [Times([1.0, 2.0, 3.0]), Times([5.0, 6.0])]
    assert together([first], alike=True).seconds == [2.0, 3.0, 5.0, 6.0]
    again = [Times([4.0]), Times([7.0])]
    assert together([first, again], alike=True).seconds == [3.0, 4.0, 6.0, 7.0]
