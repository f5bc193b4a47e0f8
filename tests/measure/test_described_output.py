"""The interpretation of programs' output: step times (computed by hand) and reasons."""

from pathlib import Path

import pytest

from described_programs import described
from gpucast.measure.described import reading
from gpucast.measure.described.results import NoResultError, Times, times_in
from gpucast.measure.described.running import reason


def times(folder: Path, result: str, output: str, n: float = 1000, gpus: int = 2) -> Times:
    old = "{regex: '(?P<time>[0-9.]+) ms', unit: ms, skip: 2}"
    program = reading.read(described(folder, (old, result)))
    (run,) = reading.runs_of(program, [n], [gpus])
    return times_in(output, folder, program, run)


FOUND = [
    ("{regex: 'took (?P<s>[0-9.e-]+)'}", "took 1e-3\ntook 2e-3", [0.001, 0.002]),
    ("{regex: '(?P<r>[0-9.]+) steps/s', unit: steps/s}", "at 250 steps/s", [0.004]),
    ("{regex: 'P: (?P<p>[0-9.]+)', unit: ns/day, timestep: 2fs}", "P: 86.4", [0.002]),
    ("{regex: '(?P<i>[0-9]+) img', unit: samples/s}", "500 img", [2.0]),
    ("{json: 'timing.steps[*].ms', unit: ms}",
     'hello\n{"timing": {"steps": [{"ms": 1}, {"ms": 3.5}]}}', [0.001, 0.0035]),
    ("{json: 'runs.1.times', unit: us}", '{"runs": [{}, {"times": [5, 7]}]}', [5e-6, 7e-6]),
    ("{json_lines: step_ms, unit: ms, skip: 1}",
     'x\n:::MLLOG {"step_ms": 9}\n{"loss": 1}\n{"step_ms": 2}\n{"step_ms": 4}', [0.002, 0.004]),
    ("{csv: ms, unit: ms, skip: 1}",
     "start\nstep,ms,loss\n0,9,1\n1,2,1\n2,3,1\nend", [0.002, 0.003]),
    ("{csv: s}", "step;s\n0;0.25\n", [0.25]),
]  # fmt: skip


@pytest.mark.parametrize(("result", "output", "seconds"), FOUND)
def test_numbers_become_seconds_a_step(
    tmp_path: Path, result: str, output: str, seconds: list[float]
) -> None:
    assert times(tmp_path, result, output).seconds == pytest.approx(seconds, rel=1e-12)


def test_a_file_of_the_run_is_read_in_place_of_its_output(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("step,s\n0,0.5\n")
    assert times(tmp_path, "{csv: s, file: log.csv}", "").seconds == [0.5]


MISSING = [
    ("{regex: 'took (?P<s>[0-9.]+)'}", "nothing", "nothing found by regex"),
    ("{regex: 'took (?P<s>.*)'}", "took long", "'long' is no number"),
    ("{regex: 'took (?P<s>.*)'}", "took 0", "0 s is no step time"),
    ("{regex: 'took (?P<s>.*)', skip: 1}", "took 1", "only 1 of more than 1 numbers"),
    ("{json: ms}", "no object", "no JSON object in its output"),
    ("{json: ms}", '{"ms": "fast"}', "'fast' is no number"),
    ("{json: ms}", '{"ms": null}', "null at 'ms' is no number"),
    ("{csv: ms, file: log.csv}", "", "it left no log.csv"),
    (
        "{importer: lammps}",
        "Segmentation fault",
        "no run that importer lammps understands: its output is not LAMMPS's screen output or log",
    ),
]


@pytest.mark.parametrize(("result", "output", "said"), MISSING)
def test_what_is_not_there_is_told(tmp_path: Path, result: str, output: str, said: str) -> None:
    with pytest.raises(NoResultError) as error:
        times(tmp_path, result, output)
    assert said in str(error.value)


def test_an_importer_brings_what_it_knows(tmp_path: Path) -> None:
    log = """LAMMPS (29 Aug 2024)
Loop time of 2 on 1 procs for 100 steps with 1000 atoms
"""
    step = times(tmp_path, "{importer: lammps}", log)
    assert step.seconds == [0.02]
    assert "uncertainty" in step.more


def test_a_size_that_the_log_says_otherwise_is_warned_of(tmp_path: Path) -> None:
    log = """LAMMPS (29 Aug 2024)
Loop time of 1 on 1 procs for 10 steps with 864 atoms
Loop time of 2 on 1 procs for 100 steps with 864 atoms
"""
    step = times(tmp_path, "{importer: lammps}", log, gpus=1)
    (warning,) = step.warnings
    assert "says n 864" in warning
    assert warning.endswith(": the description's was used")
    assert times(tmp_path, "{importer: lammps}", log, n=864, gpus=1).warnings == []
    assert times(tmp_path, "{importer: lammps, pick: all}", log).seconds == [0.1, 0.02]


RULE = "-------------------------------------------------------"

SAID = [
    ("", None),
    ("making a box\nout of luck\n", "out of luck"),
    ("step 1\n" + RULE, "step 1"),
    # GROMACS
    (f"{RULE}\nProgram:     gmx mdrun, version 2022.5\nSource file: src/domdec.cpp (line 2256)\n\n"
     "Fatal error:\nThere is no domain decomposition for 40 ranks that is\ncompatible\n"
     "\nFor more information and tips for troubleshooting, please check the GROMACS\n"
     f"website at http://www.gromacs.org/Documentation/Errors\n{RULE}\n",
     "Fatal error: There is no domain decomposition for 40 ranks that is compatible"),
    (f"{RULE}\nProgram:     gmx mdrun, version 2022.5\nSource file: src/usage.cpp (line 336)\n\n"
     f"Feature not implemented:\nGROMACS was built without GPU support.\n{RULE}\n",
     "Feature not implemented: GROMACS was built without GPU support."),
    # LAMMPS
    ("LAMMPS (22 Jul 2025)\nERROR: Illegal units command (src/src/update.cpp:301)\n"
     "Last input line: units ljj\nAbort(1) on node 0: application called MPI_Abort(COMM, 1)\n",
     "ERROR: Illegal units command (src/src/update.cpp:301)"),
    # Open MPI
    (f"{RULE}\nThere are not enough slots available in the system to satisfy the 64\nslots that "
     f"were requested by the application:\n\n  lmp\n{RULE}\n",
     "There are not enough slots available in the system to satisfy the 64 slots that were "
     "requested by the application:"),
    # Python, and torchrun around it
    ('Traceback (most recent call last):\n  File "fluid.py", line 12, in <module>\n'
     "ModuleNotFoundError: No module named 'openmm'\n",
     "ModuleNotFoundError: No module named 'openmm'"),
    ("RuntimeError: Invalid device argument\nERROR:torch.distributed.elastic:failed (exitcode: 1)\n"
     "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
     "============================================================\ntrain.py FAILED\n"
     "============================================================\n",
     "RuntimeError: Invalid device argument"),
    # A shell
    ("bash: line 1: lmpp: command not found\nbye\n", "bash: line 1: lmpp: command not found"),
]  # fmt: skip


@pytest.mark.parametrize(("output", "said"), SAID)
def test_the_line_that_says_why(output: str, said: str | None) -> None:
    assert reason(output) == said
