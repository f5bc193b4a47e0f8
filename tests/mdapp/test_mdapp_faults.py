"""Interrupted runs: what was measured or simulated before is kept, whole."""

import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

import command_line
import gpucast as gc
import mdapp
from waiting import HANG, processor_seconds, until

ENDLESS = ("--engine", "host", "--max-time", 1000, "--interval", 1e-9, "--warm-up", 0)


def wait_for(path: Path, text: str, running: subprocess.Popen[bytes]) -> None:
    """Wait until the file has this size."""
    there = until(lambda: path.exists() and text in path.read_text(), running)
    assert there, running.communicate()


def interrupted(running: subprocess.Popen[bytes]) -> tuple[int, list[str]]:
    """Exit status and stderr."""
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=HANG)
    return running.returncode, err.decode().splitlines()


def test_an_interrupted_measurement_keeps_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    running = mdapp.start("measure", "--n", 64, "--engine", "host", "-o", path, "--steps", 5)
    running.communicate(timeout=HANG)
    assert running.returncode == 0
    running = mdapp.start("measure", *ENDLESS, "--n", "64,97", "-o", path, "--append")
    wait_for(path, '"started"', running)
    # Hundreds of steps of 64 particles, each of which takes some 50 us of a core.
    begun = processor_seconds(running)
    until(lambda: processor_seconds(running) >= begun + 0.02, running)
    status, lines = interrupted(running)
    assert status == 1
    # The current cell counts with its steps so far; the next was never begun.
    assert lines[-1] == "gpucast-mdapp: error: interrupted: 1 of 2 cells measured"
    before, stopped = mdapp.steps_in(path.read_text())
    assert len(before["seconds"]) == 5
    assert stopped["n"] == 64
    assert len(stopped["seconds"]) > 5
    assert len(gc.load(path).steps) == 2


def test_a_killed_measurement_leaves_whole_records(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    grid = ",".join(str(n) for n in range(64, 1000))
    running = mdapp.start(
        "measure", "--engine", "host", "--n", grid, "--steps", 2, "--warm-up", 0, "-o", path
    )
    wait_for(path, '"n":70', running)
    running.kill()
    running.communicate(timeout=HANG)
    assert running.returncode == -signal.SIGKILL
    data = gc.load(path)
    assert len(data.steps) >= 7
    assert all(len(step.seconds) == 2 for step in data.steps)


def test_an_interrupted_simulation_keeps_its_frames(tmp_path: Path) -> None:
    path = tmp_path / "t.xyz"
    running = mdapp.start(
        "simulate", "--engine", "host", "--n", 216, "--steps", 10**8, "--every", 10,
        "--trajectory", path,
    )  # fmt: skip
    wait_for(path, "Time=60", running)
    status, lines = interrupted(running)
    assert status == 1
    assert "interrupted" in lines[-1]
    frames = list(mdapp.frames_of(path.read_text()))
    assert len(frames) >= 4
    assert {frame.n for frame in frames} == {216}


def test_a_failing_simulation_says_what_it_saw_before(tmp_path: Path) -> None:
    start = tmp_path / "start.xyz"
    r, v = np.array([[0.0, 0, 0], [0, 9.02, 0]]), np.array([[0.0, 0, 0], [0, -1, 0]])
    start.write_text(mdapp.xyz(mdapp.Frame(["Na", "Cl"], r, 40.0, v)))
    finished = mdapp.run(
        "simulate", "--engine", "host", "--start", start, "--dt", 3e-15, "--steps", 10,
        "--every", 1, "--json",
    )  # fmt: skip
    assert finished.status == 1
    assert "overlap" in finished.err
    answer = command_line.only_json(finished.out)
    times = [one["time"] for one in answer["observables"]]
    assert times == pytest.approx([3e-15 * k for k in range(len(times))])
    assert answer["summary"]["steps"] == len(times) - 1 > 0


@pytest.mark.parametrize("command", ["forces", "simulate"])
def test_a_reader_that_has_gone_is_no_crash(command: str) -> None:
    more = ("--steps", 5, "--json", "--engine", "host") if command == "simulate" else ()
    running = mdapp.start(command, "--n", 1728, *more)
    running.stdout.close()
    err = running.stderr.read().decode()
    assert running.wait(timeout=HANG) in {1, -signal.SIGPIPE, 141}
    assert len(err.splitlines()) <= 1
