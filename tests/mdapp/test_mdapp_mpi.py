"""The schedule ``mpi``: several processes compute what one does."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mdapp

# More than there may be cores: the processes then take turns.
HOST = ("--engine", "host", "--host-devices", 4)
MELT = (*HOST, "--n", 97, "--temperature", 1100, "--steps", 20, "--every", 10)


# What Open MPI's mpirun is still to hand on of a process that ends a job may be lost.
INTO_A_FILE = ["sh", "-c", 'exec "$@" 2>>"$0"']


def under(ranks: int, *arguments: object) -> mdapp.Finished:
    """Run this many processes; ``err`` is theirs and mpirun's."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as errors:
        finished = mdapp.run(
            *arguments,
            before=[*mdapp.mpirun(ranks), *INTO_A_FILE, errors.name],
            environment=mdapp.MPI_ENVIRONMENT,
        )
        return replace(finished, err=errors.read() + finished.err)


@pytest.mark.parametrize("integrator", ["verlet", "nose-hoover"])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_any_number_of_processes_makes_the_same_trajectory(
    tmp_path: Path, ranks: int, integrator: str
) -> None:
    """Bit for bit that of one process under star-serial."""
    alone, together = tmp_path / "alone.xyz", tmp_path / "together.xyz"
    common = ("simulate", *MELT, "--integrator", integrator)
    assert mdapp.run(*common, "--trajectory", alone).status == 0
    finished = under(ranks, *common, "--schedule", "mpi", "--gpus", ranks, "--trajectory", together)
    assert finished.status == 0, finished.err
    for ours, theirs in zip(
        mdapp.frames_of(together.read_text()), mdapp.frames_of(alone.read_text()), strict=True
    ):
        assert np.array_equal(ours.r, theirs.r)
        assert np.array_equal(ours.v, theirs.v)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_forces_energy_and_virial_are_gathered(ranks: int) -> None:
    common = ("forces", *HOST, "--n", 97, "--displace", 0.3, "--precision", "float")
    alone = mdapp.run(*common).json
    together = under(ranks, *common, "--schedule", "mpi", "--gpus", ranks).json
    for field in ("positions_angstrom", "forces_eV_per_angstrom", "energies_eV"):
        assert together[field] == alone[field]
    for whole in ("energy_eV", "virial_eV"):  # sums of sums
        assert together[whole] == pytest.approx(alone[whole], rel=1e-12)


def test_one_process_writes_the_records(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    finished = under(
        3, "measure", *HOST, "--n", "64,97", "--gpus", "1-3", "--schedule", "mpi",
        "--steps", 3, "--warm-up", 0, "--quiet", "-o", path,
    )  # fmt: skip
    assert finished.status == 0, finished.err
    kinds = [record["kind"] for record in mdapp.records_in(path.read_text())]
    assert kinds.count("machine") == 1
    steps = mdapp.steps_in(path.read_text())
    assert sorted((s["n"], s["gpus"]) for s in steps) == [
        (n, g) for n in (64, 97) for g in (1, 2, 3)
    ]
    for step in steps:
        n, gpus = step["n"], step["gpus"]
        assert step["bytes"]["h2d"] == 16 * n * gpus
        assert step["bytes"]["d2h"] == 12 * n


@pytest.mark.parametrize(
    ("ranks", "devices", "said"),
    [
        (2, 4, "--gpus: 3 need as many processes, and 2 were started"),
        (3, 1, "--gpus: 3 wanted, a process each, and a host with "),
    ],
)
def test_a_device_for_every_process(tmp_path: Path, ranks: int, devices: int, said: str) -> None:
    if devices == 1 and (os.cpu_count() or 1) > 2:
        ranks = 3 + (os.cpu_count() or 1)
    path = tmp_path / "steps.jsonl"
    gpus = 3 if devices > 1 else ranks
    finished = under(
        ranks, "measure", "--engine", "host", "--host-devices", devices, "--n", 64,
        "--gpus", gpus, "--schedule", "mpi", "-o", path,
    )  # fmt: skip
    assert finished.status == 2
    ours = [line for line in finished.err.splitlines() if line.startswith("gpucast-mdapp: ")]
    assert len(ours) == 1
    assert said.replace("3", str(gpus)) in ours[0]
    assert not path.exists()


def test_an_overlap_across_processes_is_named_as_it_is_now(tmp_path: Path) -> None:
    """Overlap is told at the shot ion's position when it hits, not at the last one written."""
    start = tmp_path / "start.xyz"
    r = np.array([[0.0, 0, 0], [10, 0, 0], [0, 3, 0], [10, 2.57, 0]])
    v = np.zeros((4, 3))
    v[2, 1] = -2
    start.write_text(mdapp.xyz(mdapp.Frame(["Na", "Na", "Cl", "Cl"], r, 40.0, v)))
    # A step that ends upon the other ion.
    common = ("simulate", "--start", start, "--dt", 1.49e-15, "--steps", 10, "--every", 10, *HOST)
    alone = mdapp.run(*common)
    together = under(2, *common, "--schedule", "mpi", "--gpus", 2)
    assert alone.status == together.status == 1
    (line,) = alone.err.splitlines()
    assert "particles 1 (Na) and 3 (Cl) overlap" in line
    assert line in together.err
