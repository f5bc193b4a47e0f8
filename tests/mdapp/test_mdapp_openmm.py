"""Forces and energies against OpenMM's Reference platform, in double precision throughout.

The potential is written for OpenMM from the published formula and constants (tests/support/
openmm_salt.py for the open box; DSF's damping here), and knows nothing of gpucast's.
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
import openmm_salt
from mdapp import Array

pytestmark = pytest.mark.slow

SALTS = {"NaCl": openmm_salt.NACL, "KCl": openmm_salt.KCL}
KJ_PER_MOL_PER_EV = openmm_salt.ELEMENTARY_CHARGE * openmm_salt.KJ_PER_MOL
ANGSTROM = 0.1  # nm


@dataclass(frozen=True)
class Sums:
    """eV, eV/angstrom."""

    energy: float
    forces: Array


def ours(*arguments: object) -> dict[str, Any]:
    return mdapp.run("forces", *arguments).json


def forces_of(answer: dict[str, Any]) -> Array:
    return np.array(answer["forces_eV_per_angstrom"])


def openmm_sums(salt: str, answer: dict[str, Any], force: Any) -> Sums:
    """OpenMM's result for the configuration in ``answer``."""
    system = openmm.System()
    for kind in answer["types"]:
        system.addParticle(SALTS[salt].masses[kind])
    if force.usesPeriodicBoundaryConditions():
        side = answer["boundary"]["side_angstrom"] * ANGSTROM
        system.setDefaultPeriodicBoxVectors(*(openmm.Vec3(*row) for row in side * np.eye(3)))
    system.addForce(force)
    context = openmm.Context(
        system,
        openmm.VerletIntegrator(0.001),
        openmm.Platform.getPlatformByName("Reference"),
    )
    context.setPositions(
        [openmm.Vec3(*(ANGSTROM * x for x in r)) for r in answer["positions_angstrom"]]
    )
    state = context.getState(getEnergy=True, getForces=True)
    per_nm = openmm.unit.kilojoules_per_mole / openmm.unit.nanometer
    return Sums(
        state.getPotentialEnergy().value_in_unit(openmm.unit.kilojoules_per_mole)
        / KJ_PER_MOL_PER_EV,
        state.getForces(asNumpy=True).value_in_unit(per_nm) * ANGSTROM / KJ_PER_MOL_PER_EV,
    )


def assert_same(answer: dict[str, Any], theirs: Sums, tolerance: float) -> None:
    rms = math.sqrt((theirs.forces**2).sum(axis=1).mean())
    wrong = np.sqrt(((forces_of(answer) - theirs.forces) ** 2).sum(axis=1))
    assert math.sqrt((wrong**2).mean()) <= tolerance * rms
    assert wrong.max() <= 10 * tolerance * rms
    assert answer["energy_eV"] == pytest.approx(theirs.energy, rel=tolerance)


@pytest.mark.parametrize("salt", SALTS)
@pytest.mark.parametrize(("n", "displace"), [(2, 0), (8, 0), (64, 0.3), (216, 0.5), (99, 0.5)])
def test_the_open_box(salt: str, n: int, displace: float) -> None:
    answer = ours("--n", n, "--salt", salt, "--displace", displace, "--seed", 7)
    force = openmm_salt.force(openmm, SALTS[salt], answer["types"])
    assert_same(answer, openmm_sums(salt, answer, force), 1e-9)


def test_particles_strewn_at_random_of_both_salts(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    for salt, cation in (("NaCl", "Na"), ("KCl", "K")):
        # No two are nearer than ions of a melt: drawn one by one, and drawn again if too near.
        r: list[Array] = []
        while len(r) < 60:
            drawn = random.uniform(-12, 12, 3)
            if all(np.linalg.norm(drawn - other) > 2 for other in r):
                r.append(drawn)
        start = mdapp.Frame([cation, "Cl"] * 30, np.array(r), 60.0)
        (tmp_path / "start.xyz").write_text(mdapp.xyz(start))
        answer = ours("--start", tmp_path / "start.xyz", "--salt", salt)
        force = openmm_salt.force(openmm, SALTS[salt], answer["types"])
        assert_same(answer, openmm_sums(salt, answer, force), 1e-9)


@pytest.mark.parametrize("kernel", ["claret", "tuned"])
def test_float_forces_of_the_host_engine(kernel: str) -> None:
    answer = ours(
        *("--n", 216, "--displace", 0.5, "--precision", "float"),
        *("--engine", "host", "--kernel", kernel),
    )
    force = openmm_salt.force(openmm, SALTS["NaCl"], answer["types"])
    assert_same(answer, openmm_sums("NaCl", answer, force), 1e-5)


# Tosi-Fumi and damped Coulomb, less value and slope at the cut-off R, which are numbers here.
PAIR_ENERGY = "A*exp((s1+s2-{r})/rho) - C/{r}^6 - D/{r}^8 + coulomb*z*erfc(alpha*{r})/{r}"
PAIR_FORCE = (
    "A/rho*exp((s1+s2-{r})/rho) - 6*C/{r}^7 - 8*D/{r}^9"
    " + coulomb*z*(erfc(alpha*{r})/{r}^2 + 2*alpha/sqrt(pi)*exp(-(alpha*{r})^2)/{r})"
)
SHIFTED = "{u} - u_cut + (r - cut)*f_cut; u_cut={u_cut}; f_cut={f_cut}; {pair}"


@pytest.mark.parametrize("salt", SALTS)
def test_damped_shifted_force(salt: str) -> None:
    """u(r) - u(R) + (r - R) F(R) below R, nearest images."""
    cutoff, alpha = 0.7, 2.5  # nm, 1/nm
    answer = ours(
        *("--n", 216, "--salt", salt, "--displace", 0.4, "--boundary", "dsf"),
        *("--cutoff", cutoff * 1e-9, "--alpha", alpha * 1e9),
    )
    energy = SHIFTED.format(
        u=PAIR_ENERGY.format(r="r"),
        u_cut=PAIR_ENERGY.format(r="cut"),
        f_cut=PAIR_FORCE.format(r="cut"),
        pair=openmm_salt.PAIR,
    )
    force = openmm_salt.custom_force(openmm, energy, SALTS[salt], answer["types"])
    for name, value in (("cut", cutoff), ("alpha", alpha), ("pi", math.pi)):
        force.addGlobalParameter(name, value)
    force.setNonbondedMethod(openmm.CustomNonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(cutoff)
    theirs = openmm_sums(salt, answer, force)
    # Each ion with its own neutralizing charge, which no pair force holds (Fennell and Gezelter).
    coulomb = openmm_salt.COULOMB / openmm_salt.ELEMENTARY_CHARGE * openmm_salt.NM  # eV nm
    alone = -coulomb * (math.erfc(alpha * cutoff) / (2 * cutoff) + alpha / math.sqrt(math.pi))
    whole = Sums(theirs.energy + len(answer["types"]) * alone, theirs.forces)
    assert_same(answer, whole, 1e-9)


def test_minimum_image() -> None:
    """All pairs, each at its nearest image, as OpenMM takes it with a cut-off beyond all of them.

    OpenMM's cut-off ends at half the side, so the cell is repeated by hand: each particle's
    neighbours are put where they are nearest to it.
    """
    answer = ours("--n", 64, "--displace", 0.3, "--boundary", "minimum-image")
    side = answer["boundary"]["side_angstrom"]
    r = np.array(answer["positions_angstrom"])
    for own in range(0, 64, 7):
        apart = r - r[own]
        around = dict(answer, positions_angstrom=apart - side * np.round(apart / side))
        force = openmm_salt.force(openmm, SALTS["NaCl"], answer["types"])
        theirs = openmm_sums("NaCl", around, force).forces[own]
        assert forces_of(answer)[own] == pytest.approx(theirs, rel=1e-9, abs=1e-9)
