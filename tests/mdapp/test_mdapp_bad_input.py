"""Wrong options and files: one line that says what, exit status 2, nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest

import mdapp
from mdapp import refused

HOST = ("--engine", "host", "--host-devices", 2)


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("--schedule", "ring", "star-serial, star-async, allgather, mpi"),
        ("--kernel", "fast", "claret, tuned"),
        ("--memory", "unified", "pageable, pinned"),
        ("--salt", "LiF", "NaCl, KCl"),
        ("--constants", "mine", "codata, claret"),
        ("--boundary", "periodic", "open, dsf, minimum-image"),
        ("--integrator", "euler", "verlet, nose-hoover"),
        ("--engine", "opencl", "auto, host, cuda"),
    ],
)
def test_a_word_that_is_none_lists_those_that_are(option: str, value: str, allowed: str) -> None:
    said = refused("measure", "--n", 8, option, value)
    assert said == f'{option}: "{value}" is none of {allowed}'


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--n", 0), '--n: "0" is less than 1'),
        (("--n", -8), "--n"),
        (("--n", "x"), "--n"),
        (("--n", "8,,9"), "--n"),
        (("--n", "1e12"), "--n"),
        (("--n", 8, "--gpus", 3), "--gpus: 3 wanted, 2 cores present"),
        (("--n", 8, "--gpus", 0), "--gpus"),
        (("--n", 8, "--steps", 0), "--steps"),
        (("--n", 8, "--steps", 3, "--max-time", 1), "--steps"),
        (("--n", 8, "--interval", 0), "--interval"),
        (("--n", 8, "--warm-up", -1), "--warm-up"),
        (("--n", 8, "--dt", 0), "--dt"),
        (("--n", 8, "--dt", "nan"), "--dt"),
        (("--n", 8, "--temperature", -1), "--temperature"),
        (("--n", 8, "--block", 128), "the host engine"),
        (("--n", 8, "--boundary", "dsf", "--cutoff", 1e-6), "half the box"),
        (("--n", 8, "--cutoff", 1e-9), "--cutoff"),
        (("--n", 8, "--schedule", "star-async", "--graph"), "--graph"),
        (("--n", 8, "--append", "--force"), "--append"),
        (("--n", 8, "--path", "a\nb"), "--path"),
        (("--n", 8, "--machine", "\x1b[1m"), "--machine"),
        (("--n", 8, "--colour"), "--colour"),
        ((), "--n"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    tmp_path: Path, arguments: tuple[object, ...], said: str
) -> None:
    path = tmp_path / "steps.jsonl"
    assert said in refused("measure", *HOST, "--quiet", "-o", path, *arguments)
    assert not path.exists()


def test_more_particles_than_memory_holds_says_how_much_they_need(tmp_path: Path) -> None:
    said = refused("measure", *HOST, "--n", 10**9, "-o", tmp_path / "steps.jsonl")
    assert said.startswith("--n: 1000000000 is too large: the host needs ")
    assert " GiB are free" in said
    assert not list(tmp_path.iterdir())


def test_outputs_that_cannot_be_written(tmp_path: Path) -> None:
    assert "nowhere" in refused("measure", *HOST, "--n", 8, "-o", tmp_path / "nowhere" / "s.jsonl")
    assert str(tmp_path) in refused("measure", *HOST, "--n", 8, "-o", tmp_path)
    (tmp_path / "mine.xyz").write_text("mine")
    said = refused("simulate", *HOST, "--n", 8, "--steps", 2, "--trajectory", tmp_path / "mine.xyz")
    assert "mine.xyz: exists already; --force replaces it" in said
    assert (tmp_path / "mine.xyz").read_text() == "mine"


def test_a_full_disk_is_an_error_of_the_run() -> None:
    said = refused(
        *("measure", *HOST, "--n", 8, "--steps", 3, "--quiet", "-o", "/dev/full"), status=1
    )
    assert said == "/dev/full: No space left on device"


PAIR = 'Lattice="30 0 0 0 30 0 0 0 30" Origin="-15 -15 -15" Properties=species:S:1:pos:R:3'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("x\n", "line 1"),
        (f"2\n{PAIR}\nNa 0 0 0\n", "ends after 1 of 2 particles"),
        (f"2\n{PAIR}\nNa 0 0 0\nXe 0 0 3\n", "line 4"),
        (f"2\n{PAIR}\nNa 0 0 0\nCl 0 0\n", "line 4"),
        (f"2\n{PAIR}\nNa 0 0 0\nCl 0 0 nan\n", "line 4"),
        (f"2\n{PAIR}\nNa 0 0 0\nCl 0 0 99\n", "particle 2 is outside the box"),
        ("2\nProperties=species:S:1:pos:R:1\nNa 0\nCl 3\n", "line 2"),
    ],
)
def test_a_broken_start_names_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    start = tmp_path / "start.xyz"
    start.write_text(text)
    for command in ("forces", "simulate"):
        more = ("--steps", 2) if command == "simulate" else ()
        line = refused(command, "--start", start, *more)
        assert line.startswith(f"{start}: ")
        assert said in line


@pytest.mark.parametrize("precision", ["double", "float"])
def test_overlapping_particles_are_named_and_nothing_is_computed(
    tmp_path: Path, precision: str
) -> None:
    start = tmp_path / "start.xyz"
    start.write_text(f"3\n{PAIR}\nNa 5 5 5\nNa 0 0 0\nCl 0 0 0.05\n")
    engine = () if precision == "double" else HOST
    for command in (("forces",), ("simulate", "--steps", 5)):
        said = refused(*command, "--start", start, "--precision", precision, *engine, status=1)
        assert said == "particles 2 (Na) and 3 (Cl) overlap: 0.05 angstrom apart"


def test_a_run_without_its_gpu_says_why() -> None:
    finished = mdapp.run("measure", "--n", 8, "--steps", 2, "--engine", "cuda")
    if finished.status == 0:
        pytest.skip("there is a GPU")
    assert finished.status == 2
    (line,) = finished.err.splitlines()
    assert line.startswith("gpucast-mdapp: error: --engine cuda: ")
