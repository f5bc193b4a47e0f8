"""Energies, forces and virials against an independent program: OpenMM in double precision.

The potential is written down here from what was published, not from the program's source: Tosi and
Fumi's parameters, Fennell and Gezelter's damped shifted force (J. Chem. Phys. 124 (2006) 234104,
which here shifts the whole pair), CODATA 2018. OpenMM's own units and constants stay out of it: its
lengths are read as angstrom and its energies as eV.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest

import mdapp
from mdapp import ELEMENTARY_CHARGE, Array

VACUUM_PERMITTIVITY = 8.8541878128e-12  # F/m, CODATA 2018
COULOMB = ELEMENTARY_CHARGE / (4 * math.pi * VACUUM_PERMITTIVITY) * 1e10  # eV angstrom
REPULSION = 0.338e-19 / ELEMENTARY_CHARGE  # eV
POL = np.array([[1.25, 1.00], [1.00, 0.75]])
CHARGE = np.array([[1.0, -1.0], [-1.0, 1.0]])


@dataclass(frozen=True)
class Salt:
    """Cation first; C in 1e-79 J m^6, D in 1e-99 J m^8, lengths in angstrom."""

    rho: float
    sigma: Array
    C: Array
    D: Array

    def parameters(self) -> dict[str, Array]:
        """In eV and angstrom."""
        return {
            "A": REPULSION * POL,
            "sigma": self.sigma,
            "C": self.C * 1e-79 / ELEMENTARY_CHARGE * 1e60,
            "D": self.D * 1e-99 / ELEMENTARY_CHARGE * 1e80,
            "q": COULOMB * CHARGE,
        }


SALTS = {
    "NaCl": Salt(
        rho=0.317,
        sigma=np.array([[2.340, 2.755], [2.755, 3.170]]),
        C=np.array([[1.68, 11.2], [11.2, 116]]),
        D=np.array([[0.8, 13.9], [13.9, 233]]),
    ),
    "KCl": Salt(
        rho=0.337,
        sigma=np.array([[2 * 1.463, 1.463 + 1.585], [1.463 + 1.585, 2 * 1.585]]),
        C=np.array([[24.3, 48], [48, 124.5]]),
        D=np.array([[24, 73], [73, 250]]),
    ),
}

BARE = "A*exp((sigma-r)/rho) - C/r^6 - D/r^8"
TABLES = "".join(f"; {name}={name}_of(t1,t2)" for name in ("A", "sigma", "C", "D", "q"))


@dataclass(frozen=True)
class Result:
    """eV, angstrom."""

    energy: float
    forces: Array


def shifts(salt: Salt, cutoff: float, alpha: float) -> tuple[Array, Array]:
    """Energy and force of each pair of types, damped, at the cut-off."""
    p = salt.parameters()
    erfc, gauss = math.erfc(alpha * cutoff), math.exp(-((alpha * cutoff) ** 2))
    repulsion = p["A"] * np.exp((p["sigma"] - cutoff) / salt.rho)
    energy = repulsion - p["C"] / cutoff**6 - p["D"] / cutoff**8 + p["q"] * erfc / cutoff
    slope = erfc / cutoff**2 + 2 * alpha / math.sqrt(math.pi) * gauss / cutoff
    force = repulsion / salt.rho - 6 * p["C"] / cutoff**7 - 8 * p["D"] / cutoff**9 + p["q"] * slope
    return energy, force


def by_openmm(name: str, types: Array, r: Array, boundary: dict[str, Any]) -> Result:
    """OpenMM's answer for one configuration, in an open box or a periodic one with DSF."""
    salt = SALTS[name]
    tables = salt.parameters()
    dsf = boundary["kind"] == "dsf"
    if dsf:
        cutoff, alpha = boundary["cutoff_angstrom"], boundary["alpha_per_angstrom"]
        tables["u_end"], tables["f_end"] = shifts(salt, cutoff, alpha)
        force = openmm.CustomNonbondedForce(
            f"{BARE} + q*erfc(alpha*r)/r - u_end + (r-R)*f_end{TABLES}"
            "; u_end=u_end_of(t1,t2); f_end=f_end_of(t1,t2)"
        )
        force.addGlobalParameter("alpha", alpha)
        force.addGlobalParameter("R", cutoff)
        force.setNonbondedMethod(openmm.CustomNonbondedForce.CutoffPeriodic)
        force.setCutoffDistance(cutoff)
    else:
        assert boundary["kind"] == "open"
        force = openmm.CustomNonbondedForce(f"{BARE} + q/r{TABLES}")
        force.setNonbondedMethod(openmm.CustomNonbondedForce.NoCutoff)
    force.addGlobalParameter("rho", salt.rho)
    for table, values in tables.items():
        function = openmm.Discrete2DFunction(2, 2, values.ravel(order="F").tolist())
        force.addTabulatedFunction(f"{table}_of", function)
    force.addPerParticleParameter("t")
    system = openmm.System()
    for kind in types:
        system.addParticle(1.0)
        force.addParticle([float(kind)])
    if dsf:
        system.setDefaultPeriodicBoxVectors(*(boundary["side_angstrom"] * np.eye(3)))
    system.addForce(force)
    integrator = openmm.VerletIntegrator(0.001)
    context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(r)
    state = context.getState(getEnergy=True, getForces=True)
    energy = state.getPotentialEnergy()._value
    if dsf:  # each ion with its own neutralizing image
        alone = math.erfc(alpha * cutoff) / (2 * cutoff) + alpha / math.sqrt(math.pi)
        energy -= COULOMB * len(types) * alone
    return Result(energy, np.array(state.getForces(asNumpy=True)._value))


def by_openmm_again(answer: dict[str, Any]) -> Result:
    """For the positions that an answer of the program names."""
    return by_openmm(
        answer["salt"],
        np.array(answer["types"]),
        np.array(answer["positions_angstrom"]),
        answer["boundary"],
    )


def by_brute_force(answer: dict[str, Any]) -> Result:
    """Every pair to its nearest image, with NumPy."""
    salt, types = SALTS[answer["salt"]], np.array(answer["types"])
    r, side = np.array(answer["positions_angstrom"]), answer["boundary"]["side_angstrom"]
    d = r[:, None] - r[None]
    d -= side * np.rint(d / side)
    i, j = np.triu_indices(len(r), 1)
    d = d[i, j]
    x = np.sqrt((d**2).sum(axis=1))
    p = {name: table[types[i], types[j]] for name, table in salt.parameters().items()}
    repulsion = p["A"] * np.exp((p["sigma"] - x) / salt.rho)
    energy = repulsion - p["C"] / x**6 - p["D"] / x**8 + p["q"] / x
    force = repulsion / salt.rho - 6 * p["C"] / x**7 - 8 * p["D"] / x**9 + p["q"] / x**2
    forces = np.zeros_like(r)
    np.add.at(forces, i, d * (force / x)[:, None])
    np.subtract.at(forces, j, d * (force / x)[:, None])
    return Result(float(energy.sum()), forces)


def rms(values: Array) -> float:
    return float(np.sqrt((values**2).sum(axis=1).mean()))


def assert_agrees(answer: dict[str, Any], other: Result, relative: float) -> None:
    forces = np.array(answer["forces_eV_per_angstrom"])
    assert rms(forces - other.forces) <= relative * rms(other.forces)
    assert answer["energy_eV"] == pytest.approx(other.energy, rel=relative)
    assert sum(answer["energies_eV"]) == pytest.approx(other.energy, rel=relative)


def forces(*options: object) -> dict[str, Any]:
    return mdapp.run("forces", *options).json


OPEN = ("--boundary", "open")
DSF = ("--boundary", "dsf", "--alpha", "2.5e9", "--cutoff")
CASES = [
    pytest.param(salt, n, boundary, id=f"{salt}-{n}-{boundary[1]}")
    for salt in SALTS
    for n, half in ((64, "5.5e-10"), (216, "8.5e-10"))
    for boundary in (OPEN, (*DSF, half))
]
DOUBLE = ("--precision", "double")
FLOAT = ("--precision", "float", "--engine", "host")


@pytest.mark.parametrize(("salt", "n", "boundary"), CASES)
def test_double_agrees_with_openmm(salt: str, n: int, boundary: tuple[str, ...]) -> None:
    lattice = ("--salt", salt, "--n", n, "--displace", 0.3)
    answer = forces(*lattice, *boundary, *DOUBLE)
    assert_agrees(answer, by_openmm_again(answer), 1e-9)


@pytest.mark.parametrize("kernel", ["claret", "tuned"])
@pytest.mark.parametrize(("salt", "n", "boundary"), CASES)
def test_float_agrees_with_openmm(
    salt: str, n: int, boundary: tuple[str, ...], kernel: str
) -> None:
    """At the positions that the devices got, which the answer names."""
    lattice = ("--salt", salt, "--n", n, "--displace", 0.3)
    answer = forces(*lattice, *boundary, *FLOAT, "--kernel", kernel)
    assert_agrees(answer, by_openmm_again(answer), 1e-5)


@pytest.mark.parametrize(("precision", "relative"), [(DOUBLE, 1e-9), (FLOAT, 1e-5)])
@pytest.mark.parametrize("n", [64, 216])
@pytest.mark.parametrize("salt", SALTS)
def test_minimum_image_agrees_with_brute_force(
    salt: str, n: int, precision: tuple[str, ...], relative: float
) -> None:
    lattice = ("--salt", salt, "--n", n, "--displace", 0.3)
    answer = forces(*lattice, "--boundary", "minimum-image", *precision)
    assert_agrees(answer, by_brute_force(answer), relative)


def scattered(salt: str, n: int, side: float) -> mdapp.Frame:
    """At random places that are at least 2 angstrom apart, also across the faces of the cell."""
    random = np.random.default_rng(7)
    r: list[Array] = []
    while len(r) < n:
        new = random.uniform(-side / 2, side / 2, 3)
        d = np.array(r).reshape(-1, 3) - new
        d -= side * np.rint(d / side)
        if not len(r) or (d**2).sum(axis=1).min() > 4:
            r.append(new)
    species = [salt[:-2] if kind else "Cl" for kind in random.integers(0, 2, n)]
    return mdapp.Frame(species, np.array(r), side)


@pytest.mark.parametrize("boundary", [OPEN, (*DSF, "7e-10")], ids=["open", "dsf"])
@pytest.mark.parametrize("salt", SALTS)
def test_a_scattered_start_agrees_with_openmm(
    salt: str, boundary: tuple[str, ...], tmp_path: Path
) -> None:
    """Charged, in no order, and with our own positions rather than those of the answer."""
    frame = scattered(salt, 101, 15.0)
    path = tmp_path / "start.xyz"
    path.write_text(mdapp.xyz(frame))
    answer = forces("--start", path, "--salt", salt, *boundary, *DOUBLE)
    assert answer["types"] == frame.types.tolist()
    other = by_openmm(salt, frame.types, frame.r, answer["boundary"])
    assert_agrees(answer, other, 1e-9)


def virial_by_scaling(answer: dict[str, Any]) -> float:
    """-dU/d(ln L) when positions and box grow and the cut-off stays."""
    energies = []
    for scale in (1 + 1e-5, 1 - 1e-5):
        boundary = dict(answer["boundary"])
        boundary["side_angstrom"] *= scale
        r = scale * np.array(answer["positions_angstrom"])
        energies.append(by_openmm(answer["salt"], np.array(answer["types"]), r, boundary).energy)
    return -(energies[0] - energies[1]) / 2e-5


@pytest.mark.parametrize("boundary", [OPEN, (*DSF, "5.5e-10")], ids=["open", "dsf"])
@pytest.mark.parametrize("precision", [DOUBLE, FLOAT], ids=["double", "float"])
def test_the_virial_is_how_energy_answers_to_expansion(
    boundary: tuple[str, ...], precision: tuple[str, ...]
) -> None:
    answer = forces("--n", 64, "--displace", 0.3, *boundary, *precision)
    expected = virial_by_scaling(answer)
    assert answer["virial_eV"] == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_pressure_and_energies_of_a_run_are_those_of_its_frames(tmp_path: Path) -> None:
    trajectory = tmp_path / "run.xyz"
    answer = mdapp.run(
        *("simulate", "--n", 64, "--steps", 20, "--every", 10, "--temperature", 1100),
        *("--precision", "double", *DSF, "5.5e-10", "--json", "--trajectory", trajectory),
    ).json
    frames = list(mdapp.frames_of(trajectory.read_text()))
    assert len(frames) == len(answer["observables"]) == 3
    for frame, seen in zip(frames, answer["observables"], strict=True):
        boundary = {
            "kind": "dsf",
            "side_angstrom": frame.side,
            "cutoff_angstrom": 5.5,
            "alpha_per_angstrom": 0.25,
        }
        potential = by_openmm("NaCl", frame.types, frame.r, boundary).energy
        assert seen["potential_eV_per_ion"] == pytest.approx(potential / frame.n, rel=1e-9)
        assert seen["temperature"] == pytest.approx(frame.temperature(), rel=1e-9)
        virial = virial_by_scaling(
            {
                "salt": "NaCl",
                "types": frame.types,
                "positions_angstrom": frame.r,
                "boundary": boundary,
            }
        )
        twice_kinetic = 2 * seen["kinetic_eV_per_ion"] * frame.n
        volume = (frame.side * 1e-10) ** 3
        pressure = (twice_kinetic + virial) * ELEMENTARY_CHARGE / (3 * volume)
        assert seen["pressure"] == pytest.approx(pressure, rel=1e-5)
