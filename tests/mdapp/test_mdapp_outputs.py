"""Existing files in the way of outputs, and outputs that cannot be written: nothing is lost."""

from pathlib import Path

import pytest

import mdapp
from command_line import files_of
from mdapp import refused

HOST = ("--engine", "host", "--host-devices", 2)
MEASURE = ("measure", "--n", 8, "--steps", 3, "--warm-up", 0, "--quiet", *HOST)
SIMULATE = ("simulate", "--n", 8, "--steps", 3, *HOST)

writers = pytest.mark.parametrize(
    "command", [(*MEASURE, "-o"), (*SIMULATE, "--trajectory")], ids=["records", "trajectory"]
)
Command = tuple[object, ...]


@writers
def test_a_folder_that_is_missing(command: Command, tmp_path: Path) -> None:
    target = tmp_path / "no" / "such" / "file"
    assert str(target) in refused(*command, target)
    assert files_of(tmp_path) == {}


@writers
def test_a_folder_in_the_way(command: Command, tmp_path: Path) -> None:
    for force in ((), ("--force",)):
        assert str(tmp_path) in refused(*command, tmp_path, *force)


@writers
def test_what_exists_is_replaced_only_with_force(command: Command, tmp_path: Path) -> None:
    target = tmp_path / "steps"
    target.write_text("something of mine\n")
    line = refused(*command, target)
    assert str(target) in line
    assert "--force" in line
    assert files_of(tmp_path) == {"steps": b"something of mine\n"}
    assert mdapp.run(*command, target, "--force").status == 0
    assert "something of mine" not in target.read_text()


@writers
@pytest.mark.parametrize(
    "wrong",
    [
        ("--gpus", 3),
        ("--salt", "x"),
        ("--boundary", "dsf", "--cutoff", 1),
        ("--block", 32),
        ("--seed", -1),
    ],
    ids=lambda words: words[0],
)
def test_wrong_input_leaves_what_exists_in_spite_of_force(
    command: Command, wrong: Command, tmp_path: Path
) -> None:
    target = tmp_path / "steps"
    target.write_text("something of mine\n")
    refused(*command, target, "--force", *wrong)
    assert files_of(tmp_path) == {"steps": b"something of mine\n"}


@writers
def test_a_full_disk_fails_the_run(command: Command) -> None:
    finished = mdapp.run(*command, "/dev/full", "--force")
    assert finished.status == 1
    (line,) = finished.err.splitlines()
    assert line.startswith("gpucast-mdapp: error: /dev/full: No space left on device")


@pytest.mark.parametrize(
    "command",
    [MEASURE, ("forces", "--n", 8), ("simulate", "--n", 8, "--steps", 3, "--json", *HOST)],
    ids=lambda words: words[0],
)
def test_stdout_on_a_full_disk_fails_the_run(command: Command) -> None:
    # bash gives the program /dev/full as its stdout.
    redirected = ("bash", "-c", '"$@" >/dev/full', "bash")
    line = refused(*command, status=1, before=redirected)
    assert "stdout" in line
