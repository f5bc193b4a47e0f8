"""``gpucast measure --program --slurm``: the parts that need no Slurm."""

from pathlib import Path

import pytest

from command_line import Run, assert_refused, only_json
from described_programs import described
from gpucast.measure.described import reading
from gpucast.measure.described.campaign import Plan, PlannedVisit
from gpucast.measure.described.request import Request
from gpucast.measure.described.slurm.batches import jobs_of
from gpucast.measure.described.slurm.options import parse

OPTIONS = "--partition=gpu --time=1:00:00"


def test_a_dry_run_shows_jobs_and_the_visits_of_each(run: Run, tmp_path: Path) -> None:
    program = described(tmp_path, ("path: host\n", ""))
    measure = ("measure", "--program", program, "--slurm", OPTIONS, "--visits", 2, "--dry-run")
    status, out, _ = run(*measure)
    assert status == 0
    jobs = [line for line in out.splitlines() if line.startswith("sbatch ")]
    assert len(jobs) == 4
    assert jobs[0].partition("  #")[0] in {
        f"sbatch --gpus-per-node={gpus} --nodes=1 --ntasks-per-node=1 --partition=gpu "
        "--time=1:00:00"
        for gpus in (1, 2)
    }
    assert jobs[0].endswith("# 3 visits, one after the other")
    assert out.splitlines()[-1].startswith("4 jobs; 12 visits to make, 0 made")
    last = run(*measure, "--gpu-hours", 1)[1].splitlines()[-1]
    assert last.endswith("Only some of these are made, in batches, until the budget is spent.")
    plan = only_json(run(*measure, "--json")[1])
    assert [job["visits"] for job in plan["jobs"]] == [3] * 4
    assert len(plan["visits"]) == 12


def test_a_dry_run_cuts_jobs_at_their_time_limit_as_a_campaign_does(tmp_path: Path) -> None:
    program = reading.read(described(tmp_path))
    request = Request(program, reading.runs_of(program, [1000.0], [1]))
    visits = [
        PlannedVisit(1000.0, 1, 1, 1, ["true"], {}, seconds) for seconds in (100.0, 60.0, 60.0)
    ]
    jobs = jobs_of(Plan(visits, 0, False), request, parse("--time=5:00"))
    # 210 of 300 s are for visits, and four fifths of these are counted on: 168.
    assert [[visit.seconds for visit in job.visits] for job in jobs] == [[100.0, 60.0], [60.0]]


MISTAKES = [
    (("--slurm", "--partition=gpu"), "missing: --time"),
    (("--slurm", "--time=1:00:00 --array=1-4"), "--array cannot be given"),
    (("--slurm", OPTIONS, "--cancel"), "--cancel: finds its jobs by -o: leave --slurm out"),
    (("--slurm", OPTIONS, "--trace"), "--trace: is not for --slurm"),
    (("--slurm", OPTIONS), "no sbatch here"),
    (("--cancel",), "no sbatch here"),
]


@pytest.mark.parametrize(("options", "said"), MISTAKES)
def test_mistakes_are_a_line_and_leave_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    program = described(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / "data.jsonl"
    assert_refused(run("measure", "--program", program, *options, "-o", path), said)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["program.yaml", "toy.py"]


def test_our_own_programs_are_not_measured_by_jobs(run: Run, tmp_path: Path) -> None:
    assert_refused(
        run("measure", "--slurm", OPTIONS, "-o", tmp_path / "data.jsonl"),
        "--slurm", "is of --program",
    )  # fmt: skip


def test_what_jobs_are_measuring_is_not_measured_here_too(run: Run, tmp_path: Path) -> None:
    program, path = described(tmp_path), tmp_path / "data.jsonl"
    (tmp_path / "data.slurm").mkdir()
    (tmp_path / "data.slurm" / "12_submitted.pkl").touch()
    assert_refused(run("measure", "--program", program, "-o", path), "give --slurm again")
    assert not path.exists()
