"""The trajectory file is the same, byte for byte, whatever computed it."""

from __future__ import annotations

from pathlib import Path

import pytest

import mdapp

HOST = ("--engine", "host", "--host-devices", 4)
MELT = ("--n", 131, "--temperature", 1100, "--steps", 24, "--every", 8)


def trajectory(path: Path, *options: object) -> bytes:
    finished = mdapp.run("simulate", *MELT, *options, "--trajectory", path, "--force")
    assert finished.status == 0, finished.err
    return path.read_bytes()


@pytest.mark.parametrize("boundary", ["open", "dsf"])
@pytest.mark.parametrize("integrator", ["verlet", "nose-hoover"])
def test_of_the_kernel_tuned(integrator: str, boundary: str, tmp_path: Path) -> None:
    path = tmp_path / "run.xyz"
    setting = ("--kernel", "tuned", "--integrator", integrator, "--boundary", boundary)
    one = trajectory(path, *setting, *HOST)
    for schedule in ("star-serial", "star-async", "allgather"):
        for gpus in (1, 2, 3, 4):
            many = (*HOST, "--schedule", schedule, "--gpus", gpus)
            assert trajectory(path, *setting, *many) == one, (schedule, gpus)


def test_in_either_memory_and_with_fewer_devices_around(tmp_path: Path) -> None:
    path = tmp_path / "run.xyz"
    one = trajectory(path, *HOST, "--gpus", 2)
    assert trajectory(path, *HOST, "--gpus", 2, "--memory", "pinned") == one
    assert trajectory(path, "--engine", "host", "--host-devices", 1) == one


def test_of_a_seed_and_of_no_other(tmp_path: Path) -> None:
    path = tmp_path / "run.xyz"
    one = trajectory(path, *HOST)
    assert trajectory(path, *HOST) == one
    assert trajectory(path, *HOST, "--seed", 2) != one


def test_energy_of_the_last_frame_is_that_of_the_run(tmp_path: Path) -> None:
    """What starts from a frame begins with the bits that the run ended with."""
    path, start = tmp_path / "run.xyz", tmp_path / "start.xyz"
    run = (*("simulate", *HOST, "--temperature", 1100), "--steps", 40, "--every", 20, "--json")
    ended = mdapp.run(*run, "--n", 131, "--trajectory", path).json["observables"][-1]
    *_, last = mdapp.frames_of(path.read_text())
    start.write_text(mdapp.xyz(last))
    simulate = [word for word in run if word not in ("--temperature", 1100)]
    began = mdapp.run(*simulate, "--start", start).json["observables"][0]
    assert began["potential_eV_per_ion"] == ended["potential_eV_per_ion"]
    assert began["total_eV_per_ion"] == pytest.approx(ended["total_eV_per_ion"], rel=1e-12)
