"""Machine instructions of the force kernel ``tuned``, counted in what the compiler made.

Reads the program's machine code with CUDA's ``cuobjdump`` and finds, for each form of the kernel,
the innermost loop that nearly all pairs go through: the one without the test whether i is j.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

BOUNDARIES = ("open", "dsf", "minimum-image")
KERNEL = re.compile(r"5tunedILNS\d*_12BoundaryKindE(\d)ELb([01])ELi(\d+)E")
INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\S+\s+)?([A-Z0-9]+)([^;]*);")
TARGET = re.compile(r"0x([0-9a-f]+)")


class SassError(Exception):
    """Machine code cannot be read here, or does not hold what is looked for."""


class Instruction(NamedTuple):
    address: int
    opcode: str
    operands: str


@dataclass(frozen=True)
class Loop:
    """The loop over pairs of one form of ``tuned``."""

    boundary: str
    with_energies: bool
    i_per_thread: int
    pairs: int
    """Pairs that one pass of the loop computes."""
    opcodes: Counter[str]

    @property
    def instructions_a_pair(self) -> float:
        return self.opcodes.total() / self.pairs

    @property
    def special_a_pair(self) -> float:
        """Operations of the special-function unit: rsqrt, exp2, reciprocal."""
        return self.opcodes["MUFU"] / self.pairs


def cuobjdump() -> Path:
    """CUDA's tool, of the machine or of the environment that set-up made.

    Raises:
        SassError: there is none.
    """
    packages = [folder for entry in sys.path for folder in Path(entry).glob("nvidia/cu1*/bin")]
    folders = [*os.get_exec_path(), f"{os.environ.get('CUDA_HOME', '/usr/local/cuda')}/bin"]
    path = shutil.which("cuobjdump", path=os.pathsep.join(map(str, [*folders, *packages])))
    if path is None:
        raise SassError("no cuobjdump (CUDA's tool) on this machine")
    return Path(path)


def tuned_loops(program: Path, architecture: str = "sm_90") -> list[Loop]:
    """The loops of every form of ``tuned`` in ``program``.

    Raises:
        SassError: no cuobjdump, or no machine code for ``architecture``.
    """
    tool = cuobjdump()
    # nvdisasm, which it calls, lies beside it.
    path = f"{tool.parent}{os.pathsep}{os.environ['PATH']}"
    command = [tool, "--dump-sass", "--gpu-architecture", architecture, program]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})
    if run.returncode != 0:
        raise SassError(f"cuobjdump: {run.stderr.strip() or run.stdout.strip()}")
    loops = []
    for function in re.split(r"\n\s*Function : ", run.stdout)[1:]:
        name, _, body = function.partition("\n")
        if (form := KERNEL.search(name)) is not None:
            boundary, sums, i = numbers = tuple(int(group) for group in form.groups())
            loop = _main_loop(_instructions(body), BOUNDARIES[boundary], sums == 1, i)
            loops.append((numbers, loop))
    if not loops:
        raise SassError(f"{program} has no machine code of the kernel for {architecture}")
    return [loop for _, loop in sorted(loops, key=lambda form: form[0])]


def _instructions(body: str) -> list[Instruction]:
    matches = (INSTRUCTION.match(line) for line in body.splitlines())
    return [Instruction(int(m[1], 16), m[2], m[3]) for m in matches if m is not None]


def _main_loop(code: list[Instruction], boundary: str, with_energies: bool, i: int) -> Loop:
    candidates = []
    for loop in _innermost(code):
        opcodes = Counter(instruction.opcode for instruction in loop)
        # One 16-byte read of a particle j from shared memory serves all i of a thread.
        pairs = opcodes["LDS"] * i
        if opcodes["MUFU"] and pairs:
            candidates.append(Loop(boundary, with_energies, i, pairs, opcodes))
    if not candidates:
        raise SassError("a form of the kernel has no loop over pairs")
    # Loops over the rest of a chunk are rolled up, and those that test for i = j are longer.
    return min(candidates, key=lambda loop: loop.instructions_a_pair)


def _innermost(code: list[Instruction]) -> Iterator[list[Instruction]]:
    """Runs of instructions that end with a branch to their beginning, with no other branch."""
    for last in code:
        if last.opcode == "BRA" and (target := TARGET.search(last.operands)) is not None:
            body = [one for one in code if int(target[1], 16) <= one.address <= last.address]
            if body and all(one.opcode != "BRA" for one in body[:-1]):
                yield body
