"""Whole simulations: what they conserve, what they hold, and how they start."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mdapp

pytestmark = pytest.mark.slow

HOST = ("--engine", "host", "--kernel", "tuned")
IN_DOUBLE = ("--precision", "double")


def simulated(*arguments: object) -> dict[str, Any]:
    return mdapp.run("simulate", "--json", *arguments).json


# Measured with OpenMM's Reference platform and LAMMPS; a = 5.8128309747 angstrom.
@pytest.mark.parametrize(
    ("n", "energy_per_ion"),
    [(8, -3.4366428), (64, -3.7873841), (512, -3.9131376), (4096, -3.9656756)],
)
def test_the_open_lattice_has_the_known_energy(n: int, energy_per_ion: float) -> None:
    energy = mdapp.run("forces", "--n", n).json["energy_eV"]
    assert energy / n == pytest.approx(energy_per_ion, rel=1e-7)


def test_energy_is_conserved() -> None:
    """n = 216 at 1100 K, 2 fs, 10 ps."""
    summary = simulated(
        *HOST, "--n", 216, "--temperature", 1100, "--time", 1e-11, "--every", 10
    )["summary"]  # fmt: skip
    assert summary["steps"] == 5000
    assert 0 < summary["total_rms_eV_per_ion"] <= 2e-5
    assert abs(summary["total_drift_eV_per_ion_per_ps"]) <= 2e-6


def test_half_the_time_step_leaves_a_quarter_of_the_error() -> None:
    """Verlet is of second order. In double precision: rounding is no part of it."""

    def rms(dt: float, every: int) -> float:
        summary = simulated(
            *IN_DOUBLE, "--n", 216, "--temperature", 1100,
            "--time", 2e-12, "--dt", dt, "--every", every,
        )["summary"]  # fmt: skip
        return float(summary["total_rms_eV_per_ion"])

    whole, half, quarter = rms(4e-15, 5), rms(2e-15, 10), rms(1e-15, 20)
    assert 3.5 <= whole / half <= 5
    assert 3.5 <= half / quarter <= 5


def test_nose_hoover_holds_the_temperature() -> None:
    summary = simulated(
        *HOST, "--n", 216, "--integrator", "nose-hoover", "--temperature", 800,
        "--time", 2e-11, "--every", 10,
    )["summary"]  # fmt: skip
    assert summary["mean_temperature"] == pytest.approx(800, rel=0.01)


def test_nothing_pushes_an_undisturbed_melt_away() -> None:
    first, *_, last = simulated(*HOST, "--n", 216, "--temperature", 1100, "--steps", 200)[
        "observables"
    ]
    ion = 216 * 23 * mdapp.ATOMIC_MASS_UNIT * 500  # of all, at thermal speed, kg m/s
    for observed in (first, last):
        assert np.abs(observed["momentum"]).max() <= 1e-6 * ion


def test_the_pressure_of_a_periodic_melt_is_that_of_a_dense_liquid() -> None:
    """NaCl at 1100 K and the density of the melt, under damped shifted forces: within 1 GPa of 0.

    Pair sums in the wrong units, or a virial of the wrong sign, are off by 10 GPa and more (the
    kinetic part alone is 0.6 GPa).
    """
    observables = simulated(
        *HOST, "--n", 512, "--boundary", "dsf", "--integrator", "nose-hoover",
        "--temperature", 1100, "--time", 8e-12, "--every", 20,
    )["observables"]  # fmt: skip
    settled = [one for one in observables if one["time"] > 4e-12]
    assert abs(np.mean([one["pressure"] for one in settled])) < 1e9
    assert np.mean([one["temperature"] for one in settled]) == pytest.approx(1100, rel=0.03)


def test_the_virial_is_the_slope_of_the_energy_with_the_volume(tmp_path: Any) -> None:
    """W = -3 V dU/dV: all coordinates stretched by a little, in an open box."""
    answer = mdapp.run("forces", "--n", 64, "--displace", 0.3).json
    species = [("Na", "Cl")[kind] for kind in answer["types"]]
    r = np.array(answer["positions_angstrom"])

    def energy(stretch: float) -> float:
        frame = mdapp.Frame(species, r * stretch, answer["boundary"]["side_angstrom"])
        (tmp_path / "start.xyz").write_text(mdapp.xyz(frame))
        return float(mdapp.run("forces", "--start", tmp_path / "start.xyz").json["energy_eV"])

    h = 1e-4
    slope = (8 * (energy(1 + h) - energy(1 - h)) - energy(1 + 2 * h) + energy(1 - 2 * h)) / (12 * h)
    assert answer["virial_eV"] == pytest.approx(-slope, rel=1e-6)


@pytest.mark.parametrize("temperature", [0, 300, 1100.5])
def test_velocities_start_at_the_temperature_and_come_from_the_seed(temperature: float) -> None:
    def start(seed: int) -> dict[str, Any]:
        observables = simulated(
            *HOST, "--n", 216, "--temperature", temperature, "--seed", seed, "--steps", 20
        )["observables"]
        return dict(observables[0] | {"last": observables[-1]})

    first = start(1)
    assert first["temperature"] == pytest.approx(temperature, rel=1e-9)
    assert first == start(1)
    if temperature > 0:
        assert first["last"] != start(2)["last"]


def test_both_sets_of_constants() -> None:
    codata, claret = (
        mdapp.run("forces", "--n", 64, "--constants", each).json["energy_eV"]
        for each in ("codata", "claret")
    )
    # Claret's e^2/(4 pi eps0) is 14.39 eV angstrom instead of 14.39965.
    assert claret / codata == pytest.approx(14.39 / 14.39965, abs=2e-4)
    assert claret != codata
