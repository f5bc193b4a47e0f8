"""``gpucast measure --program --slurm`` with a real Slurm on this machine."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpucast
import mdapp
from command_line import executable, only_json, shell, start_measuring
from described_programs import described, grid, made, visits, visits_of_whole
from slurm_cluster import Cluster, slurm, why_not
from waiting import HANG, until

SLURM = ("--slurm", "--partition=gpu --time=10")
SIZES = [1000 * 2**power for power in range(10)]
GPUS = [1, 2, 3, 4]
MOMENTS = int(os.environ.get("GPUCAST_MOMENTS", "4"))
"""The points at which campaigns are interrupted; ten take a minute for each signal."""

pytest.importorskip("submitit")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(why_not() is not None, reason=f"no Slurm: {why_not()}"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One for all tests of this module; its commands find it."""
    with (
        slurm(tmp_path_factory.mktemp("slurm")) as made,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name in [*os.environ]:
            if name.startswith("SLURM_"):
                patch.delenv(name)
        for name, value in made.environment.items():
            patch.setenv(name, value)
        patch.setenv("PYTHONPATH", str(Path(gpucast.__file__).parents[1]))
        yield made


@pytest.fixture(autouse=True)
def _idle(cluster: Cluster) -> Iterator[None]:
    """Each test starts with a node that accepts jobs, and leaves no jobs behind."""
    yield
    cluster.resume()
    for job in cluster.jobs():
        cluster.run("scancel", job)
    until(lambda: not cluster.jobs())


def forty(folder: Path) -> Path:
    return described(folder, ("[1000, 2000, 4000]", str(SIZES)), ("gpus: [1, 2]", f"gpus: {GPUS}"))


def steps(path: Path) -> list[dict[str, object]]:
    return mdapp.steps_in(path.read_text())


def submitted(path: Path) -> list[str]:
    """Jobs in the book of a campaign."""
    folder = path.with_suffix(".slurm")
    return [file.name.partition("_")[0] for file in folder.glob("*_submitted.pkl")]


def test_a_round_is_a_job_for_each_gpu_count_and_steps_say_which(
    cluster: Cluster, tmp_path: Path
) -> None:
    program, path = described(tmp_path), tmp_path / "data.jsonl"
    measure = ("measure", "--program", program, *SLURM, "--visits", "2", "--json", "-o", path)
    done = shell(*measure)
    assert done.returncode == 0, done.stderr
    assert only_json(done.stdout)["measured"] == 12
    assert visits(path) == grid([1000, 2000, 4000], [1, 2], 2)
    jobs: dict[object, set[tuple[object, object]]] = {}
    for step in steps(path):
        visit = step["visit"]
        assert isinstance(visit, dict)
        assert visit["node"] == "localhost"
        jobs.setdefault(visit["job"], set()).add((step["gpus"], visit["number"]))
    assert sorted(map(sorted, jobs.values())) == [[(g, v)] for g in (1, 2) for v in (1, 2)]
    assert not path.with_suffix(".slurm").exists()
    assert len(list((tmp_path / "data.logs").glob("*.log"))) == 12

    again = shell(*measure)
    assert (again.returncode, only_json(again.stdout)["measured"]) == (0, 0)


def interrupted(
    cluster: Cluster, measure: tuple[object, ...], path: Path, number: signal.Signals, moments: int
) -> None:
    """The client is interrupted; jobs are cancelled by hand and the node is drained meanwhile;
    then it comes to its end."""
    for moment in range(moments):
        before, booked = made(path), set(submitted(path))
        if moment % 4 == 3:
            cluster.drain()
        process = start_measuring(*measure)

        def reached(moment: int = moment, before: int = before, booked: set[str] = booked) -> bool:
            if moment % 3 == 0:  # sbatch may be at work
                return any(path.with_suffix(".slurm").glob("*.pkl"))
            if moment % 3 == 1:
                return bool(set(submitted(path)) - booked) or made(path) > before
            return made(path) > before or moment % 4 == 3

        until(reached, process)
        process.send_signal(number)
        _, err = process.communicate(timeout=HANG)
        assert process.returncode in (128 + number, -number, 0), err
        if moment % 2 == 1:
            for job in submitted(path)[:2]:
                subprocess.run(["scancel", job], check=False, capture_output=True)
        if moment % 4 == 3:
            cluster.resume()
        if path.exists():
            assert set(visits_of_whole(path).values()) <= {1}
    process = start_measuring(*measure)
    _, err = process.communicate(timeout=HANG)
    assert process.returncode == 0, err
    assert not path.with_suffix(".slurm").exists()
    assert not [entry for entry in path.with_suffix(".logs").iterdir() if entry.is_dir()]
    until(lambda: not cluster.jobs())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_forty_cells_end_once_each_whatever_happens(
    cluster: Cluster, tmp_path: Path, number: signal.Signals
) -> None:
    program, path = forty(tmp_path), tmp_path / "data.jsonl"
    measure = ("--program", program, *SLURM, "--quiet", "-o", path)
    interrupted(cluster, measure, path, number, MOMENTS)
    assert visits(path) == grid(SIZES, GPUS)


def held(tmp_path: Path, steps: int) -> tuple[subprocess.Popen[str], Path]:
    """A campaign of one job, a run of which waits for a pipe once the file has so many steps. That
    is so of none surely, and of some unless runs end before their steps have been taken over."""
    program, path = described(tmp_path, ("gpus: [1, 2]", "gpus: [2]")), tmp_path / "data.jsonl"
    gate = Path(f"{path}.gate")
    os.mkfifo(gate)
    process = start_measuring(
        "--program", program, *SLURM, "-o", path, TOY_DATA=str(path), TOY_HOLD_AT=str(steps)
    )
    until(lambda: Path(f"{path}.holding").exists() or made(path) == 3, process)
    gate.unlink()  # the run that waits goes on waiting; no other will
    gate.touch()
    return process, path


def test_a_job_that_is_cancelled_by_hand_is_said_and_its_cells_are_tried_again(
    cluster: Cluster, tmp_path: Path
) -> None:
    process, path = held(tmp_path, 0)
    (job,) = submitted(path)
    cluster.run("scancel", job)
    _, err = process.communicate(timeout=HANG)
    assert process.returncode == 0, err
    assert visits(path) == grid([1000, 2000, 4000], [2])
    (line,) = [line for line in err.splitlines() if "CANCELLED" in line]
    assert f"job {job} (gpus=2)" in line
    assert line.endswith("3 of 3 visits undone; they are tried again")


def test_a_job_that_slurm_puts_back_goes_on_where_it_was(cluster: Cluster, tmp_path: Path) -> None:
    process, path = held(tmp_path, 1)
    for job in submitted(path):
        subprocess.run(["scontrol", "requeue", job], check=False, capture_output=True)
    _, err = process.communicate(timeout=HANG)
    assert process.returncode == 0, err
    assert visits(path) == grid([1000, 2000, 4000], [2])


def waiting_for_a_node(
    cluster: Cluster, tmp_path: Path
) -> tuple[Path, Path, subprocess.Popen[str]]:
    """The description, the file, and a campaign whose two jobs wait for a node that is drained."""
    program, path = described(tmp_path), tmp_path / "data.jsonl"
    cluster.drain()
    process = start_measuring("--program", program, *SLURM, "-o", path)
    until(lambda: len(submitted(path)) == 2, process)
    return program, path, process


def test_jobs_wait_for_a_drained_node_and_cancel_ends_them(
    cluster: Cluster, tmp_path: Path
) -> None:
    program, path, process = waiting_for_a_node(cluster, tmp_path)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HANG)
    assert process.returncode == 130
    assert "2 jobs" in err
    assert "--cancel" in err
    assert len(cluster.jobs("PD")) == 2

    here = shell("measure", "--program", program, "-o", path)
    assert here.returncode == 2
    assert "jobs of Slurm's still measure for it" in here.stderr

    ended = shell("measure", "--program", program, "--cancel", "-o", path)
    assert ended.returncode == 0, ended.stderr
    assert not cluster.jobs()
    assert made(path) == 0
    cluster.resume()
    done = shell("measure", "--program", program, *SLURM, "--json", "-o", path)
    assert only_json(done.stdout)["measured"] == 6


def test_jobs_of_a_client_that_was_killed_before_any_record_are_taken_over(
    cluster: Cluster, tmp_path: Path
) -> None:
    program, path, process = waiting_for_a_node(cluster, tmp_path)
    process.kill()
    process.communicate(timeout=HANG)
    jobs = set(submitted(path))
    cluster.resume()
    done = shell("measure", "--program", program, *SLURM, "-o", path)
    assert done.returncode == 0, done.stderr
    assert visits(path) == grid([1000, 2000, 4000], [1, 2])
    assert len({step["machine"] for step in steps(path)}) == 1
    assert {step["visit"]["job"] for step in steps(path)} == jobs


def test_a_cell_that_fails_is_a_note_and_the_others_go_on(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_FAILS_AT", "2000 2")
    program, path = described(tmp_path), tmp_path / "data.jsonl"
    measure = ("measure", "--program", program, *SLURM, "--json", "--visits", "2", "-o", path)
    done = shell(*measure)
    assert done.returncode == 1
    answer = only_json(done.stdout)
    assert answer["measured"] == 10
    assert answer["failed"] in (1, 2)  # both rounds may be in the queue
    notes = [note for note in gpucast.load(path).notes if "digest" in (note.about or {})]
    failed_in = sum(note.about["seconds"] * note.about["gpus"] for note in notes if note.about)
    assert failed_in > 0
    # Failed runs had their GPUs, too.
    made_in = sum(step["visit"]["seconds"] * step["gpus"] for step in steps(path))
    assert answer["paths"][0]["gpu_hours"] * 3600 == pytest.approx(made_in + failed_in)
    line = next(line for line in done.stderr.splitlines() if "ran out of memory" in line)
    assert "making a box" in Path(line.partition("(log: ")[2].rstrip(")")).read_text()

    monkeypatch.delenv("TOY_FAILS_AT")
    assert only_json(shell(*measure).stdout)["measured"] == 2
    assert visits(path) == grid([1000, 2000, 4000], [1, 2], 2)


SEES = """\
import os
print("sees", os.environ.get("CUDA_VISIBLE_DEVICES"), "of job", os.environ.get("SLURM_JOB_ID"))
print("1.5 ms")
"""


def sees(tmp_path: Path, launcher: str) -> Path:
    (tmp_path / "sees.py").write_text(SEES)
    (tmp_path / "program.yaml").write_text(
        f"program: sees\ncommand: [{sys.executable}, sees.py]\nfiles: [sees.py]\n"
        f"launcher: {launcher}\nranks: 1\nsizes: [1000]\ngpus: [1, 2, 4]\n"
        "result: {regex: '(?P<t>[0-9.]+) ms', unit: ms}\n"
    )
    return tmp_path / "program.yaml"


def seen(tmp_path: Path) -> dict[int, str]:
    """The GPUs that each run saw, by GPU count."""
    devices = {}
    for log in (tmp_path / "data.logs").glob("*.log"):
        gpus = int(log.name.partition("gpus")[2].partition("-")[0])
        devices[gpus] = log.read_text().split()[1]
    return devices


def test_jobs_have_as_many_gpus_as_their_cells_and_records_name_them(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smi = executable(
        tmp_path / "bin" / "nvidia-smi",
        "#!/bin/sh\ncase $1 in --query-gpu=index,uuid)\n"
        "  printf '0, GPU-a\\n1, GPU-b\\n2, GPU-c\\n3, GPU-d\\n' ;;\nesac\n",
    )
    monkeypatch.setenv("PATH", f"{smi.parent}:{os.environ['PATH']}")
    done = shell(
        "measure", "--program", sees(tmp_path, "none"), *SLURM, "-o", tmp_path / "data.jsonl"
    )
    assert done.returncode == 0, done.stderr
    assert {gpus: len(text.split(",")) for gpus, text in seen(tmp_path).items()} == {
        1: 1, 2: 2, 4: 4,
    }  # fmt: skip
    named = {step["gpus"]: step["visit"]["gpu_uuids"] for step in steps(tmp_path / "data.jsonl")}
    names = dict(zip("0123", ("GPU-a", "GPU-b", "GPU-c", "GPU-d"), strict=True))
    assert named == {
        gpus: [names[number] for number in text.split(",")] for gpus, text in seen(tmp_path).items()
    }


@pytest.mark.parametrize("launcher", ["none", "srun"])
def test_within_an_allocation_cells_are_its_steps_and_have_their_share_of_gpus(
    cluster: Cluster, tmp_path: Path, launcher: str
) -> None:
    program = sees(tmp_path, launcher)
    script = tmp_path / "job.sh"
    script.write_text(
        f"#!/bin/sh\n#SBATCH --gpus=4 --output={tmp_path}/out\n"
        f"{sys.executable} -m gpucast.cli measure --program {program} -o {tmp_path}/data.jsonl\n"
    )
    cluster.run("sbatch", "--wait", script)
    assert made(tmp_path / "data.jsonl") == 3, (tmp_path / "out").read_text()
    assert seen(tmp_path) == {1: "0", 2: "0,1", 4: "0,1,2,3"}


def test_gpu_hours_buy_a_design_and_end_with_the_budget(cluster: Cluster, tmp_path: Path) -> None:
    sizes = SIZES[:6]
    program = described(
        tmp_path, ("[1000, 2000, 4000]", str(sizes)), ("gpus: [1, 2]", "gpus: [1, 2, 4]")
    )
    path = tmp_path / "data.jsonl"
    measure = ("measure", "--program", program, *SLURM, "--json", "-o", path)
    done = shell(*measure, "--gpu-hours", "0.001")
    assert done.returncode == 0, done.stderr
    answer = only_json(done.stdout)
    assert answer["paths"][0]["status"] == "budget"
    first = made(path)
    assert 0 < first < 18 * 6
    assert set(visits(path).values()) == {1}
    # The budget is spent: the same budget buys nothing more.
    assert only_json(shell(*measure, "--gpu-hours", "0.001").stdout)["measured"] <= 1
    # A large budget: only the number of visits ends it.
    done = shell(*measure, "--gpu-hours", "100", "--visits", "1")
    assert done.returncode == 0, done.stderr
    assert set(visits(path)) >= set(grid(sizes, [1, 2, 4]))
