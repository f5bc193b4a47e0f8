"""What a campaign's job does on its node, without Slurm."""

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mdapp
from described_programs import described, grid, visits
from gpucast.data import jsonl
from gpucast.data.records import Machine
from gpucast.measure.described import reading
from gpucast.measure.described.slurm.inside import run_cells
from gpucast.measure.described.slurm.work import Work, marker_of, part_of
from waiting import HANG, until

JOB = "7"


def work(tmp_path: Path, allowance: float | None = None) -> Work:
    """Three cells of the toy on two cores, as the second visit."""
    program = reading.read(described(tmp_path, ("gpus: [1, 2]", "gpus: [2]")))
    machine = jsonl.record({"kind": "machine", "id": "cluster/host", "host": "cluster"})
    assert isinstance(machine, Machine)
    folder = tmp_path / "data.slurm"
    folder.mkdir()
    runs = tuple((run, 2) for run in reading.runs_of(program))
    return Work(program, runs, machine, folder, tmp_path / "data.logs", 3600.0, allowance)


@pytest.fixture(autouse=True)
def _job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", JOB)
    monkeypatch.setenv("SLURMD_NODENAME", "node3")


def test_its_visits_are_in_its_own_file_once_however_often_it_is_started(tmp_path: Path) -> None:
    made = work(tmp_path)
    part = part_of(made.folder, JOB)
    assert run_cells(made) == "done"
    assert visits(part) == {(n, 2, 2): 1 for n in (1000, 2000, 4000)}
    steps = mdapp.steps_in(part.read_text())
    assert {(s["machine"], s["visit"]["job"], s["visit"]["node"]) for s in steps} == {
        ("cluster/host", JOB, "node3")
    }
    assert run_cells(made) == "done"
    assert set(visits(part).values()) == {1}
    assert len(list((tmp_path / "data.logs").glob("*.log"))) == 3


def test_it_begins_no_visit_once_its_allowance_is_used_up(tmp_path: Path) -> None:
    made = work(tmp_path, allowance=1e-6)
    assert run_cells(made) == "allowance"
    part = part_of(made.folder, JOB)
    assert not part.exists() or '"kind":"step"' not in part.read_text()


def test_it_runs_nothing_else_than_what_was_queued(tmp_path: Path) -> None:
    made = work(tmp_path)
    with (tmp_path / "toy.py").open("a") as stream:
        stream.write("# another version\n")
    assert run_cells(made) == "done"
    notes = [
        record["text"]
        for record in mdapp.records_in(part_of(made.folder, JOB).read_text())
        if record["kind"] == "note" and "digest" in (record.get("about") or {})
    ]
    assert len(notes) == 3
    assert all("changed since it was queued" in text for text in notes)


@pytest.mark.parametrize(
    ("number", "status", "answer"), [(signal.SIGTERM, 143, ""), (signal.SIGUSR2, 0, "timeout")]
)
def test_signals_end_it_and_the_program_under_way(
    tmp_path: Path, number: signal.Signals, status: int, answer: str
) -> None:
    made = work(tmp_path)
    part = part_of(made.folder, JOB)
    (tmp_path / "work.pkl").write_bytes(pickle.dumps(made))
    os.mkfifo(f"{part}.gate")
    code = (
        "import pickle, sys; from gpucast.measure.described.slurm.inside import run_cells; "
        "print(run_cells(pickle.load(open(sys.argv[1], 'rb'))))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "work.pkl")], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TOY_DATA": str(part), "TOY_HOLD_AT": "1"},
    )  # fmt: skip
    holding = Path(f"{part}.holding")
    assert until(holding.exists, process)
    process.send_signal(number)
    out, _ = process.communicate(timeout=HANG)
    assert (process.returncode, out.strip()) == (status, answer)
    running = Path(f"/proc/{holding.read_text()}")
    assert until(lambda: not running.exists() or " Z " in (running / "stat").read_text())
    assert len(visits(part)) == 1
    # Which visit it was, for the case that it never ends within a job's time.
    digest, _, visit = marker_of(made.folder, JOB).read_text().partition(" ")
    assert (digest, visit) in {(run.digest, "2") for run, _ in made.visits}
    assert not list((tmp_path / "data.logs").glob("*.job*"))
    # The next job, or the same again, makes the others.
    (tmp_path / "data.jsonl.gate").unlink(missing_ok=True)
    assert run_cells(made) == "done"
    assert visits(part) == {(*key[:2], 2): 1 for key in grid([1000, 2000, 4000], [2])}
