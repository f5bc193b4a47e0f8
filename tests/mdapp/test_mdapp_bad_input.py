"""Wrong options and start files give one line, exit status 2, and no loss of data."""

import os
from pathlib import Path

import pytest

import mdapp
from command_line import files_of
from mdapp import refused

HOST = ("--engine", "host", "--host-devices", 2)
FORCES = ("forces", "--precision", "float", *HOST)
SIMULATE = ("simulate", "--steps", 3, *HOST)
MEASURE = ("measure", "--steps", 3, "--warm-up", 0, "--quiet", *HOST)


@pytest.mark.parametrize("word", ["sodium", "", "claret ", "NaCl;"])
@pytest.mark.parametrize(
    ("command", "option", "allowed"),
    [
        ("measure", "--schedule", "star-serial, star-async, allgather, mpi"),
        ("measure", "--kernel", "claret, tuned"),
        ("measure", "--memory", "pageable, pinned"),
        ("measure", "--constants", "codata, claret"),
        ("measure", "--integrator", "verlet, nose-hoover"),
        ("simulate", "--boundary", "open, dsf, minimum-image"),
        ("simulate", "--precision", "float, double"),
        ("forces", "--precision", "float, double"),
        ("forces", "--salt", "NaCl, KCl"),
        ("check", "--engine", "auto, host, cuda"),
        ("throughput", "--engine", "auto, host, cuda"),
    ],
)
def test_an_unknown_word_is_answered_with_those_allowed(
    command: str, option: str, allowed: str, word: str
) -> None:
    needed = {"simulate": ("--n", 8, "--steps", 1), "forces": ("--n", 8), "measure": ("--n", 8)}
    line = refused(command, *needed.get(command, ()), option, word)
    assert line == f'{option}: "{word}" is none of {allowed}'


@pytest.mark.parametrize("command", [FORCES, SIMULATE, MEASURE], ids=lambda words: words[0])
@pytest.mark.parametrize(
    "n", ["0", "-8", "many", "", "8.5", "1e400", "nan", "inf", "1e18", "8 8", "0x10", "8,,9"]
)
def test_numbers_of_particles_that_are_none(command: tuple[object, ...], n: str) -> None:
    assert "--n" in refused(*command, f"--n={n}")


@pytest.mark.parametrize("command", [SIMULATE, MEASURE], ids=lambda words: words[0])
@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--gpus", 3), "--gpus: 3 wanted, 2 cores present"),
        (("--gpus", 0), "--gpus"),
        (("--gpus", "2-1"), "--gpus"),
        (("--steps", 0), "--steps"),
        (("--block", -1), "--block"),
        (("--block", 128), "the host engine"),
        (("--kernel", "tuned", "--j-split", 2), "the host engine"),
        (("--j-split", 2), "--j-split"),
        (("--graph",), "--graph"),
        (("--schedule", "star-async", "--graph"), "--graph"),
        (("--schedule", "star-async", "--memory", "pageable"), "--memory"),
        (("--dt", 0), "--dt"),
        (("--dt", "inf"), "--dt"),
        (("--temperature", -1), "--temperature"),
        (("--temperature", "nan"), "--temperature"),
        (("--integrator", "nose-hoover", "--temperature", 0), "--temperature"),
        (("--relaxation", 0), "--relaxation"),
        (("--cutoff", 5e-10), "--cutoff"),
        (("--boundary", "dsf", "--cutoff", -1e-10), "--cutoff"),
        (("--boundary", "dsf", "--cutoff", 1e-8), "half the box"),
        (("--boundary", "dsf", "--alpha", 0), "--alpha"),
        (("--seed", -1), "--seed"),
        (("--seed", "99999999999999999999999"), "--seed"),
        (("--seed", ""), "--seed"),
        (("--host-devices", -1), "--host-devices"),
        (("--host-devices", 100_000), "--host-devices"),
        (("--colour",), "--colour"),
    ],
)
def test_values_out_of_range(
    command: tuple[object, ...], options: tuple[object, ...], part: str
) -> None:
    assert part in refused(*command, "--n", 64, *options)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("simulate", "--n", 8), ["--steps"]),
        (("simulate", "--steps", 8), ["--n"]),
        (("forces",), ["--n"]),
        (("forces", "--n", 8, "--precision", "float", *HOST, "--gpus", 3), ["--gpus: 3 wanted"]),
        (("simulate", "--n", 8, "--steps", 1, "--time", 1e-12), ["--time", "--steps"]),
        (("simulate", "--n", 8, "--time", 1e-30), ["--time"]),
        (("forces", "--n", 8, "--start", "x.xyz"), ["--n", "--start"]),
        (("forces", "--n", 8, "--precision", "double", "--engine", "host"), ["--engine"]),
        (("simulate", "--n", 8, "--steps", 1, "--precision", "double", "--gpus", 2), ["--gpus"]),
        (("forces", "--n", 8, "--displace", "-1"), ["--displace"]),
        (("melt",), ["melt"]),
        (("measure", *HOST), ["--n"]),
        (("measure", *HOST, "--n", 8, "--steps", 3, "--max-time", 1), ["--steps"]),
        (("measure", *HOST, "--n", 8, "--interval", 0), ["--interval"]),
        (("measure", *HOST, "--n", 8, "--warm-up", -1), ["--warm-up"]),
        # One cell too many stops a grid before it starts.
        ((*MEASURE, "--n", 8, "--gpus", "1-3", "-o", "steps.jsonl"), ["--gpus"]),
        ((*MEASURE, "--n", 8, "--append", "--force", "-o", "steps.jsonl"), ["--append"]),
        ((*MEASURE, "--n", 8, "--path", "a\nb", "-o", "steps.jsonl"), ["--path"]),
        ((*MEASURE, "--n", 8, "--machine", "\x1b[1m", "-o", "steps.jsonl"), ["--machine"]),
    ],
)
def test_options_that_are_missing_or_do_not_go_together(
    arguments: tuple[object, ...], parts: list[str], tmp_path: Path
) -> None:
    line = refused(*arguments, folder=tmp_path)
    assert all(part in line for part in parts)
    assert files_of(tmp_path) == {}


@pytest.mark.parametrize(
    "command", [("check",), ("measure", "--n", 8), ("throughput",), ("forces", "--n", 8)]
)
def test_engine_cuda_where_no_gpu_can_be_seen(command: tuple[object, ...]) -> None:
    hidden = {"CUDA_VISIBLE_DEVICES": "-1"}
    single = ("--precision", "float") if command[0] == "forces" else ()
    line = refused(*command, *single, "--engine", "cuda", environment=hidden)
    assert line.startswith("--engine cuda: ")


# ---- start files; errors within their lines: xyz_test.cpp ----

GOOD = """2
Lattice="20 0 0 0 20 0 0 0 20" Properties=species:S:1:pos:R:3
Na 9 10 10
Cl 12 10 10
"""


@pytest.mark.parametrize(
    ("broken", "part"),
    [
        ("", "is empty"),
        ("\x00\x01\xff" * 50, "line 1"),
        (GOOD.replace("9 10 10", "9 ten 10"), 'line 3: pos y: "ten" is no number'),
    ],
)
@pytest.mark.parametrize("command", [("forces",), ("simulate", "--steps", 1)])
def test_a_broken_start_names_file_and_line(
    command: tuple[object, ...], broken: str, part: str, tmp_path: Path
) -> None:
    path = tmp_path / "start.xyz"
    path.write_bytes(broken.encode("latin-1"))
    line = refused(*command, "--precision", "double", "--start", path)
    assert line.startswith(f"{path}: ")
    assert part in line
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
