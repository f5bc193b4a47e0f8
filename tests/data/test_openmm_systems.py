"""The systems that OpenMM is timed with, beside its own force field and a lattice's symmetry."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

openmm = pytest.importorskip("openmm")
from openmm import app, unit  # noqa: E402

FOLDER = Path(__file__).parents[2] / "data"
sys.path.insert(0, str(FOLDER))

import measure_openmm  # noqa: E402
import openmm_systems  # noqa: E402


def _state(system, positions):
    reference = openmm.Platform.getPlatform("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), reference)
    context.setPositions(positions)
    state = context.getState(energy=True, forces=True)
    return (
        state.getPotentialEnergy().value_in_unit(unit.kilojoules_per_mole),
        state.getForces(asNumpy=True)._value,
    )


@pytest.fixture(scope="module")
def smallest_box():
    return openmm_systems.water(2685)


def test_the_water_has_the_force_fields_energy_forces_and_constraints(smallest_box):
    pdb = app.PDBFile(str(Path(openmm.__file__).parent / openmm_systems.WATER_BOX))
    by_force_field = app.ForceField("tip3p.xml").createSystem(
        pdb.topology,
        nonbondedMethod=app.PME,
        nonbondedCutoff=openmm_systems.WATER_CUTOFF,
        constraints=app.HBonds,
    )
    energy, forces = _state(by_force_field, pdb.positions)
    ours, our_forces = _state(smallest_box.system, smallest_box.positions)
    # Positions are read from the same digits; what differs is the order of sums.
    assert ours == pytest.approx(energy, rel=1e-9)
    np.testing.assert_allclose(our_forces, forces, rtol=1e-6, atol=1e-6 * np.abs(forces).max())
    assert _constraints(smallest_box.system) == pytest.approx(_constraints(by_force_field))


def _constraints(system):
    parameters = map(system.getConstraintParameters, range(system.getNumConstraints()))
    return {(min(i, j), max(i, j)): length._value for i, j, length in parameters}


def test_two_boxes_of_water_have_twice_the_energy_of_one(smallest_box):
    double = openmm_systems.water(5370)
    assert double.atoms == 2 * smallest_box.atoms
    once, _ = _state(smallest_box.system, smallest_box.positions)
    twice, _ = _state(double.system, double.positions)
    # Both are one infinite crystal of boxes; Ewald sums of either grid err by 5e-4 at most.
    assert twice == pytest.approx(2 * once, rel=5e-4)


def test_the_crystal_of_the_lennard_jones_fluid_pulls_no_atom_anywhere():
    crystal = openmm_systems.lennard_jones(500)
    assert crystal.atoms == 500
    energy, forces = _state(crystal.system, crystal.positions)
    np.testing.assert_allclose(forces, 0, atol=1e-8)
    assert energy / crystal.atoms == pytest.approx(_energy_of_a_site(), rel=1e-9)


def _energy_of_a_site():
    """Half the sum of pair energies with the shells of a face-centred cubic crystal, kJ/mol."""
    cell = openmm_systems.ARGON_SIGMA * (4 / openmm_systems.MELT_DENSITY) ** (1 / 3)
    cutoff = openmm_systems.MELT_CUTOFF * openmm_systems.ARGON_SIGMA
    energy = 0.0
    reach = range(-6, 7)
    for i, j, k in ((i, j, k) for i in reach for j in reach for k in reach):
        r = cell / 2 * math.sqrt(i * i + j * j + k * k)
        if (i + j + k) % 2 == 0 and 0 < r < cutoff:
            sixth = (openmm_systems.ARGON_SIGMA / r) ** 6
            energy += 2 * openmm_systems.ARGON_EPSILON * (sixth**2 - sixth)
    return energy


@pytest.mark.parametrize(
    ("count", "block"),
    [(1, {1}), (2, {1, 2}), (8, {2}), (100, {4, 5}), (372, {7, 8}), (745, {9})],
)
def test_blocks_of_boxes_are_near_cubes_near_the_count(count, block):
    edges = openmm_systems.near_cube(count)
    assert set(edges) == block
    assert math.prod(edges) == pytest.approx(count, rel=0.06)


def test_first_velocities_have_the_temperature(smallest_box):
    kinetic = 0.5 * (smallest_box.masses[:, None] * smallest_box.velocities() ** 2).sum()
    freedom = 3 * smallest_box.atoms
    temperature = 2 * kinetic / (freedom * openmm_systems.GAS_CONSTANT)
    four_errors = 4 * math.sqrt(2 / freedom)
    assert temperature == pytest.approx(smallest_box.temperature, rel=four_errors)


def test_what_is_written_holds_every_visit_as_benchmark_py_writes_it(tmp_path, monkeypatch):
    output = tmp_path / "openmm.json"
    arguments = "--platform Reference --test lennard-jones --atoms 108 256 --rounds 2"
    arguments += f" --window 0.001 --warm-up 0 -o {output}"
    monkeypatch.setattr(sys, "argv", ["measure_openmm.py", *arguments.split()])
    assert measure_openmm.main() == 0
    entries = json.loads(output.read_text())["benchmarks"]
    assert [(entry["num_atoms"], entry["visit"]) for entry in entries] == [
        (108, 1),
        (256, 1),
        (108, 2),
        (256, 2),
    ]
    for entry in entries:
        nanoseconds = 1e-6 * entry["timestep_in_fs"] * entry["steps"]
        days = entry["elapsed_time"] / 86400
        assert entry["ns_per_day"] == pytest.approx(nanoseconds / days)


def test_a_cell_that_cannot_run_is_named_and_the_others_are_measured(tmp_path, monkeypatch, capsys):
    started = measure_openmm._started

    def out_of_memory(workload, *rest):
        if workload.atoms == 256:
            raise openmm.OpenMMException("out of memory")
        return started(workload, *rest)

    monkeypatch.setattr(measure_openmm, "_started", out_of_memory)
    output = tmp_path / "openmm.json"
    arguments = "--platform Reference --test lennard-jones --atoms 256 108 --rounds 1"
    arguments += f" --window 0.001 --warm-up 0 -o {output}"
    monkeypatch.setattr(sys, "argv", ["measure_openmm.py", *arguments.split()])
    assert measure_openmm.main() == 1
    assert "lennard-jones, 256 atoms, device 0: out of memory" in capsys.readouterr().err
    assert [entry["num_atoms"] for entry in json.loads(output.read_text())["benchmarks"]] == [108]
