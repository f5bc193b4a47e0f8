"""Errors in a program's description give one line: file, line, key, what to do."""

import sys
from pathlib import Path

import pytest

from command_line import Run, assert_refused
from described_programs import described

WRONG = [
    ("program: toy", "progam: toy", "program.yaml:1: progam: unknown key; did you mean program?"),
    ('"{n}"', '"{m}"', "program.yaml:4: command[2]: unknown placeholder {m}"),
    ('"{n}"', "{n}", 'program.yaml:4: command[2]: needs quotes: "{n}"'),
    ('"{n}"', '"{gpu}"', "unknown placeholder {gpu}; did you mean gpus?"),
    ("files: [toy.py]", "files: [toi.py]", "program.yaml:5: files[0]: no file 'toi.py'"),
    ("files: [toy.py]", "files: [{to: a}]", "program.yaml:5: files[0]: needs from"),
    ("files: [toy.py]", "files: [{text: a}]", "program.yaml:5: files[0].to: missing"),
    ("files: [toy.py]", "files: [{from: toy.py, to: ../a}]", "files[0].to: '../a' is not within"),
    ("files: [toy.py]", "files: [{form: toy.py}]", "files[0].form: unknown key; did you mean from"),
    ("toy.py, ", "toy.py, \0, ", "is no valid YAML"),
    ("gpus: [1, 2]", "gpus: 4", "program.yaml:7: gpus: must be a list, got 4"),
    ("gpus: [1, 2]", "gpus: [1, 0]", "program.yaml:7: gpus[1]: must be at least 1, got 0"),
    ("gpus: [1, 2]", "gpus: []", "program.yaml:7: gpus: must not be empty"),
    ("gpus: [1, 2]", "gpus: [1]\nranks: '{gpus}x'", "program.yaml:8: ranks: '1x' is no number"),
    ("gpus: [1, 2]", "gpus: [1]\nlauncher: mpiron", "launcher: 'mpiron' is no launcher; did you"),
    ("gpus: [1, 2]", "gpus: [1]\nlauncher: [nope]", "launcher[0]: no program 'nope'"),
    ("gpus: [1, 2]", "gpus: [1]\ntime_limit: soon", "time_limit: 'soon' is no time such as 90s"),
    ("gpus: [1, 2]", "gpus: [1]\nrepeats: 0", "repeats: must be at least 1, got 0"),
    ("[1000, 2000, 4000]", "1e3", "program.yaml:6: sizes: must be a list, or sizes with variables"),
    ("[1000, 2000, 4000]", "[]", "program.yaml:6: sizes: must not be empty"),
    ("[1000, 2000, 4000]", "[1000, many]", "program.yaml:6: sizes[1]: 'many' is no size"),
    ("[1000, 2000, 4000]", "[1000, 1e3]", "sizes[1]: 1000 is there twice"),
    ("[1000, 2000, 4000]", "{1: {L: 1}, 2: {M: 1}}", "sizes.2: L is not given for every size"),
    ("[1000, 2000, 4000]", "{1: {n: 1}}", "sizes.1.n: is no name for a variable of yours"),
    ("regex: '(?P<time>[0-9.]+) ms'", "importer: lamps", "'lamps'; did you mean lammps?"),
    ("regex: '(?P<time>[0-9.]+) ms'", "regex: '('", "result.regex: is not a regular expression"),
    ("regex: '(?P<time>[0-9.]+) ms'", "regex: 'x'", "result.regex: needs one named group"),
    ("regex: '(?P<time>[0-9.]+) ms'", "json: a, csv: b", "needs one of importer, regex, json,"),
    ("unit: ms,", "unit: parsec,", "program.yaml:8: result.unit: 'parsec' is not a unit"),
    ("unit: ms,", "unit: ns/day,", "result.timestep: missing; ns/day needs the simulated time"),
    ("unit: ms,", "unti: ms,", "result.unti: unknown key; did you mean unit?"),
    ("success: done", "success: [1", "is no valid YAML"),
    (sys.executable, "lmpp", "program.yaml:4: command[0]: no program 'lmpp'; install it, or give"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), WRONG)
def test_it_is_told_in_one_line_and_nothing_is_written(
    run: Run, tmp_path: Path, old: str, new: str, said: str
) -> None:
    program = described(tmp_path, (old, new))
    target = tmp_path / "data.jsonl"
    assert_refused(run("measure", "--program", program, "-o", target), said)
    assert not target.exists()
    assert not (tmp_path / "data.logs").exists()


OPTIONS = [
    (("--kernels", "tuned"), "--kernels: is of gpucast's own programs"),
    (("--no-transfers",), "--no-transfers: is of gpucast's own programs"),
    (("--budget", "1m", "--gpu-hours", "1"), "--gpu-hours: either --budget or --gpu-hours"),
    (("--gpu-hours", "0"), "--gpu-hours: 0 is no time greater than 0"),
    (("--gpus", "1,x"), "gpus: 'x' is no whole number"),
    (("--gpus", "1/2", "--mps"), "--mps: is a service of GPUs, and path host has none"),
    (("--cancel", "--dry-run"), "--dry-run: runs nothing; --cancel ends jobs"),
    (("-o", "-"), "-o: a campaign goes on from its file; give one a name"),
    (("-o", "/dev/null"), "is no file"),
]


@pytest.mark.parametrize(("options", "said"), OPTIONS)
def test_options_that_cannot_be_are_named(
    run: Run, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    program = described(tmp_path)
    assert_refused(run("measure", "--program", program, "-o", tmp_path / "d.jsonl", *options), said)


def test_options_of_descriptions_need_one(run: Run, tmp_path: Path) -> None:
    for option in (("--gpu-hours", "1"), ("--dry-run",)):
        assert_refused(run("measure", *option, "-o", tmp_path / "d.jsonl"), option[0], "--program")
    assert_refused(run("measure"), "-o: missing: the file of records")


def test_a_size_without_its_variables_is_refused(run: Run, tmp_path: Path) -> None:
    program = described(tmp_path, ("[1000, 2000, 4000]", "{1000: {L: 10}, 2000: {L: 12}}"))
    result = run("measure", "--program", program, "-n", "3000", "--dry-run")
    assert_refused(result, "n=3000 has no variables", "it has 1000, 2000")
