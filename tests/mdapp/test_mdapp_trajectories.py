"""Trajectories: the files, and that they do not depend on who computed them."""

from pathlib import Path

import numpy as np
import pytest

import mdapp

HOST = ("--engine", "host", "--host-devices", 4)
MELT = ("--temperature", 1100, "--steps", 40, "--every", 10)


def written(path: Path, *arguments: object) -> bytes:
    finished = mdapp.run("simulate", *MELT, *arguments, "--trajectory", path, "--force")
    assert finished.status == 0, finished.err
    return path.read_bytes()


def trajectory(path: Path, *arguments: object) -> list[mdapp.Frame]:
    return list(mdapp.frames_of(written(path, *arguments).decode()))


def test_a_trajectory_is_extended_xyz(tmp_path: Path) -> None:
    frames = trajectory(tmp_path / "t.xyz", *HOST, "--n", 216, "--salt", "KCl")
    times = [float(frame.fields["Time"]) for frame in frames]
    assert times == pytest.approx([0, 20, 40, 60, 80])  # fs
    for frame in frames:
        assert frame.species.count("K") == frame.species.count("Cl") == 108
        assert frame.fields["pbc"] == "F F F"
        assert np.abs(frame.r).max() <= frame.side / 2
    assert frames[0].temperature() == pytest.approx(1100, rel=0.01)
    # angstrom/fs: the velocities are those that positions 20 fs later come from.
    velocity = frames[0].v
    moved = frames[1].r - frames[0].r
    assert np.corrcoef(moved.ravel(), velocity.ravel())[0, 1] > 0.9
    assert (moved * velocity).sum() / (velocity**2).sum() == pytest.approx(20, rel=0.2)


@pytest.mark.parametrize("boundary", ["open", "dsf"])
def test_a_run_goes_on_from_a_frame(tmp_path: Path, boundary: str) -> None:
    whole = trajectory(tmp_path / "whole.xyz", *HOST, "--n", 64, "--boundary", boundary)
    (tmp_path / "middle.xyz").write_text(mdapp.xyz(whole[2]))
    rest = mdapp.run(
        *("simulate", *HOST, "--start", tmp_path / "middle.xyz", "--boundary", boundary),
        *("--steps", 20, "--every", 10, "--trajectory", tmp_path / "rest.xyz"),
    )
    assert rest.status == 0, rest.err
    frames = list(mdapp.frames_of((tmp_path / "rest.xyz").read_text()))
    assert frames[0].r == pytest.approx(whole[2].r, abs=1e-12)
    # Forces are of positions rounded to float: the same to their precision, not bit for bit.
    assert frames[-1].r == pytest.approx(whole[4].r, abs=1e-6)


@pytest.mark.parametrize("kernel", ["claret", "tuned"])
@pytest.mark.parametrize("integrator", ["verlet", "nose-hoover"])
def test_a_file_is_the_same_whatever_computed_it(
    tmp_path: Path, integrator: str, kernel: str
) -> None:
    """Byte for byte; more cases by their bits in trajectory_test.cpp."""
    path = tmp_path / "run.xyz"
    setting = ("--n", 131, "--integrator", integrator, "--kernel", kernel)
    one = written(path, *setting, *HOST)
    for schedule, gpus in (("star-serial", 3), ("star-async", 4), ("allgather", 2)):
        assert written(path, *setting, *HOST, "--schedule", schedule, "--gpus", gpus) == one
    assert written(path, *setting, *HOST, "--gpus", 2, "--memory", "pinned") == one
    assert written(path, *setting, "--engine", "host", "--host-devices", 1) == one
    assert written(path, *setting, *HOST, "--seed", 2) != one


def test_energy_of_the_last_frame_is_that_of_the_run(tmp_path: Path) -> None:
    """What starts from a frame begins with the bits that the run ended with."""
    path, start = tmp_path / "run.xyz", tmp_path / "start.xyz"
    run = ("simulate", *HOST, "--steps", 40, "--every", 20, "--json")
    hot = ("--n", 131, "--temperature", 1100, "--trajectory", path)
    ended = mdapp.run(*run, *hot).json["observables"][-1]
    *_, last = mdapp.frames_of(path.read_text())
    start.write_text(mdapp.xyz(last))
    began = mdapp.run(*run, "--start", start).json["observables"][0]
    assert began["potential_eV_per_ion"] == ended["potential_eV_per_ion"]
    assert began["total_eV_per_ion"] == pytest.approx(ended["total_eV_per_ion"], rel=1e-12)


def test_float_and_double_part_slowly(tmp_path: Path) -> None:
    single = trajectory(tmp_path / "s.xyz", *HOST, "--n", 216, "--kernel", "tuned")
    double = trajectory(tmp_path / "d.xyz", "--precision", "double", "--n", 216)
    assert np.array_equal(single[0].v, double[0].v)
    apart = np.abs(single[-1].r - double[-1].r).max()
    assert 0 < apart < 1e-5
