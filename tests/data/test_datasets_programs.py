"""The bundled tables of other people's programs agree with the committed tables."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from gpucast.data.loading import load

SOURCE = Path(__file__).parents[2] / "data" / "programs" / "source"


def name_of(program: str) -> str:
    """The text before the parenthesis with the build options."""
    return program.partition(" (")[0]


@pytest.mark.parametrize("table", sorted(SOURCE.glob("*.csv")), ids=lambda table: table.stem)
def test_every_row_of_the_table_is_a_step_with_its_figures(table: Path) -> None:
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    told = Counter(
        (name_of(r["program"]), float(r["n"]), int(r["gpus"]), float(r["seconds"])) for r in rows
    )
    steps = load(table.stem).steps
    assert Counter((s.program, s.n, s.gpus, s.seconds[0]) for s in steps) == told
    assert all(step.schedule is None and step.case and step.unit for step in steps)


def test_all_gpu_counts_of_a_host_are_one_machine() -> None:
    steps = load("lammps-lj-v100").steps
    assert {(step.machine, step.gpus) for step in steps} == {
        ("charisma-v100", gpus) for gpus in (1, 2, 4)
    }
    assert {step.ranks for step in steps} == {16}


def test_a_case_does_not_name_the_size() -> None:
    stencil = load("stencil-cg").steps
    assert {step.case for step in stencil} == {"CG solve, 14 iterations"}
    quick = load("quick-dft").steps
    assert {step.case for step in quick if step.program == "QUICK 25.03"} == {
        "B3LYP/6-31G** SCF+gradient",
        "B3LYP/6-31G** SCF+gradient, tight",
        "B3LYP/6-31G** SCF+gradient, no-MPI",
        "B3LYP/6-31G** SCF+gradient, tight, no-MPI",
    }


def test_a_step_gives_back_the_printed_ns_a_day() -> None:
    steps = [s for s in load("openmm-cellulose").steps if s.machine == "openmm-a100"]
    a_day = {s.gpus: s.timestep / s.seconds[0] * 86400 / 1e-9 for s in steps if s.timestep}
    assert a_day[1] == pytest.approx(135.36, rel=1e-5)
    assert steps[0].uncertainty == pytest.approx(0.005 / 135.36)


def test_nodes_follow_from_the_gpus_of_one() -> None:
    steps = load("gromacs-lumi").steps
    largest = max(steps, key=lambda step: step.gpus)
    assert (largest.gpus, largest.nodes, largest.n) == (128, 16, 12_000_000)
