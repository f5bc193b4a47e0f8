"""Long simulations: conserved and controlled quantities. Shorter ones are in mdapp/tests."""

from typing import Any

import pytest

import mdapp

pytestmark = pytest.mark.slow

HOT = ("--engine", "host", "--kernel", "tuned", "--n", 216, "--every", 10)


def summary(*arguments: object) -> dict[str, Any]:
    answer = mdapp.run("simulate", "--json", *HOT, *arguments).json["summary"]
    assert isinstance(answer, dict)
    return answer


def test_energy_is_conserved() -> None:
    """n = 216 at 1100 K, 2 fs, 10 ps."""
    whole = summary("--temperature", 1100, "--time", 1e-11)
    assert whole["steps"] == 5000
    assert 0 < whole["total_rms_eV_per_ion"] <= 2e-5
    assert abs(whole["total_drift_eV_per_ion_per_ps"]) <= 2e-6


def test_nose_hoover_holds_the_temperature() -> None:
    whole = summary("--integrator", "nose-hoover", "--temperature", 800, "--time", 2e-11)
    assert whole["mean_temperature"] == pytest.approx(800, rel=0.01)


def test_both_sets_of_constants() -> None:
    codata, claret = (
        mdapp.run("forces", "--n", 64, "--constants", constants).json["energy_eV"]
        for constants in ("codata", "claret")
    )
    # Claret's e^2/(4 pi eps0) is 14.39 eV angstrom instead of 14.39965.
    assert claret / codata == pytest.approx(14.39 / 14.39965, abs=2e-4)
    assert claret != codata
