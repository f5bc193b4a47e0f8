"""LAMMPS, GROMACS, OpenMM and PyTorch, measured on processor cores as their descriptions say.

A record's content is compared with the program's own log, read by the tests' own expression.
"""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import gpucast as gc
from command_line import Run, only_json
from described_programs import grid, visits
from real_programs import GROMACS, LAMMPS, OPENMM, PYTORCH, RealProgram

pytestmark = pytest.mark.slow

PROGRAMS = [
    pytest.param(LAMMPS, id="lammps"),
    pytest.param(GROMACS, id="gromacs"),
    pytest.param(OPENMM, id="openmm"),
    pytest.param(PYTORCH, id="pytorch"),
]
ROUNDED = 0.011
"""Relative: GROMACS's rate is of whole steps of the clock, others' are printed to three digits."""


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_real_program_is_measured_fitted_and_forecast(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: RealProgram
) -> None:
    description, sizes = program.prepared(tmp_path, monkeypatch)
    data, model = tmp_path / "data.jsonl", tmp_path / "model.json"
    n = ",".join(map(str, sizes))
    status, out, err = run(
        "measure", "--program", description, "-n", n, "--gpus", "1,2", "--visits", 2,
        "--quiet", "--json", "-o", data,
    )  # fmt: skip
    assert status == 0, err
    assert only_json(out)["measured"] == 4 * len(sizes)
    assert visits(data) == grid(list(sizes), [1, 2], most=2)

    steps = gc.load(data).steps
    for step in steps:
        where = f"n{step.n:.0f}-gpus{step.gpus}-{step.visit.digest[:8]}-{step.visit.number}.log"
        log = (tmp_path / "data.logs" / where).read_text()
        seconds, atoms, ranks = program.logged(log)
        assert np.median(step.seconds) == pytest.approx(seconds, rel=ROUNDED)
        assert atoms in (None, step.n)
        assert ranks in (None, step.gpus)
        assert step.path == "host"

    status, out, err = run("fit", data, "--json", "-o", model)
    assert status == 0, err
    assert only_json(out)["observations"]["step_cells"] == 2 * len(sizes)
    status, out, err = run("predict", model, "-n", n, "--gpus", "1,2", "--json")
    assert status == 0, err
    forecast = {(row["n"], row["gpus"]): row for row in only_json(out)["forecast"]}
    assert set(forecast) == set(product(sizes, (1, 2)))
    for (size, gpus), answer in forecast.items():
        there = [t for step in steps if (step.n, step.gpus) == (size, gpus) for t in step.seconds]
        # However busy the machine was, a cell is forecast near its measured times.
        assert min(there) / 2 < answer["seconds"] < 2 * max(there)
        assert answer["low"] < answer["seconds"] < answer["high"]
