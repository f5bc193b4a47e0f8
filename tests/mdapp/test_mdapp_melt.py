"""Crystal and melt in a periodic cell, which simulations of a few picoseconds distinguish."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mdapp

DSF = ("--boundary", "dsf", "--cutoff", "8.2e-10")
EVERY = 50


def crystal(lattice_constant: float) -> mdapp.Frame:
    """Rock salt of 3 x 3 x 3 cubic cells: n = 216."""
    m = np.arange(6)
    places = np.stack(np.meshgrid(m, m, m, indexing="ij"), axis=-1).reshape(-1, 3)
    species = ["Cl" if place.sum() % 2 else "Na" for place in places]
    side = 3 * lattice_constant
    return mdapp.Frame(species, (places + 0.5) * side / 6 - side / 2, side)


@dataclass(frozen=True)
class Run:
    """6 ps under a thermostat; averages leave out the first half."""

    observables: list[dict[str, Any]]
    frames: list[mdapp.Frame]

    def mean(self, key: str) -> float:
        half = len(self.observables) // 2
        return float(np.mean([seen[key] for seen in self.observables[half:]]))

    def wandered(self) -> float:
        """Mean squared displacement in the second half, across the cell's faces, angstrom^2."""
        steps = np.diff([frame.r for frame in self.frames[len(self.frames) // 2 :]], axis=0)
        steps -= self.frames[0].side * np.rint(steps / self.frames[0].side)
        return float((steps.sum(axis=0) ** 2).sum(axis=1).mean())


def simulated(folder: Path, lattice_constant: float, temperature: float) -> Run:
    start, trajectory = folder / "start.xyz", folder / "run.xyz"
    start.write_text(mdapp.xyz(crystal(lattice_constant)))
    answer = mdapp.run(
        *("simulate", "--start", start, "--engine", "host", "--kernel", "tuned", *DSF),
        *("--integrator", "nose-hoover", "--temperature", temperature),
        *("--time", 6e-12, "--every", EVERY, "--trajectory", trajectory, "--force", "--json"),
    ).json
    return Run(answer["observables"], list(mdapp.frames_of(trajectory.read_text())))


@pytest.mark.slow
def test_a_crystal_stays_one_and_resists_expansion(tmp_path: Path) -> None:
    """At 300 K: 5.64 angstrom, and the 5.81 of the melt's density, a tenth more volume.

    The bulk modulus of NaCl is about 24 GPa; the damped Coulomb force is an approximation.
    """
    at_rest = simulated(tmp_path, 5.64, 300)
    assert at_rest.wandered() < 0.5
    assert abs(at_rest.mean("pressure")) < 2.4e9
    stretched = simulated(tmp_path, 5.8128309747, 300)
    assert stretched.wandered() < 0.5
    assert 1e9 < at_rest.mean("pressure") - stretched.mean("pressure") < 4e9


@pytest.mark.slow
def test_at_the_density_of_the_melt_it_is_one(tmp_path: Path) -> None:
    """1.542 g/cm^3, the density of the liquid at 1100 K: ions wander off at a low pressure."""
    solid = simulated(tmp_path, 5.64, 300)
    liquid = simulated(tmp_path, 6.315, 1100)
    assert liquid.mean("temperature") == pytest.approx(1100, rel=0.05)
    assert liquid.wandered() > 10 * solid.wandered()
    assert liquid.wandered() > 4
    assert abs(liquid.mean("pressure")) < 1e9
    # Heat of fusion and what warming takes: about 0.25 eV an ion, half of it or more potential.
    assert 0.1 < liquid.mean("potential_eV_per_ion") - solid.mean("potential_eV_per_ion") < 0.4


def test_pressure_is_that_of_kinetic_energy_and_virial(tmp_path: Path) -> None:
    """P = (2 K + W)/(3 V) with W = -dU/d(ln L), where the cut-off does not grow with the cell."""
    trajectory, start = tmp_path / "run.xyz", tmp_path / "start.xyz"
    observables = mdapp.run(
        *("simulate", "--n", 216, "--steps", 20, "--every", 10, "--temperature", 1100),
        *("--precision", "double", *DSF, "--json", "--trajectory", trajectory),
    ).json["observables"]

    def energy(frame: mdapp.Frame, stretch: float) -> float:
        stretched = mdapp.Frame(frame.species, frame.r * stretch, frame.side * stretch)
        start.write_text(mdapp.xyz(stretched))
        return float(mdapp.run("forces", "--start", start, *DSF).json["energy_eV"])

    h = 1e-5
    for frame, seen in zip(mdapp.frames_of(trajectory.read_text()), observables, strict=True):
        assert seen["potential_eV_per_ion"] == pytest.approx(energy(frame, 1) / 216, rel=1e-9)
        virial = -(energy(frame, 1 + h) - energy(frame, 1 - h)) / (2 * h)
        twice_kinetic = 2 * 216 * seen["kinetic_eV_per_ion"]
        volume = (frame.side * 1e-10) ** 3
        pressure = (twice_kinetic + virial) * mdapp.ELEMENTARY_CHARGE / (3 * volume)
        assert seen["pressure"] == pytest.approx(pressure, rel=1e-5, abs=1e4)
