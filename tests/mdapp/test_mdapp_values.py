"""Values of options, in every command that has them: one line names the option, status 2."""

from __future__ import annotations

from pathlib import Path

import pytest

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
        ("simulate", "--schedule", "star-serial, star-async, allgather, mpi"),
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
    needed = {"simulate": ("--n", 8, "--steps", 1), "forces": ("--n", 8)}.get(command, ())
    assert refused(command, *needed, option, word) == f'{option}: "{word}" is none of {allowed}'


@pytest.mark.parametrize("command", [FORCES, SIMULATE, MEASURE], ids=lambda words: words[0])
@pytest.mark.parametrize(
    "n", ["0", "-8", "many", "", "8.5", "1e400", "nan", "inf", "1e18", "8 8", "0x10"]
)
def test_numbers_of_particles_that_are_none(command: tuple[object, ...], n: str) -> None:
    assert "--n" in refused(*command, f"--n={n}")


@pytest.mark.parametrize("command", [FORCES, SIMULATE], ids=lambda words: words[0])
def test_more_devices_than_present(command: tuple[object, ...]) -> None:
    assert refused(*command, "--n", 8, "--gpus", 3) == "--gpus: 3 wanted, 2 cores present"


def test_one_cell_too_many_stops_a_grid_before_it_starts(tmp_path: Path) -> None:
    refused(*MEASURE, "--n", 8, "--gpus", "1-3", "-o", tmp_path / "steps.jsonl")
    assert files_of(tmp_path) == {}


@pytest.mark.parametrize("command", ["simulate", "measure"])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--gpus", "2-1"), "--gpus"),
        (("--block", "-1"), "--block"),
        (("--kernel", "tuned", "--block", "32"), "the host engine"),
        (("--kernel", "tuned", "--j-split", "2"), "the host engine"),
        (("--j-split", "2"), "--j-split"),
        (("--graph",), "--graph"),
        (("--schedule", "star-async", "--memory", "pageable"), "--memory"),
        (("--dt", "inf"), "--dt"),
        (("--temperature", "nan"), "--temperature"),
        (("--integrator", "nose-hoover", "--temperature", "0"), "--temperature"),
        (("--relaxation", "0"), "--relaxation"),
        (("--cutoff", "5e-10"), "--cutoff"),
        (("--boundary", "dsf", "--cutoff", "-1e-10"), "--cutoff"),
        (("--boundary", "dsf", "--cutoff", "1e-8"), "half the box"),
        (("--boundary", "dsf", "--alpha", "0"), "--alpha"),
        (("--seed", "-1"), "--seed"),
        (("--seed", "99999999999999999999999"), "--seed"),
        (("--seed", ""), "--seed"),
    ],
)
def test_values_out_of_range(command: str, options: tuple[str, ...], said: str) -> None:
    assert said in refused(command, "--n", 64, "--steps", 3, *HOST, *options)


@pytest.mark.parametrize("count", [-1, 100_000])
def test_host_devices_out_of_range(count: int) -> None:
    assert "--host-devices" in refused(
        "measure", "--n", 8, "--engine", "host", "--host-devices", count
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("simulate", "--n", 8), ["--steps"]),
        (("simulate", "--steps", 8), ["--n"]),
        (("forces",), ["--n"]),
        (("simulate", "--n", 8, "--steps", 1, "--time", 1e-12), ["--time", "--steps"]),
        (("simulate", "--n", 8, "--time", 1e-30), ["--time"]),
        (("forces", "--n", 8, "--start", "x.xyz"), ["--n", "--start"]),
        (("forces", "--n", 8, "--precision", "double", "--engine", "host"), ["--engine"]),
        (("simulate", "--n", 8, "--steps", 1, "--precision", "double", "--gpus", 2), ["--gpus"]),
        (("forces", "--n", 8, "--displace", "-1"), ["--displace"]),
        (("melt",), ["melt"]),
    ],
)
def test_options_that_are_missing_or_do_not_go_together(
    arguments: tuple[object, ...], said: list[str], tmp_path: Path
) -> None:
    line = refused(*arguments, folder=tmp_path)
    assert all(part in line for part in said)
    assert files_of(tmp_path) == {}


@pytest.mark.parametrize(
    "command", [("check",), ("measure", "--n", 8), ("throughput",), ("forces", "--n", 8)]
)
def test_engine_cuda_where_no_gpu_can_be_seen(command: tuple[object, ...]) -> None:
    hidden = {"CUDA_VISIBLE_DEVICES": "-1"}
    single = ("--precision", "float") if command[0] == "forces" else ()
    said = refused(*command, *single, "--engine", "cuda", environment=hidden)
    assert said.startswith("--engine cuda: ")
