"""The programs of docs/examples/programs, where they are on this machine, and what their logs say.

Set-up brings them (`make examples`): LAMMPS into `.venv-examples`, GROMACS and PyTorch as system
packages. OpenMM is in the tests' own environment.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples" / "programs"
OWN = ROOT / ".venv-examples" / "bin"
_HINT = "make examples"

# Debian 12's PyTorch 1.13 runs under Python 3.11, for which its torchrun was not made: it fails
# where it reads that output goes nowhere else. So each rank's is said to.
_TORCHRUN = '#!/bin/sh\nexec /usr/bin/torchrun -r 0:1,1:1 -t 0:1,1:1 "$@"\n'


@dataclass(frozen=True)
class RealProgram:
    """One that can be measured here.

    Attributes:
        description: below docs/examples/programs.
        sizes: that run in seconds.
        lacking: why it cannot be measured here; None: it can.
        make: input files of the user's own, in the description's folder; the sizes they have.
        logged: seconds a step that a log says, its size and its processes, None what it does not.
    """

    description: str
    sizes: Sequence[int]
    lacking: Callable[[], str | None]
    logged: Callable[[str], tuple[float, int | None, int | None]]
    make: Callable[[Path], Sequence[int]] | None = None

    def prepared(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Sequence[int]]:
        """Its description in a folder of its own, and sizes to measure; the program in PATH."""
        why = self.lacking()
        if why is not None:
            pytest.skip(why)
        programs = folder / "bin"
        programs.mkdir()
        # Not a link: a virtual environment is found by where its Python lies.
        python = f'#!/bin/sh\nexec {sys.executable} "$@"\n'
        for name, text in (("python", python), ("torchrun", _TORCHRUN)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        own = [str(programs), *([str(OWN)] if self is LAMMPS else [])]
        monkeypatch.setenv("PATH", os.pathsep.join([*own, os.environ["PATH"]]))
        target = folder / "example"
        shutil.copytree((EXAMPLES / self.description).parent, target)
        sizes = self.make(target) if self.make else self.sizes
        return target / Path(self.description).name, sizes


def _no_lammps() -> str | None:
    there = all((OWN / name).exists() for name in ("lmp", "mpirun"))
    return None if there else f"no LAMMPS in {OWN.parent} ({_HINT})"


def _no_gromacs() -> str | None:
    return None if shutil.which("gmx") else f"no GROMACS: no gmx in PATH ({_HINT})"


def _no_pytorch() -> str | None:
    if not Path("/usr/bin/torchrun").exists():
        return f"no /usr/bin/torchrun: no PyTorch among the system's packages ({_HINT})"
    result = subprocess.run(
        ["/usr/bin/python3", "-c", "import torch.distributed"], capture_output=True, text=True,
        env={"PATH": "/usr/bin"},
    )  # fmt: skip
    return f"PyTorch: {result.stderr.strip().splitlines()[-1]}" if result.returncode else None


def _no_openmm() -> str | None:
    try:
        import openmm  # noqa: F401
    except ImportError as error:
        return f"no OpenMM: {error}"
    return None


def _loop_time(log: str) -> tuple[float, int, int]:
    seconds, ranks, steps, atoms = re.findall(
        r"^Loop time of (\S+) on (\d+) procs for (\d+) steps with (\d+) atoms", log, re.MULTILINE
    )[-1]
    return float(seconds) / int(steps), int(atoms), int(ranks)


def _from_nanoseconds_a_day(log: str) -> tuple[float, None, int]:
    """Steps are of 2 fs, as water.sh has them."""
    (rate,) = re.findall(r"^Performance:\s+(\S+)", log, re.MULTILINE)
    (ranks,) = re.findall(r"^Using (\d+) MPI thread", log, re.MULTILINE)
    return 86400 * 2e-6 / float(rate), None, int(ranks)


def _blocks(log: str) -> tuple[float, int, None]:
    """The median of five blocks of steps; the first of six warms up."""
    times = sorted(map(float, re.findall(r'"step_ms": ([0-9.]+)', log)[1:]))
    assert len(times) == 5
    (particles,) = re.findall(r"^done: (\d+) particles", log, re.MULTILINE)
    return times[2] / 1e3, int(particles), None


def _median_step(log: str) -> tuple[float, None, None]:
    (time,) = re.findall(r"a step takes (\S+) ms", log)
    return float(time) / 1e3, None, None


def _boxes_of_water(folder: Path) -> Sequence[int]:
    made = subprocess.run(
        ["sh", "water.sh", "2.2", "2.8"], cwd=folder, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    return [int(name.removesuffix(".tpr")) for name in made.stdout.split()]


LAMMPS = RealProgram("lammps/cpu.yaml", [4000, 13500], _no_lammps, _loop_time)
GROMACS = RealProgram(
    "gromacs/cpu.yaml", [], _no_gromacs, _from_nanoseconds_a_day, make=_boxes_of_water
)
OPENMM = RealProgram("openmm/cpu.yaml", [1000, 2000], _no_openmm, _blocks)
PYTORCH = RealProgram("pytorch/gloo.yaml", [8, 32], _no_pytorch, _median_step)
