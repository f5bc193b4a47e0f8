"""Running ``gpucast-mdapp`` as a user does, and reading and writing what goes in and comes out."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from command_line import only_json
from waiting import HANG

Array = NDArray[np.float64]

MASS = {"Na": 22.989768, "K": 39.0983, "Cl": 35.4527}  # u
ATOMIC_MASS_UNIT = 1.66053906660e-27  # kg, CODATA 2018
ELEMENTARY_CHARGE = 1.602176634e-19  # C
BOLTZMANN = 1.380649e-23 / ELEMENTARY_CHARGE  # eV/K


def program() -> Path:
    """The one that GPUCAST_MDAPP names, otherwise the one installed beside this Python."""
    path = Path(
        os.environ.get("GPUCAST_MDAPP", Path(sys.executable).with_name("gpucast-mdapp"))
    ).absolute()
    assert os.access(path, os.X_OK), f"{path}: no such program; make build, or set GPUCAST_MDAPP"
    return path


@dataclass(frozen=True)
class Finished:
    """How a run ended and what it wrote."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object that a run which went well wrote."""
        assert self.status == 0, self.err
        return only_json(self.out)


def run(
    *arguments: object,
    folder: Path | None = None,
    before: Sequence[str] = (),
    environment: dict[str, str] | None = None,
    timeout: float = HANG,
) -> Finished:
    """``BEFORE gpucast-mdapp ARGUMENTS`` in a process of its own."""
    finished = subprocess.run(
        [*before, str(program()), *map(str, arguments)],
        capture_output=True,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        timeout=timeout,
        check=False,
    )
    return Finished(finished.returncode, finished.stdout.decode(), finished.stderr.decode())


def refused(*arguments: object, status: int = 2, **how: Any) -> str:
    """What stands behind ``error:`` in the one line that a run which could not be wrote."""
    finished = run(*arguments, **how)
    assert finished.status == status, finished.err
    assert finished.out == ""
    (line,) = finished.err.splitlines()
    head, _, message = line.partition("gpucast-mdapp: error: ")
    assert head == ""
    return message


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """The same, not waited for."""
    return subprocess.Popen(
        [str(program()), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def records_in(text: str) -> list[dict[str, Any]]:
    """JSON Lines, every one of them whole."""
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def steps_in(text: str) -> list[dict[str, Any]]:
    return [record for record in records_in(text) if record["kind"] == "step"]


def need_gpu() -> None:
    """Skips a test where the program says that there is no GPU, and fails where it fails."""
    finished = run("forces", "--n", 8, "--precision", "float", "--engine", "cuda")
    if finished.status == 2 and "error: --engine cuda: " in finished.err:
        why = finished.err.partition("--engine cuda: ")[2].strip()
        pytest.skip(f"no GPU: {why}")
    assert finished.status == 0, finished.err


def mpirun(ranks: int) -> list[str]:
    """What starts this many ranks; skips where nothing can."""
    launcher = shutil.which("mpirun")
    if launcher is None:
        pytest.skip("no MPI: mpirun is not on this machine")
    alone = run("forces", "--n", 8, "--precision", "float", "--engine", "host", "--schedule", "mpi")
    if alone.status == 2 and "MPI" in alone.err:
        pytest.skip(f"no MPI: {alone.err.strip()}")
    return [launcher, "--oversubscribe", "-n", str(ranks)]


# As root in a container, which Open MPI refuses unless told twice.
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


@dataclass
class Frame:
    """One frame of an extended XYZ file: angstrom, femtoseconds."""

    species: list[str]
    r: Array
    side: float
    v: Array | None = None
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.species)

    @property
    def types(self) -> NDArray[np.int64]:
        return np.array([int(name == "Cl") for name in self.species])

    def temperature(self) -> float:
        """From m v^2, with the centre of mass at rest, K."""
        mass = np.array([MASS[name] for name in self.species])[:, None] * ATOMIC_MASS_UNIT
        twice_kinetic = float((mass * (self.v * 1e5) ** 2).sum()) / ELEMENTARY_CHARGE  # eV
        return twice_kinetic / (3 * (self.n - 1) * BOLTZMANN)


def frames_of(text: str) -> Iterator[Frame]:
    """Every frame of a file; anything that is not whole is an error."""
    assert text.endswith("\n")
    lines = iter(text.splitlines())
    for count in lines:
        pairs = re.findall(r'(\w+)=(?:"([^"]*)"|(\S+))', next(lines))
        fields = {key: quoted or plain for key, quoted, plain in pairs}
        assert fields["Properties"] == "species:S:1:pos:R:3:velo:R:3"
        rows = [next(lines).split() for _ in range(int(count))]
        assert {len(row) for row in rows} == {7}
        numbers = np.array([[float(word) for word in row[1:]] for row in rows])
        cell = np.array([float(word) for word in fields["Lattice"].split()]).reshape(3, 3)
        side = float(cell[0, 0])
        assert (cell == side * np.eye(3)).all()
        yield Frame([row[0] for row in rows], numbers[:, :3], side, numbers[:, 3:], fields)


def xyz(frame: Frame) -> str:
    """A start file: the box's centre is the origin."""
    edges = " ".join(repr(float(edge)) for edge in (frame.side * np.eye(3)).ravel())
    corner = " ".join([repr(-frame.side / 2)] * 3)
    velo = "" if frame.v is None else ":velo:R:3"
    columns = frame.r if frame.v is None else np.hstack([frame.r, frame.v])
    rows = (
        " ".join([name, *(repr(float(value)) for value in row)])
        for name, row in zip(frame.species, columns, strict=True)
    )
    head = f'Lattice="{edges}" Origin="{corner}" Properties=species:S:1:pos:R:3{velo}'
    return "\n".join([str(frame.n), head, *rows]) + "\n"
