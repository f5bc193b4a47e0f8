"""Systems of any size for OpenMM, built from arrays: a box of water and a Lennard-Jones fluid.

Going through a topology and a force field takes minutes for a million atoms; these take seconds.
`tests/data/test_openmm_systems.py` holds the water against the force field's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import openmm
from numpy.typing import NDArray

Array = NDArray[np.float64]

# TIP3P (Jorgensen et al., J. Chem. Phys. 79 (1983) 926) with the numbers of OpenMM's tip3p.xml; the
# box of equilibrated water that is repeated is OpenMM's, too. Units are its own: nm, ps, u, kJ/mol.
OXYGEN_MASS, HYDROGEN_MASS = 15.99943, 1.007947
OXYGEN_CHARGE, HYDROGEN_CHARGE = -0.834, 0.417
OXYGEN_SIGMA, OXYGEN_EPSILON = 0.31507524065751241, 0.635968
OH_LENGTH, HOH_ANGLE = 0.09572, 1.82421813418
HH_LENGTH = 2 * OH_LENGTH * math.sin(HOH_ANGLE / 2)
WATER_BOX = "app/data/tip3p.pdb"
WATER_CUTOFF = 0.9

# Argon, at the state of the Lennard-Jones melt that LAMMPS and others are timed with:
# density 0.8442 / sigma^3, started at 1.44 epsilon / k, cutoff 2.5 sigma, steps of 0.005 tau.
ARGON_MASS, ARGON_SIGMA, ARGON_EPSILON = 39.948, 0.3405, 0.996
MELT_DENSITY, MELT_TEMPERATURE, MELT_CUTOFF, MELT_STEP = 0.8442, 1.44, 2.5, 0.005
GAS_CONSTANT = 0.00831446261815324  # kJ/(mol K)


@dataclass(frozen=True)
class Workload:
    """A system with all that a run of it needs."""

    test: str
    system: Any
    positions: Array  # nm
    masses: Array  # u
    temperature: float  # of the first velocities, K
    timestep: float  # ps
    integrator: Callable[[], Any]
    ensemble: str
    constraints: str
    cutoff: float  # nm

    @property
    def atoms(self) -> int:
        return len(self.positions)

    def velocities(self) -> Array:
        """Drawn at the temperature, nm/ps, without regard to constraints.

        OpenMM's own draw takes a minute for two million atoms that are constrained.
        """
        widths = np.sqrt(GAS_CONSTANT * self.temperature / self.masses)
        return widths[:, None] * np.random.default_rng(1).standard_normal((self.atoms, 3))


def water(atoms: int) -> Workload:
    """Rigid TIP3P water with particle-mesh Ewald, repeated to about as many atoms.

    The number of atoms is a multiple of 2685, that of a box of 3 nm.
    """
    molecules, edges = _water_box()
    repeats = near_cube(atoms / molecules[..., 0].size)
    shifts = np.stack(np.meshgrid(*map(np.arange, repeats), indexing="ij"), axis=-1)
    positions = (shifts.reshape(-1, 1, 1, 3) * edges + molecules).reshape(-1, 3)
    system = _periodic_system(edges * repeats)
    force = openmm.NonbondedForce()
    force.setNonbondedMethod(openmm.NonbondedForce.PME)
    force.setCutoffDistance(WATER_CUTOFF)
    for oxygen in range(0, len(positions), 3):
        _add_water(system, force, oxygen)
    system.addForce(force)
    system.addForce(openmm.CMMotionRemover())
    temperature, timestep = 300.0, 0.002
    return Workload(
        test="water-pme",
        system=system,
        positions=positions,
        masses=np.tile([OXYGEN_MASS, HYDROGEN_MASS, HYDROGEN_MASS], len(positions) // 3),
        temperature=temperature,
        timestep=timestep,
        integrator=lambda: openmm.LangevinMiddleIntegrator(temperature, 1.0, timestep),
        ensemble="NVT",
        constraints="HBonds",
        cutoff=WATER_CUTOFF,
    )


def lennard_jones(atoms: int) -> Workload:
    """A Lennard-Jones fluid of about as many atoms, started from its face-centred cubic crystal."""
    cells = max(3, round((atoms / 4) ** (1 / 3)))
    cell = ARGON_SIGMA * (4 / MELT_DENSITY) ** (1 / 3)
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1)
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    positions = (cell * (corners.reshape(-1, 1, 3) + basis)).reshape(-1, 3)
    system = _periodic_system(np.full(3, cells * cell))
    cutoff = round(MELT_CUTOFF * ARGON_SIGMA, 5)
    force = openmm.NonbondedForce()
    force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(cutoff)
    force.setUseDispersionCorrection(False)
    for _ in positions:
        system.addParticle(ARGON_MASS)
        force.addParticle(0.0, ARGON_SIGMA, ARGON_EPSILON)
    system.addForce(force)
    timestep = MELT_STEP * ARGON_SIGMA * math.sqrt(ARGON_MASS / ARGON_EPSILON)
    return Workload(
        test="lennard-jones",
        system=system,
        positions=positions,
        masses=np.full(len(positions), ARGON_MASS),
        temperature=MELT_TEMPERATURE * ARGON_EPSILON / GAS_CONSTANT,
        timestep=timestep,
        integrator=lambda: openmm.VerletIntegrator(timestep),
        ensemble="NVE",
        constraints="None",
        cutoff=cutoff,
    )


WORKLOADS: dict[str, Callable[[int], Workload]] = {
    "water-pme": water,
    "lennard-jones": lennard_jones,
}


def near_cube(count: float) -> tuple[int, int, int]:
    """Edges of the block, none more than one longer than another, that holds about count cells."""
    longest = max(2, math.ceil(count ** (1 / 3)) + 1)
    blocks = [
        (a, b, c)
        for a, c in [*pairwise(range(1, longest + 1)), *((k, k) for k in range(1, longest + 1))]
        for b in {a, c}
    ]
    return min(blocks, key=lambda block: (abs(math.log(math.prod(block) / count)), block))


def _water_box() -> tuple[Array, Array]:
    """OpenMM's box of water: positions by molecule and atom (O, H, H), and its edges; nm."""
    angstrom = 0.1
    rows = (Path(openmm.__file__).parent / WATER_BOX).read_text().splitlines()
    edges = next(row for row in rows if row.startswith("CRYST1")).split()[1:4]
    atoms = [row for row in rows if row.startswith(("ATOM", "HETATM"))]
    positions = [[float(row[at : at + 8]) for at in (30, 38, 46)] for row in atoms]
    return (
        angstrom * np.array(positions).reshape(-1, 3, 3),
        angstrom * np.array([float(edge) for edge in edges]),
    )


def _periodic_system(edges: Array) -> Any:
    system = openmm.System()
    system.setDefaultPeriodicBoxVectors(*np.diag(edges))
    return system


def _add_water(system: Any, force: Any, oxygen: int) -> None:
    """Adds a rigid molecule whose atoms do not see one another."""
    first, second = oxygen + 1, oxygen + 2
    system.addParticle(OXYGEN_MASS)
    force.addParticle(OXYGEN_CHARGE, OXYGEN_SIGMA, OXYGEN_EPSILON)
    for _ in range(2):
        system.addParticle(HYDROGEN_MASS)
        force.addParticle(HYDROGEN_CHARGE, 1.0, 0.0)
    system.addConstraint(oxygen, first, OH_LENGTH)
    system.addConstraint(oxygen, second, OH_LENGTH)
    system.addConstraint(first, second, HH_LENGTH)
    force.addException(oxygen, first, 0.0, 1.0, 0.0)
    force.addException(oxygen, second, 0.0, 1.0, 0.0)
    force.addException(first, second, 0.0, 1.0, 0.0)
