"""The main job tells its story on two screens, shows every command, and writes its files."""

import re
import subprocess
from pathlib import Path

import pytest

import gpucast as gc
from command_line import python

SCREENS = 80
"""Lines of output, including stderr."""


def demo(folder: Path) -> subprocess.CompletedProcess[str]:
    return python("-m", "gpucast.demo", "-o", folder)


@pytest.mark.slow
def test_the_demo_runs_shows_its_commands_and_writes_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "demo"
    finished = demo(folder)
    assert finished.returncode == 0, finished.stderr
    assert "\x1b" not in finished.stdout + finished.stderr
    assert len((finished.stdout + finished.stderr).splitlines()) <= SCREENS
    assert all(
        re.match(r"gpucast: (warning|note): ", line) for line in finished.stderr.splitlines()
    )
    commands = re.findall(r"^\$ gpucast (\S+)", finished.stdout, re.MULTILINE)
    own, remote, live = (
        ["import", "fit", "validate", "predict", "plan"],
        ["fit", "what-if", "validate", "report"],
        ["measure", "fit", "measure", "validate", "predict"],
    )
    assert commands == own + remote + live

    written = re.findall(r"^wrote (\S+)", finished.stdout, re.MULTILINE)
    assert written == ["forecast.png", "native-remote.png", "report.html", "live-step-time.png"]
    for name in written:
        content = (folder / name).read_bytes()
        assert content.startswith(b"\x89PNG" if name.endswith(".png") else b"<!doctype html>")

    # The forecasts of the demo are good.
    errors = re.findall(r"^error: median ([\d.]+) %", finished.stdout, re.MULTILINE)
    assert [float(error) < 5 for error in errors[:2]] == [True, True]
    assert {step.gpus for step in gc.load(folder / "water.jsonl").steps} == {1, 2, 4, 8, 16, 32}

    # This machine's steps, and sizes that the fit has not seen.
    fitted, unseen = (gc.load(folder / name) for name in ("live.jsonl", "live-unseen.jsonl"))
    assert fitted.transfers
    assert {step.n for step in unseen.steps}.isdisjoint(step.n for step in fitted.steps)
    assert {step.path for step in [*fitted.steps, *unseen.steps]} == {"host"}
    assert set(fitted.machines) == set(unseen.machines)


def test_a_folder_that_cannot_be_made_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    finished = demo(tmp_path / "file" / "demo")
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert len(finished.stderr.splitlines()) == 1
    assert finished.stderr.startswith("gpucast: error: ")
