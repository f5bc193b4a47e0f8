"""Particles on top of each other stop a run, whatever computes it; the pair is named."""

from pathlib import Path

import numpy as np
import pytest

import mdapp
from mdapp import refused

HOST = ("--engine", "host", "--host-devices", 2)
ON_DEVICES = [
    (*HOST, "--gpus", gpus, "--schedule", schedule, "--kernel", kernel)
    for kernel in ("claret", "tuned")
    for gpus, schedule in ((1, "star-serial"), (2, "star-async"), (2, "allgather"))
]


def words_of(how: tuple[object, ...]) -> str:
    return "-".join(str(word) for word in how[len(HOST) + 1 :: 2]) or "double"


@pytest.fixture(params=[0.0, 1e-6, 0.1], ids=["same-place", "touching", "close"])
def overlapping(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The third particle sits on the tenth."""
    places = np.stack(np.meshgrid(*[np.arange(3.0)] * 3, indexing="ij"), -1).reshape(-1, 3)
    r = 3 * (places - 1)
    r[2] = r[9] + [request.param, 0, 0]
    species = ["Cl" if place.sum() % 2 else "Na" for place in places]
    path = tmp_path / "start.xyz"
    path.write_text(mdapp.xyz(mdapp.Frame(species, r, 40.0)))
    return path


@pytest.mark.parametrize("boundary", ["open", "dsf", "minimum-image"])
@pytest.mark.parametrize("how", [("--precision", "double"), *ON_DEVICES], ids=words_of)
def test_a_run_stops_and_names_the_pair(
    how: tuple[object, ...], boundary: str, overlapping: Path, tmp_path: Path
) -> None:
    trajectory = tmp_path / "run.xyz"
    setting = ("--start", overlapping, "--boundary", boundary, *how)
    finished = mdapp.run("simulate", *setting, "--steps", 5, "--json", "--trajectory", trajectory)
    *warnings, line = finished.err.splitlines()
    assert finished.status == 1
    assert "particles 3 (Na) and 10 (Cl) overlap: " in line
    assert all("warning: minimum-image" in other for other in warnings)
    assert "nan" not in finished.out
    if trajectory.exists():
        assert "nan" not in trajectory.read_text()


@pytest.mark.parametrize("how", ON_DEVICES[:2] + ON_DEVICES[3:5], ids=words_of)
def test_forces_name_the_pair(how: tuple[object, ...], overlapping: Path) -> None:
    line = refused("forces", "--start", overlapping, "--precision", "float", *how, status=1)
    assert line.startswith("particles 3 (Na) and 10 (Cl) overlap: ")
