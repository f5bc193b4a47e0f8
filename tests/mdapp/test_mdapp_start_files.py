"""Start configurations that are broken: file and line are named, and the file stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import mdapp
from command_line import files_of
from mdapp import refused

GOOD = """2
Lattice="20 0 0 0 20 0 0 0 20" Properties=species:S:1:pos:R:3
Na 9 10 10
Cl 12 10 10
"""


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("0\n\n", ["line 1"]),
        ("-2\n\n", ["line 1"]),
        ("99999999999\n\n", ["line 1"]),
        ("\x00\x01\xff" * 50, ["line 1"]),
        (GOOD.replace("2\n", "1\n", 1), ["line 4", "more than"]),
        (GOOD + GOOD, ["line 5", "one frame"]),
        (GOOD.replace("0 20 0", "0 21 0"), ["line 2", "Lattice", "cube"]),
        (GOOD.replace("20 0 0 0", "20 0 0"), ["line 2", "Lattice"]),
        (GOOD.replace("20 0 0 0 20 0 0 0 20", "0 0 0 0 0 0 0 0 0"), ["line 2", "Lattice"]),
        (GOOD.replace('20"', "20"), ["line 2", "quotes"]),
        (GOOD.replace("species:S:1:", ""), ["line 2", "Properties", "species"]),
        (GOOD.replace("pos:R:3", "pos:R:3:velo:R:3"), ["line 3", "fields"]),
        (GOOD.replace("Na 9", "K 9"), ["line 3", "K", "NaCl"]),
        (GOOD.replace("9 10 10", "9 ten 10"), ["line 3", "pos y", "ten"]),
        (GOOD.replace("9 10 10", "9 1e999 10"), ["line 3", "pos y"]),
        (GOOD.replace("9 10 10", "9 10 inf"), ["line 3", "pos z"]),
    ],
)
def test_a_broken_start_names_file_and_line(broken: str, said: list[str], tmp_path: Path) -> None:
    path = tmp_path / "start.xyz"
    path.write_bytes(broken.encode("latin-1"))
    line = refused("simulate", "--steps", 1, "--precision", "double", "--start", path)
    assert line.startswith(f"{path}: ")
    assert all(part in line for part in said)
    assert files_of(tmp_path) == {"start.xyz": broken.encode("latin-1")}


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.rstrip(),
        GOOD.replace("\n", "\r\n"),
        GOOD + "\n",
        GOOD.replace("pos:R:3", "pos:R:3:charge:R:1").replace("10 10\n", "10 10 0.5\n"),
        GOOD.replace("Lattice", "pbc=F comment Time=3.5 Lattice"),
    ],
)
def test_what_is_not_broken_is_read(text: str, tmp_path: Path) -> None:
    path = tmp_path / "start.xyz"
    path.write_bytes(text.encode())
    answer = mdapp.run("forces", "--start", path).json
    assert answer["types"] == [0, 1]
    assert answer["positions_angstrom"] == [[-1, 0, 0], [2, 0, 0]]
    assert answer["energy_eV"] == pytest.approx(-4.71339466, rel=1e-8)  # a pair at 3 angstrom


def test_a_start_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "no.xyz", tmp_path):
        assert str(path) in refused("forces", "--start", path)
    if os.geteuid() != 0:  # root reads everything
        locked = tmp_path / "locked.xyz"
        locked.write_text(GOOD)
        locked.chmod(0)
        assert str(locked) in refused("forces", "--start", locked)


def test_a_periodic_cell_needs_its_side(tmp_path: Path) -> None:
    path = tmp_path / "start.xyz"
    path.write_text(GOOD.replace('Lattice="20 0 0 0 20 0 0 0 20" ', ""))
    said = refused("forces", "--start", path, "--boundary", "dsf")
    assert said.startswith(f"{path}: line 2: Lattice: ")
