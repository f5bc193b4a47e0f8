"""The schedule ``mpi``: several processes compute what one does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mdapp

MELT = ("--engine", "host", "--n", 97, "--temperature", 1100, "--steps", 20, "--every", 10)


def under(ranks: int, *arguments: object) -> mdapp.Finished:
    return mdapp.run(
        *arguments, before=mdapp.mpirun(ranks), environment=mdapp.MPI_ENVIRONMENT, timeout=60
    )


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
    common = ("forces", "--engine", "host", "--n", 97, "--displace", 0.3, "--precision", "float")
    alone = mdapp.run(*common).json
    together = under(ranks, *common, "--schedule", "mpi", "--gpus", ranks).json
    for each in ("positions_angstrom", "forces_eV_per_angstrom", "energies_eV"):
        assert together[each] == alone[each]
    for whole in ("energy_eV", "virial_eV"):  # sums of sums
        assert together[whole] == pytest.approx(alone[whole], rel=1e-12)


def test_one_process_writes_the_records(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    finished = under(
        3, "measure", "--engine", "host", "--n", "64,97", "--gpus", "1-3", "--schedule", "mpi",
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


def test_more_devices_than_processes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    finished = under(
        2, "measure", "--engine", "host", "--n", 64, "--gpus", 3, "--schedule", "mpi", "-o", path
    )
    assert finished.status == 2
    ours = [line for line in finished.err.splitlines() if line.startswith("gpucast-mdapp: ")]
    assert len(ours) == 1
    assert "--gpus: 3" in ours[0]
    assert not path.exists()
