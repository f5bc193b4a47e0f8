"""A program of a few lines whose output is known beforehand, and its description."""

import sys
from collections import Counter
from pathlib import Path

import mdapp

TOY = """\
import os, sys
n, gpus = float(sys.argv[1]), int(sys.argv[2])
data, hold_at = os.environ.get("TOY_DATA"), os.environ.get("TOY_HOLD_AT")
if data and hold_at:
    there = open(data).read().count('"kind":"step"') if os.path.exists(data) else 0
    if there == int(hold_at):
        with open(data + ".held", "w") as stream:
            stream.write(str(os.getpid()))
        os.rename(data + ".held", data + ".holding")
        open(data + ".gate").read()  # a pipe that nobody writes to
if os.environ.get("TOY_FAILS_AT") == f"{n:g} {gpus}":
    print("making a box")
    sys.exit("CUDA error: out of memory")
for i in range(4):
    print(f"step {i}: {1e3 * (1e-4 + 2e-8 * n / gpus) * (1 + 0.01 * (i % 2)):.6f} ms")
print("done")
"""
"""``toy.py N GPUS``: four steps of 0.1 ms + 20 ns n / N, every other one 1 % longer.

It fails at TOY_FAILS_AT, and stays where it is once TOY_DATA holds TOY_HOLD_AT steps.
"""

DESCRIPTION = f"""\
program: toy
unit: atoms
path: host
command: [{sys.executable}, toy.py, "{{n}}", "{{gpus}}"]
files: [toy.py]
sizes: [1000, 2000, 4000]
gpus: [1, 2]
result: {{regex: '(?P<time>[0-9.]+) ms', unit: ms, skip: 2}}
success: done
"""


def described(folder: Path, *changes: tuple[str, str], more: str = "") -> Path:
    """The toy and its description in a folder; texts replaced in the description."""
    (folder / "toy.py").write_text(TOY)
    text = DESCRIPTION
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "program.yaml"
    path.write_text(text + more)
    return path


def visits(path: Path) -> Counter[tuple[float, int, int]]:
    """How often each visit is in a file, which must be whole: n, GPU count, number."""
    records = mdapp.records_in(path.read_text())
    return Counter(
        (r["n"], r["gpus"], r["visit"]["number"]) for r in records if r["kind"] == "step"
    )


def visits_of_whole(path: Path) -> Counter[tuple[float, int, int]]:
    """The same of a file whose last line may be cut off."""
    whole = path.with_suffix(".whole")
    whole.write_bytes(path.read_bytes().rpartition(b"\n")[0] + b"\n")
    return visits(whole) if whole.read_bytes().strip() else Counter()


def made(path: Path) -> int:
    """Steps in a file that may be growing."""
    return path.read_bytes().count(b'"kind":"step"') if path.exists() else 0


def grid(n: list[int], gpus: list[int], most: int = 1) -> Counter[tuple[float, int, int]]:
    """Each visit once."""
    return Counter((a, b, c) for a in n for b in gpus for c in range(1, most + 1))
