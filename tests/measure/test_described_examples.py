"""The descriptions in docs/examples/programs: those that can run here run, the others are read.

Programs that are not installed are replaced by scripts that print their output.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

import gpucast as gc
from command_line import Run, answer_of, executable, only_json

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "programs"
DESCRIPTIONS = sorted(str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.yaml"))

LAMMPS = """\
import sys
atoms = 4 * int(sys.argv[sys.argv.index("L") + 1]) ** 3
print("LAMMPS (29 Aug 2024)")
for loops, steps in ((3.0, 20), (2.0, 200)):
    print(f"Loop time of {loops} on 2 procs for {steps} steps with {atoms} atoms")
print("Total wall time: 0:00:05")
"""


@pytest.fixture(autouse=True)
def programs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This Python as ``python``, and stand-ins of what need not be installed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python").symlink_to(sys.executable)
    stand_ins = {
        "mpirun": 'shift 2; exec "$@"',
        "torchrun": "exit 1",
        "gmx": "exit 1",
        "lmp": f'exec {sys.executable} {folder}/lmp.py "$@"',
    }
    (folder / "lmp.py").write_text(LAMMPS)
    for name, line in stand_ins.items():
        executable(folder / name, f"#!/bin/sh\n{line}\n")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    # A virtual environment is found by where its Python lies.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))


def copied(name: str, folder: Path) -> Path:
    """An example with input files that users would bring."""
    target = folder / "example"
    shutil.copytree((EXAMPLES / name).parent, target)
    if name.startswith("gromacs"):
        for atoms in (1530, 4134, 12165, 24000, 96000, 409000):
            (target / f"{atoms}.tpr").write_bytes(b"made up")
    return target / Path(name).name


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_description_says_what_would_run(run: Run, tmp_path: Path, name: str) -> None:
    program = copied(name, tmp_path)
    plan = answer_of(run("measure", "--program", program, "--dry-run", "--json"))
    cells = {(visit["n"], visit["gpus"]) for visit in plan["visits"]}
    assert len(cells) == len(plan["visits"]) > 1


def test_the_examples_are_named_in_the_documentation() -> None:
    page = (EXAMPLES.parents[1] / "how-to" / "measure-program.md").read_text()
    for name in DESCRIPTIONS:
        assert f"programs/{name}" in page


def test_openmm_runs_on_the_cpu(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("openmm")
    program = copied("openmm/cpu.yaml", tmp_path)
    path = tmp_path / "data.jsonl"
    status, out, err = run(
        "measure", "--program", program, "-n", "500,1000", "--gpus", 1, "--json", "-o", path
    )
    assert status == 0, err
    assert only_json(out)["measured"] == 2
    for step in gc.load(path).steps:
        assert len(step.seconds) == 5
        assert (step.program, step.unit, step.path) == ("OpenMM", "particles", "host")


def test_lammps_is_timed_by_its_last_loop(run: Run, tmp_path: Path) -> None:
    program = copied("lammps/cpu.yaml", tmp_path)
    path = tmp_path / "data.jsonl"
    status, _, err = run("measure", "--program", program, "-o", path)
    assert status == 0, err
    steps = gc.load(path).steps
    assert {(step.n, step.gpus, step.ranks) for step in steps} == {
        (n, gpus, gpus) for n in (4000, 13500, 32000, 108000) for gpus in (1, 2)
    }
    assert all(step.seconds == [0.01] for step in steps)
