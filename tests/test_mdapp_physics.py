"""What runs of the simulation conserve, hold and reproduce, on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mdapp

HOST = ("--engine", "host", "--host-devices", 4)
TUNED = (*HOST, "--kernel", "tuned")
HOT = ("--n", 216, "--temperature", 1100)


def simulate(*options: object) -> dict[str, Any]:
    return mdapp.run("simulate", *options, "--json").json


def energies(dt: float, seed: int) -> dict[str, Any]:
    """Of 10 ps at 1100 K in an open box."""
    motion = ("--dt", dt, "--time", 1e-11, "--seed", seed)
    return simulate(*HOT, *TUNED, *motion)["summary"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_total_energy_stays_where_it_was(seed: int) -> None:
    kept = energies(2e-15, seed)
    assert kept["steps"] == 5000
    assert kept["total_rms_eV_per_ion"] < 2e-5
    assert abs(kept["total_drift_eV_per_ion_per_ps"]) < 2e-6


def test_half_the_time_step_leaves_a_quarter_of_the_error() -> None:
    """Averaged over starts: trajectories part after some picoseconds."""
    errors = [
        [energies(dt, seed)["total_rms_eV_per_ion"] for seed in (1, 2, 3)]
        for dt in (1e-15, 2e-15, 4e-15)
    ]
    fine, middle, coarse = np.exp(np.log(errors).mean(axis=1))
    assert 3.5 <= middle / fine <= 5
    assert 3.5 <= coarse / middle <= 5


def test_in_double_the_same_energy_is_kept() -> None:
    kept = simulate("--n", 64, "--temperature", 1100, "--time", 2e-12, "--precision", "double")
    assert kept["summary"]["total_rms_eV_per_ion"] < 2e-5
    totals = [seen["total_eV_per_ion"] for seen in kept["observables"]]
    assert np.ptp(totals) < 1e-4


@pytest.mark.parametrize("boundary", ["open", "dsf"])
@pytest.mark.parametrize("kernel", ["claret", "tuned"])
def test_momentum_stays_zero(kernel: str, boundary: str) -> None:
    """To the rounding of float forces, beside the sum of all ions' momenta."""
    run = simulate(*HOT, *HOST, "--kernel", kernel, "--boundary", boundary, "--steps", 400)
    ions = 216 * np.sqrt(3 * 30 * mdapp.ATOMIC_MASS_UNIT * 1.380649e-23 * 550)
    for seen in run["observables"]:
        assert np.linalg.norm(seen["momentum"]) < 1e-6 * ions


def test_nose_hoover_holds_the_temperature() -> None:
    thermostat = ("--integrator", "nose-hoover", "--time", 2e-11, "--every", 10)
    run = simulate(*HOT, *TUNED, *thermostat)
    assert run["summary"]["mean_temperature"] == pytest.approx(1100, rel=0.01)
    temperatures = np.array([seen["temperature"] for seen in run["observables"]])
    # A canonical ensemble of 3(n - 1) degrees of freedom, not a temperature nailed down.
    assert temperatures.std() / 1100 == pytest.approx(np.sqrt(2 / (3 * 215)), rel=0.5)


def crystal(lattice_constant: float) -> mdapp.Frame:
    """Rock salt, 3 x 3 x 3 cubic cells' worth of ions: n = 216."""
    m = np.arange(6)
    places = np.stack(np.meshgrid(m, m, m, indexing="ij"), axis=-1).reshape(-1, 3)
    species = ["Cl" if place.sum() % 2 else "Na" for place in places]
    side = 3 * lattice_constant
    return mdapp.Frame(species, (places + 0.5) * side / 6 - side / 2, side)


def wandered(frames: list[mdapp.Frame]) -> float:
    """Mean squared displacement from first to last frame, across the cell's faces, angstrom^2."""
    steps = np.diff([frame.r for frame in frames], axis=0)
    steps -= frames[0].side * np.rint(steps / frames[0].side)
    return float((steps.sum(axis=0) ** 2).sum(axis=1).mean())


@pytest.fixture(scope="module")
def periodic(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs 6 ps of a periodic cell, with its trajectory."""
    folder = tmp_path_factory.mktemp("periodic")

    def run(lattice_constant: float, *options: object) -> tuple[dict[str, Any], list[mdapp.Frame]]:
        start, trajectory = folder / "start.xyz", folder / "run.xyz"
        start.write_text(mdapp.xyz(crystal(lattice_constant)))
        answer = simulate(
            *("--start", start, *TUNED, "--boundary", "dsf", "--integrator", "nose-hoover"),
            *("--time", 6e-12, "--every", 50, "--trajectory", trajectory, "--force", *options),
        )
        return answer, list(mdapp.frames_of(trajectory.read_text()))

    return run


def test_a_crystal_stays_one_and_is_near_equilibrium_at_its_own_size(periodic: Any) -> None:
    """5.619 angstrom at rest; less than a hundredth more at 300 K."""
    answer, frames = periodic(5.64, "--temperature", 300)
    assert wandered(frames) < 1
    assert abs(answer["summary"]["mean_pressure"]) < 1.5e9
    wide, _ = periodic(5.8128309747, "--temperature", 300)
    assert wide["summary"]["mean_pressure"] < answer["summary"]["mean_pressure"] - 5e8


def test_at_the_density_of_the_melt_it_is_one(periodic: Any) -> None:
    """1.542 g/cm^3 at 1100 K: ions wander off at a low pressure."""
    answer, frames = periodic(6.315, "--temperature", 1100)
    assert wandered(frames) > 10
    assert abs(answer["summary"]["mean_pressure"]) < 1e9
    potential = np.mean([seen["potential_eV_per_ion"] for seen in answer["observables"][-60:]])
    assert -3.7 < potential < -3.3


@pytest.mark.parametrize("temperature", [300, 1100.5])
@pytest.mark.parametrize("salt", ["NaCl", "KCl"])
def test_a_run_begins_at_the_temperature_asked_for(
    temperature: float, salt: str, tmp_path: Path
) -> None:
    trajectory = tmp_path / "run.xyz"
    run = simulate(
        *("--n", 100, "--salt", salt, *HOST, "--steps", 1, "--temperature", temperature),
        *("--trajectory", trajectory),
    )
    assert run["observables"][0]["temperature"] == pytest.approx(temperature, rel=1e-9)
    first = next(mdapp.frames_of(trajectory.read_text()))
    assert first.temperature() == pytest.approx(temperature, rel=1e-9)


def test_the_trajectory_is_whole_and_says_what_it_holds(tmp_path: Path) -> None:
    trajectory = tmp_path / "run.xyz"
    simulate("--n", 63, *HOST, "--steps", 25, "--every", 10, "--trajectory", trajectory)
    frames = list(mdapp.frames_of(trajectory.read_text()))
    assert [float(frame.fields["Time"]) for frame in frames] == pytest.approx([0, 20, 40, 50])
    for frame in frames:
        assert (frame.species.count("Na"), frame.species.count("Cl")) == (32, 31)
        assert frame.species == frames[0].species
        assert frame.fields["pbc"] == "F F F"
        assert (np.abs(frame.r) < frame.side / 2).all()
    displacement = frames[1].r - frames[0].r
    assert 0 < np.abs(displacement).max() < 1
    # Positions in angstrom, velocities in angstrom/fs: one follows from the other.
    assert displacement == pytest.approx(20 * (frames[0].v + frames[1].v) / 2, abs=0.03)


def test_a_run_goes_on_from_its_last_frame(tmp_path: Path) -> None:
    whole, first, second = (tmp_path / f"{name}.xyz" for name in ("whole", "first", "second"))
    setting = (*HOST, "--dt", 2e-15, "--every", 20)
    one = simulate(*HOT, *setting, "--steps", 80, "--trajectory", whole)
    simulate(*HOT, *setting, "--steps", 40, "--trajectory", first)
    *_, last = mdapp.frames_of(first.read_text())
    again = tmp_path / "start.xyz"
    again.write_text(mdapp.xyz(last))
    rest = simulate("--start", again, *setting, "--steps", 40, "--trajectory", second)
    for seen, expected in zip(rest["observables"], one["observables"][2:], strict=True):
        for key in ("kinetic_eV_per_ion", "potential_eV_per_ion", "total_eV_per_ion"):
            assert seen[key] == pytest.approx(expected[key], rel=1e-6)
    now = rest["observables"][0]
    assert now["potential_eV_per_ion"] == one["observables"][2]["potential_eV_per_ion"]
    assert now["total_eV_per_ion"] == pytest.approx(
        one["observables"][2]["total_eV_per_ion"], rel=1e-12
    )


def trajectory_of(path: Path, *options: object) -> bytes:
    simulate("--steps", 40, "--every", 8, "--trajectory", path, "--force", *options)
    return path.read_bytes()


def test_a_seed_gives_one_trajectory_and_another_seed_another(tmp_path: Path) -> None:
    path = tmp_path / "run.xyz"
    setting = ("--n", 130, *HOST)
    one = trajectory_of(path, *setting)
    assert trajectory_of(path, *setting) == one
    assert trajectory_of(path, *setting, "--seed", 2) != one


SCHEDULES = ["star-serial", "star-async", "allgather"]


@pytest.mark.parametrize("boundary", ["open", "dsf"])
@pytest.mark.parametrize("integrator", ["verlet", "nose-hoover"])
@pytest.mark.parametrize("kernel", ["claret", "tuned"])
def test_neither_schedule_nor_devices_change_a_bit(
    kernel: str, integrator: str, boundary: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.xyz"
    setting = ("--n", 131, "--kernel", kernel, "--integrator", integrator, "--boundary", boundary)
    one = trajectory_of(path, *setting, *HOST)
    for schedule in SCHEDULES:
        for gpus in (1, 2, 3, 4):
            other = trajectory_of(path, *setting, *HOST, "--schedule", schedule, "--gpus", gpus)
            assert other == one, (schedule, gpus)
    pinned = ("--memory", "pinned", "--gpus", 2)
    assert trajectory_of(path, *setting, *HOST, *pinned) == one
    few = ("--engine", "host", "--host-devices", 1)
    assert trajectory_of(path, *setting, *few) == one
